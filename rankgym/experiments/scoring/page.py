"""The page of a score: one HTML file with the profile, a table of the tasks, and all paired differences."""

import io
from typing import Any

from rankgym import style
from rankgym.estimates import mean_and_error, with_error
from rankgym.experiments.judge.intervals import LEVEL
from rankgym.experiments.judge.units import counted_units
from rankgym.experiments.scoring.placing import HEADS, Scorecard, legend, lines, notes, summary, units
from rankgym.experiments.scoring.profile import draw_profile
from rankgym.experiments.scoring.suite import Task
from rankgym.experiments.show.report import PHONE, Picture, Table, report

SIGNS = {"better": "✓ better", "worse": "✗ worse", "equal": "= equal", "open": "? open"}


def page(card: Scorecard) -> str:
    """Return the page as one HTML text; the same scorecard gives the same text."""
    paragraphs = [summary(card), *notes(card), legend(card.kind)]
    note = "Loss: the task's measure after its last round, the mean over rows and its standard error."
    table = Table("Tasks", HEADS, lines(card), note)
    pictures = [Picture(_svg(card), "", f"Scores of {card.label} in each task", _svg(card, PHONE["width"]))]
    return report(
        f"{card.label} in {card.suite.name}",
        summary="\n\n".join(paragraphs),
        pictures=pictures,
        tables=[table, *(_differences(card, name) for name in card.standings)],
        settings={key: value for key, value in card.record.about().items() if key != "versions"},
        versions=card.record.versions,
    )


def played(task: Task) -> str:
    """Say in a line what a task plays."""
    given = "".join(f", {key}={shortened(str(value))}" for key, value in task.arguments.items())
    return f"{task.env_id.removeprefix('rankgym/')}{given}; {size(task)}"


def size(task: Task) -> str:
    """Say what a task plays in its environment: rounds, rows, and the measure."""
    queries = "each query" if task.query == "all" else f"each of {len(task.query)} drawn queries"
    rows = counted_units(task.runs, "runs") + (f" of {queries}" if task.kind == "rankers" else "")
    return f"{task.rounds:,} rounds, {rows}; {task.measure}"


def shortened(text: str) -> str:
    """Return a text with at most 80 characters."""
    return text if len(text) <= 80 else f"{text[:79]}\N{HORIZONTAL ELLIPSIS}"


def _differences(card: Scorecard, name: str) -> Table:
    """Return the table of all agents in a task, the best first, with the differences from them."""
    task, one = card.suite.tasks[name], card.standings[name]
    found = []
    for label, estimate in one.differences.items():
        mine = units(task, card.others[label], name)
        mean, error = map(float, mean_and_error(mine.values))
        sign = SIGNS[one.verdict(label)]
        interval = f"{_signed(estimate.low)} to {_signed(estimate.high)}"
        found.append((mean, [label, with_error(mean, error), _signed(estimate.value), interval, sign]))
    found.append((one.mean, [card.label, with_error(one.mean, one.error), "", "", ""]))
    rows = [texts for _, texts in sorted(found, key=lambda pair: pair[0])]
    level = f"{100 * LEVEL:.0f} %"
    head = ["agent", task.measure, f"difference of {card.label}", f"its {level} interval", f"{card.label} is"]
    return Table(f"{name}: {task.question}", head, rows, f"{played(task)}.", folded=True)


def _signed(value: float) -> str:
    """Return a number with its sign, to four digits."""
    text = f"{value:+,.4g}" if abs(value) < 1000 else f"{value:+,.0f}"
    return text.replace("-", "\N{MINUS SIGN}")


def _svg(card: Scorecard, width: Any = None) -> str:
    file = io.BytesIO()
    style.write(draw_profile(card) if width is None else draw_profile(card, width), file, "svg")
    return file.getvalue().decode()
