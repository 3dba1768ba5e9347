"""SHA-256 of files, remembered by the file's clock, size and place, so that a second look costs no reading."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from fedsift.files import sha256, write_text

PLACE = Path(".fedsift/hashes.json")


class Hashes:
    """The digests of files that were asked for, kept from one process to the next."""

    def __init__(self, place: Path = PLACE) -> None:
        self.place = place
        self._known = _read(place)
        self._asked: dict[str, tuple[list[int], str]] = {}

    def of(self, path: str, size: int | None = None) -> str | None:
        """Hex digest; None where no such file can be read, or it is not of this ``size`` (then nothing is read)."""
        try:
            found = Path(path).stat()
            if not stat.S_ISREG(found.st_mode) or size not in (None, found.st_size):
                return None
            # st_ctime cannot be set by hand: bytes that change under the old mtime are seen.
            clock = [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]
            if path not in self._asked or self._asked[path][0] != clock:
                known = self._known.get(path)
                self._asked[path] = known if known and known[0] == clock else (clock, sha256(path))
        except OSError:
            return None
        return self._asked[path][1]

    def save(self) -> None:
        """Keep what is known for the next process."""
        known = self._known | self._asked
        if known != self._known:
            write_text(self.place, json.dumps(known, sort_keys=True), durable=False)


def _read(place: Path) -> dict[str, tuple[list[int], str]]:
    """What an earlier process left; a file that is damaged costs only time."""
    try:
        return {path: (clock, digest) for path, (clock, digest) in json.loads(place.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
