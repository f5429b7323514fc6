"""Progress bars. Their library is imported when one is shown, not before."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["PATIENCE", "AgentBars", "count_bar", "late_bar", "rate_bar", "short_number", "working"]

PATIENCE = 2.0  # seconds: nothing shorter gets a bar


def rate_bar(unit: str, *, news: bool = False, console: Any = None) -> Any:
    """A ``rich.progress.Progress`` of ``unit`` with their rate and the time left, on standard error by default.

    With ``news`` tasks have a field of this name, a text that is shown behind.
    """
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
            return Text("" if speed is None else f"{speed:,.0f} {unit}/s", style="progress.data.speed")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16 if news else 40),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(compact=news),
        *([TextColumn("{task.fields[news]}", markup=False)] if news else []),
        console=console or Console(stderr=True),
        speed_estimate_period=30.0 if news else 5.0,
    )


class late_bar:
    """Context manager: yields a function to report finished parts to, and shows a bar if all take over 2 seconds.

    Args:
        progress: whether to show a bar; or the caller's own function, which is yielded as it is.
        total: number of parts.
        task: the bar's description.
        make_bar: makes a ``rich.progress.Progress``, or returns None for no bar.
    """

    def __init__(
        self, progress: bool | Callable[[int], None], total: int, task: str, make_bar: Callable[[], Any]
    ) -> None:
        self.progress, self.total, self.task, self.make_bar = progress, total, task, make_bar
        self.done, self.start = 0, time.perf_counter()
        self.late = False
        self.bar: Any = None

    def __enter__(self) -> Callable[[int], None]:
        if callable(self.progress):
            return self.progress
        return self._advance if self.progress else lambda finished: None

    def _advance(self, finished: int) -> None:
        self.done += finished
        spent = time.perf_counter() - self.start
        if not self.late and spent > PATIENCE / 4 and spent * self.total / self.done > PATIENCE:
            self.late, self.bar = True, self.make_bar()
            if self.bar is not None:
                self.bar.add_task(self.task, total=self.total)
                self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()


class AgentBars:
    """A context that shows one bar an agent on standard error, or (``shown=False``) none.

    A bar counts rounds averaged over the agent's rows, so that blocks of rows may come in any order, from any process.
    ``unit`` is what a row has one of in a round: "sessions" or "duels".
    """

    def __init__(
        self,
        agents: Iterable[str],
        rows: int,
        rounds: int,
        *,
        unit: str = "sessions",
        shown: bool = True,
        console: Any = None,
    ) -> None:
        self.agents, self.rows, self.rounds = list(agents), rows, rounds
        self.bars: Any = _sessions_bars(self.agents, rows, rounds, unit, console) if shown else None
        self.tasks: dict[str, Any] = {}

    def __enter__(self) -> AgentBars:
        if self.bars is not None:
            sessions = self.rows * self.rounds
            self.tasks = {
                agent: self.bars.add_task(agent, total=sessions, start=False, played=0, seconds=0.0)
                for agent in self.agents
            }
            self.bars.start()
        return self

    def advance(self, agent: str, sessions: int) -> None:
        """``sessions`` more of the agent's were played."""
        if self.bars is not None:
            self.bars.start_task(self.tasks[agent])
            task = self.bars.tasks[self.tasks[agent]]
            self.bars.update(task.id, advance=sessions, played=task.fields["played"] + sessions)

    def took(self, agent: str, seconds: float) -> None:
        """A block of the agent's rows is done, and took so long in its process."""
        if self.bars is not None:
            task = self.bars.tasks[self.tasks[agent]]
            self.bars.update(task.id, seconds=task.fields["seconds"] + seconds)

    def kept(self, agent: str, rows: int) -> None:
        """So many of the agent's rows need not be played: their results are there."""
        if self.bars is not None and rows:
            if rows == self.rows:
                self.bars.start_task(self.tasks[agent])
            self.bars.update(self.tasks[agent], completed=rows * self.rounds)

    def __exit__(self, *_: Any) -> None:
        if self.bars is not None:
            self.bars.stop()


def _sessions_bars(agents: list[str], rows: int, rounds: int, unit: str, console: Any) -> Any:
    """A ``rich.progress.Progress`` of sessions: rounds of all rows, with the time left, and what has room of bar and
    rates, of which that of sessions has the word ``unit``. Names are folded, no number is cut."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class RoundsColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            done, total = int(task.completed) // rows, int(task.total or 0) // rows
            return Text(f"{done:,}/{total:,}", style="progress.download")

    class RateColumn(ProgressColumn):
        def __init__(self, unit: str, sessions: int) -> None:
            super().__init__(Column(justify="right", no_wrap=True))
            self.unit, self.sessions = unit, sessions

        def render(self, task: Task) -> Text:
            # not rich's speed: news comes in bursts from other processes; when all is done, what the table has
            played, elapsed = task.fields["played"], task.elapsed or 0.0
            seconds = task.fields["seconds"] if task.finished else elapsed if elapsed > PATIENCE / 4 else 0.0
            text = f"{short_number(played / seconds / self.sessions)} {self.unit}/s" if played and seconds else ""
            return Text(text, style="progress.data.speed")

    console = console or Console(stderr=True)
    room = console.width - max(map(len, agents), default=0) - len(f"{rounds:,}/{rounds:,}") - 10
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold")),
        *([BarColumn(bar_width=16)] if room >= 35 else []),
        RoundsColumn(Column(justify="right", no_wrap=True)),
        *([RateColumn("rounds", rows)] if room >= 50 else []),
        *([RateColumn(unit, 1)] if room >= 18 else []),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=console,
        speed_estimate_period=10.0,
    )


def count_bar(unit: str, *, console: Any = None) -> Any:
    """A ``rich.progress.Progress`` of a single count, with its time left, on standard error by default."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console or Console(stderr=True), transient=True)


def working(what: str, *, shown: bool = True) -> Any:
    """A context that says on standard error what is being done, as long as it lasts."""
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
