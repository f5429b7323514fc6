"""Progress bars. Their library is imported when one is shown, not before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["rounds_bar", "told"]

PATIENCE = 2.0  # seconds: nothing shorter gets a bar


def rounds_bar(console: Any = None) -> Any:
    """A ``rich.progress.Progress`` of rounds with their rate and the time left, on standard error by default."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} rounds/s", style="progress.data.speed")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), RateColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console or Console(stderr=True), speed_estimate_period=5.0)


class told:
    """A context that gives a function to report played rounds to: the caller's own, a bar's, or nobody's."""

    def __init__(self, progress: bool | Callable[[int], None], rounds: int) -> None:
        self.progress, self.rounds = progress, rounds
        self.played, self.start = 0, time.perf_counter()
        self.bar: Any = None

    def __enter__(self) -> Callable[[int], None]:
        if callable(self.progress):
            return self.progress
        return self._advance if self.progress else lambda played: None

    def _advance(self, played: int) -> None:
        self.played += played
        spent = time.perf_counter() - self.start
        if self.bar is None and spent > PATIENCE / 4 and spent * self.rounds / self.played > PATIENCE:
            self.bar = rounds_bar()
            self.bar.add_task("simulate", total=self.rounds)
            self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.played)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()
