"""What the figures of mergeRUCB share: agents, subsets of rankers, ratios of regrets, curves over time and over K.

Regret is the mean of a duel's two arms against the Condorcet winner. In figures 3 to 6 each run has its own random
subset of the rankers, drawn until one ranker beats all others. All agents have the same subsets and coins of duels.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import last_round
from rankgym.experiments.judge.claims import Claim, Finding
from rankgym.experiments.judge.units import Units, amount, curves
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Results

Array = NDArray[np.float64]
Labels = str | Sequence[str]  # one, or several

PAPER = "Zoghi, Whiteson and de Rijke, MergeRUCB, WSDM 2015"
MERGE, RUCB, RCS, BTM, SAVAGE = FIVE = ("mergerucb", "rucb", "rcs", "btm:radius_factor=1", "savage:delta=0.01")
NAVIGATIONAL = "navigational"
USERS = ("perfect", NAVIGATIONAL, "informational")
MSLR, SYNTHETIC = "rankgym/Dueling-MSLR-v0", "rankgym/Dueling-Synthetic-v0"
HORIZON, LONG_HORIZON = 10_000_000, 25_000_000  # section 6.1, paragraph 1
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": 1_000_000, "smoke": 2_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 10, "smoke": 2}  # subsets of each size (section 5, paragraph 6)
ARMS = tuple(range(10, 140, 10))
FEW, MANY = 10, 70  # "few rankers" are 10, "many" at least 70: from there on section 6.3 has mergeRUCB ahead
WIDE = 1.5  # a regret that is larger by a wide margin, or dramatically, is at least this multiple of the other
SAME_ORDER = 0.8  # Kendall's tau of two orders of five agents that are called the same: one exchange of neighbours

PARAMETERS = (
    "Parameters: mergeRUCB alpha = 1.01, p = 4, delta = .01 (section 5, paragraph 8); SAVAGE delta = .01; not in the "
    "paper: RUCB and RCS alpha = .51, Beat the Mean gamma = 1 with a radius factor of 1."
)
FIVE_AGENTS = (
    "The text speaks of five agents without naming them all: its discussion names mergeRUCB, RUCB, RCS and Beat the "
    f"Mean; SAVAGE is our reading of section 3. {PARAMETERS}"
)
MATRICES = (
    "Published: the matrices of the MSLR feature rankers behind a later paper of the same group (Li et al. 2020), "
    "estimated in the same way (`rankgym data fetch mslr`). Calibrated: SYNTHETIC matrices with the same statistics, "
    "drawn for each user model by itself; circles and margins are calibrated, differences between users are not."
)
DATA = f"{MATRICES} {FIVE_AGENTS}"


def subsets(arms: Iterable[int], source: str, users: Sequence[str] = (NAVIGATIONAL,)) -> tuple[Environment, ...]:
    """Return environments of random subsets of the MSLR rankers, for each user model and number of rankers."""

    def subset(user: str, number: int) -> Environment:
        kwargs = {"source": source, "user_model": user, "num_arms": number, "keep_winner": False}
        return Environment(subset_label(number, user), MSLR, kwargs)

    return tuple(subset(user, number) for user in users for number in arms)


def subset_label(arms: int, user: str = NAVIGATIONAL) -> str:
    return f"{arms} rankers, {user} users"


def sweep(figure: int, scale: Scale, environments: Sequence[Environment], agents: Sequence[str] = FIVE) -> Sweep:
    """Return a sweep with the rounds and runs of ``scale``."""
    name = f"mergeRUCB figure {figure}, {scale}"
    return Sweep(tuple(environments), tuple(agents), ROUNDS[scale], runs=RUNS[scale], name=name)


def arms_played(results: Results, user: str = NAVIGATIONAL, least: int = 0) -> list[int]:
    """Return the numbers of rankers that were played, ascending."""
    of_user = (played.env_kwargs for played in results if played.env_kwargs.get("user_model") == user)
    return sorted({kwargs["num_arms"] for kwargs in of_user if kwargs.get("num_arms", -1) >= least})


def subset_labels(results: Results, user: str = NAVIGATIONAL, least: int = 0) -> list[str]:
    """Return the labels of the environments with at least ``least`` rankers."""
    return [subset_label(number, user) for number in arms_played(results, user, least)]


def regret(results: Results, labels: Labels, agent: str, stop: int | None = None) -> Units:
    """Return the agent's regret in these environments together, by runs: run n of one is added to run n of others."""
    parts = [amount(results[label, agent], stop=stop) for label in _listed(labels)]
    return Units(np.sum([part.values for part in parts], axis=0), parts[0].names, parts[0].kind)


def _listed(names: Labels) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def together(parts: Iterable[tuple[Any, ...]], estimate: Any) -> list[Finding]:
    """Estimate each of ``parts``, with intervals that cover together, so that none fails by chance.

    A part has the words for the claim's texts and the samples for ``estimate``: ``intervals.ratio`` or one like it.
    """
    parts = list(parts)
    level = intervals.for_each_of(len(parts))
    return [Finding(estimate(*samples, level=level), words) for words, *samples in parts]


def multiples(results: Results, environments: Labels, others: Labels, agents: Labels, **words: object) -> list[Finding]:
    """Estimate the regret of each of ``others`` as a multiple of that of each of ``agents``, in all ``environments``.

    No environments: all subsets that were played.
    """
    labels = environments or subset_labels(results)
    parts = (
        ({"other": other, "agent": agent, **words}, regret(results, labels, other), regret(results, labels, agent))
        for other in _listed(others)
        for agent in _listed(agents)
    )
    return together(parts, intervals.ratio)


def stacked(results: Results, labels: Iterable[str], agents: Iterable[str]) -> Units:
    """Return regrets (places, units) of each agent in each environment."""
    parts = [regret(results, label, agent) for label in labels for agent in agents]
    return parts[0]._replace(values=np.stack([part.values for part in parts]))


def end_and_course(results: Results, environment: str) -> Finding:
    """Estimate Kendall's tau between the agents' orders by regret at the end and by mean regret over time."""
    units = (curves(results[environment, agent]) for agent in FIVE)
    rounds = results[environment, MERGE].rounds
    late = np.flatnonzero(rounds >= rounds[-1] // 100)

    def tau(*means: Array) -> Array:
        return kendalls_tau([mean[..., -1] for mean in means], [mean[..., late].mean(axis=-1) for mean in means])

    words = {"start": f"{rounds[late[0]]:,}", "end": f"{rounds[-1]:,}"}
    return Finding(intervals.of_means(tau, *units), words)


END_AND_COURSE = Claim(
    "section 6.3, paragraph 3, sentence {sentence}",
    "With {rankers} the regret after ten million duels tells how the agents compare over the whole time.",
    "{label}: Kendall's tau between the orders of the five agents by regret in the end, and by their mean regret at "
    "rounds {start} to {end}, evenly spaced on the figure's logarithmic axis",
    (end_and_course, "{label}"),
    (SAME_ORDER, 1.0),
    f"a good indication is read as: one exchange of neighbours at most, {SAME_ORDER:g}",
)


def kendalls_tau(one: Sequence[Array] | Array, other: Sequence[Array] | Array) -> Array:
    """Return Kendall's tau (...,) of two orders: 1 if they agree, -1 if one is the other reversed."""
    pairs = list(itertools.combinations(range(len(one)), 2))
    return np.asarray(sum(np.sign(one[i] - one[j]) * np.sign(other[i] - other[j]) for i, j in pairs) / len(pairs))


def draw_over_time(
    results: Results, labels: Sequence[str], agents: Sequence[str], columns: int, leaving: int = 0
) -> Drawing:
    """Draw a panel for each environment: regret on a linear axis over rounds on a logarithmic one, as in the paper.

    The ``leaving`` agents with the largest regrets may leave the frame.
    """
    from rankgym.experiments.show import figures

    panels = []
    for label in labels:
        lines = [figures.curve(results[label, agent]) for agent in agents]
        ends = sorted(float(one.mean[-1]) for one in lines)
        top = 1.25 * ends[-1 - leaving] if leaving else None
        panels.append(figures.Panel(label, lines, "duels", "regret", xscale="log", top=top, bottom=0.0))
    runs = len(results[labels[0], agents[0]].row)
    words = "; the largest regrets leave the frame" if leaving else ""
    return figures.panels(panels, columns=columns, caption=f"Mean of {runs} runs; bands: one standard error{words}")


def curves_by_arms(results: Results, agents: Sequence[str], user: str = NAVIGATIONAL) -> list[Any]:
    """Return a ``figures.Curve`` for each agent: regret at the end over the number of rankers."""
    from rankgym.experiments.show import figures

    arms, curves = arms_played(results, user), []
    for agent in agents:
        over_time = [figures.curve(results[subset_label(number, user), agent]) for number in arms]
        mean, error = np.array([(one.mean[-1], one.error[-1]) for one in over_time]).T  # type: ignore[index]
        curves.append(figures.Curve(agent, np.array(arms), mean, error, marked=True))
    return curves


def draw_by_arms(results: Results, curves: Mapping[str, Sequence[Any]], caption: str = "", **panel: Any) -> Drawing:
    """Draw a panel for each title, with curves of ``curves_by_arms``."""
    from rankgym.experiments.show import figures

    regret = f"regret after {last_round(next(iter(results))):,} duels"
    panels = [
        figures.Panel(title, shown, xlabel="rankers, K", ylabel="" if number else regret, **panel)
        for number, (title, shown) in enumerate(curves.items())
    ]
    caption += f"Mean of {len(next(iter(results)).row)} random subsets of each size; bars: one standard error"
    return figures.panels(panels, columns=len(panels), caption=caption, share_y=len(panels) > 1)
