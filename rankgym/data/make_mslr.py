"""The script that drew the calibrated MSLR matrices: ``python -m rankgym.data.make_mslr``.

It writes ``mslr_calibrated.npz`` beside this file: three synthetic preference matrices, one a user model, of as many
rankers as the published matrices of the MSLR feature rankers have (136; 135 for the informational user). Only the
``MATRIX_STATISTICS`` below were taken from these; ``--estimate FILE`` prints them again from a copy of one of them.

The model behind the draw
-------------------------
A ranker has a quality q and two tastes a and b, all normal (q slightly bent to the left). The latent lead of ranker i
over ranker j is

    q_i - q_j  +  KAPPA (a_i b_j - a_j b_i)  +  NOISE e_ij,       e_ij normal, e_ji = -e_ij

The first term is a total order. The second makes rankers beat each other in cycles; it is the same for rankers of the
same tastes. The third is the error of a matrix that was estimated from about 400,000 comparisons a pair (its standard
deviation, 1/2 / sqrt(400000) = .0008, is .01 on the latent scale): it decides among rankers that do not differ.

* ``POOR`` rankers are of a quality far below all others: without them, quantiles and extremes of the published
  margins |p - 1/2| do not go together.
* Each of the ``clusters`` of a user model is a group of rankers of the same tastes and, up to ``JITTER``, the same
  quality. They are behind the rankers that nearly tie with more than five others, which the published matrices have.

From leads to probabilities it is a matter of ranks: the margins are those of the quantile function that is linear
between the figures, given to the pairs in the order of their |lead|; so quantiles and range are the figures. The
Condorcet winner is the ranker that leads most others (all others, in the draws that were chosen) and its margins are
solved for: the three smallest are the figures, the others keep their order and are moved towards the third so that
the mean is its figure.

Probabilities are multiples of 1/65536, so that p_ij + p_ji is exactly 1, and never 1/2: there are no exact ties.
Rankers are in random order, with the winner at the index that it has in the published matrix. The user models are
drawn independently of each other: no statistic says how much the published ones agree.

The rest is random, so ``SEEDS`` were chosen by ``search`` (``--search``) among those below 1000. As the matrices were
chosen to resemble the published ones, do not use them to estimate how much such matrices differ.

Random numbers are Python's Mersenne Twister through the inverse normal distribution, and results are rounded to 16
bits: the file does not depend on the versions of libraries nor on the machine.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.data.make_calibrated import normals
from rankgym.data.matrices import Array, condorcet_winner, cyclic_triples
from rankgym.data.matrix_files import LEVELS, packed, read

VERSION = 1
QUANTILES = (0.05, 0.10, 0.25, 0.50, 0.75, 0.90)
NEAR, MANY = 0.002, 5  # a near-tie is a margin up to NEAR; figures count the rankers with more than MANY of them

POOR, POOR_QUALITY, POOR_SPREAD = 11, -4.0, 0.5
BEND, KAPPA, JITTER, NOISE = 0.15, 0.06, 0.002, 0.01


class MatrixStatistics(NamedTuple):
    """The statistics of one published matrix that the draw uses."""

    rankers: int
    winner: int
    smallest: float  # entry
    margins: tuple[float, ...]  # quantiles of |p - 1/2| over the pairs, at QUANTILES
    winner_smallest: tuple[float, float, float]  # margins of the Condorcet winner
    winner_mean: float  # margin
    cyclic: int  # triples
    near: int  # rankers that nearly tie with more than MANY others


MATRIX_STATISTICS = {
    "perfect": MatrixStatistics(
        136, 109, 0.163, (0.006, 0.012, 0.031, 0.075, 0.136, 0.250), (0.0066, 0.0175, 0.0204), 0.117, 447, 20
    ),
    "navigational": MatrixStatistics(
        136, 109, 0.164, (0.005, 0.010, 0.027, 0.065, 0.124, 0.241), (0.0056, 0.0058, 0.0145), 0.105, 377, 32
    ),
    "informational": MatrixStatistics(
        135, 113, 0.095, (0.007, 0.013, 0.035, 0.086, 0.169, 0.307), (0.0047, 0.0058, 0.0090), 0.115, 336, 10
    ),
}
CLUSTERS = {"perfect": (10, 9), "navigational": (11, 10, 10), "informational": (9,)}  # sizes; chosen for ``near``
SEEDS = {"perfect": 567, "navigational": 870, "informational": 602}


def draw(user_model: str, seed: int | None = None) -> Array:
    """The matrix (rankers, rankers) of a user model and a seed; without one, that of ``SEEDS``: the embedded one."""
    figures = MATRIX_STATISTICS[user_model]
    arms = figures.rankers
    source = random.Random(f"mslr {user_model} {SEEDS[user_model] if seed is None else seed}")
    lead = _leads(source, arms, CLUSTERS[user_model])

    winner = int((lead > 0.0).sum(1).argmax())
    lead[winner], lead[:, winner] = np.abs(lead[winner]), -np.abs(lead[:, winner])
    order = np.argsort([source.random() for _ in range(arms)], kind="stable")
    place = int(np.flatnonzero(order == winner)[0])
    order[[place, figures.winner]] = order[[figures.winner, place]]
    lead = lead[np.ix_(order, order)]

    margin = _margins(np.abs(lead), figures)
    steps = np.maximum(np.rint(margin * LEVELS), 1.0)  # at least one: no ties
    matrix = 0.5 + np.sign(lead) * steps / LEVELS
    np.fill_diagonal(matrix, 0.5)
    return matrix


def _leads(source: random.Random, arms: int, clusters: Sequence[int]) -> Array:
    """The latent leads (arms, arms), antisymmetric."""
    normal = normals(source)
    kinds = arms - sum(clusters) + len(clusters)  # different rankers: the poor ones first, the clusters' last
    quality = normal(kinds)
    quality = quality - BEND * (quality**2 - 1.0)
    quality[:POOR] = POOR_QUALITY + POOR_SPREAD * normal(POOR)
    tastes = normal(kinds, 2)
    clustered = np.repeat(np.arange(kinds - len(clusters), kinds), clusters)
    kind = np.concatenate([np.arange(kinds - len(clusters)), clustered])
    jitter = JITTER * normal(arms) * (kind >= kinds - len(clusters))
    quality, a, b = quality[kind] + jitter, tastes[kind, 0], tastes[kind, 1]
    upper = np.zeros((arms, arms))
    upper[np.triu_indices(arms, 1)] = NOISE * normal(arms * (arms - 1) // 2)
    lead: Array = quality[:, None] - quality + KAPPA * (np.outer(a, b) - np.outer(b, a)) + upper - upper.T
    return lead


def _margins(size: Array, figures: MatrixStatistics) -> Array:
    """|p - 1/2| (arms, arms) of the pairs: the figures' quantiles, in the order of the leads' sizes."""
    arms, winner = figures.rankers, figures.winner
    i, j = np.triu_indices(arms, 1)
    grid = np.linspace(0.0, 1.0, len(i))
    wanted = np.interp(grid, (0.0, *QUANTILES, 1.0), (0.0, *figures.margins, 0.5 - figures.smallest))
    by_size = np.argsort(size[i, j], kind="stable")
    margin = np.zeros(len(i))
    margin[by_size] = wanted

    of_winner = (i == winner) | (j == winner)
    row = _winner_margins(margin[of_winner], figures)
    free = np.ones(len(wanted), bool)  # what the winner's margins leave to the other pairs
    for value in np.sort(row)[::-1]:
        near = np.flatnonzero(free)
        free[near[np.abs(wanted[near] - value).argmin()]] = False
    margin[of_winner] = row
    others = by_size[~of_winner[by_size]]
    margin[others] = wanted[free]

    full = np.zeros((arms, arms))
    full[i, j] = full[j, i] = margin
    return full


def _winner_margins(row: Array, figures: MatrixStatistics) -> Array:
    """The winner's margins in the same order, with the figures' three smallest and the figures' mean."""
    order = np.argsort(row, kind="stable")
    third = figures.winner_smallest[-1]
    excess = row[order[3:]] - row[order[2]]
    needed = figures.winner_mean * len(row) - sum(figures.winner_smallest) - third * len(excess)
    found = np.empty_like(row)
    found[order[:3]] = figures.winner_smallest
    found[order[3:]] = third + needed / excess.sum() * excess
    return found


def estimate(matrix: Array) -> MatrixStatistics:
    """The figures of a preference matrix with a Condorcet winner, rounded as they stand in ``MATRIX_STATISTICS``."""
    arms, winner = len(matrix), condorcet_winner(matrix)
    margin = np.abs(matrix - 0.5)
    row = np.sort(np.delete(margin[winner], winner))
    quantiles = np.quantile(margin[np.triu_indices(arms, 1)], QUANTILES)
    one, two, three = np.round(row[:3], 4).tolist()
    return MatrixStatistics(
        arms,
        winner,
        round(float(matrix.min()), 3),
        tuple(np.round(quantiles, 3).tolist()),
        (one, two, three),
        round(float(row.mean()), 3),
        cyclic_triples(matrix),
        int(((margin <= NEAR).sum(1) - 1 > MANY).sum()),
    )


def search(user_model: str, seeds: Sequence[int] = range(1_000)) -> tuple[int, float]:
    """The seed whose draw is nearest to the figures that are not solved for, the first of equals, and its distance.

    The distance is the larger of the relative differences in cyclic triples and in rankers with many near-ties; draws
    whose winner does not lead all others by itself do not count.
    """
    best = (-1, np.inf)
    figures = MATRIX_STATISTICS[user_model]
    for seed in seeds:
        source = random.Random(f"mslr {user_model} {seed}")
        lead = _leads(source, figures.rankers, CLUSTERS[user_model])
        if (lead > 0.0).sum(1).max() < figures.rankers - 1:
            continue
        found = estimate(draw(user_model, seed))
        distance = max(abs(found.cyclic / figures.cyclic - 1.0), abs(found.near / figures.near - 1.0))
        if distance < best[1]:
            best = (seed, distance)
    return best


def markdown() -> str:
    """The documentation's table: the figures of the published matrices, and those of the embedded ones."""
    columns: dict[str, dict[str, str]] = {}
    for user, target in MATRIX_STATISTICS.items():
        columns |= {f"{user} target": _cells(target), f"{user} made": _cells(estimate(draw(user)))}
    lines = ["| measure | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name in _cells(target):
        lines.append(f"| {name} | " + " | ".join(cells[name] for cells in columns.values()) + " |")
    return "\n".join(lines)


def _cells(figures: MatrixStatistics) -> dict[str, str]:
    margins = zip(QUANTILES, figures.margins, strict=True)
    return {
        "rankers": str(figures.rankers),
        "Condorcet winner": str(figures.winner),
        "smallest entry": f"{figures.smallest:.3f}",
        **{f"margin, {100 * level:.0f} % quantile": f"{margin:.3f}" for level, margin in margins},
        "the winner's smallest margins": " ".join(f"{margin:.4f}" for margin in figures.winner_smallest),
        "the winner's mean margin": f"{figures.winner_mean:.3f}",
        "cyclic triples": str(figures.cyclic),
        "rankers with more than 5 margins up to .002": str(figures.near),
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the embedded file; or print where its numbers come from, and write nothing."""
    parser = argparse.ArgumentParser(prog="python -m rankgym.data.make_mslr", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("mslr_calibrated.npz"), metavar="FILE")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--estimate", type=Path, metavar="FILE", help="print the figures of a preference matrix")
    group.add_argument("--search", action="store_true", help="print the nearest seeds")
    group.add_argument("--table", action="store_true", help="print the comparison with the published figures")
    asked = parser.parse_args(arguments)
    if asked.estimate:
        for name, value in estimate(read(asked.estimate))._asdict().items():
            print(f"{name} = {value}")
    elif asked.search:
        for user in MATRIX_STATISTICS:
            print("{}: seed {}, distance {:.3f}".format(user, *search(user)))
    elif asked.table:
        print(markdown())
    else:
        arrays: dict[str, Any] = {user: packed(draw(user)) for user in MATRIX_STATISTICS}
        np.savez(asked.out, version=np.array(VERSION), **arrays)
        print(asked.out)


if __name__ == "__main__":
    main()
