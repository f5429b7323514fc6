"""Claims of papers and verdicts on them. A verdict comes from a confidence interval, never from an eye."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from rankgym.experiments.run.results import Results

__all__ = [
    "VERDICTS",
    "Claim",
    "Judgement",
    "Measured",
    "Verdict",
    "as_json",
    "counts",
    "decide",
    "interval",
    "judge",
    "markdown",
    "number",
    "region",
    "rich_table",
    "tally",
    "weakest",
]

Verdict = Literal["holds", "does not hold", "cannot be decided at this scale"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
COLOURS = {"holds": "green", "does not hold": "red", "cannot be decided at this scale": "yellow"}
HEAD = ("claim", "measured", "value and interval", "claimed", "verdict")


class Measured(NamedTuple):
    """A quantity that decides a claim, with its confidence interval, and where the claim says that it lies."""

    quantity: str  # what was measured, in words, with its unit
    value: float
    low: float  # of the confidence interval; equal to ``value`` where the quantity is exact
    high: float
    claimed: tuple[float, float]  # the claim says: in this interval (ends included; infinite ends are fine)
    method: str  # how the interval was made: "paired bootstrap over 60 queries, 99 %"
    note: str = ""  # what a reader should know: a stand-in for data, a tolerance for the paper's "about"


class Claim(NamedTuple):
    """One sentence of a paper that a figure supports."""

    name: str  # short, unique within its figure: "kl-ucb-linear-in-pbm"
    where: str  # "section 5.2, paragraph 2, sentence 3; figure 1"
    text: str  # the claim in our words
    measure: Callable[[Results], Measured]
    needs_rounds: int = 0  # below so many rounds nothing is decided, as the claim speaks of that horizon


class Judgement(NamedTuple):
    """What came of a claim."""

    claim: Claim
    measured: Measured
    verdict: Verdict
    why: str  # one line: the interval beside the claimed region, or what is missing


# -- verdicts ---------------------------------------------------------------------------------------------------------


def decide(claim: Claim, results: Results, rounds: int) -> Judgement:
    """Judge ``claim`` by ``results`` of sweeps over ``rounds`` rounds.

    It holds where the whole interval lies in the claimed region, does not hold where the two are disjoint, and cannot
    be decided where the interval lies across its border, or ``rounds`` are fewer than the claim speaks of.

    Raises:
        ValueError: the claim measures an interval, or claims a region, whose ends are the wrong way round.
        Exception: what the claim's measure raises; the claim is named in a note.
    """
    try:
        measured = claim.measure(results)
    except Exception as error:
        error.add_note(f"while measuring the claim {claim.name!r}")
        raise
    for what, (low, high) in (("interval", (measured.low, measured.high)), ("region", measured.claimed)):
        if low > high:
            raise ValueError(f"claim {claim.name!r} has the {what} {low:g} .. {high:g}; allowed: low <= high")
    verdict, why = _verdict(measured)
    if rounds < claim.needs_rounds:
        verdict = "cannot be decided at this scale"
        why = f"it speaks of {claim.needs_rounds:,} rounds, and {rounds:,} were played; so far: {why}"
    return Judgement(claim, measured, verdict, why)


def judge(claims: Sequence[Claim], results: Results, rounds: int) -> list[Judgement]:
    """``decide`` of each of ``claims``."""
    return [decide(claim, results, rounds) for claim in claims]


def weakest(parts: Sequence[Measured], quantity: str = "") -> Measured:
    """Of a claim that says several things at once, the one that it fails by first.

    That is one that does not hold, else one that cannot be decided, else one that holds; among these the one whose
    interval has least room to the border of what is claimed, compared with its own width. A claim that holds needs all
    its parts to hold, so that its error is no larger than a part's; but one of many parts may fail by chance: have
    intervals of the level ``statistics.for_each_of(len(parts))``.

    Args:
        parts: at least one.
        quantity: replaces the part's own words.

    Raises:
        ValueError: there are no parts.
    """
    if not parts:
        raise ValueError("parts = () has none; allowed: at least one")
    order = ("does not hold", "cannot be decided at this scale", "holds")
    verdicts = [_verdict(part)[0] for part in parts]
    found = min(range(len(parts)), key=lambda n: (order.index(verdicts[n]), _room(parts[n])))
    part, same = parts[found], verdicts.count(verdicts[found])
    said = {"holds": "hold", "does not hold": "do not hold", "cannot be decided at this scale": "cannot be decided"}
    words = ""
    if len(parts) > 1:
        words = f"of {len(parts)} parts {same} {said[verdicts[found]]}; this is the one nearest to failing"
        if verdicts[found] != "holds":
            words = f"of {len(parts)} parts {same} {said[verdicts[found]]}; this is the one farthest from holding"
    return part._replace(quantity=quantity or part.quantity, note="; ".join(filter(None, (part.note, words))))


def _verdict(measured: Measured) -> tuple[Verdict, str]:
    _, value, low, high, (least, most), *_ = measured
    found, claimed = interval(measured), region(measured.claimed)
    if math.isnan(value) or math.isnan(low) or math.isnan(high):
        return "cannot be decided at this scale", f"it could not be measured: {measured.method}"
    if least <= low and high <= most:
        return "holds", f"{found} lies in what is claimed, {claimed}"
    if high < least or low > most:
        return "does not hold", f"{found} lies outside what is claimed, {claimed}"
    crossed = [number(border) for border, over in ((least, low < least), (most, high > most)) if over]
    borders = f"{' and '.join(crossed)}, the {'borders' if len(crossed) > 1 else 'border'} of what is claimed"
    return "cannot be decided at this scale", f"{found} lies across {borders}"


def _room(measured: Measured) -> float:
    """How far inside what is claimed the interval lies, in its own half widths; negative outside."""
    low, high, (least, most) = measured.low, measured.high, measured.claimed
    if math.isnan(measured.value) or math.isnan(low) or math.isnan(high):
        return -math.inf
    inside = min(low - least if math.isfinite(least) else math.inf, most - high if math.isfinite(most) else math.inf)
    width = (high - low) / 2
    return inside / width if width > 0 and math.isfinite(inside) and math.isfinite(width) else inside


# -- in words and tables ----------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """With about four digits: 0.0123, 12.35, 1,235, 12.3 M."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else "-∞"
    size = abs(value)
    if size >= 9_999_500:
        return f"{value / 1e6:,.4g} M" if size < 9.9995e9 else f"{value:.3e}"
    if size >= 999.5:
        return f"{value:,.0f}"
    if size and size < 1e-4:
        return f"{value:.2e}"
    return f"{value:.4g}"


def interval(measured: Measured) -> str:
    """The interval in words: "0.97 to 1.02"; of an exact quantity "exactly 0"; "unknown"."""
    if math.isnan(measured.value) and (math.isnan(measured.low) or math.isnan(measured.high)):
        return "unknown"
    if measured.low == measured.high:
        return f"exactly {number(measured.value)}"
    return f"{number(measured.low)} to {number(measured.high)}"


def region(claimed: tuple[float, float]) -> str:
    """What is claimed, in words: "at least 1", "0.9 to 1.1"."""
    least, most = claimed
    if least == most:
        return f"exactly {number(least)}"
    if math.isinf(least) and math.isinf(most):
        return "any number"
    if math.isinf(most):
        return f"at least {number(least)}"
    return f"at most {number(most)}" if math.isinf(least) else f"{number(least)} to {number(most)}"


def counts(judgements: Sequence[Judgement]) -> dict[Verdict, int]:
    """How many claims came to each verdict; all three are there."""
    return {verdict: sum(found.verdict == verdict for found in judgements) for verdict in VERDICTS}


def tally(judgements: Sequence[Judgement]) -> str:
    """ "Of 5 claims 3 hold, 1 does not hold, 1 cannot be decided at this scale." """
    hold, fail, open_ = counts(judgements).values()
    parts = [
        f"{hold} {'holds' if hold == 1 else 'hold'}",
        f"{fail} {'does' if fail == 1 else 'do'} not hold",
        f"{open_} cannot be decided at this scale",
    ]
    claims = "claim" if len(judgements) == 1 else "claims"
    return f"Of {len(judgements)} {claims} {', '.join(parts)}."


def cells(judgement: Judgement) -> tuple[str, str, str, str, str]:
    """What stands under ``HEAD``, in plain text."""
    claim, measured, verdict, _ = judgement
    found = interval(measured)
    if measured.low != measured.high and found != "unknown":
        found = f"{number(measured.value)} ({found})"
    return claim.text, measured.quantity, found, region(measured.claimed), verdict


def markdown(judgements: Sequence[Judgement]) -> str:
    """The table of claims, and below it where each is said, how its interval was made, and what came of it."""
    rows = [HEAD, ("---",) * len(HEAD)]
    for judgement in judgements:
        text, *middle, verdict = map(_escaped, cells(judgement))
        rows.append((text, *middle, f"**{verdict}**"))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = []
    for claim, measured, verdict, why in judgements:
        more = f" {measured.note[0].upper()}{measured.note[1:].removesuffix('.')}." if measured.note else ""
        method = "" if measured.method in why else f" ({measured.method})"
        notes.append(f"* `{claim.name}` ({claim.where}): {verdict}, as {why}{method}.{more}")
    return f"{table}\n\n{tally(judgements)}\n\n" + "\n".join(notes) + "\n"


def rich_table(judgements: Sequence[Judgement], title: str = "", *, short: bool = False) -> Any:
    """The table of claims for a terminal, a ``rich.table.Table``; ``short``: without what was measured."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", show_lines=True, expand=True)
    left_out = HEAD[1] if short else ""
    for head in HEAD:
        if head != left_out:
            table.add_column(head, ratio=3 if head == "claim" else 2, overflow="fold")
    for judgement in judgements:
        plain = [cell for head, cell in zip(HEAD, cells(judgement), strict=True) if head != left_out]
        verdict = judgement.verdict
        table.add_row(*map(Text, plain[:-1]), Text(verdict, style=f"bold {COLOURS[verdict]}"))
    return table


def as_json(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Plain JSON values; infinite numbers are the words "inf" and "-inf", and what is unknown is null."""
    return [
        {
            "name": claim.name,
            "where": claim.where,
            "claim": claim.text,
            "verdict": verdict,
            "why": why,
            "quantity": measured.quantity,
            "value": _plain(measured.value),
            "low": _plain(measured.low),
            "high": _plain(measured.high),
            "claimed": list(map(_plain, measured.claimed)),
            "method": measured.method,
            "note": measured.note,
            "needs_rounds": claim.needs_rounds,
        }
        for claim, measured, verdict, why in judgements
    ]


def _plain(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
