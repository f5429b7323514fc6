"""What happens beside the learning: evaluation on other queries, files, a bar and TensorBoard's curves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from rankgym.progress import PATIENCE, rate_bar

__all__ = ["Measured", "Watch"]

NEWS = 0.1  # seconds between two looks of the bar at the number of steps


class Measured(NamedTuple):
    """How the policy plays one environment at one time of its training: means over rows, at the horizon."""

    steps: int  # of training before
    environment: str
    regret: float  # cumulative
    regret_se: float  # its standard error
    violations: float  # sessions that violated the safety constraint
    ndcg: float
    seconds: float  # that training and evaluations had taken


class Watch(BaseCallback):
    """Evaluates the policy now and then, hands the results on, and shows how far the training is.

    Evaluations come before the first rollout and then before the first rollout that starts ``every`` steps after the
    last one: policies are not caught between the steps that they have played and what they learn from them.

    Args:
        total: steps of the whole training.
        every: steps between evaluations.
        measure: evaluates the model after so many steps: a list of one result for each environment.
        keep: is called after each evaluation, with its results.
        learned: is called once the model has learned from a rollout, before anything else happens.
        shown: whether there is a bar, on standard error.

    Attributes:
        learned: steps that the policy has learned from.
    """

    def __init__(
        self,
        total: int,
        every: int,
        measure: Callable[[int], list[Measured]],
        keep: Callable[[list[Measured]], None],
        *,
        learned: Callable[[], None] = lambda: None,
        shown: bool = False,
    ) -> None:
        super().__init__()
        self.total, self.every, self.measure, self.keep, self.shown = total, every, measure, keep, shown
        self._told = learned
        self.learned, self.next, self.news = 0, 0, ""
        self.bar: Any = None
        self._started = self._looked = time.perf_counter()
        self._first = 0

    def _on_training_start(self) -> None:
        self._started = self._looked = time.perf_counter()
        self._first = self.num_timesteps
        self.learned = self.next = self.num_timesteps
        if self.num_timesteps > 0:  # taken up again: evaluated when it was left, or not long before its interruption
            self.next += self.every

    def after_learning(self) -> None:
        """Note that the model has learned from all steps that it has played."""
        if self.num_timesteps > self.learned:
            self.learned = self.num_timesteps
            self._told()

    def _on_rollout_start(self) -> None:
        self.after_learning()
        if self.num_timesteps >= self.next:
            self.evaluate()

    def evaluate(self) -> None:
        """Evaluate the policy as it is now."""
        self.next = self.num_timesteps + self.every
        measured = self.measure(self.num_timesteps)
        for name in ("regret", "violations", "ndcg"):
            self.logger.record(f"eval/{name}", float(np.mean([getattr(one, name) for one in measured])))
        self.logger.dump(self.num_timesteps)
        self.keep(measured)

    def _on_rollout_end(self) -> None:
        played = self.episodes()
        for name, values in played.items():
            self.logger.record(f"train/episode_{name}", values)

    def episodes(self) -> dict[str, float]:
        """Mean regret and violations of the last hundred episodes of training; none before the first has ended."""
        ended = list(self.model.ep_info_buffer or ())
        return {name: float(np.mean([one[name] for one in ended])) for name in ("regret", "violations") if ended}

    def _on_step(self) -> bool:
        if self.shown and time.perf_counter() - self._looked > NEWS:
            self._look()
        return True

    def _look(self) -> None:
        self._looked = now = time.perf_counter()
        spent, done = now - self._started, self.num_timesteps - self._first
        if self.bar is None and spent > PATIENCE / 4 and done and spent * (self.total - self._first) / done > PATIENCE:
            self.bar = rate_bar("steps", news=True)
            self.bar.add_task("train", total=self.total, news="")
            self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=min(self.num_timesteps, self.total), news=self.news)

    def close(self) -> None:
        """Take the bar away, as it is."""
        if self.bar is not None:
            self._look()
            self.bar.stop()
            self.bar = None
