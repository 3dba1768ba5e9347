"""One file from one http address: resumed, bounded in size, rate and time, and verified."""

import fcntl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import requests
import urllib3
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from fedsift.data.catalog import Download
from fedsift.data.raw import mismatch
from fedsift.errors import FedsiftError

BLOCK = 1 << 16


class FetchError(FedsiftError):
    """A data set cannot be had."""


class Unusable(Exception):
    """This address cannot serve the file; ``str(error)`` is the reason. The next address may."""


class Dead(Unusable):
    """Nobody answers at this host."""


class Slow(Unusable):
    """The address delivers, but below the minimum rate."""


class Broken(Unusable):
    """The transfer broke off; the same address may do better in a moment."""


@dataclass(frozen=True)
class Limits:
    """When to give up on an address. Times in seconds, rates in bytes a second."""

    connect: float = 10.0  # to open a connection
    stall: float = 30.0  # without a single byte
    window: float = 20.0  # over which the rate is measured
    slowest: float = 50_000.0
    attempts: int = 4  # broken transfers in a row from one address
    pause: float = 1.0  # before the second attempt; doubles
    report_every: float = 2.0


Progress = Callable[[int], None]


def session() -> requests.Session:
    """A session that follows few redirects and never retries by itself: ``download`` does, and resumes."""
    made = requests.Session()
    made.max_redirects = 5
    # "identity", because the hashes are those of the files as stored, not as a server packs them for the way.
    made.headers.update({"Accept-Encoding": "identity", "User-Agent": "fedsift"})
    return made


def download(
    url: str,
    part: Path,
    item: Download,
    web: requests.Session,
    limits: Limits,
    slowest: float,
    progress: Progress,
) -> None:
    """Bring the bytes of ``item`` to ``part``, going on from what ``part`` holds already.

    On return ``part`` is verified. Raises Unusable (or a subclass); what came so far stays in ``part``,
    unless it is wrong.
    """
    resumed = part.exists()
    _transfer(url, part, item, web, limits, slowest, progress)
    problem = mismatch(part, item)
    if problem and resumed:
        # The first bytes may come from another address that lied: this one deserves a fair try.
        part.unlink()
        _transfer(url, part, item, web, limits, slowest, progress)
        problem = mismatch(part, item)
    if problem:
        part.unlink()
        raise Unusable(problem)


def _transfer(
    url: str,
    part: Path,
    item: Download,
    web: requests.Session,
    limits: Limits,
    slowest: float,
    progress: Progress,
) -> None:
    retrying = Retrying(
        retry=retry_if_exception_type(Broken),
        stop=stop_after_attempt(limits.attempts),
        wait=wait_exponential(multiplier=limits.pause, max=30),
        reraise=True,
    )
    for attempt in retrying:
        with attempt, open(part, "ab") as out:
            lock(out, part)
            if part.stat().st_size > item.cap:
                out.truncate(0)
            if item.size is None or part.stat().st_size < item.size:
                _attempt(url, out, item, web, limits, slowest, progress)


def lock(out: BinaryIO, part: Path) -> None:
    """Refuse to write into a file that another process is writing."""
    try:
        fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FetchError(
            f"Another process is fetching {part}: wait until it has ended and run the command again."
        ) from error
    except OSError:
        pass  # some network file systems have no locks; the hash still decides


def _attempt(
    url: str,
    out: BinaryIO,
    item: Download,
    web: requests.Session,
    limits: Limits,
    slowest: float,
    progress: Progress,
) -> None:
    offset = out.seek(0, 2)
    with _ask(url, offset, web, limits) as response:
        status = response.status_code
        if status == 416 and offset:
            out.truncate(0)
            raise Broken("it has no bytes beyond the part that is here already")
        if status == 429 or status >= 500:
            raise Broken(f"it answers {status}")
        if status not in (200, 206):
            raise Unusable(f"it answers {status}")
        if status == 206 and not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
            raise Unusable("it sends another range than was asked for")
        if status == 200:
            offset = out.truncate(0)
        _announced(response.headers.get("Content-Length", ""), offset, item)
        _stream(response, out, offset, item, limits, slowest, progress)


def _ask(url: str, offset: int, web: requests.Session, limits: Limits) -> requests.Response:
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    try:
        return web.get(url, headers=headers, stream=True, timeout=(limits.connect, limits.stall))
    except requests.ConnectTimeout as error:
        raise Dead(f"it is dead: no connection within {limits.connect:g} s") from error
    except requests.ReadTimeout as error:
        raise Dead(f"it is dead: no answer within {limits.stall:g} s") from error
    except requests.exceptions.SSLError as error:
        raise Unusable("its certificate cannot be verified") from error
    except requests.ConnectionError as error:
        reason = error.args[0] if error.args else error
        if isinstance(getattr(reason, "reason", None), urllib3.exceptions.NewConnectionError):
            raise Dead("it is dead: no connection") from error
        raise Broken("the connection broke off") from error
    except requests.RequestException as error:
        raise Unusable(f"it cannot be read ({type(error).__name__})") from error


def _announced(length: str, offset: int, item: Download) -> None:
    """Refuse a wrong length before a single byte of it is read."""
    if not length.isdigit():
        return
    total = offset + int(length)
    if item.size is not None and total != item.size:
        raise Unusable(f"it announces {total:,} bytes instead of {item.size:,}")
    if total > item.cap:
        raise Unusable(f"it announces {total:,} bytes, more than the {item.cap:,} allowed")


def _stream(
    response: requests.Response,
    out: BinaryIO,
    done: int,
    item: Download,
    limits: Limits,
    slowest: float,
    progress: Progress,
) -> None:
    began, before = time.monotonic(), done
    while True:
        try:
            # read1 returns what is there: read would wait for a full block and hide a trickle.
            block = response.raw.read1(BLOCK, decode_content=False)
        except urllib3.exceptions.ReadTimeoutError as error:
            raise Broken(f"it stopped sending for {limits.stall:g} s") from error
        except urllib3.exceptions.HTTPError as error:
            raise Broken(f"the transfer broke off after {done:,} bytes") from error
        if not block:
            break
        if done + len(block) > item.cap:
            out.truncate(0)
            raise Unusable(f"it sends more than {item.cap:,} bytes")
        out.write(block)
        done += len(block)
        progress(done)
        if (passed := time.monotonic() - began) >= limits.window:
            if (rate := (done - before) / passed) < slowest:
                raise Slow(f"it is slow: {rate / 1000:.1f} kB/s")
            began, before = time.monotonic(), done
    if item.size is not None and done < item.size:
        raise Broken(f"the transfer ended after {done:,} of {item.size:,} bytes")
