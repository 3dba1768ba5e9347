"""Bring the raw files of a data set here, verified: from mirrors first, then from the official addresses."""

import importlib.util
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from fedsift.data.archive import unpack
from fedsift.data.catalog import Archive, DataSet, Download, File
from fedsift.data.download import BLOCK, Dead, FetchError, Limits, Slow, Unusable, download, lock, session
from fedsift.data.raw import accept, accepted, mismatch, raw_folder
from fedsift.files import atomic

# When every address is slow, the minimum rate drops to this share of it: better slow than nothing.
PATIENCE = 0.05

Report = Callable[[str], None]


def fetch(
    dataset: DataSet,
    folder: Path,
    mirrors: list[str],
    accept_unverified: bool,
    report: Report,
    limits: Limits | None = None,
) -> list[Path]:
    """Put the verified files of ``dataset`` at ``<folder>/raw/<set>/<file>``; return their paths in order.

    ``mirrors`` are folders or http(s) addresses with the layout ``<mirror>/<set>/<file or archive>``.
    ``report`` gets one line for each notice, and progress at most every ``limits.report_every`` seconds.
    Files that are here and verify are left alone. Raises FetchError, also for a set that is not verified
    unless ``accept_unverified``.
    """
    try:
        return _Errand(dataset, Path(folder), mirrors, accept_unverified, report, limits or Limits()).run()
    except OSError as error:
        where = error.filename or raw_folder(Path(folder), dataset)
        raise FetchError(
            f"{dataset.name}: {where} cannot be used ({error.strerror or error}): free space, "
            "mend its permissions or choose another data folder."
        ) from error


class _Errand:
    """One call of ``fetch``."""

    def __init__(
        self,
        dataset: DataSet,
        folder: Path,
        mirrors: list[str],
        accept_unverified: bool,
        report: Report,
        limits: Limits,
    ) -> None:
        self.dataset, self.folder, self.report, self.limits = dataset, folder, report, limits
        self.accept_unverified = accept_unverified
        self.home = raw_folder(folder, dataset)
        self.mirrors = [_checked_mirror(mirror) for mirror in mirrors]
        self.accepted = accepted(folder, dataset)
        self.dead: dict[str, Dead] = {}
        self.web = session()

    def run(self) -> list[Path]:
        missing = [file for file in self.dataset.files if not self._is_here(file)]
        if missing:
            self._refuse_unverified(missing)
            self.home.mkdir(parents=True, exist_ok=True)
            with self.web:
                self._bring(missing)
            self.report(f"{self.dataset.name}: all {len(self.dataset.files)} files are here and verified")
        return [self.home / file.name for file in self.dataset.files]

    def _is_here(self, file: File) -> bool:
        path = self.home / file.name
        if not path.is_file():
            return False
        known = file.sha256 or self.accepted.get(file.name)
        problem = mismatch(path, file, known)
        if problem is None:
            if known is None and self.accept_unverified:
                accept(self.folder, self.dataset, file.name)
            return known is not None or self.accept_unverified
        aside = path.with_name(f"{path.name}.corrupt")
        os.replace(path, aside)
        self.report(f"{self.dataset.name}: {path} is damaged ({problem}); moved to {aside.name}, fetching it again")
        return False

    def _refuse_unverified(self, missing: list[File]) -> None:
        if self.dataset.verified or self.accept_unverified:
            return
        name = self.dataset.name
        login = (
            f"; it also needs a login: {self.dataset.login}, and put them into {self.home}"
            if self.dataset.login
            else ""
        )
        raise FetchError(
            f"{name}: {missing[0].name} has never been verified by the authors of fedsift{login}: "
            f"run `fedsift fetch {name} --accept-unverified` to take it on trust."
        )

    def _bring(self, missing: list[File]) -> None:
        left = []
        for file in missing:
            tried: list[str] = []
            if not self._obtain(file, self._addresses(file), partial(self._publish, file), tried):
                left.append((file, tried))
        for archive in self.dataset.archives:
            wanted = [file for file, _ in left if file.archive == archive.name]
            if wanted:
                tried = []
                if self._obtain(archive, self._addresses(archive), partial(self._unpack, wanted), tried):
                    left = [(file, why) for file, why in left if file not in wanted]
                else:
                    left = [(file, why + tried if file in wanted else why) for file, why in left]
        if left:
            self._give_up(*left[0])

    def _addresses(self, item: Download) -> list[str | Path]:
        found: list[str | Path] = []
        if isinstance(item, File) and item.package:
            package, _, inside = item.package.partition("/")
            spec = importlib.util.find_spec(package)
            found += [Path(root) / inside for root in (spec and spec.submodule_search_locations) or []]
        if isinstance(item, File) and item.path:
            found.append(Path(item.path))
        if isinstance(item, Archive):
            found.append(self.home / item.name)  # where the user is told to put one that needs a login
        for mirror in self.mirrors:
            found.append(
                f"{mirror}/{self.dataset.name}/{item.name}"
                if isinstance(mirror, str)
                else mirror / self.dataset.name / item.name
            )
        return [*found, *item.urls]

    def _obtain(
        self, item: Download, addresses: list[str | Path], use: Callable[[Path], None], tried: list[str]
    ) -> bool:
        """Call ``use`` with the verified file from the first address that serves it."""
        slow: list[str | Path] = []
        for patience in (1.0, PATIENCE):
            for place, address in enumerate(list(slow) if patience < 1 else addresses):
                known_dead = isinstance(address, str) and urlsplit(address).netloc in self.dead
                try:
                    if isinstance(address, Path):
                        self._local(address, item, use)
                    else:
                        self._remote(address, item, use, patience * self.limits.slowest)
                    return True
                except FileNotFoundError:
                    tried.append(f"{address}: not there")
                except Unusable as error:
                    if isinstance(error, Slow) and patience == 1:
                        slow.append(address)
                    tried.append(f"{_shown(address)}: {error}")
                    last = place == len(addresses) - 1 and not slow
                    if not known_dead:
                        self.report(
                            f"{self.dataset.name}: {_shown(address)} gives no {item.name}, {error}"
                            + ("" if last else "; trying the next address")
                        )
        return False

    def _local(self, path: Path, item: Download, use: Callable[[Path], None]) -> None:
        if not path.is_file():
            raise FileNotFoundError(path)
        try:
            if problem := mismatch(path, item):
                raise Unusable(problem)
            if isinstance(item, Archive):
                return use(path)
            part = self.home / f"{item.name}.part"
            with open(path, "rb") as source, open(part, "ab") as out:
                lock(out, part)
                out.truncate(0)
                while block := source.read(16 * BLOCK):
                    out.write(block)
        except PermissionError as error:
            raise Unusable("it cannot be read (permission denied)") from error
        # Once more: a shared file may have changed between the first look and the copy.
        if problem := mismatch(part, item):
            part.unlink()
            raise Unusable(problem)
        use(part)

    def _remote(self, url: str, item: Download, use: Callable[[Path], None], slowest: float) -> None:
        host = urlsplit(url).netloc
        if host in self.dead:
            raise self.dead[host]
        part = self.home / f"{item.name}.part"
        try:
            download(url, part, item, self.web, self.limits, slowest, self._progress(item))
        except Dead as error:
            self.dead[host] = error
            raise
        finally:
            if part.exists() and part.stat().st_size == 0:
                part.unlink()
        try:
            use(part)
        finally:
            part.unlink(missing_ok=True)

    def _publish(self, file: File, path: Path) -> None:
        with atomic(self.home / file.name) as temporary:
            os.replace(path, temporary)
        if file.sha256 is None:
            accept(self.folder, self.dataset, file.name)

    def _unpack(self, wanted: list[File], path: Path) -> None:
        members = {str(file.member): (file, self.home / f"{file.name}.part") for file in wanted}
        try:
            unpack(path, members)
            for file, part in members.values():
                if problem := mismatch(part, file):
                    raise Unusable(f"its member {file.member} is wrong: {problem}")
            for file, part in members.values():
                self._publish(file, part)
        finally:
            for _, part in members.values():
                part.unlink(missing_ok=True)

    def _progress(self, item: Download) -> Callable[[int], None]:
        began = last = time.monotonic()
        first: int | None = None

        def progress(done: int) -> None:
            nonlocal last, first
            first = done if first is None else first
            now = time.monotonic()
            if now - last >= self.limits.report_every:
                last = now
                share = f"{100 * done / item.size:.0f} % of {_megabytes(item.size)}" if item.size else _megabytes(done)
                rate = _megabytes((done - first) / (now - began))
                self.report(f"{self.dataset.name}/{item.name}: {share}, {rate}/s")

        return progress

    def _give_up(self, file: File, tried: list[str]) -> None:
        name = self.dataset.name
        reasons = "; ".join(tried) or "no address is known"
        if self.dataset.login:
            raise FetchError(
                f"{name}: {file.name} needs a login ({reasons}): {self.dataset.login}, "
                f"put them into {self.home} or into <mirror>/{name} of a folder listed in data.mirrors, "
                f"and run `fedsift fetch {name} --accept-unverified`."
            )
        raise FetchError(
            f"{name}: {file.name} cannot be had from any address ({reasons}): "
            f"put it into <mirror>/{name} of a folder or address listed in data.mirrors, or try again later."
        )


def _checked_mirror(mirror: str) -> str | Path:
    if mirror.startswith(("http://", "https://")):
        return mirror.rstrip("/")
    if "://" in mirror:
        raise FetchError(
            f"data.mirrors: {_shown(mirror)} is neither a folder nor an http(s) address; give one of these."
        )
    return Path(mirror).expanduser()


def _shown(address: str | Path) -> str:
    """The address without user name and password, which must not reach logs."""
    if isinstance(address, Path):
        return str(address)
    scheme, _, rest = address.partition("://")
    head, slash, tail = rest.partition("/")
    return f"{scheme}://{head.rpartition('@')[2]}{slash}{tail}"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"
