"""``rankgym data preferences``: estimate a preference matrix."""

import time
from pathlib import Path
from typing import Annotated

import typer

from rankgym.commands.options import count, numbers_of, option, with_keywords

Grades = Annotated[
    int | None, option("2|3|5", "Labels the user knows: 0, 1; 0 .. 2; or 0 .. 4. Default: by the largest label.")
]


def preferences(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents in LETOR's or LightGBM's format.")],
    out: Annotated[
        Path,
        option(
            "NAME.npy",
            "File for the matrix. NAME.errors.npy gets its standard errors, NAME.json everything that decided it.",
        ),
    ],
    interleaving: Annotated[
        str,
        option(
            "METHOD",
            "`probabilistic`, `team-draft`, `balanced`, `document-constraints`, `optimized`, or "
            "`probabilistic-greedy` (`exact` only). Keywords follow after colons: `probabilistic:tau=1`.",
        ),
    ] = "probabilistic",
    user_model: Annotated[
        str, option("USER", "`perfect`, `navigational`, `informational` or `almost-random`.")
    ] = "navigational",
    method: Annotated[
        str | None,
        option("exact|simulate", "Default: `exact` for `team-draft` and `probabilistic-greedy`, otherwise `simulate`."),
    ] = None,
    comparisons: Annotated[int, count("N", "Simulated comparisons of a pair, equally many on each query.")] = 10_000,
    documents: Annotated[int, option("L", "Length of the interleaved list.")] = 10,
    grades: Grades = None,
    rankers: Annotated[str | None, option("0,3,10-20", "Features, numbered from 0. Default: all.")] = None,
    ties: Annotated[int, option("S", "Seed of the order of equal values.")] = 0,
    seed: Annotated[int, option("S", "Seed of the simulated comparisons.")] = 0,
    jobs: Annotated[int, option("J", "Processes. The numbers do not depend on it.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Estimate again, and replace the files.")] = False,
) -> None:
    """Estimate the preference matrix of a LETOR file's feature rankers by interleaved comparisons.

    A ranker sorts a query's documents by one feature. Entry i, j of the matrix is the probability that ranker i beats
    ranker j when their rankings of a random query are interleaved and a user clicks on the result; a tie is half a win.

    FILE is plain or gzipped. Lines have a query, `label qid:ID 1:value ...`, or FILE.query beside it has the number of
    documents of each query, as in LightGBM's examples. A user belongs to the number of grades: if a part of a
    collection with five grades happens to have no label above 2, say `--grades 5`.

    *exact* sums over all coins and all users: seconds for 64 rankers. *simulate* draws comparisons, the same number on
    each query, and gives standard errors, which fall with the square root of that number. For 64 rankers, 10,000
    comparisons a pair make 20 million, and 400,000, as in the mergeRUCB paper, 800 million; the start shows the cost.

    Finished parts are kept in NAME.parts until all are done: the same command, stopped or not, resumes from them.

    Examples:

    * Exactly, by team draft: `rankgym data preferences vali.txt.gz --out np2004.npy --interleaving team-draft`
    * As in the mergeRUCB paper, in four processes:
      `rankgym data preferences vali.txt.gz --out np2004.npy --comparisons 400_000 --jobs 4`
    * For the regret in `Dueling-LETOR-v0`:
      `rankgym compare Dueling-LETOR-v0 --set file=vali.txt.gz --set preferences=np2004.npy`
    * As a data set of its own: `rankgym data import np2004 np2004.npy`

    Regret is measured against the Condorcet winner, the ranker that beats all others. If the matrix does not have one,
    regret in `Dueling-LETOR-v0` is unknown, and the comparison shows the reward; `--set winner=copeland` measures it
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
    stem, known = out.with_suffix(""), len(result.settings["clicking"])
    typer.echo(f"User: {user_model}, of {known} grades (labels 0 .. {known - 1})")
    typer.echo(f"Written: {out}, {stem}.errors.npy, {stem}.json")
