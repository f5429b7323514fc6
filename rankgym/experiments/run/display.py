"""How far running jobs are: bars on a terminal, a line now and then elsewhere, and the time left."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rankgym.experiments.run.job import Playable
from rankgym.progress import PATIENCE, RewrittenLine, error_console, short_number, without_widgets

FIRST_ESTIMATE = 60.0  # seconds of playing before the time left is shown
MAX_WINDOW = 900.0  # seconds that a rate is averaged over
LINES_EVERY = 60.0  # seconds between lines where there is no terminal


def duration(seconds: float) -> str:
    """Format in two units at most: 2 d 3 h, 3 h 12 min, 4 min 20 s, 12 s."""
    whole = max(0, round(seconds))
    for size, unit, small, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small} {part}"
    return f"{whole} s"


class TimeLeft:
    """How fast something goes, and how long it will take, by its last minutes: slow jobs may come first."""

    def __init__(self, now: float) -> None:
        self.begun = now
        self.samples: deque[tuple[float, float]] = deque([(now, 0.0)])

    def add(self, now: float, done: float) -> None:
        """Note that ``done`` was done since the beginning."""
        window = min(max(FIRST_ESTIMATE, (now - self.begun) / 3), MAX_WINDOW)
        self.samples.append((now, done))
        while len(self.samples) > 2 and now - self.samples[1][0] >= window:
            self.samples.popleft()

    @property
    def rate(self) -> float | None:
        """How much is done in a second; None: not known yet."""
        (begin, before), (end, after) = self.samples[0], self.samples[-1]
        return (after - before) / (end - begin) if end - begin > 1 and after > before else None

    def left(self, rest: float) -> float | None:
        """Seconds for ``rest`` more; None during the first minute."""
        if self.samples[-1][0] - self.begun < FIRST_ESTIMATE or self.rate is None:
            return None
        return rest / self.rate


class JobsDisplay:
    """Context manager that shows how far jobs are, on standard error, from the third second on.

    ``finished``: keys of those that have results already.
    """

    def __init__(
        self,
        jobs: Sequence[Playable],
        finished: set[str],
        *,
        shown: bool = True,
        console: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock, self.shown = clock, shown
        self.jobs = {job.key: job for job in jobs}
        units = {job.unit for job in jobs}
        self.unit = units.pop() if len(units) == 1 else "sessions"
        self.total = sum(job.size for job in self.jobs.values())
        self.before = sum(self.jobs[key].size for key in finished)
        self.finished = set(finished)
        self.resumed: dict[str, int] = {}  # how much of a job its checkpoint had: not played now
        self.overall = TimeLeft(self.clock())
        self.each: dict[str, TimeLeft] = {}
        self.done = self.before
        self.waiting = False  # for a worker: nobody knows how long
        self.running: dict[str, int] = {}
        self.begun = self.printed = self.clock()
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}
        self.line_anew = RewrittenLine()  # of a notebook
        if shown:
            self.console = console or error_console()
            self.notebook = self.console.is_jupyter or without_widgets()

    def __enter__(self) -> "JobsDisplay":
        return self

    def __exit__(self, *_: Any) -> None:
        self.line_anew.close()
        if self.bars is not None:
            self.bars.stop()

    def say(self, text: str, style: str = "") -> None:
        """Print a line above the bars."""
        if self.shown:
            from rich.text import Text

            self.line_anew.close()
            self.console.print(Text(text, style), soft_wrap=True)

    def update(self, played: Mapping[str, int], finished: set[str]) -> None:
        """Show how much of the running jobs has been played, and which jobs have finished."""
        now = self.clock()
        self.finished |= finished
        self.running = {key: number for key, number in played.items() if key not in self.finished}
        for key, number in self.running.items():
            if key not in self.each:
                self.resumed.setdefault(key, number)
                self.each[key] = TimeLeft(now)
            self.each[key].add(now, number - self.resumed[key])
        self.done = sum(self.jobs[key].size for key in self.finished) + sum(self.running.values())
        self.overall.add(now, self.done - self.before - sum(self.resumed.values()))
        self._show(now)

    @property
    def left(self) -> float | None:
        """Seconds until all jobs are done, about; None: not known yet."""
        every = self.overall.left(self.total - self.done)
        if every is None or self.waiting:
            return None
        rests = ((self.jobs[key].size - number, self.each[key].rate) for key, number in self.running.items())
        last = (rest / rate for rest, rate in rests if rate is not None)
        return max(every, *last, 0.0)  # when few jobs are left, other workers have nothing to do

    def line(self) -> str:
        """Everything in one line."""
        share = 100 * self.done / self.total if self.total else 100.0
        jobs = f"{len(self.finished)} of {len(self.jobs)} jobs"
        return ", ".join([jobs, f"{share:.1f} % of {short_number(self.total)} {self.unit}", *self._speed("about ")])

    def _speed(self, about: str) -> list[str]:
        """Speed and time left, as far as they are known."""
        rate, left = self.overall.rate, self.left
        words = [] if rate is None else [f"{short_number(rate)} {self.unit}/s"]
        return words + ([] if left is None else [f"{about}{duration(left)} left"])

    def _show(self, now: float) -> None:
        if not self.shown:
            return
        if self.notebook:
            if now - self.begun >= PATIENCE:
                self.line_anew.write(self.line())
            return
        if not self.console.is_terminal:
            if now - self.printed >= LINES_EVERY:
                self.printed = now
                self.say(self.line())
            return
        if self.bars is None:
            if now - self.begun < PATIENCE:
                return
            self.bars = _bars(self.console)
            self.tasks[""] = self.bars.add_task("all", total=self.total, note="")
            self.bars.start()
        for key in set(self.tasks) - set(self.running) - {""}:
            self.bars.remove_task(self.tasks.pop(key))
        for key, number in self.running.items():
            if key not in self.tasks:
                self.tasks[key] = self.bars.add_task(self.jobs[key].label, total=self.jobs[key].size, note="")
            rate = self.each[key].rate
            note = "" if rate is None else f"{short_number(rate)}/s"
            self.bars.update(self.tasks[key], completed=number, note=note)
        words = [f"{len(self.finished)}/{len(self.jobs)} jobs", *self._speed("")]
        self.bars.update(self.tasks[""], completed=self.done, note=", ".join(words))


def _bars(console: Any) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        *([BarColumn(bar_width=16)] if console.width >= 80 else []),
        TextColumn("{task.percentage:5.1f} %", table_column=Column(no_wrap=True, justify="right")),
        TextColumn("{task.fields[note]}", markup=False, table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
    )
