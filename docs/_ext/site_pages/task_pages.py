"""A page for every task of the benchmark, from the suite's table and the records."""

import json
from pathlib import Path

from rankgym.estimates import with_error
from rankgym.experiments.scoring.page import size
from rankgym.experiments.scoring.suite import Task
from site_pages import charts
from site_pages.docstrings import ORPHAN, in_cell

LONGEST = 200  # letters of arguments that are printed


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the pages of all tasks, their index, and their pictures."""
    made: dict[str, str | bytes] = {"tasks/index.md": index_page()}
    for name, task in charts.suite().tasks.items():
        made[f"pictures/task-{name}.svg"] = charts.task_chart(name)
        made[f"tasks/{name}.md"] = page(name, task)
    return made


def index_page() -> str:
    """Return the list of all tasks with their questions and best agents."""
    rows = []
    for name, task in charts.suite().tasks.items():
        best = next(iter(charts.scores(name)))
        rows.append(f"| [{name}]({name}.md) | {in_cell(task.question)} | [`{best}`](../agents/{best}.md) |")
    table = "| task | question | best agent |\n|---|---|---|\n" + "\n".join(rows)
    text = f"The {len(rows)} tasks of the suite `{charts.SUITE}`; [how an agent is scored](../score.md)."
    return f"# Tasks of the benchmark\n\n{text}\n\n{table}\n"


def page(name: str, task: Task) -> str:
    """Return the page of a task."""
    env = task.env_id.removeprefix("rankgym/")
    arguments = json.dumps(task.arguments)
    arguments = arguments if len(arguments) <= LONGEST else f"{arguments[:LONGEST]} ..."
    given = f" with `{in_cell(arguments)}`" if task.arguments else ""
    rows = []
    for label, score in charts.scores(name).items():
        loss = with_error(*charts.loss(label, name))
        rows.append(f"| {charts.place(label, name)} | [`{label}`](../agents/{label}.md) | {score:z.1f} | {loss} |")
    alt = f"Loss of all agents in {name}, the best first; the table below has the numbers"
    parts = [
        f"{ORPHAN}# {name}",
        f"{task.question} [All tasks](index.md); [how it is scored](../score.md#{name}).",
        f"Environment: [{env}](../environments/{env}.md){given}; {size(task)}.",
        f"![{alt}](../pictures/task-{name}.svg)",
        f"| place | agent | score | {task.measure} |\n|---:|---|---:|---:|\n" + "\n".join(rows),
        "Mean over rows and its standard error; score: 100 loses nothing, 0 as much as random play.",
    ]
    return "\n\n".join(parts) + "\n"
