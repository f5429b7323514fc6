"""Pictures of the benchmark's records: an agent's profile, all agents in a task, and curves over rounds."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from rankgym.estimates import mean_and_error
from rankgym.experiments.scoring.placing import ranking, score_of
from rankgym.experiments.scoring.records import Record, shipped_records
from rankgym.experiments.scoring.suite import SUITES, Suite
from rankgym.style import LOOKS
from site_pages.drawing import FRAME, PALE, Axes, Drawing

SUITE = "ltr-1"  # whose records are shown
LOWEST = -50.0  # scores below lie at the left end
DASHES = ("", "9 4", "3 3", "10 3 2 3", "14 4")


def suite() -> Suite:
    """Return the suite whose records are shown."""
    return SUITES[SUITE]


def records() -> Mapping[str, Record]:
    """Return the records of the package's agents by name."""
    return shipped_records(SUITE)


@cache
def scores(task: str) -> dict[str, float]:
    """Return the scores in a task by agent, the best first."""
    return {label: score_of(records()[label], task) for label, _ in ranking(suite(), task)}


def place(label: str, task: str) -> int:
    """Return an agent's place in a task, from 1, among all agents of the records; equal means share it."""
    means = dict(ranking(suite(), task))
    return 1 + sum(other < means[label] for other in means.values())


def loss(label: str, task: str) -> tuple[float, float]:
    """Return the mean of a task's measure and its standard error over rows, or over queries with several rows."""
    played = suite().tasks[task]
    values = records()[label].final(task)
    if played.kind != "duelers":
        values = values.reshape(played.runs, -1).mean(axis=0)
    mean, error = mean_and_error(values)
    return float(mean), float(error)


def color_of(label: str) -> str:
    """Return an agent's colour in all figures."""
    return LOOKS[label].color if label in LOOKS else "#000000"


def profile(label: str) -> str:
    """Return an agent's scores in the tasks that it plays, beside those of all others."""
    tasks = [name for name in suite().tasks if name in records()[label].values]
    drawing = Drawing(680, 60 + 26 * len(tasks), f"Scores of {label} in {len(tasks)} tasks of {SUITE}")
    axes = Axes(drawing, (180, 14), (390, 26 * len(tasks)), (100, len(tasks)), (LOWEST, 0))
    axes.frame([(n, str(n)) for n in (-50, 0, 50, 100)], [])
    drawing.line([axes.at(0, 0), axes.at(0, len(tasks))], "#777777")
    for line, task in enumerate(tasks):
        height = len(tasks) - line - 0.5
        found = scores(task)
        for other, score in found.items():
            if other != label:
                drawing.dot(*axes.at(max(score, LOWEST), height), PALE)
        x, y = axes.at(max(found[label], LOWEST), height)
        drawing.dot(x, y, color_of(label), 7)
        drawing.word(170, y + 4, task, at="end")
        drawing.word(585, y + 4, f"{place(label, task)} of {len(found)}")
    drawing.word(375, 50 + 26 * len(tasks), "score: 100 loses nothing, 0 as much as random play", at="middle", size=12)
    return drawing.svg()


def task_chart(task: str) -> str:
    """Return the loss of all agents in a task with twice its standard error on both sides, the best first."""
    labels = [label for label, _ in ranking(suite(), task)]
    found = {label: loss(label, task) for label in labels}
    most = max(mean + 2 * error for mean, error in found.values()) * 1.02 or 1.0
    drawing = Drawing(680, 60 + 20 * len(labels), f"Loss of {len(labels)} agents in {task}, the best first")
    axes = Axes(drawing, (150, 10), (500, 20 * len(labels)), (most, len(labels)))
    axes.frame([(n, f"{n:,g}") for n in ticks(most)], [])
    for line, (label, (mean, error)) in enumerate(found.items()):
        height = len(labels) - line - 0.5
        drawing.line([axes.at(max(mean - 2 * error, 0), height), axes.at(mean + 2 * error, height)], FRAME, 1.5)
        x, y = axes.at(mean, height)
        drawing.dot(x, y, color_of(label), 5)
        drawing.word(140, y + 4, label, at="end")
    drawing.word(400, 50 + 20 * len(labels), suite().tasks[task].measure, at="middle", size=12)
    return drawing.svg()


def curves(task: str, labels: Sequence[str], title: str) -> str:
    """Return the mean measure of some agents over the rounds of a task, with dots at the recorded rounds."""
    played = suite().tasks[task]
    rounds = [0, *played.recorded]
    means = {label: np.concatenate([[0.0], records()[label].values[task].mean(axis=1)]) for label in labels}
    most = max(float(values[-1]) for values in means.values()) * 1.05
    drawing = Drawing(680, 330, title)
    axes = Axes(drawing, (75, 20), (440, 250), (played.rounds, most))
    axes.frame([(n, f"{n:,}") for n in ticks(played.rounds)], [(n, f"{n:,g}") for n in ticks(most)])
    for number, (label, values) in enumerate(means.items()):
        axes.curve(rounds, [float(value) for value in values], color_of(label), DASHES[number % len(DASHES)])
        for round_, value in zip(rounds, values, strict=True):
            drawing.dot(*axes.at(round_, float(value)), color_of(label), 3)
    ends = sorted(means, key=lambda label: -means[label][-1])
    height = -100.0
    for label in ends:  # words beside the ends, moved down where they would overlap
        x, y = axes.at(played.rounds, float(means[label][-1]))
        height = max(y + 4, height + 17)
        drawing.word(x + 8, height, label, color=color_of(label))
    drawing.word(295, 318, "rounds", at="middle", size=12)
    drawing.word(75, 13, played.measure, size=12)
    return drawing.svg()


def ticks(most: float) -> list[float]:
    """Return at most six round numbers from 0 to ``most``."""
    step = 10.0 ** np.floor(np.log10(most))
    step = next(part * step for part in (0.2, 0.5, 1, 2) if most / (part * step) <= 5.5)
    return [float(n) if n % 1 else int(n) for n in (np.arange(int(most / step) + 1) * step).round(6)]
