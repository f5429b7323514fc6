"""Progress bars. Their library is imported when one is shown, not before."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 2.0  # seconds: nothing shorter gets a bar


def rate_bar(unit: str, *, note: bool = False) -> Any:
    """A ``rich.progress.Progress`` that counts ``unit``, with rate and time left, on standard error.

    With ``note``, tasks have a field of this name: a text that is shown at the end of the line.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} {unit}/s", style="progress.data.speed")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16 if note else 40),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(compact=note),
        *([TextColumn("{task.fields[note]}", markup=False)] if note else []),
        console=Console(stderr=True),
        speed_estimate_period=30.0 if note else 5.0,
    )


class late_bar:
    """Context manager: yields a function to report finished parts to, and shows a bar if all take over 2 seconds.

    ``progress`` may be a function of the caller's own, which is yielded as it is. ``make`` makes a
    ``rich.progress.Progress``, or returns None for no bar.
    """

    def __init__(self, progress: bool | Callable[[int], None], total: int, task: str, make: Callable[[], Any]) -> None:
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
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    counts = (MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *counts)
    return Progress(*columns, console=Console(stderr=True), transient=True)


def working(what: str, *, shown: bool = True) -> Any:
    """Context manager that shows on standard error what is being done."""
    if not shown:
        return contextlib.nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{what} ...")


def short_number(number: float) -> str:
    """Three significant digits: 1.23M, 45.6k, 789."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}" if number < 999.5 * size else f"{number / size:,.0f}{letter}"
    return f"{number:.3g}"
