"""The line that shows how EM gets on."""

import time
from typing import Any

from rankgym.progress import PATIENCE, bars_of


class ShownSteps:
    """Context manager: a line with step, log-likelihood and change on standard error if EM takes over two seconds."""

    def __init__(self, model: str, starts: int, *, shown: bool) -> None:
        self.model, self.starts, self.shown = model, starts, shown
        self.start, self.began = 1, time.perf_counter()
        self.bar: Any = None

    def __enter__(self) -> "ShownSteps":
        return self

    def report(self, step: int, objective: float, change: float) -> None:
        """Show a step of EM."""
        if not self.shown or time.perf_counter() - self.began < PATIENCE:
            return
        start = f", start {self.start} of {self.starts}" if self.starts > 1 else ""
        text = f"{self.model}{start}: step {step}, log-likelihood {objective:,.1f}, largest change {change:.1e}"
        if self.bar is None:
            from rich.progress import TextColumn

            self.bar = bars_of(TextColumn("{task.description}", markup=False))
            self.bar.add_task(text)
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], description=text)

    def next_start(self) -> None:
        """Go on to the next starting point."""
        self.start = min(self.start + 1, self.starts)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()
