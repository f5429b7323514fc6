"""``rankgym data fit``: from a click log to a collection of fits that environments play."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands.options import number, option
from rankgym.commands.tables import show_table

if TYPE_CHECKING:
    from rankgym.data.fits import Fits
    from rankgym.logs.fitting import Fitted, Score
    from rankgym.logs.readers import Report
    from rankgym.logs.sessions import Sessions

FEW_SESSIONS = 1_000  # fewer fitted, or none held out, get a warning
MOST_ENTRIES = 10  # of a shared parameter that are shown; the UBM has a table of positions
PLAYED_POSITIONS = 5  # of environments, unless others are asked for


def fit(
    log: Annotated[list[Path], typer.Argument(metavar="LOG", help="The log's file, plain or gzipped, or several.")],
    out: Annotated[str, option("NAME", "Name of the collection: environments take it as `source=NAME`.")],
    model: Annotated[str, option("cm|pbm|dcm|dbn|ubm|ccm|dbm", "The click model.")] = "pbm",
    form: Annotated[
        str, option("plain|relevance|personalised", "How the log is written; see below.", "--format")
    ] = "plain",
    queries: Annotated[int, number("N", "The most frequent queries are taken, so many.", low=1)] = 60,
    items: Annotated[int, number("L", "Documents of a query. Queries with fewer are left out.", low=1)] = 10,
    choice: Annotated[
        str,
        option("frequent|attractive", "Which documents: those displayed most often, or of the largest attraction."),
    ] = "frequent",
    positions: Annotated[
        int | None, number("K", "Documents and clicks below are left out. Default: all are read.", low=1)
    ] = None,
    prior: Annotated[
        str, option("A,B", "Beta prior of every parameter. `1,1`: maximum likelihood; `2,2` holds off 0 and 1.")
    ] = "1,1",
    held_out: Annotated[float, option("SHARE", "Sessions that are not fitted, but measure how good the fit is.")] = 0.1,
    seed: Annotated[int, number("S", "Of the sessions that are held out.", low=0)] = 0,
    max_broken: Annotated[
        float, option("SHARE", "Lines that may be broken, and are left out then. More are an error.")
    ] = 0.001,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the collection NAME.")] = False,
) -> None:
    """Fit a click model to a log of your own, and make environments of it.

    Each of the most frequent queries becomes a ranking problem: its 10 documents that were displayed most often, in the
    order of its most frequent result list, which is the initial list of agents that have one.

    Example, a table of sessions in CSV, TSV or Parquet:

    `rankgym data fit clicks.csv --model pbm --out my-clicks`

    `rankgym compare PBM-Yandex-v0 --source my-clicks`

    The table's first line names its columns; with three positions, a session of the query shoes with a click on top is

        query,item_1,item_2,item_3,click_1,click_2,click_3
        shoes,doc17,doc3,doc21,1,0,0

    Other columns are left alone. The public logs of Yandex are read as they are:

    * `--format relevance`: relevance prediction challenge of 2011, lines of `SessionID TimePassed Q QueryID RegionID
      URL1 ... URL10` and `SessionID TimePassed C URLID`
    * `--format personalised`: personalised web search challenge of 2013, lines of `SessionID M Day USERID`, `SessionID
      TimePassed Q SERPID QueryID Terms URL,Domain ...` and `SessionID TimePassed C SERPID URLID`

    Parameters that all queries share are shown with their standard errors. The table in the end has the perplexity of
    the sessions held out: 1 for a model that is always right, 2 for one that tosses a coin at each position. Compare
    models by it, one collection each.
    """
    from rankgym import data as room
    from rankgym.logs.readers import broken_text

    name = _model_of(model)
    beta = _prior_of(prior)
    _check_name(out, overwrite)
    parts, report, left_out, fits, fitted, score = _made(
        log, form, name, beta, queries, items, choice, positions, held_out, seed, max_broken
    )
    path = room.store(out, fits)
    typer.echo(f"{out}: {path}")
    typer.echo(_what(fits, fitted, parts, report))
    if report.broken:
        typer.echo(broken_text(report))
    if report.withheld:
        typer.echo(f"{report.withheld:,} queries whose clicks were withheld (lines T) are not among the sessions")
    if left_out:
        has, was = ("has", "was") if left_out == 1 else ("have", "were")
        total = left_out + len(fits.query)
        typer.echo(
            f"{left_out} of {total} queries {has} fewer than {items} documents and {was} left out; --queries takes more"
        )
    for line in (*_shared(fitted), *_warnings(parts)):
        typer.echo(line)
    if score is not None:
        _show_score(score)
    least = min(fits.positions, items)
    more = f" --positions {least}" if least < PLAYED_POSITIONS else ""
    typer.echo(f"rankgym compare {name}-Yandex-v0 --source {out}{more} plays it")


def _made(
    log: list[Path],
    form: str,
    model: str,
    prior: tuple[float, float],
    queries: int,
    items: int,
    choice: str,
    positions: int | None,
    held_out: float,
    seed: int,
    max_broken: float,
) -> "tuple[tuple[int, int], Report, int, Fits, Fitted, Score | None]":
    """Read, fit and evaluate: sessions fitted and held out, what was found, queries left out, and the results."""
    from rankgym import data as room
    from rankgym.arguments import one_of
    from rankgym.logs.fitting import evaluate
    from rankgym.logs.fitting import fit as fit_model
    from rankgym.logs.instances import CHOICES, displays, queries_with, to_fits
    from rankgym.logs.readers import read_parts

    one_of("choice", choice, CHOICES)
    sessions, held, report = read_parts(
        log,
        form,
        held_out=held_out,
        seed=seed,
        queries=queries,
        positions=positions,
        max_broken=max_broken,
    )
    shown = displays([sessions, held])
    kept = queries_with(sessions, shown.times, items)
    left_out = len(sessions.query_id) - len(kept)
    if left_out and len(kept):
        sessions, held = _of(sessions, kept), _of(held, kept)
    if not len(sessions.query):
        raise room.DataError(f"held_out = {held_out} leaves no session to be fitted; allowed: a smaller share")
    if not len(kept):
        raise room.DataError(_too_few(sessions, shown.times, items))
    fitted = fit_model(sessions, model, prior=prior)
    score = evaluate(fitted, held) if len(held.query) else None
    provenance = _provenance(
        report,
        fitted,
        score,
        f"queries {queries}, items {items}, choice {choice}, positions {positions or 'all'}, "
        f"prior {prior[0]:g},{prior[1]:g}, held-out {held_out:g}, seed {seed}",
    )
    numbers = fitted.num_sessions, score.num_sessions if score else 0
    fits = to_fits(fitted, sessions, shown, items=items, choice=choice, provenance=provenance)
    return numbers, report, left_out, fits, fitted, score


def _of(sessions: "Sessions", kept: Any) -> "Sessions":
    from rankgym.logs.sessions import of_queries

    return of_queries(sessions, kept)


def _too_few(sessions: "Sessions", times: Any, items: int) -> str:
    """The message if no query has enough documents."""
    import numpy as np

    most = int(np.bincount(sessions.item_query[times > 0]).max(initial=0))
    whose = f"of {len(sessions.query_id)} queries none has {items} documents"
    return f"{whose}; allowed: --items {most}, the most that one of them has, or fewer"


def _provenance(report: "Report", fitted: "Fitted", score: "Score | None", options: str) -> dict[str, Any]:
    """Where the fits come from; the same for the same log, options and version."""
    from rankgym.version import __version__

    return {
        "log": ", ".join(name for name, _ in report.files),
        "sha256": ", ".join(digest for _, digest in report.files),
        "format": report.form,
        "options": options,
        "version": __version__,
        "sessions": report.sessions,
        "broken lines": report.broken,
        "fitted sessions": fitted.num_sessions,
        "steps": fitted.steps,
        "converged": "yes" if fitted.converged else "no",
        "held-out perplexity": "not measured" if score is None else round(float(score.perplexity), 6),
    }


def _what(fits: "Fits", fitted: "Fitted", parts: tuple[int, int], report: "Report") -> str:
    """Sessions, queries and steps in a sentence."""
    queries, items = fits.item.shape
    size = f"{fits.model} of {queries:,} {'query' if queries == 1 else 'queries'} with {items} documents"
    log = f"{report.sessions:,} sessions of {report.queries:,} queries in the log"
    steps = "" if fitted.steps < 2 else f", {fitted.steps} steps{'' if fitted.converged else ', NOT converged'}"
    return f"{size}: {parts[0]:,} sessions fitted, {parts[1]:,} held out, of {log}{steps}"


def _shared(fitted: "Fitted") -> list[str]:
    """The parameters that all queries share, with their standard errors, and how many other estimates are 0 or 1.

    Those by position are not counted: some are fixed, such as the examination of the first position.
    """
    import numpy as np

    from rankgym.estimates import with_error
    from rankgym.models import MODELS

    lines, ends, total = [], 0, 0
    for name, table in fitted.parameters.items():
        axes = MODELS[fitted.model].axes[name]
        if "position" not in axes:
            ends, total = ends + int(np.isin(table, (0, 1)).sum()), total + table.size
        if "item" in axes:
            continue
        pairs = zip(table.ravel().tolist(), fitted.errors[name].ravel().tolist(), strict=True)
        values = [with_error(value, error, 4) for value, error in pairs]
        if table.ndim == 2:  # a user at position k, from 1, can only have clicked above it, or not at all
            values = values[table.shape[1] - 1 :: table.shape[1]]  # the last column: none
            name += " without a click above"
        more = f", ... ({len(values)})" if len(values) > MOST_ENTRIES else ""
        lines.append(f"{name}: {', '.join(values[:MOST_ENTRIES])}{more}")
    if ends:
        share = f"of {total:,} estimates, those by position aside, {ends:,} are 0 or 1"
        lines.append(f"{share} and have no standard error; --prior 2,2 holds them off")
    return lines


def _warnings(parts: tuple[int, int]) -> list[str]:
    """What the numbers of sessions fitted and held out are too few for."""
    lines = []
    if parts[0] < FEW_SESSIONS:
        lines.append(
            f"warning: only {parts[0]:,} sessions fitted: the estimates are rough; their standard errors say how"
        )
    if not parts[1]:
        lines.append("warning: no session held out, so how good the fit is was not measured; see --held-out")
    return lines


def _show_score(score: "Score") -> None:
    """Print the perplexity by position, and the mean log-likelihood."""
    by_position = zip(score.perplexity_by_position, score.conditional_perplexity_by_position, strict=True)
    rows = [[f"{k}", f"{plain:.4f}", f"{above:.4f}"] for k, (plain, above) in enumerate(by_position, start=1)]
    rows.append(["mean", f"{score.perplexity:.4f}", f"{score.conditional_perplexity:.4f}"])
    show_table(["position", "perplexity", "given the clicks above"], rows, labels=0)
    typer.echo(f"both of the sessions held out; their mean log-likelihood: {score.log_likelihood:.4f}")


def _model_of(text: str) -> str:
    """The name of a click model, as typed in small letters; a ValueError for another one, or several."""
    from rankgym.arguments import near
    from rankgym.models import MODELS

    names = {name.lower(): name for name in MODELS}
    if "," in text:
        raise ValueError(f"--model {text} has several models; allowed: one, as a collection has fits of one model")
    if text.lower() not in names:
        raise ValueError(f"--model {text} is not known{near(text.lower(), names) or ';'} allowed: {', '.join(names)}")
    return names[text.lower()]


def _prior_of(text: str) -> tuple[float, float]:
    """The two numbers of a prior."""
    try:
        first, second = (float(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"--prior {text} is not two numbers; allowed: A,B, such as 2,2, both 1 or more") from None
    if not (1 <= first < float("inf") and 1 <= second < float("inf")):
        raise ValueError(f"--prior {text} is out of range; allowed: A,B, such as 2,2, both 1 or more")
    return first, second


def _check_name(name: str, overwrite: bool) -> None:
    """Refuse a name that is not allowed, or taken, before hours of work."""
    from rankgym import data as room
    from rankgym.data import catalogue

    catalogue.check_new_name(name, "fits")
    if name in room.fits_names() and not overwrite:
        raise ValueError(f"--out {name} is taken, see rankgym data list; allowed: another name, or --overwrite")
