"""Evaluations during training, the progress bar, and TensorBoard's curves."""

import sys
import time
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from rankgym.progress import PATIENCE, rate_bar
from rankgym.sb3.run_files import TrainingRecord

REDRAW_SECONDS = 0.1  # between two updates of the bar


class Watch(BaseCallback):
    """Evaluate the policy every now and then, record the results, and show the progress.

    The first evaluation comes before the first rollout, the others before the first rollout that starts ``every`` steps
    after the last one: then the policy has learned from all steps that it has played.
    """

    def __init__(self, record: TrainingRecord, shown: bool) -> None:
        super().__init__()
        self.record, self.shown = record, shown  # shown: whether there is a bar, on standard error
        settings: Any = record.plan.settings
        self.total, self.every = settings.steps, settings.eval_every  # steps of the training; between evaluations
        self.learned, self.next, self.note = 0, 0, ""  # steps learned from; of the next evaluation; behind the bar
        self.bar: Any = None

    def _on_training_start(self) -> None:
        self._started = self._drawn = time.perf_counter()
        self._first = self.learned = self.next = self.num_timesteps
        if self.num_timesteps > 0:  # resumed: evaluated at its end, or shortly before its interruption
            self.next += self.every

    def after_learning(self) -> None:
        """Record that the model has learned from all steps played so far."""
        if self.num_timesteps > self.learned:
            self.learned = self.num_timesteps
            self.record.average.move()
            self.record.average.save()

    def _on_rollout_start(self) -> None:
        self.after_learning()
        if self.num_timesteps >= self.next:
            self.evaluate()

    def evaluate(self) -> None:
        """Evaluate the present policy."""
        self.next = self.num_timesteps + self.every
        record = self.record
        with record.average.applied():
            results = record.plan.evaluate(self.model, self.num_timesteps, record.spent)
        for name in ("regret", "violations", "ndcg"):
            self.logger.record(f"eval/{name}", float(np.mean([getattr(one, name) for one in results])))
        self.logger.dump(self.num_timesteps)
        record.add(self.model, results, self.episodes())
        rivals = ", ".join(f"{name} {regret:,.1f}" for name, regret in record.rivals.items())
        self.note = f"regret {record.latest:,.1f}, best {record.best['regret']:,.1f}"  # the bar has no room for rivals
        if self.shown and not sys.stderr.isatty():  # there a bar shows only at its end
            print(f"{self.num_timesteps:,} of {self.total:,} steps: {self.note}; {rivals}", file=sys.stderr, flush=True)

    def _on_rollout_end(self) -> None:
        for name, value in self.episodes().items():
            self.logger.record(f"train/episode_{name}", value)

    def episodes(self) -> dict[str, float]:
        """Return mean regret and violations of the last hundred episodes; empty before the first has ended."""
        ended = list(self.model.ep_info_buffer or ())
        return {name: float(np.mean([one[name] for one in ended])) for name in ("regret", "violations") if ended}

    def _on_step(self) -> bool:
        if self.shown and time.perf_counter() - self._drawn > REDRAW_SECONDS:
            self._draw()
        return True

    def _draw(self) -> None:
        self._drawn = now = time.perf_counter()
        spent, done = now - self._started, self.num_timesteps - self._first
        if self.bar is None and spent > PATIENCE / 4 and done and spent * (self.total - self._first) / done > PATIENCE:
            self.bar = rate_bar("steps", note=True)
            self.bar.add_task("train", total=self.total, note="")
            self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=min(self.num_timesteps, self.total), note=self.note)

    def close(self) -> None:
        """Leave the bar as it is and stop drawing."""
        if self.bar is not None:
            self._draw()
            self.bar.stop()
            self.bar = None
