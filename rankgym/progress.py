"""Progress bars. Their library is imported when one is shown, not before."""

import contextlib
import io
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

PATIENCE = 2.0  # seconds: nothing shorter gets a bar
REWRITE_SECONDS = 1.0  # between updates of a line in a notebook, whose file keeps all of them
NOTEBOOK_WIDTH = 100  # columns


def without_widgets() -> bool:
    """Return whether this is a notebook's kernel without ipywidgets, in which rich shows warnings and no bars."""
    from rich.console import Console

    return Console(stderr=True).is_jupyter and find_spec("ipywidgets") is None


def error_console() -> Any:
    """Return a ``rich.console.Console`` on standard error; in a notebook without ipywidgets, it prints plain text."""
    from rich.console import Console

    return Console(stderr=True, force_jupyter=False if without_widgets() else None)


class RewrittenLine:
    """A line on standard error that is written over, by a carriage return: what every notebook can show."""

    def __init__(self) -> None:
        self.shown, self.written = "", -REWRITE_SECONDS

    def write(self, text: str, *, at_once: bool = False) -> None:
        """Replace the line, unless that was done within the last second."""
        now = time.monotonic()
        if at_once or now - self.written >= REWRITE_SECONDS:
            print("\r" + text.ljust(len(self.shown)), end="", file=sys.stderr, flush=True)
            self.shown, self.written = text, now

    def close(self) -> None:
        """End the line, if there is one."""
        if self.shown:
            print(file=sys.stderr, flush=True)
            self.shown = ""


class LineOfProgress:
    """The text of a ``rich.progress.Progress`` with one task in a ``RewrittenLine``. It has the methods used here."""

    def __init__(self, bars: Any) -> None:
        from rich.console import Console

        self.bars, self.line = bars, RewrittenLine()
        self.console = Console(file=io.StringIO(), width=NOTEBOOK_WIDTH, force_jupyter=False, color_system=None)

    @property
    def task_ids(self) -> list[Any]:
        return list(self.bars.task_ids)

    def add_task(self, description: str, **fields: Any) -> Any:
        return self.bars.add_task(description, **fields)

    def start(self) -> None:
        self._write(at_once=True)

    def update(self, task: Any, **fields: Any) -> None:
        self.bars.update(task, **fields)
        self._write()

    def reset(self, task: Any) -> None:
        self.bars.reset(task)

    def stop(self) -> None:
        self._write(at_once=True)
        self.line.close()

    def _write(self, *, at_once: bool = False) -> None:
        with self.console.capture() as captured:
            self.console.print(self.bars.get_renderable())
        self.line.write(" ".join(captured.get().split("\n")).strip(), at_once=at_once)


def bars_of(*columns: Any, **options: Any) -> Any:
    """Return a ``rich.progress.Progress`` of these columns on standard error, or what shows it in a bare notebook."""
    from rich.progress import Progress

    console = error_console()
    if without_widgets():
        return LineOfProgress(Progress(*columns, console=console, auto_refresh=False, **options))
    return Progress(*columns, console=console, **options)


def rate_bar(unit: str, *, note: bool = False) -> Any:
    """A ``rich.progress.Progress`` that counts ``unit``, with rate and time left, on standard error.

    With ``note``, tasks have a field of this name: a text that is shown at the end of the line.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} {unit}/s", style="progress.data.speed")

    return bars_of(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16 if note else 40),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(compact=note),
        *([TextColumn("{task.fields[note]}", markup=False)] if note else []),
        speed_estimate_period=30.0 if note else 5.0,
    )


class late_bar:
    """Context manager: yields a function to report finished parts to, and shows a bar if all take over 2 seconds.

    ``progress`` may be a function of the caller's own, which is yielded as it is. ``make`` makes a
    ``rich.progress.Progress``, or returns None for no bar. A ValueError names ``progress`` if it is something else.
    """

    def __init__(self, progress: bool | Callable[[int], None], total: int, task: str, make: Callable[[], Any]) -> None:
        import numpy as np  # not above: completion in shells, which has no time for it, imports this file

        if not callable(progress) and not isinstance(progress, (bool, np.bool_)):
            raise ValueError(f"progress = {progress!r} is out of range; allowed: True, False, or a function")
        self.progress, self.total, self.task, self.make = progress, total, task, make
        self.done, self.start, self.late = 0, time.perf_counter(), False
        self.bar: Any = None

    def __enter__(self) -> Callable[[int], None]:
        if callable(self.progress):
            return self.progress
        return self._advance if self.progress else lambda finished: None

    def _advance(self, finished: int) -> None:
        self.done += finished
        spent = time.perf_counter() - self.start
        if not self.late and spent > PATIENCE / 4 and spent * self.total / self.done > PATIENCE:
            self.late, self.bar = True, self.make()
            if self.bar is not None:
                self.bar.add_task(self.task, total=self.total)
                self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()


def count_bar(unit: str) -> Any:
    """A ``rich.progress.Progress`` of a single count, with the time left, on standard error."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    counts = (MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *counts)
    return bars_of(*columns, transient=True)


def working(what: str, *, shown: bool = True) -> Any:
    """Context manager that shows on standard error what is being done."""
    if not shown:
        return contextlib.nullcontext()
    if without_widgets():
        return contextlib.nullcontext(print(f"{what} ...", file=sys.stderr))
    return error_console().status(f"{what} ...")


def short_number(number: float) -> str:
    """Three significant digits: 1.23M, 45.6k, 789."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}" if number < 999.5 * size else f"{number / size:,.0f}{letter}"
    return f"{number:.3g}"
