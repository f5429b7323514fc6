"""The bench's report as tables for a terminal."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from rankgym.experiments.bench import cases
from rankgym.experiments.bench.measure import training_label

ABREAST = 5  # batch sizes beside each other in a table
BUSY = 0.9  # of a core: a process that had less of it shared the core
NO_TRAINING = "Training was not measured: stable-baselines3 is not installed (pip install rankgym[sb3])"

Rates = dict[tuple[Any, ...], float]  # sessions a second, by a case's key and rows
Goals = dict[str, dict[str, Any]]

_title = partial(Text, style="bold")


def tables(report: dict[str, Any]) -> Iterator[Any]:
    """Yield ``report`` as rich texts and tables."""
    figures = ("sessions_per_second", "low", "high")
    rates = {
        tuple(value for name, value in entry.items() if name not in figures): entry["sessions_per_second"]
        for entry in report["measured"]
    }
    goals = {goal["goal"]: goal for goal in report["goals"]}
    machine = report["machine"]
    yield Text(
        f"{machine['cpu']}, one core; rankgym {machine['rankgym']}, numba {machine['numba']}; 10 items, 5 positions"
    )
    yield from _steps(rates)
    yield from _undrawn(rates)
    yield from _agents(rates, goals)
    yield from _duels(rates, goals)
    yield from _stretches(rates)
    yield from _training(rates)
    yield from _singles(rates)
    yield from _ratios(report)
    yield from _goals(report, goals)


def _steps(rates: Rates) -> Iterator[Any]:
    yield _title("Environment steps, sessions a second")
    sizes = sorted({key[2] for key in rates if key[0] == "step"})
    for some in (sizes[start : start + ABREAST] for start in range(0, len(sizes), ABREAST)):
        table = _table("rows", *(f"{size:,}" for size in some))
        for model in cases.STEPS:
            for kind in cases.LISTS:
                for recording in cases.RECORDINGS:
                    name = f"{model}, {kind}" + ("" if recording == "nothing" else f", {recording} recorded")
                    values = [rates["step", model, size, kind, recording] for size in some]
                    last = recording == "all" and kind == cases.LISTS[-1]
                    table.add_row(name, *map(_rate, values), end_section=last)
        table.add_row(f"{cases.CARTPOLE}, native vector", *(_rate(rates["cartpole", size]) for size in some))
        yield table


def _undrawn(rates: Rates) -> Iterator[Any]:
    table = _table("PBM, random lists", *(f"render_mode {mode}" for mode in cases.RENDER_MODES))
    for rows in cases.UNDRAWN_ROWS:
        found = [rates.get(("undrawn", "PBM", rows, str(mode))) for mode in cases.RENDER_MODES]
        if None not in found:
            table.add_row(f"{rows} {'row, single' if rows == 1 else 'rows'}", *(_rate(rate) for rate in found if rate))
    if table.row_count:
        yield _title("Steps whose sessions could be drawn, but render() is not called, sessions a second")
        yield table


def _agents(rates: Rates, goals: Goals) -> Iterator[Any]:
    rows = f"{cases.AGENT_ROWS} rows"
    yield _title(
        f"Agents through rankgym.simulate, {rows}, all recorded, sessions a second; the project's own goals beside them"
    )
    with_goals = [model for model in cases.MODELS if any(name.endswith(f" on {model}") for name in goals)]
    heads = [head for model in cases.MODELS for head in ([model, "goal", ""] if model in with_goals else [model])]
    table = _table("agent", *heads)
    for name in dict.fromkeys(key[1] for key in rates if key[0] == "agent"):
        cells: list[str | Text] = []
        for model in cases.MODELS:
            cells.append(_rate(rates["agent", name, model, cases.AGENT_ROWS]))
            cells += _goal(goals.get(f"{name} on {model}")) if model in with_goals else []
        table.add_row(name, *cells)
    yield table


def _duels(rates: Rates, goals: Goals) -> Iterator[Any]:
    yield _title(f"Duels, random pairs, {cases.DUEL_ROWS} rows, duels a second")
    duels = _table("duel", "", "regret recorded")
    for label in cases.DUELS:
        duels.add_row(label, *(_rate(rates["duel", label, what, cases.DUEL_ROWS]) for what in ("nothing", "regret")))
    yield duels
    text = f"Dueling agents through rankgym.simulate, 136 arms, {cases.DUEL_ROWS} rows, regret recorded, duels"
    yield _title(f"{text} a second")
    duelers = _table("agent", cases.MATRIX, "goal", "")
    for key, rate in rates.items():
        if key[0] == "dueler":
            duelers.add_row(key[1], _rate(rate), *_goal(goals.get(f"{key[1]} on {cases.MATRIX}")))
    yield duelers


def _stretches(rates: Rates) -> Iterator[Any]:
    yield _title("Long games, step by step and in compiled stretches, all recorded, sessions or duels a second")
    table = _table("rows, agent", *cases.WAYS)
    for name, played, rows in cases.stretch_goals():
        found = [rates.get(("stretch", name, played, rows, way)) for way in cases.WAYS]
        if any(found):
            table.add_row(f"{rows:,}, {name} on {played}", *("" if rate is None else _rate(rate) for rate in found))
    yield table


def _training(rates: Rates) -> Iterator[Any]:
    steps, passes = cases.LEARNING["n_steps"], cases.LEARNING["n_epochs"]
    settings = f"{steps} steps a rollout, {passes} passes over {cases.MINIBATCHES} minibatches"
    yield _title(f"Training with stable-baselines3, {cases.TRAINING_ROWS} rows, sessions a second; PPO: {settings}")
    table = _table("", *cases.ADAPTERS)
    for key in cases.TRAINING_GOALS:
        trained = [rate for name, rate in rates.items() if name[: len(key)] == key]
        if trained:
            table.add_row(training_label(key), *map(_rate, trained))
    yield table if table.row_count else Text(NO_TRAINING)


def _singles(rates: Rates) -> Iterator[Any]:
    yield _title("Single environments through gym.make")
    table = _table("environment", "steps a second")
    for key, rate in rates.items():
        if key[0] == "single":
            table.add_row(key[1], _rate(rate))
    yield table


def _ratios(report: dict[str, Any]) -> Iterator[Any]:
    yield _title("Ratios")
    table, wanted = _table("", "", "", ""), {goal["goal"]: goal for goal in report["ratio_goals"]}
    table.show_header = False
    for name, ratio in report["ratios"].items():
        goal = wanted.get(name)
        table.add_row(name, f"{ratio:.2f}x", *(["", ""] if goal is None else [f"{goal['wanted']:g}x", _reached(goal)]))
    yield table


def _goals(report: dict[str, Any], goals: Goals) -> Iterator[Any]:
    rows = f"{cases.AGENT_ROWS} rows or as said"
    yield _title(f"The project's own goals for its speed on one core, sessions a second, {rows}")
    for name, goal in goals.items():
        if " step, " in name or name.startswith("Stretches"):
            measured = f"{_rate(goal['measured'])} of {goal['wanted'] / 1e6:g} M, "
            yield Text.assemble(f"{name}: {measured}", _reached(goal))
    met, fast = (sum(goal[key] >= goal["wanted"] for goal in goals.values()) for key in ("measured", "fastest"))
    yield Text(f"{met} of {len(goals)} met by the median of {report['setting']['turns']} slices, {fast} by the fastest")
    share = report["machine"]["share_of_a_core"]
    if share < BUSY:
        text = f"The machine was busy: this process had {share:.0%} of a core. An idle one shows higher rates."
        yield Text(text, "yellow")


def _table(*heads: str) -> Table:
    """Make a table whose first column gives way on a narrow terminal; nothing is cut."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number == 0 else "right", overflow="fold", vertical="bottom")
    return table


def _goal(goal: dict[str, Any] | None) -> list[str | Text]:
    """Return the cells of a goal: the rate wanted, and how far it is reached."""
    return ["", ""] if goal is None else [f"{goal['wanted'] / 1e6:g} M", _reached(goal)]


def _reached(goal: dict[str, Any]) -> Text:
    return Text("met", "green") if goal["met"] else Text(f"{goal['measured'] / goal['wanted']:.0%}", "yellow")


def _rate(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 999_500 else f"{rate / 1e3:.0f} k"
