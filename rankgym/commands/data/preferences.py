"""``rankgym data preferences``: estimate a preference matrix."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from rankgym.commands.options import numbers_of, with_keywords

__all__ = ["preferences"]


def preferences(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Documents as LETOR has them, plain or compressed by gzip.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="NAME.npy",
            help="The matrix; NAME.errors.npy gets its standard errors, NAME.json all that decided it.",
        ),
    ],
    interleaving: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="probabilistic, team-draft, balanced, document-constraints, optimized, or probabilistic-greedy (exact "
            "only). Its keywords after colons: probabilistic:tau=1.",
        ),
    ] = "probabilistic",
    user_model: Annotated[
        str, typer.Option(metavar="USER", help="perfect, navigational or informational.")
    ] = "navigational",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="exact|simulate",
            help="Default: exact for team-draft and probabilistic-greedy, else simulate.",
        ),
    ] = None,
    comparisons: Annotated[
        int, typer.Option(metavar="N", help="Simulated comparisons of a pair, as many on each query.")
    ] = 10_000,
    documents: Annotated[int, typer.Option(metavar="L", help="The length of the interleaved list.")] = 10,
    grades: Annotated[
        int | None,
        typer.Option(metavar="2|5", help="User of labels 0, 1 or of labels 0 .. 4. Default: by the largest label."),
    ] = None,
    rankers: Annotated[
        str | None,
        typer.Option(metavar="0,3,10-20", help="Features, numbered from 0. Default: all.", show_default=False),
    ] = None,
    ties: Annotated[int, typer.Option(metavar="S", help="Seed of the order of equal values.")] = 0,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the simulated comparisons.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="J", help="Processes. The numbers do not depend on it.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Evaluate again what is there.")] = False,
) -> None:
    """Estimate the preference matrix of a LETOR file's feature rankers by interleaved comparisons.

    A ranker sorts a query's documents by one feature. Entry i, j of the matrix is the probability that ranker i beats
    ranker j when their rankings of a random query are interleaved and a user clicks on the result; a tie is half a win.

    *exact* sums over all coins and all users: seconds for 64 rankers. *simulate* draws comparisons, as many on each
    query, and gives standard errors, which fall with the root of their number: 64 rankers with 10,000 comparisons a
    pair are 20 million, with 400,000, as in the mergeRUCB paper, 800 million. What it will cost is said at the start.

    Finished parts are kept in NAME.parts until all are done: the same command, stopped or not, goes on from them.

    Examples:

    * Exactly, by team draft: `rankgym data preferences vali.txt.gz --out np2004.npy --interleaving team-draft`
    * As in the mergeRUCB paper, in four processes:
      `rankgym data preferences vali.txt.gz --out np2004.npy --comparisons 400_000 --jobs 4`
    * For the regret in `Dueling-LETOR-v0`:
      `rankgym compare Dueling-LETOR-v0 --set file=vali.txt.gz --set preferences=np2004.npy`
    * As an environment of its own: `rankgym data import np2004 np2004.npy`

    Regret is measured against the Condorcet winner, the ranker that beats all others. Where the matrix has none, regret
    in `Dueling-LETOR-v0` stays unknown, and the comparison shows the reward; `--set winner=copeland` measures it
    against the ranker that beats the most others.
    """
    from rankgym.experiments.preferences.estimate import estimate
    from rankgym.experiments.preferences.matrix import summary

    name, knobs = with_keywords("--interleaving", interleaving)
    begin = time.perf_counter()
    result = estimate(
        file,
        interleaving=name,
        interleaving_knobs=knobs,
        user_model=user_model,
        grades=grades,
        method=method,
        comparisons=comparisons,
        num_documents=documents,
        rankers=None if rankers is None else numbers_of("--rankers", rankers),
        ties=ties,
        seed=seed,
        jobs=jobs,
        out=out,
        fresh=fresh,
    )
    for line in summary(result, time.perf_counter() - begin):
        typer.echo(line)
    stem = out.with_suffix("")
    typer.echo(f"Written: {out}, {stem}.errors.npy, {stem}.json")
