"""Download a file within limits of size, rate and time.

The file is kept in memory until all of it is there: a download that fails, or whose process is killed, leaves nothing
behind. The data is received in a thread, as a server that sends one byte now and then, or whose name is never resolved,
keeps a plain call waiting for as long as it likes.
"""

import contextlib
import os
import socket
import threading
import time
from typing import Any
from urllib.parse import urljoin

from rankgym.data.errors import DownloadFailed
from rankgym.progress import bars_of

SERVER_TIMEOUT = 30.0  # seconds for the connection, and between two pieces
MOST_SECONDS = 600.0  # for a file
LEAST_RATE = 1_000  # bytes a second, on the average of
RATE_SECONDS = 30.0
MARGIN = 100_000  # bytes beyond the published size: somewhat larger files are received, and refused by their digest
MOST_BYTES = 20_000_000  # of a file whose size is not known
MOST_REDIRECTS = 5
PIECE = 1 << 14  # bytes received at once
POLL_SECONDS = 0.05


def download(address: str, size: int | None, bar: "Bar | None" = None) -> bytes:
    """Return the bytes that a server sends.

    Args:
        address: beginning with http:// or https://.
        size: of the published file in bytes; None: not known.
        bar: shows what was received.

    Raises:
        DownloadFailed: the server could not be reached, did not send the whole file, sends more than ``size`` and a
            margin (``MOST_BYTES`` without a size), or is too slow.
    """
    session = _session()  # before the clock starts, as it imports much
    most = MOST_BYTES if size is None else size + MARGIN
    transfer = _Transfer(session, address, most)
    transfer.start()
    begin = mark = time.monotonic()
    before = shown = 0
    try:
        while transfer.is_alive():
            transfer.join(POLL_SECONDS)
            now, received = time.monotonic(), len(transfer.data)
            if bar is not None and received > shown:
                bar.total = transfer.total
                bar.update(received - shown)
                shown = received
            if now - begin > MOST_SECONDS:
                raise DownloadFailed(f"it took longer than {MOST_SECONDS:g} seconds, the most that is allowed")
            if now - mark > RATE_SECONDS:
                if received - before < LEAST_RATE * RATE_SECONDS:
                    slow = f"the server was too slow for {RATE_SECONDS:g} seconds"
                    raise DownloadFailed(f"{slow}; allowed: at least {LEAST_RATE:,} bytes a second")
                mark, before = now, received
    finally:
        transfer.stop()
    if transfer.error is not None:
        raise DownloadFailed(str(transfer.error) or type(transfer.error).__name__) from None
    return bytes(transfer.data)


def _session() -> Any:
    import requests

    class Session(requests.Session):
        """Does not look for redirects itself: it would read their bodies, however long, into memory."""

        def get_redirect_target(self, resp: Any) -> None:
            return None

    return Session()


class _Transfer(threading.Thread):
    """Receives a file. ``stop`` ends it from another thread, even while it waits for the server."""

    def __init__(self, session: Any, address: str, most: int) -> None:
        super().__init__(daemon=True, name="rankgym-download")
        self.session, self.address, self.most = session, address, most
        self.data = bytearray()
        self.total: int | None = None  # bytes that the server announced
        self.error: Exception | None = None
        self._answer: Any = None
        self._stopped = False

    def run(self) -> None:
        try:
            with self.session:
                self._receive()
        except Exception as error:  # of sockets, TLS, proxies, addresses: whatever it is, there is no file
            self.error = error

    def _receive(self) -> None:
        with self._opened() as answer:
            length = answer.headers.get("Content-Length", "")
            self.total = int(length) if length.isascii() and length.isdecimal() and len(length) < 19 else None
            if self.total is not None and self.total > self.most:
                raise OSError(f"the server announces {self.total} bytes; allowed: at most {self.most}")
            while not self._stopped and (piece := answer.raw.read(PIECE, decode_content=False)):
                self.data += piece
                if len(self.data) > self.most:
                    raise OSError(f"the server sends more than {self.most} bytes; allowed: at most {self.most}")
            if self.total is not None and len(self.data) < self.total:
                raise OSError(f"the connection ended after {len(self.data)} of {self.total} bytes")

    def _opened(self) -> Any:
        """The answer to the request, after redirects."""
        address = self.address
        for _ in range(MOST_REDIRECTS + 1):
            plain = {"Accept-Encoding": "identity"}  # else a few bytes could unpack to gigabytes
            answer = self.session.get(
                address, headers=plain, stream=True, allow_redirects=False, timeout=SERVER_TIMEOUT
            )
            self._answer = answer
            if not answer.is_redirect:
                try:
                    answer.raise_for_status()
                except BaseException:
                    answer.close()
                    raise
                return answer
            address = urljoin(address, answer.headers["Location"])
            answer.close()
        raise OSError(f"the server redirects more than {MOST_REDIRECTS} times")

    def stop(self) -> None:
        """End the transfer: its connection is shut down, so that the thread wakes up and closes it."""
        self._stopped = True
        if self.is_alive() and self._answer is not None:
            with contextlib.suppress(OSError, ValueError, AttributeError):  # it was closed meanwhile
                _shut_down(self._answer.raw.fileno())
            self.join(1.0)


def _shut_down(number: int) -> None:
    """Shut down the connection of a file descriptor, which stays open."""
    with socket.socket(fileno=os.dup(number)) as connection:
        connection.shutdown(socket.SHUT_RDWR)


class Bar:
    """A progress bar of bytes, drawn by rich."""

    def __init__(self, name: str) -> None:
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.bars = bars_of(*columns, transient=True)
        self.task = self.bars.add_task(name, total=None)
        self.total: int | None = None

    def __enter__(self) -> "Bar":
        self.bars.start()
        return self

    def update(self, size: int) -> None:
        """Add received bytes."""
        self.bars.update(self.task, total=self.total, advance=size)

    def __exit__(self, *_: Any) -> None:
        self.bars.stop()
