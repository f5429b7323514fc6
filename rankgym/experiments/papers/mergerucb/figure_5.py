"""MergeRUCB, figure 5: regret by the number of rankers, for three user models."""

import math
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claims import ABOVE_1, Claim, Finding
from rankgym.experiments.judge.units import Units
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import FIVE, MERGE, RCS, RUCB, USERS, WIDE
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

TITLE = "Regret by the number of rankers with perfect, navigational and informational users"
SETTING = f"As figure 3, for each user model. {setup.DATA}"
ARMS: dict[Scale, tuple[int, ...]] = {"full": setup.ARMS, "small": (10, 70, 130), "smoke": (10, 70)}


def SWEEP(scale: Scale, source: str) -> Sweep:
    return setup.sweep(5, scale, setup.subsets(ARMS[scale], source, USERS))


def _regret(results: Results, agent: str, user: str) -> Units:
    """Return the agent's regret with all numbers of rankers together."""
    return setup.regret(results, setup.subset_labels(results, user), agent)


def effects_of_users(results: Results, agent: str, others: tuple[str, ...]) -> list[Finding]:
    """Estimate the factor between user models in the agent's regret, as a multiple of that in each other agent's."""

    def effect(*means: Any) -> Any:
        mine, theirs = (np.max(three, axis=0) / np.min(three, axis=0) for three in (means[:3], means[3:]))
        return mine / theirs

    parts = (
        ({"other": other}, *(_regret(results, one, user) for one in (agent, other) for user in USERS))
        for other in others
    )
    return setup.together(parts, partial(intervals.of_means, effect))


def multiples_of_users(results: Results, agent: str, pairs: Iterable[tuple[str, str]]) -> list[Finding]:
    """Estimate, for each pair of user models, regret with the second as a multiple of that with the first."""
    parts = (
        ({"before": before, "after": after}, _regret(results, agent, after), _regret(results, agent, before))
        for before, after in pairs
    )
    return setup.together(parts, intervals.ratio)


BY_USERS = "RCS's regret with {after} users as a multiple of that with {before} ones, all K together"
CLAIMS = {
    "rcs-most-affected-by-users": Claim(
        "section 6.4, paragraph 2, sentence 1; figure 5",
        "The user model matters more to RCS than to mergeRUCB or RUCB.",
        "regret with the worst user model as a multiple of that with the best one, all K together: RCS's factor over "
        "{other}'s",
        (effects_of_users, RCS, (MERGE, RUCB)),
        ABOVE_1,
    ),
    "rcs-degrades-with-noise": Claim(
        "section 6.4, paragraph 2, sentences 2 and 3; figure 5",
        "RCS gets worse from perfect to navigational to informational users, as the winner's margins shrink.",
        BY_USERS,
        (multiples_of_users, RCS, tuple(pairwise(USERS))),
        ABOVE_1,
    ),
    "rcs-degrades-dramatically": Claim(
        "section 6.4, paragraph 2, sentence 2; figure 5",
        "As they shrink RCS gets dramatically worse.",
        BY_USERS,
        (multiples_of_users, RCS, ((USERS[0], USERS[-1]),)),
        (WIDE, math.inf),
        f"dramatic is read as: at least {WIDE:g} times as much",
    ),
}


def draw(results: Results) -> Drawing:
    curves = {f"{user.capitalize()} users": setup.curves_by_arms(results, FIVE, user) for user in USERS}
    top = max(float(one.mean.max()) for of_user in curves.values() for one in of_user)
    return setup.draw_by_arms(results, curves, top=1.1 * top, bottom=0.0)
