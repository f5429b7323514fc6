"""Where an agent stands in a suite: its score and place in each task, and paired differences from all other agents.

Users are the same by construction: row b of a task depends on its seed alone. So the agent's rows are paired with
those of the package's records, and no other agent is played again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rankgym.estimates import mean_and_error, with_error
from rankgym.experiments.judge.intervals import LEVEL, Estimate, differences
from rankgym.experiments.judge.units import Units, counted_units
from rankgym.experiments.scoring.records import Record, shipped_records
from rankgym.experiments.scoring.suite import DUELERS, REFERENCE, Suite, Task

WORST = -100.0  # a score below counts as this in a mean over tasks


class Standing(NamedTuple):
    """An agent in one task, among those of the package that play it."""

    task: str
    mean: float  # of the measure, over rows
    error: float  # its standard error
    score: float  # 100: nothing lost; 0: as much as the reference agent, which plays at random
    place: int  # by the means, from 1
    first: int  # places that the intervals leave possible: 1 + the agents that are certainly better ...
    last: int  # ... to all but those that are certainly worse
    of: int  # agents, this one included
    best: str  # the package's agent with the smallest mean, this one aside
    best_mean: float
    differences: dict[str, Estimate]  # of this agent's mean from each other's, paired row by row; below 0: it is better

    def verdict(self, other: str) -> str:
        """Return "better", "worse", "equal" or "open": what is certain of this agent beside another one."""
        found = self.differences[other]
        if found.low == found.high == 0:
            return "equal"
        return "better" if found.high < 0 else "worse" if found.low > 0 else "open"

    @property
    def place_text(self) -> str:
        """ "3 (2-5) of 14"."""
        possible = f" ({self.first}-{self.last})" if self.first < self.last else ""
        return f"{self.place}{possible} of {self.of}"


class Scorecard(NamedTuple):
    """An agent among those of the package, in all tasks of a suite that it plays."""

    record: Record
    kind: str  # RANKERS or DUELERS
    others: Mapping[str, Record]  # of the package, of the same kind, without an agent of the same name
    standings: dict[str, Standing]
    shipped: str  # "": the agent is not one of the package; else whether its numbers are those of its record

    @property
    def suite(self) -> Suite:
        return self.record.suite

    @property
    def label(self) -> str:
        return self.record.agent.label

    @property
    def score(self) -> float:
        """The mean score over the tasks that the agent plays."""
        return overall(self.record, list(self.standings))

    def peers(self) -> dict[str, float]:
        """Return the mean scores, over the agent's tasks, of the other agents that play all of them."""
        names = list(self.standings)
        return {label: overall(other, names) for label, other in self.others.items() if {*names} <= {*other.values}}

    @property
    def place(self) -> tuple[int, int]:
        """The place by the mean score, and the number of agents."""
        peers = self.peers()
        return 1 + sum(score > self.score for score in peers.values()), 1 + len(peers)


def place(record: Record) -> Scorecard:
    """Place a record among those of the package's agents; a ValueError without the reference agent's record."""
    suite = record.suite
    kind = suite.tasks[next(iter(record.values))].kind
    shipped = shipped_records(suite.name)
    reference(suite, kind)
    own = record.agent.label
    others = {n: one for n, one in shipped.items() if n != own and suite.asks(kind).keys() & one.values.keys()}
    standings = {name: _standing(record, name, others) for name in record.values}
    return Scorecard(record, kind, others, standings, _same(record, shipped[own]) if own in shipped else "")


def reference(suite: Suite, kind: str) -> Record:
    """Return the record of the agent whose score is 0."""
    name = REFERENCE[kind]
    if name not in (found := shipped_records(suite.name)):
        raise ValueError(f"the package has no record of {name!r} in {suite.name}, which scores are measured by")
    return found[name]


def score_of(record: Record, task: str) -> float:
    """Return the score of a record in one task: 100 for a measure of 0, 0 for that of the reference agent."""
    against = float(reference(record.suite, record.suite.tasks[task].kind).final(task).mean())
    return 100 * (1 - float(record.final(task).mean()) / against)


def overall(record: Record, tasks: list[str]) -> float:
    """Return the mean score over ``tasks``; a score below ``WORST`` counts as that."""
    return float(np.mean([max(score_of(record, name), WORST) for name in tasks]))


def ranking(suite: Suite, task: str) -> list[tuple[str, float]]:
    """Return the package's agents in a task and the means of its measure, the best first."""
    found = [(n, float(one.final(task).mean())) for n, one in shipped_records(suite.name).items() if task in one.values]
    return sorted(found, key=lambda pair: pair[1])


def units(task: Task, record: Record, name: str) -> Units:
    """Return the units of intervals: rows, or, where a query has several rows, their means."""
    values = record.final(name)
    found = values.reshape(task.runs, -1) if task.kind != DUELERS else values[None]
    kind = "runs" if task.kind == DUELERS else "queries"
    return Units(found.mean(axis=0), np.arange(found.shape[1]), kind)


def _standing(record: Record, name: str, others: Mapping[str, Record]) -> Standing:
    task = record.suite.tasks[name]
    playing = {label: other for label, other in others.items() if name in other.values}
    mine = units(task, record, name)
    found = differences(mine, [units(task, other, name) for other in playing.values()], level=LEVEL)
    means = {label: float(other.final(name).mean()) for label, other in playing.items()}
    mean, error = map(float, mean_and_error(mine.values))
    best = min(means, key=lambda label: means[label])
    return Standing(
        name,
        mean,
        error,
        score_of(record, name),
        place=1 + sum(other < mean for other in means.values()),
        first=1 + sum(bool(estimate.low > 0) for estimate in found),
        last=1 + len(found) - sum(bool(estimate.high < 0) for estimate in found),
        of=1 + len(found),
        best=best,
        best_mean=means[best],
        differences=dict(zip(playing, found, strict=True)),
    )


def _same(record: Record, shipped: Record) -> str:
    """Say whether the numbers of an agent of the package are those of its record."""
    names = record.values.keys() | shipped.values.keys()
    differ = [n for n in names if not np.array_equal(record.values.get(n, ()), shipped.values.get(n, ()))]
    return f"unlike its record in {', '.join(sorted(differ))}" if differ else "those of its record, bit for bit"


# -- in words ---------------------------------------------------------------------------------------------------------


def summary(card: Scorecard) -> str:
    """Say in a sentence where the agent stands over all of its tasks."""
    place, of = card.place
    tasks = counted_units(len(card.standings), "tasks")
    among = f"place {place} of {of} agents" + ("" if of == 1 + len(card.others) else " that play all of these tasks")
    return f"{card.label} has a mean score of {card.score:.1f} over {tasks}: {among}."


def notes(card: Scorecard) -> list[str]:
    """Return what a reader has to know besides: tasks that were not played, and an agent of the package."""
    reasons: dict[str, list[str]] = {}
    for name, reason in card.record.declined.items():
        reasons.setdefault(reason, []).append(name)
    found = [f"It cannot play {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    if card.shipped:
        found.append(f"{card.label} comes with the package. Its numbers here are {card.shipped}.")
    return found


def legend(kind: str) -> str:
    """Explain scores and places."""
    return (
        f"Score: 100 loses nothing, 0 loses as much as {REFERENCE[kind]}. Place: by the mean; in brackets the places "
        f"that {100 * LEVEL:.0f} % intervals of the paired differences leave possible."
    )


HEADS = ["task", "score", "place", "loss", "best other"]


def lines(card: Scorecard) -> list[list[str]]:
    """Return the table's lines of texts: a line a task."""
    found = []
    for name, one in card.standings.items():
        found.append([name, f"{one.score:.1f}", one.place_text, with_error(one.mean, one.error), one.best])
    return found


def as_json(card: Scorecard) -> dict[str, Any]:
    """Return the scorecard as plain JSON values; infinite ends of intervals are null."""

    def number(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    tasks = {}
    for name, one in card.standings.items():
        task = card.suite.tasks[name]
        against = {
            label: {
                "difference": number(e.value),
                "low": number(e.low),
                "high": number(e.high),
                "verdict": one.verdict(label),
            }
            for label, e in one.differences.items()
        }
        line = {k: v for k, v in one._asdict().items() if k not in ("task", "differences")}
        tasks[name] = {
            "question": task.question,
            "measure": task.measure,
            "rounds": task.rounds,
            **line,
            "against": against,
        }
    place, of = card.place
    return {
        "suite": card.suite.name,
        "agent": card.label,
        "kind": card.kind,
        "score": card.score,
        "place": place,
        "of": of,
        "level": LEVEL,
        "tasks": tasks,
        "declined": card.record.declined,
        "notes": notes(card),
        "peers": card.peers(),
    }
