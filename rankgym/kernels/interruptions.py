"""Ctrl-C while numba compiles: it waits until the compiler is done."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interruptions_held() -> Iterator[None]:
    """Context manager: Ctrl-C and SIGTERM are heard at the end of the block, a second one at once.

    The compiler calls Python from C, where a KeyboardInterrupt is printed and lost. Numba then fails on what the
    callback did not do ("no compiled object yet"), or keeps half a function. If a signal came, its handler is called
    at the end, even if the block fails: the interruption wins over an error that it may have caused. Threads other than
    the main one never get signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}

    def hold(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))
        if len(came) > 1:
            handlers[signal.Signals(number)](number, frame)

    try:
        for number in handlers:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            handlers[signal.Signals(came[0][0])](*came[0])
