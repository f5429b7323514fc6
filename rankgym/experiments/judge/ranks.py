"""Rank tables: how agents rank over queries, with Friedman's test and Holm-corrected Wilcoxon tests."""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge.units import Units, check_paired, counted_units
from rankgym.extras import require


class RankTable(NamedTuple):
    """How agents rank over units, and whether that may be chance."""

    agents: list[str]  # best mean rank first
    mean_rank: NDArray[np.float64]  # (agents,) 1: the best in all units; ties share
    wins: NDArray[np.int64]  # (agents,) units in which the agent alone is the best
    friedman: float  # p-value: probability of ranks this far apart if all agents were alike
    wilcoxon: NDArray[np.float64]  # (agents, agents) p-values of pairs, signed ranks, after Holm; diagonal NaN
    units: int
    kind: str

    def lines(self) -> list[list[str]]:
        """Return the cells of each agent: name, mean rank, wins, p-value against the first agent."""
        against = ["", *map(_p_value, self.wilcoxon[0, 1:])]
        columns = self.agents, (f"{rank:.2f}" for rank in self.mean_rank), map(str, self.wins), against
        return [list(cells) for cells in zip(*columns, strict=True)]

    def head(self) -> list[str]:
        """Return the headings of the cells of ``lines``."""
        return ["agent", "mean rank", f"best of {self.units:,} {self.kind}", f"p against {self.agents[0]}"]

    def caption(self) -> str:
        """Name the tests that the p-values belong to."""
        return (
            f"Friedman's test over {counted_units(self.units, self.kind)}: p {_p_value(self.friedman, '= ')}. "
            "p against the first: Wilcoxon's signed-rank test, with Holm's correction for all pairs."
        )


def rank_table(units: Mapping[str, Units], *, lower_is_better: bool = True) -> RankTable:
    """Rank agents in each unit (query), and compare the ranks.

    Args:
        units: by the agents' labels; at least two agents, with the same units, values (units,). Anything else, or an
            unknown value, is a ValueError.
        lower_is_better: True for regret, False for NDCG.
    """
    stats = require("scipy.stats")
    if len(units) < 2:
        raise ValueError(f"units has {len(units)} agents; allowed: at least two")
    labels, samples = list(units), list(units.values())
    check_paired(samples)
    values = np.stack([sample.values for sample in samples]) * (1 if lower_is_better else -1)
    if not np.isfinite(values).all():
        raise ValueError("units has unknown values; allowed: finite numbers")
    ranks = stats.rankdata(values, axis=0)
    order = np.argsort(ranks.mean(axis=1), kind="stable")
    values, ranks = values[order], ranks[order]
    pairs = list(itertools.combinations(range(len(labels)), 2))
    raw = np.array([_signed_ranks(stats, values[a] - values[b]) for a, b in pairs])
    wilcoxon = np.full((len(labels), len(labels)), np.nan)
    for (a, b), p in zip(pairs, _holm(raw), strict=True):
        wilcoxon[a, b] = wilcoxon[b, a] = p
    if len(labels) == 2:
        friedman = float(raw[0])  # with two agents Friedman's is a sign test, and weaker
    elif values.shape[1] < 2 or len(np.unique(ranks)) == 1:
        friedman = 1.0
    else:
        friedman = float(stats.friedmanchisquare(*values).pvalue)
    best = values == values.min(axis=0)
    wins = (best & (best.sum(axis=0) == 1)).sum(axis=1)
    best_first = [labels[place] for place in order]
    return RankTable(best_first, ranks.mean(axis=1), wins, friedman, wilcoxon, values.shape[1], samples[0].kind)


def _signed_ranks(stats: Any, differences: NDArray[np.float64]) -> float:
    """Return the p-value of Wilcoxon's signed-rank test; 1 if nothing differs."""
    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0


def _holm(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's correction: the smallest p-value times their number, the next times one less, ..., never falling."""
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(1, np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)))
    return corrected


def _p_value(p: float, equals: str = "") -> str:
    return "< 0.0001" if p < 1e-4 else f"{equals}{p:.4f}" if p < 0.1 else f"{equals}{p:.2f}"
