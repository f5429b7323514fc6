"""Measures that claims of several papers use: functions of results, labels and a span of rounds."""

from typing import NamedTuple

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.intervals import Estimate
from rankgym.experiments.judge.units import Units, amount
from rankgym.experiments.run.results import Played, Results

NORMAL_99 = 2.576  # standard errors to either side of a 99 % interval
SAME = 0.2  # of a published number: a mean that is no farther from it is called reproduced


class Span(NamedTuple):
    """A cumulative measure (of "ndcg", the mean) between two recorded rounds."""

    measure: str = "regret"
    start: float = 0.0  # shares of the rounds played
    stop: float = 1.0
    rounds: int | None = None  # replaces ``stop``: the number of first rounds, at most all


REGRET, FIRST_HALF, SECOND_HALF = Span(), Span(stop=0.5), Span(start=0.5)


def last_round(played: Played) -> int:
    """Return the number of rounds played."""
    return int(played.rounds[-1])


def units_of(played: Played, span: Span = REGRET) -> Units:
    """Return what the rounds of ``span`` added to its measure, by query or run."""
    end = last_round(played)
    stop = round(end * span.stop) if span.rounds is None else min(span.rounds, end)
    return amount(played, span.measure, stop, start=round(end * span.start))


def level(results: Results, environment: str, agent: str, span: Span = REGRET) -> Estimate:
    """The mean of an agent's measure."""
    return intervals.mean(units_of(results[environment, agent], span))


def difference(results: Results, environment: str, one: str, other: str, span: Span = REGRET) -> Estimate:
    """The measure of one agent minus that of another."""
    return intervals.difference(*_two(results, environment, one, other, span))


def ratio(results: Results, environment: str, one: str, other: str, span: Span = REGRET) -> Estimate:
    """The measure of one agent in units of another's."""
    return intervals.ratio(*_two(results, environment, one, other, span))


def share_ahead(results: Results, environment: str, one: str, other: str) -> Estimate:
    """The share of the queries in which ``one`` has less regret than ``other`` at the end."""
    return intervals.share(lambda mine, others: mine < others, *_two(results, environment, one, other, REGRET))


def second_half_growth(results: Results, environment: str, agent: str, measure: str = "regret") -> Estimate:
    """What the second half of the rounds adds to a measure, in units of what the first half adds. A line has 1."""
    played = results[environment, agent]
    return intervals.ratio(units_of(played, Span(measure, start=0.5)), units_of(played, Span(measure, stop=0.5)))


def _two(results: Results, environment: str, one: str, other: str, span: Span) -> tuple[Units, Units]:
    return units_of(results[environment, one], span), units_of(results[environment, other], span)
