"""The figures of Zoghi, Whiteson and de Rijke, "MergeRUCB" (WSDM 2015): duels among many rankers.

Regret is that of a duel's two arms, on average, against the Condorcet winner. In figures 3 to 6 run n has a random
subset of the rankers of its own, drawn again and again until one of them beats all others; it is the same for all
agents, and so are the coins of the duels.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data import catalogue
from rankgym.experiments.judge import statistics
from rankgym.experiments.judge.claims import Claim, Measured, weakest
from rankgym.experiments.judge.statistics import Estimate, Units
from rankgym.experiments.papers.figure import PaperFigure, Scale
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Played, Results
from rankgym.outputs import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankgym.experiments.show.figures import Curve

__all__ = ["FIGURES", "LETOR_FILE"]

Array = NDArray[np.float64]

PAPER = "Zoghi, Whiteson and de Rijke, MergeRUCB, WSDM 2015"
MERGE, RUCB, RCS, BTM, SAVAGE = FIVE = ("mergerucb", "rucb", "rcs", "btm:radius_factor=1", "savage:delta=0.01")
SPARRING, MULTISBM = "sparring", "multisbm"
NAMES = {
    MERGE: "mergeRUCB",
    RUCB: "RUCB",
    RCS: "RCS",
    BTM: "Beat the Mean",
    SAVAGE: "SAVAGE",
    SPARRING: "Sparring",
    MULTISBM: "MultiSBM",
}
USERS = ("perfect", "navigational", "informational")
MSLR = "rankgym/Dueling-MSLR-v0"
SYNTHETIC = "rankgym/Dueling-Synthetic-v0"

HORIZON, LONG_HORIZON = 10_000_000, 25_000_000  # of the paper: section 6.1, paragraph 1
RUNS = 10  # subsets of each size (section 5, paragraph 6)
ARMS = tuple(range(10, 140, 10))
FEW, MANY = 10, 70  # "few rankers" are so many, "many" so many and more: from there on section 6.3 has mergeRUCB ahead

# What the paper leaves to the eye.
SUBSTANTIAL = 1.25  # a substantially larger regret is at least so many times the other
WIDE = 1.5  # and one that is larger by a wide margin, or dramatically
CLOSE = 1.25  # a regret is close to another one up to so many times as much
LITTLE = 0.1  # and little gain is up to this share
ALIKE = 2.0  # two regrets of one agent by two ways to play are alike if neither is more than so many times the other
SAME_ORDER = 0.8  # Kendall's tau of two orders of five agents that are called the same: one exchange of neighbours
INDISTINCT = 0.02  # of the height of a figure: curves that are closer look like one


def _rounds(scale: Scale, most: int = HORIZON) -> int:
    return {"full": most, "small": 1_000_000, "smoke": 2_000}[scale]


def _runs(scale: Scale) -> int:
    return 2 if scale == "smoke" else RUNS


def _subsets(arms: Iterable[int], source: str, users: Sequence[str] = ("navigational",)) -> tuple[Environment, ...]:
    """Random subsets of the MSLR rankers."""
    return tuple(
        Environment(
            _label(number, user),
            MSLR,
            {"source": source, "user_model": user, "num_arms": number, "keep_winner": False},
        )
        for user in users
        for number in arms
    )


def _label(arms: int, user: str = "navigational") -> str:
    return f"{arms} rankers, {user} users"


# -- what claims have in common ---------------------------------------------------------------------------------------


def _arms(results: Results, user: str = "navigational", least: int = 0) -> list[int]:
    """The numbers of rankers that were played, ascending."""
    found = {
        int(played.env_kwargs["num_arms"])
        for played in results
        if played.env_kwargs.get("user_model") == user and played.env_kwargs.get("num_arms", -1) >= least
    }
    return sorted(found)


def _regret(results: Results, labels: Sequence[str], agent: str, stop: int | None = None) -> Units:
    """The agent's regret in these environments together, by runs: run n of one goes with run n of the others."""
    parts = [statistics.amount(results[label, agent], stop=stop) for label in labels]
    return Units(np.sum([part.values for part in parts], axis=0), parts[0].names, parts[0].kind)


def _subset_regret(
    results: Results, agent: str, least: int = 0, most: int = 10**9, user: str = "navigational"
) -> Units:
    arms = [number for number in _arms(results, user, least) if number <= most]
    return _regret(results, [_label(number, user) for number in arms], agent)


def _all(
    estimate: Callable[..., Estimate],
    parts: Iterable[tuple[str, tuple[Units, ...]]],
    claimed: tuple[float, float],
    note: str = "",
) -> Measured:
    """What a claim says of several quantities, each given in words and with its units: the one that it fails by first.

    The intervals hold together, so that one of many is not outside by chance.
    """
    parts = list(parts)
    level = statistics.for_each_of(len(parts))
    return weakest([estimate(*units, level=level).measured(quantity, claimed, note) for quantity, units in parts])


def _claim(
    name: str, where: str, text: str, measure: Callable[..., Measured], *given: Any, rounds: int = HORIZON
) -> Claim:
    return Claim(name, where, text, partial(measure, *given), needs_rounds=rounds)


ABOVE_1, ABOVE_0 = (1.0, math.inf), (0.0, math.inf)


# -- figure 1: four large problems ------------------------------------------------------------------------------------

ALL_MSLR = "MSLR, 136"
CONTROL, YANDEX, YAHOO_1, YAHOO_2 = STAND_INS = (
    "Stand-in, 136",
    "Stand-in for Yandex, 245",
    "Stand-in for Yahoo 1, 700",
    "Stand-in for Yahoo 2, 700",
)
# Informative and uninformative rankers: section 7, assumption A2, has the Yahoo sets' uninformative ones. With this
# spread of utilities half of all pairs are as near to a tie as in the MSLR matrix: |p - 1/2| up to .065.
SIZES = {CONTROL: (136, 0), YANDEX: (245, 0), YAHOO_1: (596, 104), YAHOO_2: (519, 181)}
SPREAD = 0.275
THREE = (MERGE, RUCB, BTM)
LARGE = (ALL_MSLR, YANDEX, YAHOO_1, YAHOO_2)  # the paper's four


def _sweep_1(scale: Scale, source: str) -> Sweep:
    runs, rounds = _runs(scale), _rounds(scale)
    mslr = Environment(ALL_MSLR, MSLR, {"source": source, "user_model": "navigational"}, rounds=rounds, runs=runs)
    drawn = [
        Environment(
            label,
            SYNTHETIC,
            {
                "family": "bradley-terry",
                "knobs": {"spread": SPREAD},
                "num_arms": informative,
                "uninformative": uninformative,
                "num_problems": runs,
            },
            record_at=(rounds,),  # to be compared with the others there
        )
        for label, (informative, uninformative) in SIZES.items()
    ]
    return Sweep((mslr, *drawn), THREE, _rounds(scale, LONG_HORIZON), name=f"mergeRUCB figure 1, {scale}")


def _converge(label: str, results: Results) -> Measured:
    """The share of runs in which the agent names the best ranker in the end: that of the second of the three."""
    shares = [
        statistics.share(lambda accuracy: accuracy == 1.0, statistics.amount(results[label, agent], "accuracy"))
        for agent in THREE
    ]
    second = sorted(range(len(THREE)), key=lambda n: -shares[n].value)[1]
    return shares[second].measured(
        f"{label}: share of the runs in which the agent that is second in this ({NAMES[THREE[second]]}) names the "
        "Condorcet winner in the end",
        (0.5, 1.0),
        "converging is read as: in most runs",
    )


def _ahead(label: str, factor: float, others: Sequence[str], results: Results) -> Measured:
    """Regret of the best other agent as a multiple of mergeRUCB's."""
    ours = statistics.amount(results[label, MERGE])
    return _all(
        statistics.ratio,
        [
            (
                f"{label}: {NAMES[other]}'s regret as a multiple of mergeRUCB's",
                (statistics.amount(results[label, other]), ours),
            )
            for other in others
        ],
        (factor, math.inf),
        "" if factor == 1.0 else f"called substantial from {factor:g} on",
    )


def _growing_gap(results: Results) -> Measured:
    """By how much mergeRUCB's lead grows from 136 to 245 to 700 rankers, after as many duels."""
    stop = min(int(results[label, MERGE].rounds[-1]) for label in LARGE)

    def lead(label: str, other: str) -> Units:
        theirs, ours = (statistics.amount(results[label, agent], stop=stop) for agent in (other, MERGE))
        return Units(theirs.values - ours.values, theirs.names, theirs.kind)

    return _all(
        partial(statistics.difference, paired=False),
        [
            (
                f"{NAMES[other]}'s regret less mergeRUCB's after {stop:,} duels: by how much more it is with {more} "
                f"than with {fewer}",
                (lead(more, other), lead(fewer, other)),
            )
            for other in THREE[1:]
            for fewer, more in _steps()
        ],
        ABOVE_0,
        "all three sizes are stand-ins of one family, so that nothing but the size differs",
    )


def _steps() -> Iterator[tuple[str, str]]:
    yield CONTROL, YANDEX
    yield YANDEX, YAHOO_1
    yield YANDEX, YAHOO_2


def _claims_1() -> Iterator[Claim]:
    for label in LARGE:
        mslr = label == ALL_MSLR
        rounds = HORIZON if mslr else LONG_HORIZON
        slug = label.split(",")[0].lower().replace(" ", "-")
        yield _claim(
            f"two-converge-{slug}",
            f"section 6.1, paragraph 1, sentence {3 if mslr else 4}; figure 1",
            f"Two of the three agents find the Condorcet winner within {rounds:,} duels.",
            _converge,
            label,
            rounds=rounds,
        )
        yield _claim(
            f"mergerucb-ahead-{slug}",
            "section 1, paragraph 6, sentence 2; section 9, paragraph 1, sentence 3; abstract, paragraph 2, sentence "
            "2; figure 1",
            "MergeRUCB has clearly and substantially less regret than the others.",
            _ahead,
            label,
            SUBSTANTIAL,
            (RUCB, BTM),
            rounds=rounds,
        )
        yield _claim(
            f"ahead-of-btm-{slug}",
            "section 3, paragraph 2, sentence 7; section 5, RQ1; figure 1",
            "MergeRUCB has less regret than Beat the Mean on large problems.",
            _ahead,
            label,
            1.0,
            (BTM,),
            rounds=rounds,
        )
    yield _claim(
        "gap-grows-with-rankers",
        "section 6.1, paragraph 2, sentence 2; figure 1",
        "The more rankers, from 136 to 245 to 700, the more is mergeRUCB ahead of the others.",
        _growing_gap,
    )


def _draw_1(results: Results) -> Figure:
    return _over_time(results, {label: label for label in (*LARGE, CONTROL)}, THREE, columns=3)


def _over_time(
    results: Results, titles: dict[str, str], agents: Sequence[str], columns: int, leaving: int = 0
) -> Figure:
    """A panel for each environment: regret on a linear axis over rounds on a logarithmic one, as in the paper.

    So many of the agents with the largest regrets may leave the frame.
    """
    from rankgym.experiments.show import figures

    panels = []
    for label, title in titles.items():
        curves = [figures.curve(results[label, agent]) for agent in agents]
        ends = sorted(float(one.mean[-1]) for one in curves)
        top = 1.25 * ends[-1 - leaving] if leaving else None
        panels.append(figures.Panel(title, curves, "duels", "regret", xscale="log", top=top, bottom=0.0))
    runs = len(results[next(iter(titles)), agents[0]].row)
    words = "; the largest regrets leave the frame" if leaving else ""
    return figures.panels(panels, columns=columns, caption=f"Mean of {runs} runs; bands: one standard error{words}")


# -- figure 2: interleaving and clicks, or coins ----------------------------------------------------------------------

LETOR_FILE = "RANKGYM_LETOR_FILE"  # environment variable: the file that figure 2 interleaves rankers of
CLICKS, COINS = "Interleaving and clicks", "Coins of the same matrix"
QUERIES, DOCUMENTS, POSITIONS = 100, 20, 10
GRADES = (0.5, 1.1, 1.6, 2.1)  # relevance above each of these is a grade more
RANKERS: dict[Scale, int] = {"full": 136, "small": 32, "smoke": 6}  # of the synthetic collection
COLLECTION = 5  # seed of the synthetic one; with it the best of 32 rankers leads by as much as the best one of MSLR


def _sweep_2(scale: Scale, source: str) -> Sweep:
    """Duels by interleaving and clicks, and duels by coins with the same chances; ``_prepare_2`` makes the data."""
    file = _file_2(scale, source)
    matrix = _matrix_name(file)
    kwargs = {
        "file": os.fspath(file),
        "preferences": matrix,
        "interleaving": "team-draft",
        "user_model": "navigational",
        "num_documents": POSITIONS,
    }
    return Sweep(
        (
            Environment(CLICKS, "rankgym/Dueling-LETOR-v0", kwargs),
            Environment(COINS, SYNTHETIC, {"dataset": matrix}),
        ),
        FIVE,
        _rounds(scale),
        runs=_runs(scale),
        name=f"mergeRUCB figure 2, {scale}",
    )


def _prepare_2(scale: Scale, source: str) -> None:
    """Write the synthetic collection, and evaluate the matrix of the file, unless they are there.

    Raises:
        ValueError: no LETOR file was named, or none of its rankers beats all others.
    """
    if source == "calibrated":
        _collection(RANKERS[scale])
    _matrix_of(_file_2(scale, source))


def _file_2(scale: Scale, source: str) -> Path:
    return _place(RANKERS[scale]) if source == "calibrated" else _own_file()


def _own_file() -> Path:
    """The user's LETOR file.

    Raises:
        ValueError: none was named, or it is not there.
    """
    name = os.environ.get(LETOR_FILE)
    if not name or not os.path.isfile(name):
        what = "is not set" if not name else f"= {name!r} is no file"
        raise ValueError(
            f"mergerucb-figure-2 interleaves the rankers of a LETOR file, and {LETOR_FILE} {what}; allowed: the path "
            "of one (the paper's: a fold of MSLR-WEB30K), or --source calibrated, a synthetic collection"
        )
    return Path(name).resolve()


def _place(rankers: int) -> Path:
    """Where the synthetic collection of so many rankers is kept."""
    return catalogue.home() / "reproduce" / f"mergerucb-figure-2-{COLLECTION}-{rankers}.txt"


def _collection(rankers: int) -> Path:
    """A synthetic collection in the data cache, written if it is not there: the same bytes on any machine.

    A document has a relevance and something else that features see, both normal; features differ in how well they see
    either, and have noise. Rankers therefore differ in quality, and two of the same quality may be alike or not.
    """
    path = _place(rankers)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as unfinished:
            unfinished.write_text(_collection_text(rankers), encoding="ascii")
    return path


def _collection_text(rankers: int) -> str:
    source, inverse = random.Random(f"mergeRUCB figure 2, {COLLECTION}, {rankers}"), NormalDist().inv_cdf

    def normal() -> float:
        return inverse(max(source.random(), 2.0**-54))

    skill = [1.2 * ranker / max(rankers - 1, 1) for ranker in range(rankers)]
    taste = [0.5 * normal() for _ in range(rankers)]
    lines = []
    for query in range(1, QUERIES + 1):
        for _ in range(DOCUMENTS):
            relevance, other = normal(), normal()
            grade = sum(relevance > border for border in GRADES)
            values = (s * relevance + t * other + normal() for s, t in zip(skill, taste, strict=True))
            words = " ".join(f"{number}:{value:.3f}" for number, value in enumerate(values, 1))
            lines.append(f"{grade} qid:{query} {words}\n")
    return "".join(lines)


def _matrix_name(file: Path) -> str:
    """What the matrix of a file is imported as: a synthetic one's name, or one by the contents of the user's."""
    if file.parent == catalogue.home() / "reproduce":
        return file.stem
    state = file.stat()
    return f"mergerucb-figure-2-{_digest(file, state.st_size, state.st_mtime_ns)}"


@functools.lru_cache(maxsize=16)
def _digest(file: Path, size: int, changed: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:12]


def _matrix_of(file: Path) -> str:
    """The name of the file's exact preference matrix, evaluated and imported if it is not there.

    Raises:
        ValueError: no ranker beats all others, so that there is no regret.
    """
    from rankgym.experiments.preferences.estimate import estimate

    folder = catalogue.home() / "reproduce"
    folder.mkdir(parents=True, exist_ok=True)
    name = _matrix_name(file)
    out = folder / f"{name}.npy"
    found = estimate(
        file, interleaving="team-draft", user_model="navigational", method="exact", num_documents=POSITIONS, out=out
    )
    if found.condorcet_winner < 0:
        raise ValueError(f"no ranker of {file} beats all others, so that there is no regret; allowed: another file")
    if name not in catalogue.imported_names() or not np.allclose(catalogue.imported(name), found.preference, atol=1e-9):
        catalogue.import_matrix(name, out)
    return name


def _alike(results: Results) -> Measured:
    return _all(
        partial(statistics.ratio, paired=False),
        [
            (
                f"{NAMES[agent]}'s regret by interleaving and clicks as a multiple of that by coins",
                (_regret(results, [CLICKS], agent), _regret(results, [COINS], agent)),
            )
            for agent in FIVE
        ],
        (1.0 / ALIKE, ALIKE),
        f"called alike up to a factor of {ALIKE:g}",
    )


def _same_relative_order(results: Results) -> Measured:
    def all_five(label: str) -> Units:
        parts = [_regret(results, [label], agent) for agent in FIVE]
        return Units(np.stack([part.values for part in parts]), parts[0].names, parts[0].kind)

    def tau(clicks: Array, coins: Array) -> Array:
        return _tau(np.moveaxis(clicks, -1, 0), np.moveaxis(coins, -1, 0))

    return statistics.of_means(tau, all_five(CLICKS), all_five(COINS), paired=False).measured(
        "Kendall's tau between the orders of the five agents by regret: interleaving and clicks, and coins",
        (SAME_ORDER, 1.0),
        f"one exchange of neighbours, {SAME_ORDER:g}, is no qualitative difference",
    )


def _tau(one: Sequence[Array] | Array, other: Sequence[Array] | Array) -> Array:
    """Kendall's tau of two orders of the same things, (...,): all pairs in the same order: 1; all reversed: -1."""
    count, total = len(one), np.zeros(np.shape(one[0]))
    for i in range(count):
        for j in range(i):
            total = total + np.sign(one[i] - one[j]) * np.sign(other[i] - other[j])
    return np.asarray(total / (count * (count - 1) / 2))


def _good_indication(label: str, results: Results) -> Measured:
    """Whether the order of the agents at the end is that of their regrets over time."""
    curves = [statistics.curves(results[label, agent]) for agent in FIVE]
    rounds = results[label, MERGE].rounds
    late = np.flatnonzero(rounds >= rounds[-1] // 100)

    def tau(*means: Array) -> Array:
        return _tau([mean[..., -1] for mean in means], [mean[..., late].mean(axis=-1) for mean in means])

    return statistics.of_means(tau, *curves).measured(
        f"{label}: Kendall's tau between the orders of the five agents by regret in the end, and by their mean regret "
        f"at rounds {rounds[late[0]]:,} to {rounds[-1]:,}, evenly spaced on the figure's logarithmic axis",
        (SAME_ORDER, 1.0),
        f"a good indication is read as: one exchange of neighbours at most, {SAME_ORDER:g}",
    )


def _claims_2() -> Iterator[Claim]:
    yield _claim(
        "proxy-alike",
        "section 6.2, paragraph 1, sentence 2; figure 2",
        "Duels by coins give results like those of duels by interleaving and clicks.",
        _alike,
    )
    yield _claim(
        "proxy-same-order",
        "section 6.2, paragraph 1, sentence 5; figure 2",
        "How the agents compare does not differ between the two in kind.",
        _same_relative_order,
    )
    yield _claim(
        "end-stands-for-course-all",
        "section 6.3, paragraph 3, sentence 2; figures 2 and 3",
        "With all rankers the regret after ten million duels tells how the agents compare over the whole time.",
        _good_indication,
        COINS,
    )


def _draw_2(results: Results) -> Figure:
    return _over_time(results, {CLICKS: CLICKS, COINS: COINS}, FIVE, columns=2)


# -- figure 3: the number of rankers ----------------------------------------------------------------------------------


def _sweep_3(scale: Scale, source: str) -> Sweep:
    arms = {"full": ARMS, "small": (10, 40, 70, 100, 130), "smoke": (10, 70)}[scale]
    return Sweep(_subsets(arms, source), FIVE, _rounds(scale), runs=_runs(scale), name=f"mergeRUCB figure 3, {scale}")


def _best_from_many(results: Results) -> Measured:
    return _all(
        statistics.ratio,
        [
            (
                f"{NAMES[other]}'s regret as a multiple of mergeRUCB's, K = {number}",
                (_regret(results, [_label(number)], other), _regret(results, [_label(number)], MERGE)),
            )
            for number in _arms(results, least=MANY)
            for other in FIVE[1:]
        ],
        ABOVE_1,
    )


def _many(results: Results) -> str:
    arms = _arms(results, least=MANY)
    return f"K of {', '.join(map(str, arms))} together" if len(arms) > 1 else f"K = {arms[0]}"


def _ahead_of(ahead: str, behind: Sequence[str], few: bool, factor: float, results: Results) -> Measured:
    """Regret of those behind as a multiple of that of who is ahead, with few or with many rankers: the least."""
    least, most = (0, FEW) if few else (MANY, 10**9)
    where = f"K = {FEW}" if few else _many(results)
    ours = _subset_regret(results, ahead, least, most)
    return _all(
        statistics.ratio,
        [
            (
                f"{NAMES[other]}'s regret as a multiple of {NAMES[ahead]}'s, {where}",
                (_subset_regret(results, other, least, most), ours),
            )
            for other in behind
        ],
        (factor, math.inf),
        "" if factor == 1.0 else f"a wide margin is read as: at least {factor:g} times as much",
    )


def _two_best(results: Results) -> Measured:
    """Regret of each of the other three, as a multiple of mergeRUCB's and of RUCB's."""
    return _all(
        statistics.ratio,
        [
            (
                f"{NAMES[other]}'s regret as a multiple of {NAMES[one]}'s, {_many(results)}",
                (_subset_regret(results, other, MANY), _subset_regret(results, one, MANY)),
            )
            for other in FIVE[2:]
            for one in (MERGE, RUCB)
        ],
        ABOVE_1,
    )


def _hard_to_scale(results: Results) -> Measured:
    """How much faster than mergeRUCB's the regret of the three agents grows with K."""
    arms = np.log(_arms(results))
    weights = (arms - arms.mean()) / ((arms - arms.mean()) ** 2).sum()  # of a least-squares slope

    def steeper(theirs: Array, ours: Array) -> Array:
        return np.asarray((np.log(theirs) - np.log(ours)) @ weights)

    def by_arms(agent: str) -> Units:
        parts = [_regret(results, [_label(number)], agent) for number in _arms(results)]
        return Units(np.stack([part.values for part in parts]), parts[0].names, parts[0].kind)

    return _all(
        partial(statistics.of_means, steeper),
        [
            (
                f"exponent of the growth of {NAMES[agent]}'s regret with K, less that of mergeRUCB's",
                (by_arms(agent), by_arms(MERGE)),
            )
            for agent in (SAVAGE, RUCB, RCS)
        ],
        ABOVE_0,
        "difficulty is read as: steeper than mergeRUCB on logarithmic axes",
    )


def _claims_3() -> Iterator[Claim]:
    yield _claim(
        "mergerucb-best-from-70",
        "section 6.3, paragraph 2, sentence 2; section 3, paragraph 6, sentence 5; figure 3",
        "From 70 rankers on mergeRUCB has less regret than all other agents.",
        _best_from_many,
    )
    yield _claim(
        "mergerucb-and-rucb-best",
        "section 6.1, paragraph 2, sentence 1; figure 3",
        "MergeRUCB and RUCB are the two best where there are many rankers.",
        _two_best,
    )
    yield _claim(
        "rcs-better-with-few",
        "section 3, paragraph 6, sentence 4, first half, and sentence 2 (of earlier experiments); figure 3",
        "With few rankers RCS tends to have less regret than RUCB.",
        _ahead_of,
        RCS,
        (RUCB,),
        True,
        1.0,
    )
    yield _claim(
        "rucb-better-with-many",
        "section 3, paragraph 6, sentence 4, second half; figure 3",
        "With many rankers RUCB has less regret than RCS.",
        _ahead_of,
        RUCB,
        (RCS,),
        False,
        1.0,
    )
    for agent in (RUCB, RCS):
        yield _claim(
            f"{agent}-ahead-with-few",
            "section 8, paragraph 3, sentence 2; figure 3",
            f"With few rankers RUCB and RCS have less regret than mergeRUCB; here {NAMES[agent]}.",
            _ahead_of,
            agent,
            (MERGE,),
            True,
            1.0,
        )
    yield _claim(
        "savage-ahead-of-btm-with-few",
        "section 3, paragraph 4, sentence 1 (of earlier experiments); figure 3",
        "With few rankers SAVAGE is ahead of Beat the Mean by a wide margin.",
        _ahead_of,
        SAVAGE,
        (BTM,),
        True,
        WIDE,
    )
    yield _claim(
        "btm-ahead-of-savage-with-many",
        "section 3, paragraph 4, sentence 2 (of earlier experiments); figure 3",
        "With many rankers Beat the Mean is ahead of SAVAGE.",
        _ahead_of,
        BTM,
        (SAVAGE,),
        False,
        1.0,
    )
    yield _claim(
        "others-hard-to-scale",
        "section 1, paragraph 4, sentence 4; figure 3",
        "SAVAGE, RUCB and RCS do not scale well to many rankers.",
        _hard_to_scale,
    )


def _by_arms(results: Results, agents: Sequence[str], user: str = "navigational") -> list[Curve]:
    """The regret in the end by the number of rankers."""
    from rankgym.experiments.show import figures

    arms = _arms(results, user)
    ends = {agent: [figures.curve(results[_label(number, user), agent]) for number in arms] for agent in agents}
    return [
        figures.Curve(
            agent,
            np.array(arms),
            np.array([one.mean[-1] for one in curves]),
            np.array([math.nan if one.error is None else one.error[-1] for one in curves]),
            marked=True,
        )
        for agent, curves in ends.items()
    ]


def _end(results: Results) -> str:
    played: Played = next(iter(results))
    return f"regret after {int(played.rounds[-1]):,} duels"


def _draw_3(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    panel = figures.Panel(
        "Regret by the number of rankers",
        _by_arms(results, FIVE),
        xlabel="rankers, K",
        ylabel=_end(results),
        bottom=0.0,
    )
    return figures.panels([panel], caption=_subsets_caption(results))


def _subsets_caption(results: Results) -> str:
    return f"Mean of {len(next(iter(results)).row)} random subsets of each size; bars: one standard error"


# -- figure 4: 70 rankers over time -----------------------------------------------------------------------------------


def _sweep_4(scale: Scale, source: str) -> Sweep:
    return Sweep(_subsets([MANY], source), FIVE, _rounds(scale), runs=_runs(scale), name=f"mergeRUCB figure 4, {scale}")


def _claims_4() -> Iterator[Claim]:
    yield _claim(
        "end-stands-for-course-70",
        "section 6.3, paragraph 3, sentence 3; figure 4",
        "With 70 rankers, too, the regret after ten million duels tells how the agents compare over the whole time.",
        _good_indication,
        _label(MANY),
    )


def _draw_4(results: Results) -> Figure:
    return _over_time(results, {_label(MANY): _label(MANY)}, FIVE, columns=1)


# -- figure 5: user models --------------------------------------------------------------------------------------------


def _sweep_5(scale: Scale, source: str) -> Sweep:
    arms = {"full": ARMS, "small": (10, 70, 130), "smoke": (10, 70)}[scale]
    subsets = _subsets(arms, source, USERS)
    return Sweep(subsets, FIVE, _rounds(scale), runs=_runs(scale), name=f"mergeRUCB figure 5, {scale}")


def _affected(results: Results) -> Measured:
    """By what factor the users matter to RCS, as a multiple of the factor for mergeRUCB and RUCB."""

    def more(*means: Array) -> Array:
        rcs, other = (
            np.max(means[start : start + 3], axis=0) / np.min(means[start : start + 3], axis=0) for start in (0, 3)
        )
        return np.asarray(rcs / other)

    def three(agent: str) -> tuple[Units, ...]:
        return tuple(_subset_regret(results, agent, user=user) for user in USERS)

    return _all(
        partial(statistics.of_means, more),
        [
            (
                "regret with the worst user model as a multiple of that with the best one, all K together: RCS's "
                f"factor over {NAMES[other]}'s",
                (*three(RCS), *three(other)),
            )
            for other in (MERGE, RUCB)
        ],
        ABOVE_1,
    )


def _degrades(results: Results) -> Measured:
    return _all(
        statistics.ratio,
        [
            (
                f"RCS's regret with {after} users as a multiple of that with {before} ones, all K together",
                (_subset_regret(results, RCS, user=after), _subset_regret(results, RCS, user=before)),
            )
            for before, after in pairwise(USERS)
        ],
        ABOVE_1,
    )


def _dramatic(results: Results) -> Measured:
    first, *_, last = USERS
    found = statistics.ratio(_subset_regret(results, RCS, user=last), _subset_regret(results, RCS, user=first))
    return found.measured(
        f"RCS's regret with {last} users as a multiple of that with {first} ones, all K together",
        (WIDE, math.inf),
        f"dramatic is read as: at least {WIDE:g} times as much",
    )


def _claims_5() -> Iterator[Claim]:
    yield _claim(
        "rcs-most-affected-by-users",
        "section 6.4, paragraph 2, sentence 1; figure 5",
        "The user model matters more to RCS than to mergeRUCB or RUCB.",
        _affected,
    )
    yield _claim(
        "rcs-degrades-with-noise",
        "section 6.4, paragraph 2, sentences 2 and 3; figure 5",
        "RCS gets worse from perfect to navigational to informational users, as the winner's margins shrink.",
        _degrades,
    )
    yield _claim(
        "rcs-degrades-dramatically",
        "section 6.4, paragraph 2, sentence 2; figure 5",
        "As they shrink RCS gets dramatically worse.",
        _dramatic,
    )


def _draw_5(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    curves = [_by_arms(results, FIVE, user) for user in USERS]
    top = max(float(one.mean.max()) for of_user in curves for one in of_user)
    panels = [
        figures.Panel(
            f"{user.capitalize()} users",
            of_user,
            xlabel="rankers, K",
            ylabel=_end(results) if number == 0 else "",
            top=1.1 * top,
            bottom=0.0,
        )
        for number, (user, of_user) in enumerate(zip(USERS, curves, strict=True))
    ]
    return figures.panels(panels, columns=3, caption=_subsets_caption(results), share_y=True)


# -- figure 6: mergeRUCB's parameters ---------------------------------------------------------------------------------

SIZES_OF_BATCHES = (4, 6, 8, 10)
ALPHAS = (0.71, 0.81, 0.91, 1.01, 1.11, 1.21)


def _variant(batch_size: int, alpha: float) -> str:
    return MERGE if (batch_size, alpha) == (4, 1.01) else f"{MERGE}:batch_size={batch_size}:alpha={alpha}"


def _sweep_6(scale: Scale, source: str) -> Sweep:
    arms = {"full": ARMS, "small": (10, 70, 130), "smoke": (10, 70)}[scale]
    alphas = ALPHAS if scale == "full" else (0.71, 1.01, 1.21)
    grid = tuple(_variant(batch_size, alpha) for batch_size in SIZES_OF_BATCHES for alpha in alphas)
    return Sweep(_subsets(arms, source), grid, _rounds(scale), runs=_runs(scale), name=f"mergeRUCB figure 6, {scale}")


def _grid(results: Results) -> list[str]:
    """Labels of the variants, the default first."""
    labels = results.agents(_label(_arms(results)[0]))
    return [MERGE, *(label for label in labels if label != MERGE)]


def _over_best(*means: Array) -> Array:
    """The first regret as a multiple of the least."""
    return np.asarray(means[0] / np.min(means, axis=0))


def _default_close(results: Results) -> Measured:
    grid = _grid(results)
    return _all(
        partial(statistics.of_means, _over_best),
        [
            (
                f"regret with p = 4, alpha = 1.01 as a multiple of the least of {len(grid)} choices, K = {number}",
                tuple(_regret(results, [_label(number)], agent) for agent in grid),
            )
            for number in _arms(results)
        ],
        (0.0, CLOSE),
        f"called close up to {CLOSE:g}; the least of noisy means is too small, so that the factor is rather too large",
    )


def _little_gain(results: Results) -> Measured:
    grid = _grid(results)
    units = [_subset_regret(results, agent) for agent in grid]
    found = statistics.of_means(lambda *means: 1.0 - 1.0 / _over_best(*means), *units)
    return found.measured(
        f"share of the regret, all K together, that the best of {len(grid)} choices of p and alpha would save",
        (-math.inf, LITTLE),
        f"called little up to {LITTLE:.0%}",
    )


def _smaller_alpha(results: Results) -> Measured:
    least = min(ALPHAS)
    found = statistics.ratio(_subset_regret(results, _variant(4, least)), _subset_regret(results, MERGE))
    return found.measured(
        f"regret with alpha = {least}, the least of the grid, as a multiple of that with 1.01, p = 4, all K together",
        ABOVE_1,
    )


def _indistinct(results: Results) -> Measured:
    """The distance of the outer curves at the smallest K, as a share of the height of the figure."""
    grid, arms = _grid(results), _arms(results)
    units = [_regret(results, [_label(number)], agent) for number in (arms[0], arms[-1]) for agent in grid]

    def share(*means: Array) -> Array:
        few, many = np.array(means[: len(grid)]), np.array(means[len(grid) :])
        return np.asarray((few.max(axis=0) - few.min(axis=0)) / many.max(axis=0))

    return statistics.of_means(share, *units).measured(
        f"largest less least regret of the choices at K = {arms[0]}, as a share of the largest at K = {arms[-1]}",
        (-math.inf, INDISTINCT),
        f"called indistinct up to {INDISTINCT:.0%} of the axis",
    )


def _claims_6() -> Iterator[Claim]:
    yield _claim(
        "default-close-to-best",
        "section 6.5, paragraph 2, sentence 3; figure 6",
        "The regret of the default parameters is close to that of the best ones, or equal, at every number of rankers.",
        _default_close,
    )
    yield _claim(
        "little-gain-from-tuning",
        "section 5, paragraph 8, sentence 4; figure 6",
        "Other values of p and alpha gain little or nothing.",
        _little_gain,
    )
    yield _claim(
        "small-alpha-costs",
        "section 5, paragraph 8, sentence 3; figure 6",
        "Towards alpha = 0.5 the exploration at the start costs more than narrower intervals save.",
        _smaller_alpha,
    )
    yield _claim(
        "indistinct-with-few",
        "section 6.5, paragraph 2, sentence 2; figure 6",
        "With few rankers the three curves could not be told apart on a linear axis.",
        _indistinct,
    )


def _draw_6(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    grid = _grid(results)
    curves = _by_arms(results, grid)
    default, means = curves[0], np.array([one.mean for one in curves])
    assert default.error is not None
    errors = np.array([one.error for one in curves])
    outer = []
    for label, which in (("largest of the grid", means.argmax(axis=0)), ("least of the grid", means.argmin(axis=0))):
        places = which, np.arange(means.shape[1])
        outer.append(figures.Curve(label, default.x, means[places], errors[places], marked=True))
    panel = figures.Panel(
        "MergeRUCB's parameters",
        [outer[0], default._replace(label="default: p = 4, alpha = 1.01"), outer[1]],
        xlabel="rankers, K",
        ylabel=_end(results),
        yscale="log",
    )
    return figures.panels([panel], caption=f"{len(grid)} choices of p and alpha. {_subsets_caption(results)}")


# -- figure 7: Sparring and MultiSBM ----------------------------------------------------------------------------------

SEVEN = (*FIVE, SPARRING, MULTISBM)
WELL, ARXIV, CIRCLE = "Arithmetic", "Arxiv", "Cyclic"
CLOSE_CIRCLE = "Cyclic, a closer winner"
MARGIN, CLOSE_MARGIN = 0.1, 0.02  # of the winner: in Cyclic, and in what is closer; Borda scores differ by 4/3 of it
FAR, NEAR = (f"Borda scores {gap} apart" for gap in (0.08, 0.005))
BORDA_GAPS = {FAR: 0.08, NEAR: 0.005}
CASES = (WELL, ARXIV, CIRCLE, CLOSE_CIRCLE, FAR, NEAR)


def _circle(margin: float) -> list[list[float]]:
    """Three arms that beat each other in a circle by 0.4, and one that beats all by ``margin``: of Cyclic, 0.1."""
    beats, loses = 0.5 + margin, 0.5 - margin
    return [[0.5, beats, beats, beats], [loses, 0.5, 0.9, 0.1], [loses, 0.1, 0.5, 0.9], [loses, 0.9, 0.1, 0.5]]


def _close_borda(gap: float) -> list[list[float]]:
    """Six arms. The first one beats all others by 0.1; the second one has a Borda score that is less by ``gap``.

    The others beat those after them by 0.05 and lose to the second one with a probability q, on which the gap depends:
    the scores are 0.6 and (0.4 + 4 q) / 5. What a duel costs does not depend on the gap.
    """
    q = 0.65 - 1.25 * gap
    upper = {(0, j): 0.6 for j in range(1, 6)} | {(1, j): q for j in range(2, 6)}
    upper |= {(i, j): 0.55 for i in range(2, 6) for j in range(i + 1, 6)}
    return [[0.5 if i == j else upper[i, j] if i < j else 1.0 - upper[j, i] for j in range(6)] for i in range(6)]


def _sweep_7(scale: Scale, source: str) -> Sweep:
    """``source`` makes no difference: the matrices are figures of the literature, or ours."""
    ours = {CLOSE_CIRCLE: _circle(CLOSE_MARGIN)} | {label: _close_borda(gap) for label, gap in BORDA_GAPS.items()}
    environments = (
        *(Environment(label, f"rankgym/Dueling-{label}-v0") for label in (WELL, ARXIV, CIRCLE)),
        *(Environment(label, SYNTHETIC, {"preference": matrix}) for label, matrix in ours.items()),
    )
    runs = 2 if scale == "smoke" else 50
    return Sweep(environments, SEVEN, _rounds(scale), runs=runs, name=f"mergeRUCB figure 7, {scale}")


def _multisbm_behind(results: Results) -> Measured:
    """By what factor MultiSBM is behind the third of the five agents that it is most behind of, where that is least."""
    most = len(FIVE) // 2 + 1
    each = statistics.for_each_of(len(CASES) * len(FIVE))

    def third(numbers: Iterable[float]) -> float:
        return sorted(numbers, reverse=True)[most - 1]

    def part(label: str) -> Measured:
        theirs = _regret(results, [label], MULTISBM)
        factors = [statistics.ratio(theirs, _regret(results, [label], agent), level=each) for agent in FIVE]
        return Measured(
            f"{label}: MultiSBM's regret as a multiple of that of mergeRUCB, RUCB, RCS, Beat the Mean and SAVAGE: the "
            "third largest of the five factors",
            third(one.value for one in factors),
            third(one.low for one in factors),
            third(one.high for one in factors),
            ABOVE_1,
            factors[0].method,
            "consistently behind most is read as: in all problems behind three of five",
        )

    return weakest([part(label) for label in CASES])


def _sparring_well(results: Results) -> Measured:
    found = statistics.ratio(_regret(results, [WELL], MERGE), _regret(results, [WELL], SPARRING))
    return found.measured(f"{WELL}: mergeRUCB's regret as a multiple of Sparring's", ABOVE_1)


def _ahead_with_few(agent: str, results: Results) -> Measured:
    found = statistics.ratio(_regret(results, [WELL], MERGE), _regret(results, [WELL], agent))
    return found.measured(f"{WELL}, 8 arms: mergeRUCB's regret as a multiple of {NAMES[agent]}'s", ABOVE_1)


def _sparring_badly(results: Results) -> Measured:
    label = CIRCLE
    theirs = _regret(results, [label], SPARRING)
    return _all(
        statistics.ratio,
        [
            (
                f"{label}: Sparring's regret as a multiple of {NAMES[agent]}'s",
                (theirs, _regret(results, [label], agent)),
            )
            for agent in (MERGE, RUCB, RCS)
        ],
        ABOVE_1,
    )


def _sparring_degrades(near: str, far: str, cost: str, results: Results) -> Measured:
    found = statistics.ratio(_regret(results, [near], SPARRING), _regret(results, [far], SPARRING))
    return found.measured(
        f"Sparring's regret in {near!r} as a multiple of that in {far!r}",
        (WIDE, math.inf),
        f"dramatic is read as: at least {WIDE:g} times as much; {cost}",
    )


def _claims_7() -> Iterator[Claim]:
    yield _claim(
        "multisbm-behind",
        "section 8, paragraph 2, sentence 4; figure 7",
        "MultiSBM is behind most of the other agents, consistently.",
        _multisbm_behind,
        rounds=1_000_000,
    )
    yield _claim(
        "sparring-does-well",
        "section 8, paragraph 3, sentences 1 and 2; figure 7, top",
        "There are problems with few rankers in which Sparring does well, and better than mergeRUCB.",
        _sparring_well,
        rounds=1_000_000,
    )
    for agent in (RUCB, RCS):
        yield _claim(
            f"{agent}-ahead-with-few",
            "section 8, paragraph 3, sentence 2; figure 7, top",
            f"With few rankers RUCB and RCS are ahead of mergeRUCB, too; here {NAMES[agent]}.",
            _ahead_with_few,
            agent,
            rounds=1_000_000,
        )
    yield _claim(
        "sparring-does-badly",
        "section 8, paragraph 3, sentence 3; section 9, paragraph 4, sentence 1; figure 7, bottom",
        "There are problems with few rankers in which Sparring does badly.",
        _sparring_badly,
        rounds=1_000_000,
    )
    yield _claim(
        "sparring-degrades-with-borda",
        "section 8, paragraph 3, sentence 4; figure 7, bottom",
        "Sparring gets dramatically worse as the best Borda scores come closer to each other.",
        _sparring_degrades,
        CLOSE_CIRCLE,
        CIRCLE,
        "a duel costs a fifth where scores are closer, and the winner is as much harder to tell from the others",
        rounds=1_000_000,
    )
    yield _claim(
        "borda-alone-degrades-sparring",
        "section 8, paragraph 3, sentence 5; figure 7, bottom",
        "This is so because it chooses arms by their Borda scores.",
        _sparring_degrades,
        NEAR,
        FAR,
        "nothing but these scores differs: the winner's margins, and what a duel costs, are the same",
        rounds=1_000_000,
    )


def _draw_7(results: Results) -> Figure:
    return _over_time(results, {label: label for label in CASES}, SEVEN, columns=3, leaving=2)


# -- the table --------------------------------------------------------------------------------------------------------

AGENTS = (
    "Parameters: mergeRUCB alpha = 1.01, p = 4, delta = .01 (section 5, paragraph 8); SAVAGE delta = .01; not in the "
    "paper: RUCB and RCS alpha = .51, Beat the Mean gamma = 1 with a radius factor of 1."
)
FIVE_AGENTS = (
    "The text speaks of five agents without naming them all: mergeRUCB, RUCB, RCS and Beat the Mean are named in its "
    f"discussion, SAVAGE is our reading of section 3. {AGENTS}"
)
MATRICES = (
    "Published: the matrices of the MSLR feature rankers behind a later paper of the same group (Li et al. 2020), "
    "estimated in the same way (`rankgym data fetch mslr`). Calibrated: SYNTHETIC matrices with their figures, drawn "
    "for each user model by itself; circles and margins are calibrated, how users differ is not."
)

FIGURES = (
    PaperFigure(
        name="mergerucb-figure-1",
        paper=PAPER,
        title="Regret over time on four large problems: mergeRUCB, RUCB and Beat the Mean",
        setting="ONE OF THE FOUR PROBLEMS IS THE PAPER'S, THE OTHERS ARE STAND-INS: the Yandex and Yahoo collections "
        "cannot be had, and no matrices of them were published. The stand-ins have as many rankers (245; 700 of "
        "which 104, or 181, are uninformative as section 7 has it), utilities that are normal with a standard "
        f"deviation of {SPREAD} and duels by the logistic function of their differences (Bradley-Terry: a total "
        "order, no circles), so that half of all pairs are as close as in MSLR; each run has a matrix of its own. A "
        "stand-in of 136 is played too, to see the number of rankers by itself. Duels are coins, not interleaved "
        f"lists. Runs: 10; the paper does not say. {MATRICES} {AGENTS}",
        sweep=_sweep_1,
        draw=_draw_1,
        claims=tuple(_claims_1()),
    ),
    PaperFigure(
        name="mergerucb-figure-2",
        paper=PAPER,
        title="Duels by interleaving and simulated clicks, and duels by coins with the same chances",
        setting="Calibrated: a SYNTHETIC collection of 100 queries of 20 documents, 136 rankers (32 at small scale), "
        "five grades, which is written into the data cache with its matrix (imported as mergerucb-figure-2-...). "
        f"Published: the LETOR file that the environment variable {LETOR_FILE} names, such as a fold of MSLR-WEB30K. "
        "Lists are interleaved by team draft, whose chances are evaluated exactly, instead of by probabilistic "
        "interleaving, whose were estimated from 400,000 comparisons. As users come independently of each other, "
        "duels by clicks are then Bernoulli trials with just these chances: the figure checks the simulation, not an "
        f"approximation. {FIVE_AGENTS}",
        sweep=_sweep_2,
        prepare=_prepare_2,
        draw=_draw_2,
        claims=tuple(_claims_2()),
    ),
    PaperFigure(
        name="mergerucb-figure-3",
        paper=PAPER,
        title="Regret after ten million duels by the number of rankers",
        setting="As in the paper: 10 random subsets of each size with a Condorcet winner, navigational users. "
        f"{MATRICES} {FIVE_AGENTS}",
        sweep=_sweep_3,
        draw=_draw_3,
        claims=tuple(_claims_3()),
    ),
    PaperFigure(
        name="mergerucb-figure-4",
        paper=PAPER,
        title="Regret over time with 70 rankers",
        setting=f"The runs of figure 3 with 70 rankers. {MATRICES} {FIVE_AGENTS}",
        sweep=_sweep_4,
        draw=_draw_4,
        claims=tuple(_claims_4()),
    ),
    PaperFigure(
        name="mergerucb-figure-5",
        paper=PAPER,
        title="Regret by the number of rankers with perfect, navigational and informational users",
        setting=f"As figure 3, for each user model. {MATRICES} {FIVE_AGENTS}",
        sweep=_sweep_5,
        draw=_draw_5,
        claims=tuple(_claims_5()),
    ),
    PaperFigure(
        name="mergerucb-figure-6",
        paper=PAPER,
        title="MergeRUCB's parameters: the least and the largest regret of a grid, and that of the default",
        setting="As figure 3; at small scale three of the six values of alpha. Largest and least are of means over "
        f"runs. {MATRICES}",
        sweep=_sweep_6,
        draw=_draw_6,
        claims=tuple(_claims_6()),
    ),
    PaperFigure(
        name="mergerucb-figure-7",
        paper=PAPER,
        title="Sparring and MultiSBM, where Sparring does well and where the best Borda scores are close",
        setting="The paper does not say which problems its two plots are of, nor their horizon. Here: three small "
        "matrices of the literature, Cyclic with a winner that is closer to the others, and two of ours, alike but "
        "for how close the two best Borda scores are. Runs: 50. Claims are judged from a million duels on. "
        f"{FIVE_AGENTS}",
        sweep=_sweep_7,
        draw=_draw_7,
        claims=tuple(_claims_7()),
    ),
)
