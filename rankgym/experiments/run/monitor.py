"""What is shown of a running sweep: bars on a terminal, a line now and then elsewhere, and the time that is left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from rankgym.experiments.plan.jobs import Job
from rankgym.progress import _short

__all__ = ["Estimate", "Monitor", "duration"]

FIRST = 60.0  # seconds after which the time that is left can be told
LONGEST = 900.0  # seconds that a rate is an average over
LINES = 60.0  # seconds between lines where there is no terminal


def duration(seconds: float) -> str:
    """In two units at most: 2 d 3 h, 3 h 12 min, 4 min 20 s, 12 s."""
    whole = max(0, round(seconds))
    for size, unit, small, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small} {part}"
    return f"{whole} s"


class Estimate:
    """How fast something goes, and how long it will take: by its last minutes, as what is slow may come first."""

    def __init__(self, now: float) -> None:
        self.begun = now
        self.samples: deque[tuple[float, float]] = deque([(now, 0.0)])

    def add(self, now: float, done: float) -> None:
        """``done`` of it so far, since the beginning."""
        window = min(max(FIRST, (now - self.begun) / 3), LONGEST)
        self.samples.append((now, done))
        while len(self.samples) > 2 and now - self.samples[1][0] >= window:
            self.samples.popleft()

    @property
    def rate(self) -> float | None:
        """A second; None: not known yet."""
        (begin, before), (end, after) = self.samples[0], self.samples[-1]
        return (after - before) / (end - begin) if end - begin > 1 and after > before else None

    def left(self, rest: float) -> float | None:
        """Seconds for ``rest`` more; None until there is a minute to go by."""
        if self.samples[-1][0] - self.begun < FIRST or self.rate is None:
            return None
        return rest / self.rate


class Monitor:
    """A context that shows how far jobs are, on standard error, or (``shown=False``) nothing.

    Args:
        jobs: all of the sweep's.
        finished: keys of those that were there before.
        workers: how many jobs are played at once, about.
        shown: whether to.
    """

    def __init__(
        self, jobs: Sequence[Job], finished: set[str], *, shown: bool = True, console: Any = None, clock: Any = None
    ) -> None:
        self.clock = clock or time.monotonic
        self.jobs = {job.key: job for job in jobs}
        self.total = sum(job.sessions for job in self.jobs.values())
        self.before = sum(self.jobs[key].sessions for key in finished)
        self.finished = set(finished)
        self.begun: dict[str, int] = {}  # sessions of jobs that a checkpoint had, which nobody waited for
        self.overall = Estimate(self.clock())
        self.each: dict[str, Estimate] = {}
        self.done = self.before
        self.running: dict[str, int] = {}
        self.told = self.clock()
        self.shown = shown
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}
        if shown:
            from rich.console import Console

            self.console = console or Console(stderr=True)

    def __enter__(self) -> Monitor:
        if self.shown and self.console.is_terminal:
            self.bars = _bars(self.console)
            self.tasks[""] = self.bars.add_task("all", total=self.total, completed=self.before, news="")
            self.bars.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bars is not None:
            self.bars.stop()

    def say(self, text: str, style: str = "") -> None:
        """A line above the bars."""
        if self.shown:
            from rich.text import Text

            self.console.print(Text(text, style), soft_wrap=True)

    def update(self, sessions: Mapping[str, int], finished: set[str]) -> None:
        """How many sessions jobs have played that are running now, and which are finished."""
        now = self.clock()
        self.finished |= finished
        self.running = {key: number for key, number in sessions.items() if key not in self.finished}
        for key, number in self.running.items():
            if key not in self.each:
                self.begun.setdefault(key, number)
                self.each[key] = Estimate(now)
            self.each[key].add(now, number - self.begun[key])
        whole = sum(self.jobs[key].sessions for key in self.finished)
        self.done = whole + sum(self.running.values())
        self.overall.add(now, self.done - self.before - sum(self.begun.values()))
        self._show(now)

    @property
    def left(self) -> float | None:
        """Seconds until all is done, about; None: not known yet."""
        every = self.overall.left(self.total - self.done)
        if every is None:
            return None
        last = (
            (self.jobs[key].sessions - number) / rate
            for key, number in self.running.items()
            if (rate := self.each[key].rate) is not None
        )
        return max(every, *last, 0.0)  # when few jobs are left, other processes have nothing to do

    def line(self) -> str:
        """All in one line."""
        share = 100 * self.done / self.total if self.total else 100.0
        rate, left = self.overall.rate, self.left
        return ", ".join(
            [
                f"{len(self.finished)} of {len(self.jobs)} jobs",
                f"{share:.1f} % of {_short(self.total)} sessions",
                *([f"{_short(rate)} sessions/s"] if rate is not None else []),
                *([f"about {duration(left)} left"] if left is not None else []),
            ]
        )

    def _show(self, now: float) -> None:
        if self.bars is not None:
            for key in set(self.tasks) - set(self.running) - {""}:
                self.bars.remove_task(self.tasks.pop(key))
            for key, number in self.running.items():
                job = self.jobs[key]
                if key not in self.tasks:
                    rows = f"rows {job.block.start}-{job.block.stop - 1}"
                    name = f"{job.environment} {job.block.agent.label} {rows}"
                    self.tasks[key] = self.bars.add_task(name, total=job.sessions, news="")
                rate = self.each[key].rate
                news = "" if rate is None else f"{_short(rate)}/s"
                self.bars.update(self.tasks[key], completed=number, news=news)
            rate, left = self.overall.rate, self.left
            words = [f"{len(self.finished)}/{len(self.jobs)} jobs", *([f"{_short(rate)} sessions/s"] if rate else [])]
            words += [f"{duration(left)} left"] if left is not None else []
            self.bars.update(self.tasks[""], completed=self.done, news=", ".join(words))
        elif self.shown and now - self.told >= LINES:
            self.told = now
            self.say(self.line())


def _bars(console: Any) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        *([BarColumn(bar_width=16)] if console.width >= 80 else []),
        TextColumn("{task.percentage:5.1f} %", table_column=Column(no_wrap=True, justify="right")),
        TextColumn("{task.fields[news]}", markup=False, table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
    )
