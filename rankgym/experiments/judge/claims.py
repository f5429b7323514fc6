"""Claims of papers and verdicts on them. A confidence interval decides each verdict.

A ``Claim`` is data: a sentence, a quantity, a function that measures it, and the region in which the quantity lies if
the sentence is true. Its texts have placeholders: ``expand`` fills in models and agents, the measure fills in what
depends on results.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from rankgym.experiments.judge.intervals import Estimate
from rankgym.experiments.judge.table_columns import counted
from rankgym.experiments.judge.units import counted_units
from rankgym.experiments.run.results import Results

Region = tuple[float, float]  # ends included; infinite ends are allowed
ABOVE_0, BELOW_0, ABOVE_1 = (0.0, math.inf), (-math.inf, 0.0), (1.0, math.inf)
Verdict = Literal["holds", "does not hold", "cannot be decided at this scale"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
COLOURS = {"holds": "green", "does not hold": "red", "cannot be decided at this scale": "yellow"}
GRAVITY = ("does not hold", "cannot be decided at this scale", "holds")  # of the parts of a claim the gravest decides
SO_FAR = "; so far: "  # in the reason of a claim about more rounds than were played
HEAD = ("claim", "measured", "value and interval", "claimed", "verdict")
AGENT_NAMES = {  # how the papers write the agents, by their labels; texts of claims have these
    "bubblerank": "BubbleRank",
    "cascade-kl-ucb": "CascadeKL-UCB",
    "batchrank": "BatchRank",
    "toprank": "TopRank",
    "static": "Baseline",
    "cascade-ducb": "CascadeDUCB",
    "cascade-swucb": "CascadeSWUCB",
    "ranked-exp3": "RankedEXP3",
    "mergerucb": "mergeRUCB",
    "rucb": "RUCB",
    "rcs": "RCS",
    "btm:radius_factor=1": "Beat the Mean",
    "savage:delta=0.01": "SAVAGE",
    "sparring": "Sparring",
    "multisbm": "MultiSBM",
}


class Finding(NamedTuple):
    """An estimate, with words for the claim's texts."""

    estimate: Estimate
    words: Mapping[str, object] = {}  # for placeholders of the claim's quantity and note
    region: Region | None = None  # replaces the claim's region, if that depends on results


class Claim(NamedTuple):
    """One sentence of a paper that a figure supports.

    The measure is called with the results and its arguments. It returns an estimate or a finding, or a list of findings
    for a claim about several quantities; ``weakest`` says which of these decides.
    """

    where: str  # "section 5.2, paragraph 2, sentence 3; figure 1"
    text: str  # the claim in our words
    quantity: str  # what is measured, in words, with its unit; {n}: the rounds played
    measure: tuple[Any, ...]  # a function, and its arguments after the results: (measures.level, "PBM", "static")
    region: Region  # where the quantity lies if the claim is true
    note: str = ""  # for the reader: a stand-in for data, a tolerance for the paper's "about"
    needs_rounds: int | None = None  # the horizon of the sentence; fewer rounds decide nothing. None: the figure's
    cases: Sequence[Mapping[str, Any]] = ()  # values of placeholders, for a sentence about several models or agents
    name: str = ""  # short, unique within its figure: "kl-ucb-linear-in-pbm"; ``expand`` fills it in


class Measured(NamedTuple):
    """The quantity that decides a claim, with its confidence interval and the claimed region."""

    quantity: str
    value: float
    low: float  # of the confidence interval; equal to ``value`` if the quantity is exact
    high: float
    claimed: Region
    method: str  # how the interval was computed: "paired bootstrap over 60 queries, 99 %"
    note: str = ""


class Judgement(NamedTuple):
    """A claim with its measurement and verdict."""

    claim: Claim
    measured: Measured
    verdict: Verdict
    why: str  # one line: the interval beside the claimed region, or what is missing


def expand(
    claims: Mapping[str, Claim], needs_rounds: int = 0, values: Mapping[str, Iterable[Any]] = {}
) -> tuple[Claim, ...]:
    """Return a claim for each case of each of ``claims``, with names and ``needs_rounds`` filled in.

    Placeholders become values: in the name in lower case and up to the first comma; in texts an agent's label becomes
    its name in papers; an argument of the measure that is a placeholder alone becomes the value itself.

    Args:
        claims: by name, with placeholders.
        needs_rounds: of claims that do not have their own; the key ``needs_rounds`` of a case replaces both.
        values: of placeholders in the names of claims without cases; all their combinations are cases.
    """
    found = []
    for name, claim in claims.items():
        least = needs_rounds if claim.needs_rounds is None else claim.needs_rounds
        named = {key: values[key] for key in values if f"{{{key}}}" in name}
        combinations = [dict(zip(named, chosen, strict=True)) for chosen in itertools.product(*named.values())]
        cases = claim.cases or combinations
        found += [_filled_claim(name, claim, {"needs_rounds": least, **case}) for case in cases]
    return tuple(found)


def _filled_claim(name: str, claim: Claim, case: Mapping[str, Any]) -> Claim:
    slugs = {key: str(value).split(",")[0].lower().replace(" ", "-") for key, value in case.items()}
    whole = {f"{{{key}}}" for key in case}
    text, quantity, note = (_filled(text, _named(case)) for text in (claim.text, claim.quantity, claim.note))
    measure = tuple(case[value[1:-1]] if value in whole else value for value in claim.measure)
    where = _filled(claim.where, case)
    return Claim(where, text, quantity, measure, claim.region, note, case["needs_rounds"], name=_filled(name, slugs))


def _filled(text: str, words: Mapping[str, object]) -> str:
    """Replace the placeholders ``{key}`` that ``words`` has."""
    return re.sub(r"\{(\w+)\}", lambda found: str(words.get(found[1], found[0])), text)


def _named(words: Mapping[str, object]) -> dict[str, object]:
    """Return ``words`` with agents' labels replaced by their names in papers."""
    return {key: AGENT_NAMES.get(str(value), value) for key, value in words.items()}


# -- verdicts ---------------------------------------------------------------------------------------------------------


def decide(claim: Claim, results: Results, rounds: int) -> Judgement:
    """Judge ``claim`` by ``results`` of sweeps over ``rounds`` rounds.

    It holds if the whole interval lies in the claimed region, does not hold if the two are disjoint, and cannot be
    decided if the interval crosses the region's border or the claim is about more than ``rounds``. A note names the
    claim in errors of its measure. An interval or region whose ends are the wrong way round is a ValueError.
    """
    try:
        measured = _measured(claim, results, rounds)
    except Exception as error:
        error.add_note(f"while measuring the claim {claim.name!r}")
        raise
    for what, (low, high) in {"interval": (measured.low, measured.high), "region": measured.claimed}.items():
        if low > high:
            raise ValueError(f"claim {claim.name!r} has the {what} {low:g} .. {high:g}; allowed: low <= high")
    verdict, why = _verdict(measured)
    if claim.needs_rounds and rounds < claim.needs_rounds:
        verdict = "cannot be decided at this scale"
        why = f"it speaks of {claim.needs_rounds:,} rounds, and {rounds:,} were played{SO_FAR}{why}"
    return Judgement(claim, measured, verdict, why)


def judge(claims: Sequence[Claim], results: Results, rounds: int) -> list[Judgement]:
    """Judge each of ``claims`` as ``decide`` does."""
    return [decide(claim, results, rounds) for claim in claims]


def _measured(claim: Claim, results: Results, rounds: int) -> Measured:
    function, *arguments = claim.measure
    found: Estimate | Finding | Sequence[Finding] = function(results, *arguments)
    if isinstance(found, Estimate):
        found = Finding(found)
    parts = []
    for estimate, words, other_region in [found] if isinstance(found, Finding) else found:
        value, low, high, method = estimate
        quantity, note = (
            _filled(text, {"n": counted(rounds), **_named(words)}) for text in (claim.quantity, claim.note)
        )
        parts.append(Measured(quantity, value, low, high, other_region or claim.region, method, note))
    return weakest(parts)


def weakest(parts: Sequence[Measured]) -> Measured:
    """Return the part that decides a claim about several quantities.

    A part that does not hold comes first, then one that cannot be decided; among several, the one whose interval has
    the least room to the region's border, relative to its own width. A claim holds only if all its parts do, which
    needs no correction; but one of many parts may fail by chance: use intervals of the level
    ``intervals.for_each_of(len(parts))``.

    Raises:
        ValueError: there are no parts.
    """
    if not parts:
        raise ValueError("parts is empty; allowed: at least one part")
    verdicts = [_verdict(part)[0] for part in parts]
    found = min(range(len(parts)), key=lambda n: (GRAVITY.index(verdicts[n]), _room(parts[n])))
    part, verdict = parts[found], verdicts[found]
    if len(parts) == 1:
        return part
    which = "nearest to failing" if verdict == "holds" else "farthest from holding"
    verb = {"does not hold": "do not hold", "holds": "hold"}.get(verdict, "cannot be decided")
    words = f"of {len(parts)} parts {verdicts.count(verdict)} {verb}; this is the one {which}"
    return part._replace(note="; ".join(filter(None, (part.note, words))))


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
    """Return the distance of the interval to the region's border, divided by half its width; negative outside."""
    low, high, (least, most) = measured.low, measured.high, measured.claimed
    if math.isnan(measured.value) or math.isnan(low) or math.isnan(high):
        return -math.inf
    inside = min(low - least if math.isfinite(least) else math.inf, most - high if math.isfinite(most) else math.inf)
    width = (high - low) / 2
    return inside / width if width > 0 and math.isfinite(inside) and math.isfinite(width) else inside


# -- in words and tables ----------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Write ``value`` with about four digits: 0.0123, 12.35, 1,235, 12.3 M."""
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


def numbers(*values: float) -> list[str]:
    """Write ``values`` with the same number of decimals: about four digits of the largest one; 0 is "0"."""
    finite = [value for value in values if math.isfinite(value)]
    largest = max(map(abs, finite), default=0.0)
    if not 1e-4 <= largest < 9_999_500:
        return list(map(number, values))
    decimals = max(0, 3 - math.floor(math.log10(largest))) if largest < 999.5 else 0
    while decimals and all(round(value, decimals) == round(value, decimals - 1) for value in finite):
        decimals -= 1
    return [f"{value:z,.{decimals}f}" if value and math.isfinite(value) else number(value) for value in values]


def interval(measured: Measured) -> str:
    """Return the interval in words: "0.97 to 1.02"; for an exact quantity "exactly 0"; "unknown"."""
    if math.isnan(measured.value) and (math.isnan(measured.low) or math.isnan(measured.high)):
        return "unknown"
    if measured.low == measured.high:
        return f"exactly {number(measured.value)}"
    return " to ".join(numbers(measured.value, measured.low, measured.high)[1:])


def region(claimed: Region) -> str:
    """Return the claimed region in words: "at least 1", "0.9 to 1.1"."""
    least, most = claimed
    if least == most:
        return f"exactly {number(least)}"
    if math.isinf(most):
        return "any number" if math.isinf(least) else f"at least {number(least)}"
    return f"at most {number(most)}" if math.isinf(least) else f"{number(least)} to {number(most)}"


def counts(judgements: Sequence[Judgement]) -> dict[Verdict, int]:
    """Return the number of claims with each of the three verdicts."""
    return {verdict: sum(found.verdict == verdict for found in judgements) for verdict in VERDICTS}


def tally(judgements: Sequence[Judgement]) -> str:
    """Return "Of 5 claims 3 hold, 1 does not hold, 1 cannot be decided at this scale."."""
    hold, fail, open_ = counts(judgements).values()
    holding, failing = "holds" if hold == 1 else "hold", "does not hold" if fail == 1 else "do not hold"
    parts = f"{hold} {holding}, {fail} {failing}, {open_} cannot be decided at this scale"
    return f"Of {counted_units(len(judgements), 'claims')} {parts}."


def cells(judgement: Judgement) -> tuple[str, str, str, str, str]:
    """Return the cells under ``HEAD``, in plain text."""
    claim, measured, verdict, _ = judgement
    found = interval(measured)
    if measured.low != measured.high and found != "unknown":
        found = f"{numbers(measured.value, measured.low, measured.high)[0]} ({found})"
    return claim.text, measured.quantity, found, region(measured.claimed), verdict


def markdown(judgements: Sequence[Judgement]) -> str:
    """Return the tally, what does not hold, and the table; below it each claim's place and its interval's method."""
    rows = [HEAD, ("---",) * len(HEAD)]
    for judgement in judgements:
        text, *middle, verdict = map(_escaped, cells(judgement))
        rows.append((text, *middle, f"**{verdict}**"))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n\n".join(filter(None, [tally(judgements), _failing(judgements), table, _places(judgements)])) + "\n"


def _failing(judgements: Sequence[Judgement]) -> str:
    """Return a list of the claims that do not hold, with what was claimed and measured; "" if there are none."""
    lines = []
    for judgement in judgements:
        if judgement.verdict == "does not hold":
            text, quantity, found, claimed, _ = map(_escaped, cells(judgement))
            lines.append(f"* {text.removesuffix('.')}. Claimed: {claimed}. Measured: {found}, {quantity}.")
    return "\n".join(["What does not hold:", "", *lines]) if lines else ""


def _places(judgements: Sequence[Judgement]) -> str:
    """Return a list of the claims' places, methods and notes; notes of three or more claims follow once, numbered."""
    times = Counter(found.measured.note for found in judgements)
    shared = [note for note, number_of in times.items() if note and number_of > 2]
    lines = ["Each claim's place in the paper, and how its interval was computed:", ""]
    for claim, measured, _, why in judgements:
        few, so_far, _ = why.partition(SO_FAR)
        note = f"note {shared.index(measured.note) + 1}" if measured.note in shared else measured.note
        words = [measured.method, few if so_far else "", note]
        lines.append(f"* `{claim.name}` ({claim.where}): {' '.join(map(_sentence, filter(None, words)))}")
    notes = [f"Note {place}: {_sentence(note)}" for place, note in enumerate(shared, start=1)]
    return "\n\n".join(["\n".join(lines), *notes])


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].removesuffix('.')}."


def rich_table(judgements: Sequence[Judgement], title: str = "", *, short: bool = False) -> Any:
    """Return the table of claims for a terminal, a ``rich.table.Table``; ``short``: without measured quantities."""
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
    """Return plain JSON values; infinite numbers are the words "inf" and "-inf", unknown numbers are null."""
    return [
        {
            **{"name": claim.name, "where": claim.where, "claim": claim.text, "verdict": verdict, "why": why},
            **{name: _plain(value) for name, value in measured._asdict().items()},
            "needs_rounds": claim.needs_rounds,
        }
        for claim, measured, verdict, why in judgements
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return list(map(_plain, value))
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
