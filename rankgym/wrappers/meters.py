"""Meters: what a recorder measures in one session. Add one here; the safety constraint is ``SafetyMeter``'s."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import env_attribute
from rankgym.metrics import ideal_dcg, ndcg, rank_discounts


class Meter(ABC):
    """One quantity, or several, of every session. A recorder adds them up."""

    series: ClassVar[tuple[str, ...]]  # the names of its quantities
    reads: ClassVar[tuple[str, ...]]  # the entries of a step's info that amounts are made of
    measures_duels: ClassVar[bool] = False  # whether it also works if actions are duels

    def read_truth(self, env: Any) -> None:  # noqa: B027
        """Read from ``env`` what the amounts depend on. Called after resets and whenever the truth has changed."""

    @abstractmethod
    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        """The amount (num_envs,) of one session for each series, given a step's ``info`` and rewards (num_envs,)."""


class RegretMeter(Meter):
    """Expected regret, and reward."""

    series = ("regret", "reward")
    reads = ("regret",)
    measures_duels = True

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        return info["regret"], reward


class SafetyMeter(Meter):
    """Violations of |V(R_t)| <= |V(R_0)| + K / 2 (BubbleRank, Lemma 2 and section 5.3): 1 or 0 in each session."""

    series = ("violations",)
    reads = ("misordered",)

    def read_truth(self, env: Any) -> None:
        positions = np.atleast_1d(env_attribute(env, "num_positions"))
        self.limit = np.atleast_1d(env_attribute(env, "initial_misordered")) + positions / 2

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        return (info["misordered"] > self.limit,)


class RankingMeter(Meter):
    """NDCG of the displayed lists at the cutoff (BubbleRank, appendix B)."""

    series = ("ndcg",)
    reads = ("displayed",)

    def read_truth(self, env: Any) -> None:
        attraction = np.array(env_attribute(env, "attraction"), np.float64)
        self.attraction = attraction.reshape(-1, attraction.shape[-1])  # (rows, items), of a single environment too
        self.discounts = rank_discounts(int(np.max(env_attribute(env, "cutoff"))))
        self.ideal = ideal_dcg(self.attraction, len(self.discounts))

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        quality = np.empty(len(reward))
        ndcg(self.attraction, self.discounts, self.ideal, info["displayed"], quality)
        return (quality,)
