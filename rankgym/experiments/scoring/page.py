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
    questions = [card.suite.tasks[name].question for name in card.standings]
    table = Table(
        "Tasks",
        [*HEADS, "question"],
        [[*line, question] for line, question in zip(lines(card), questions, strict=True)],
        "Loss: the task's measure after its last round, the mean over rows and its standard error.",
    )
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
    given = "".join(f", {key}={value}" for key, value in task.arguments.items())
    queries = "all queries" if task.query == "all" else f"{len(task.query)} drawn queries"
    rows = counted_units(task.runs, "runs") + (f" of {queries}" if task.kind == "rankers" else "")
    return f"{task.env_id.removeprefix('rankgym/')}{given}; {task.rounds:,} rounds, {rows}; {task.measure}"


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
    return (
        f"{value:+,.4g}".replace("-", "\N{MINUS SIGN}")
        if abs(value) < 1000
        else f"{value:+,.0f}".replace("-", "\N{MINUS SIGN}")
    )


def _svg(card: Scorecard, width: Any = None) -> str:
    file = io.BytesIO()
    style.write(draw_profile(card) if width is None else draw_profile(card, width), file, "svg")
    return file.getvalue().decode()
