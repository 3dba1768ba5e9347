"""Fetching from servers that are dead, slow, lying, broken or hostile. All servers are on 127.0.0.1."""

import fcntl
import gzip
import hashlib
import io
import socket
import stat
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fedsift.data import catalog
from fedsift.data.catalog import DataSet
from fedsift.data.download import Limits
from fedsift.data.fetch import FetchError, fetch
from fedsift.data.read import DataFileError, read

BODY = hashlib.shake_128(b"body").digest(200_000)
LIMITS = Limits(connect=0.4, stall=0.5, window=0.2, slowest=100_000, attempts=3, pause=0.01, report_every=0.05)

Handler = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def serve() -> Iterator[Callable[[Handler], str]]:
    servers = []

    def start(answer: Handler) -> str:
        class Quiet(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def answer(web: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    web.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        web.send_header(name.replace("_", "-"), value)
    web.end_headers()
    web.wfile.write(body)


def good(web: BaseHTTPRequestHandler) -> None:
    answer(web, BODY)


def ranged(web: BaseHTTPRequestHandler) -> None:
    start = int((web.headers["Range"] or "bytes=0-")[6:-1])
    if start == 0:
        return answer(web, BODY)
    answer(web, BODY[start:], 206, Content_Range=f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")


def pinned(body: bytes = BODY, verified: bool = True, **change: Any) -> DataSet:
    file = {"name": "a.bin", "role": "all", "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    file |= {key: change.pop(key) for key in ("urls", "archive", "member", "sha256", "size", "md5") if key in change}
    entry = catalog.get("digits").model_dump() | {"name": "tiny", "verified": verified, "files": [file]}
    return DataSet.model_validate(entry | change)


class Run:
    """One fetch into ``folder``, with what it reported."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lines = folder, list[str]()
        self.home = folder / "raw" / "tiny"

    def __call__(self, dataset: DataSet, *mirrors: str, accept: bool = False, limits: Limits = LIMITS) -> list[Path]:
        return fetch(dataset, self.folder, list(mirrors), accept, self.lines.append, limits)

    def noticed(self, text: str) -> bool:
        return any(text in line and "\n" not in line for line in self.lines)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.home.iterdir()) if self.home.exists() else []


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "it's data")


def bad_then_good(run: Run, bad: str, serve: Callable[[Handler], str]) -> None:
    """The bad address first, a good one second: the file must arrive and nothing else stay."""
    run(pinned(), bad, serve(good))
    assert (run.home / "a.bin").read_bytes() == BODY
    assert run.left() == ["a.bin"]


def test_a_folder_and_an_address_are_mirrors(run: Run, serve: Callable[[Handler], str], tmp_path: Path) -> None:
    paths = []

    def note(web: BaseHTTPRequestHandler) -> None:
        paths.append(web.path)
        good(web)

    assert run(pinned(), serve(note) + "/deep/") == [run.home / "a.bin"]
    assert paths == ["/deep/tiny/a.bin"]
    (tmp_path / "mirror" / "tiny").mkdir(parents=True)
    (tmp_path / "mirror" / "tiny" / "a.bin").write_bytes(BODY)
    other = Run(tmp_path / "other")
    other(pinned(), str(tmp_path / "mirror"))
    assert (other.home / "a.bin").read_bytes() == BODY


def test_mirrors_come_before_the_official_address(run: Run, serve: Callable[[Handler], str]) -> None:
    asked = []
    official = serve(lambda web: (asked.append(web.path), good(web))[1])
    run(pinned(urls=[f"{official}/a"]), serve(good))
    assert not asked


def test_refused_connection_leads_on(run: Run, serve: Callable[[Handler], str]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    bad_then_good(run, f"http://127.0.0.1:{port}", serve)
    assert run.noticed("it is dead")


def test_connect_timeout_leads_on(run: Run, serve: Callable[[Handler], str]) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        bad_then_good(run, f"http://127.0.0.1:{full.getsockname()[1]}", serve)
        for one in crowd:
            one.close()
    assert run.noticed("it is dead: no ")


def test_silent_server_leads_on(run: Run, serve: Callable[[Handler], str]) -> None:
    bad_then_good(run, serve(lambda web: time.sleep(2)), serve)
    assert run.noticed("no answer within")


def trickle(web: BaseHTTPRequestHandler) -> None:
    web.send_response(200)
    web.end_headers()
    for at in range(0, len(BODY), 200):
        web.wfile.write(BODY[at : at + 200])
        time.sleep(0.02)


def test_slow_server_leads_on_and_its_bytes_are_kept(run: Run, serve: Callable[[Handler], str]) -> None:
    starts = []

    def note(web: BaseHTTPRequestHandler) -> None:
        starts.append(web.headers["Range"])
        ranged(web)

    run(pinned(), serve(trickle), serve(note))
    assert run.noticed("it is slow")
    assert starts[0] is not None and run.left() == ["a.bin"]


def test_the_only_address_may_be_slow(run: Run, serve: Callable[[Handler], str]) -> None:
    body = BODY[:6000]

    def sluggish(web: BaseHTTPRequestHandler) -> None:
        start = int((web.headers["Range"] or "bytes=0-")[6:-1])
        web.send_response(206 if start else 200)
        web.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        web.end_headers()
        for at in range(start, len(body), 200):
            web.wfile.write(body[at : at + 200])
            time.sleep(0.02)

    run(pinned(body), serve(sluggish))
    assert run.noticed("it is slow") and run.left() == ["a.bin"]


@pytest.mark.parametrize(
    ("lie", "notice"),
    [
        (lambda web: answer(web, b"x" * len(BODY)), "its sha256 starts with"),
        (lambda web: answer(web, b"<html>log in</html>"), "it announces 19 bytes"),
        (lambda web: answer(web, BODY + b"x"), "it announces 200,001 bytes"),
        (lambda web: answer(web, b"", 404), "it answers 404"),
        (lambda web: answer(web, b"", 403), "it answers 403"),
        (lambda web: answer(web, b"", 503), "it answers 503"),
        (lambda web: answer(web, b"", 302, Location="/again"), "TooManyRedirects"),
        (lambda web: answer(web, b"", 302, Location="file:///etc/passwd"), "InvalidSchema"),
        (lambda web: answer(web, gzip.compress(BODY), Content_Encoding="gzip"), "it announces"),
    ],
)
def test_lying_server_leads_on(run: Run, serve: Callable[[Handler], str], lie: Handler, notice: str) -> None:
    bad_then_good(run, serve(lie), serve)
    assert run.noticed(notice) and run.noticed("trying the next address")


def test_endless_body_is_cut(run: Run, serve: Callable[[Handler], str]) -> None:
    sent = [0]

    def endless(web: BaseHTTPRequestHandler) -> None:
        web.send_response(200)
        web.end_headers()
        while sent[0] < 50_000_000:
            web.wfile.write(b"x" * 65536)
            sent[0] += 65536

    bad_then_good(run, serve(endless), serve)
    assert run.noticed("it sends more than 200,000 bytes") and sent[0] < 50_000_000


@pytest.mark.parametrize("announced", [True, False])
def test_truncated_body_is_resumed(run: Run, serve: Callable[[Handler], str], announced: bool) -> None:
    starts = []

    def cut(web: BaseHTTPRequestHandler) -> None:
        starts.append(web.headers["Range"])
        if len(starts) > 1:
            return ranged(web)
        web.send_response(200)
        if announced:
            web.send_header("Content-Length", str(len(BODY)))
        web.end_headers()
        web.wfile.write(BODY[:70_000])

    run(pinned(), serve(cut))
    assert starts == [None, "bytes=70000-"] and run.left() == ["a.bin"]


def test_always_truncated_body_is_never_visible(run: Run, serve: Callable[[Handler], str]) -> None:
    def cut(web: BaseHTTPRequestHandler) -> None:
        web.send_response(200)
        web.end_headers()
        web.wfile.write(BODY[:100])

    with pytest.raises(FetchError, match="ended after 100 of 200,000 bytes"):
        run(pinned(), serve(cut))
    assert run.left() == ["a.bin.part"]


def partly(run: Run, body: bytes) -> None:
    run.home.mkdir(parents=True)
    (run.home / "a.bin.part").write_bytes(body)


def test_a_later_run_resumes(run: Run, serve: Callable[[Handler], str]) -> None:
    partly(run, BODY[:150_000])
    starts = []
    run(pinned(), serve(lambda web: (starts.append(web.headers["Range"]), ranged(web))[1]))
    assert starts == ["bytes=150000-"] and run.left() == ["a.bin"]


def test_server_that_ignores_range_starts_again(run: Run, serve: Callable[[Handler], str]) -> None:
    partly(run, BODY[:150_000])
    run(pinned(), serve(good))
    assert (run.home / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("part", [b"wrong" * 100, b"x" * len(BODY), b"x" * (len(BODY) + 5)])
def test_wrong_beginning_is_thrown_away(run: Run, serve: Callable[[Handler], str], part: bytes) -> None:
    partly(run, part)
    run(pinned(), serve(ranged))
    assert (run.home / "a.bin").read_bytes() == BODY and run.left() == ["a.bin"]


def test_another_range_than_asked_is_refused(run: Run, serve: Callable[[Handler], str]) -> None:
    partly(run, BODY[:1000])
    bad_then_good(run, serve(lambda web: answer(web, BODY[5:], 206, Content_Range="bytes 5-9/10")), serve)
    assert run.noticed("another range")


def test_here_and_verified_is_not_fetched_again(run: Run, serve: Callable[[Handler], str]) -> None:
    run(pinned(), serve(good))
    run.lines.clear()
    before = (run.home / "a.bin").stat().st_mtime_ns
    assert run(pinned()) == [run.home / "a.bin"]
    assert not run.lines and (run.home / "a.bin").stat().st_mtime_ns == before


def test_damaged_file_is_moved_aside_and_fetched_again(run: Run, serve: Callable[[Handler], str]) -> None:
    run(pinned(), serve(good))
    (run.home / "a.bin").write_bytes(b"!" + BODY[1:])
    run(pinned(), serve(good))
    assert run.noticed("is damaged") and run.left() == ["a.bin", "a.bin.corrupt"]
    assert (run.home / "a.bin").read_bytes() == BODY


def test_nothing_works_says_what_was_tried(run: Run, serve: Callable[[Handler], str], tmp_path: Path) -> None:
    bad = serve(lambda web: answer(web, b"", 404))
    secret = bad.replace("http://", "http://me:password@")
    with pytest.raises(FetchError) as caught:
        run(pinned(urls=[f"{bad}/official"]), str(tmp_path / "nowhere"), secret)
    message = str(caught.value)
    assert "tiny: a.bin" in message and "data.mirrors" in message and "\n" not in message
    assert "nowhere/tiny/a.bin: not there" in message and f"{bad}/official: it answers 404" in message
    assert "password" not in message and not run.noticed("password")
    assert run.left() == []


def test_dead_mirror_is_tried_and_noticed_once(run: Run, serve: Callable[[Handler], str]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    entry = pinned().model_dump()
    two = DataSet.model_validate(entry | {"files": [entry["files"][0], entry["files"][0] | {"name": "b.bin"}]})
    run(two, f"http://127.0.0.1:{port}", serve(good))
    assert run.left() == ["a.bin", "b.bin"] and sum("it is dead" in line for line in run.lines) == 1


def test_two_processes_do_not_write_one_part(run: Run, serve: Callable[[Handler], str]) -> None:
    partly(run, b"")
    with open(run.home / "a.bin.part", "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FetchError, match="Another process is fetching"):
            run(pinned(), serve(good))
    run(pinned(), serve(good))
    assert run.left() == ["a.bin"]


def test_progress_has_percent_and_rate_and_is_rare(run: Run, serve: Callable[[Handler], str]) -> None:
    def steady(web: BaseHTTPRequestHandler) -> None:
        web.send_response(200)
        web.end_headers()
        for at in range(0, len(BODY), 4000):
            web.wfile.write(BODY[at : at + 4000])
            time.sleep(0.005)

    run(pinned(), serve(steady))
    lines = [line for line in run.lines if "MB/s" in line]
    assert 1 <= len(lines) <= 20 and all(" % of 0.2 MB, " in line for line in lines)


def test_unknown_kind_of_mirror_is_refused(run: Run) -> None:
    with pytest.raises(FetchError, match=r"data\.mirrors: s3://bucket"):
        run(pinned(), "s3://bucket")


def test_unwritable_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FetchError, match="choose another data folder"):
        fetch(pinned(), tmp_path / "file", [], False, lambda line: None)


def test_unverified_set_needs_consent_and_is_noted(run: Run, serve: Callable[[Handler], str]) -> None:
    dataset = pinned(verified=False, sha256=None, md5=hashlib.md5(BODY).hexdigest())
    with pytest.raises(FetchError, match="`fedsift fetch tiny --accept-unverified`"):
        run(dataset, serve(good))
    run(dataset, serve(lambda web: answer(web, b"x" * len(BODY))), serve(good), accept=True)
    assert run.noticed("its md5 starts with") and run.left() == ["a.bin", "accepted.json"]
    run(dataset)  # consent was given: no server, no flag needed
    (run.home / "a.bin").write_bytes(b"!" + BODY[1:])
    with pytest.raises(DataFileError, match="not the pinned file"):
        read(dataset, run.folder)


def test_file_put_there_by_hand_is_not_trusted_silently(run: Run) -> None:
    dataset = pinned(verified=False, sha256=None)
    run.home.mkdir(parents=True)
    (run.home / "a.bin").write_bytes(BODY)
    with pytest.raises(DataFileError, match="unchecked"):
        read(dataset, run.folder)
    with pytest.raises(FetchError, match="accept-unverified"):
        run(dataset)
    run(dataset, accept=True)
    assert run.left() == ["a.bin", "accepted.json"]


def test_login_set_says_where_to_get_it_and_where_to_put_it(tmp_path: Path) -> None:
    dataset = catalog.get("imagenet32")
    with pytest.raises(FetchError) as caught:
        fetch(dataset, tmp_path, [], True, lambda line: None)
    message = str(caught.value)
    for part in (
        "image-net.org",
        "Imagenet32_train_npz.zip",
        str(tmp_path / "raw" / "imagenet32"),
        "data.mirrors",
    ):
        assert part in message


# Archives


def tar_of(*entries: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                tar.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                tar.addfile(info, io.BytesIO(entry[1]))
    return packed.getvalue()


def zip_of(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, body in entries:
            zipped.writestr(name, body)
    return packed.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def packed_set(archive: bytes, name: str, url: str, member: str = "in/a.bin", **change: Any) -> DataSet:
    pin = {"name": name, "size": len(archive), "urls": [f"{url}/{name}"]}
    return pinned(archives=[pin], archive=name, member=member, **change)


@pytest.mark.parametrize(
    ("name", "archive", "member"),
    [
        ("x.tar.gz", tar_of(("in/readme", b"hello"), ("in/a.bin", BODY)), "in/a.bin"),
        ("x.zip", zip_of(("in/readme", b"hello"), ("in/a.bin", BODY)), "in/a.bin"),
        ("x.zip", zip_of(("in/a.bin.gz", gzip.compress(BODY))), "in/a.bin.gz"),
    ],
)
def test_pinned_member_is_taken_out(
    run: Run, serve: Callable[[Handler], str], name: str, archive: bytes, member: str, tmp_path: Path
) -> None:
    run(packed_set(archive, name, serve(lambda web: answer(web, archive)), member))
    assert (run.home / "a.bin").read_bytes() == BODY and run.left() == ["a.bin"]
    # The same archive in a mirror folder.
    (tmp_path / "mirror" / "tiny").mkdir(parents=True)
    (tmp_path / "mirror" / "tiny" / name).write_bytes(archive)
    other = Run(tmp_path / "other")
    other(packed_set(archive, name, "http://127.0.0.1:9", member), str(tmp_path / "mirror"))
    assert other.left() == ["a.bin"] and (tmp_path / "mirror" / "tiny" / name).exists()


HOSTILE = {
    "absolute": (tar_of(("/tmp/evil", b"x"), ("in/a.bin", BODY)), "unsafe name"),
    "dots": (tar_of(("../evil", b"x"), ("in/a.bin", BODY)), "unsafe name"),
    "inner dots": (tar_of(("in/../../evil", b"x"), ("in/a.bin", BODY)), "unsafe name"),
    "link as member": (tar_of(link("in/a.bin", "/etc/passwd")), "a link or a device"),
    "link as folder": (tar_of(link("in", "/tmp"), ("in/a.bin", BODY)), "a link or a device"),
    "hard link": (tar_of(link("in/a.bin", "other", tarfile.LNKTYPE)), "a link or a device"),
    "pipe": (tar_of(link("in/a.bin", "", tarfile.FIFOTYPE)), "a link or a device"),
    "folder as member": (tar_of(link("in/a.bin", "", tarfile.DIRTYPE)), "not a regular file"),
    "member bomb": (tar_of(("in/a.bin", bytes(20_000_000))), "unpacks to more than 200,000"),
    "skipped bomb": (
        tar_of(("in/zero", bytes(100_000_000)), ("in/a.bin", BODY)),
        "far more than its members",
    ),
    "wrong member": (tar_of(("in/a.bin", b"x" * len(BODY))), "member in/a.bin is wrong: its sha256"),
    "short member": (tar_of(("in/a.bin", BODY[:9])), "member in/a.bin is wrong: it has 9 bytes"),
    "lacking": (tar_of(("in/b.bin", BODY)), "lacks in/a.bin"),
    "twice": (tar_of(("in/a.bin", BODY), ("in/a.bin", BODY)), "twice"),
    "cut": (tar_of(("in/a.bin", BODY))[:-50_000], "damaged"),
    "no archive": (b"x" * 500, "damaged"),
    "zip absolute": (zip_of(("/tmp/evil", b"x"), ("in/a.bin", BODY)), "unsafe name"),
    "zip dots": (zip_of(("../evil", b"x"), ("in/a.bin", BODY)), "unsafe name"),
    "zip backslash": (zip_of(("..\\evil", b"x"), ("in/a.bin", BODY)), "unsafe name"),
    "zip link": (zip_of((zip_link("in/a.bin"), b"/etc/passwd")), "a link or a device"),
    "zip bomb": (zip_of(("in/a.bin", bytes(20_000_000))), "unpacks to more than 200,000"),
    "zip lacking": (zip_of(("in/b.bin", BODY)), "lacks in/a.bin"),
    "zip cut": (zip_of(("in/a.bin", BODY))[:-30], "damaged"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archive_is_refused(run: Run, serve: Callable[[Handler], str], case: str, tmp_path: Path) -> None:
    archive, reason = HOSTILE[case]
    name = "x.zip" if case.startswith("zip") else "x.tar.gz"
    with pytest.raises(FetchError, match=reason):
        run(packed_set(archive, name, serve(lambda web: answer(web, archive))))
    assert run.left() == [] and not (tmp_path / "evil").exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_gzip_inside_zip_is_bounded(run: Run, serve: Callable[[Handler], str]) -> None:
    archive = zip_of(("in/a.bin.gz", gzip.compress(bytes(50_000_000))))
    with pytest.raises(FetchError, match="unpacks to more than 200,000"):
        run(packed_set(archive, "x.zip", serve(lambda web: answer(web, archive)), "in/a.bin.gz"))
    assert run.left() == []
