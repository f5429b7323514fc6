"""Results that nobody has played, whose truth is known: curves of regret, violations and NDCG."""

import numpy as np

from rankgym.experiments.judge.claims import judge
from rankgym.experiments.run.results import Played, Results

HORIZON, QUERIES = 5_000_000, 20
SPREAD = 0.04  # queries differ by up to this share


def rounds_of(horizon=HORIZON):
    """Rounds as if recorded: powers of ten and twentieths, and the two of TopRank's paper."""
    tenths = [10**power for power in range(1, len(str(horizon))) if 10**power <= horizon]
    return np.unique([*tenths, *(horizon * part // 20 for part in range(1, 21)), min(1_000_000, horizon)])


def played(
    environment, agent, *, horizon=HORIZON, queries=QUERIES, runs=1, env_id="", kwargs=None, factor=None, **curves
):
    """As if each measure after round t had been ``curves[measure](t)`` times a number near 1 for each row.

    The numbers are the same for all agents, which are paired; that of NDCG is nearer to 1.
    """
    rounds, rows = rounds_of(horizon), queries * runs
    if factor is None:
        factor = np.random.default_rng(queries).uniform(1 - SPREAD, 1 + SPREAD, rows)
    measures = {name: np.outer(curve(rounds.astype(float)), factor) for name, curve in curves.items() if name != "ndcg"}
    if "ndcg" in curves:
        measures["ndcg"] = np.outer(curves["ndcg"](rounds.astype(float)), 1 + (factor - 1) / 100)
    return Played(
        environment=environment,
        agent=agent,
        env_id=env_id,
        env_kwargs=kwargs or {},
        rounds=rounds,
        row=np.arange(rows),
        query=np.arange(rows) % queries,
        run=np.arange(rows) // queries,
        measures=measures,
        epoch_regret=np.empty((0, rows)),
        settled_at=np.full(rows, -1),
    )


def verdicts(figure, world, horizon=HORIZON):
    """The verdict on each claim of a figure, by its name."""
    found = judge(figure.claims, Results(world), horizon)
    assert not any("{" in one.measured.quantity + one.measured.note for one in found)  # no placeholder is left
    return {one.claim.name: one.verdict for one in found}


def exploring(rate, until):
    """Regret at a rate until a round, then a logarithm."""
    return lambda t: rate * np.minimum(t, until) + np.log1p(t)


def mean_so_far(first, later, change=1_000):
    """The mean so far of what is ``first`` up to a round and ``later`` afterwards."""
    return lambda t: (first * np.minimum(t, change) + later * np.maximum(t - change, 0)) / t
