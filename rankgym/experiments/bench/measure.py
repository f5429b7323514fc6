"""Measure speed: sessions, or duels, per second through the public interface, on one core; and write it as JSON."""

import contextlib
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rankgym.arguments import whole_number
from rankgym.experiments.bench import cases, timing
from rankgym.experiments.bench.timing import side_by_side
from rankgym.outputs import atomic_path, check_writable, versions
from rankgym.progress import count_bar, late_bar

NAMES = {  # of the parts of a case's key, by its first part
    "step": ("what", "model", "rows", "lists", "recording"),
    "undrawn": ("what", "model", "rows", "render_mode"),
    "agent": ("what", "agent", "model"),
    "single": ("what", "model"),
    "cartpole": ("what", "rows"),
    "duel": ("what", "environment", "recording"),
    "dueler": ("what", "agent"),
    "stretch": ("what", "agent", "played", "rows", "way"),
    "adapter": ("what", "shown", "adapter"),
    "ppo": ("what", "adapter"),
}


def measure(
    rows: Sequence[int] = (1, 64, 600, 6000), *, quick: bool = False, letor: Path | None = None, progress: bool = True
) -> dict[str, Any]:
    """Measure everything once.

    Args:
        rows: batch sizes of the ranking environments' steps; 600 is added, as the goals are at 600.
        quick: shorter slices, and fewer.
        letor: a LETOR file, to interleave its rankers. Default: a synthetic one, of the shape of NP2004's.
        progress: show a bar on standard error.

    Returns:
        Plain JSON values: ``machine``; ``measured``: a list of dicts, each with ``what`` ("step", "agent", "single",
        "cartpole", "duel", "dueler", "stretch", with Pillow "undrawn", and with stable-baselines3 "adapter" and "ppo"),
        its particulars,
        ``sessions_per_second`` (the median) and ``low`` and ``high``; ``ratios``: a dict of numbers; ``goals`` and
        ``ratio_goals``: lists of dicts.

    Raises:
        ValueError: a batch size is out of range, or the file does not exist.
    """
    if letor is not None and not Path(letor).is_file():
        raise ValueError(f"letor = {str(letor)!r} is not there; allowed: a file in the format of LETOR")
    sizes = sorted({whole_number("rows", size, 1, 1_000_000) for size in rows} | {cases.AGENT_ROWS})
    effort = timing.QUICK if quick else timing.THOROUGH
    rates: dict[tuple[Any, ...], list[float]] = {}
    measured = []
    wall, worked = time.perf_counter(), time.process_time()
    total = cases.number_of_cases(sizes) * (effort.turns + 1)
    with late_bar(progress, total, "bench", partial(count_bar, "measurements")) as advance:
        for group in cases.groups(sizes, effort, letor):
            with contextlib.ExitStack() as opened:
                for case, found in side_by_side(group(opened), effort, advance):
                    rates[case.key] = found
                    named = dict(zip(NAMES[case.key[0]], case.key, strict=True))
                    figures = {"sessions_per_second": statistics.median(found), "low": min(found), "high": max(found)}
                    measured.append({**named, "rows": case.rows, **figures})
    share = (time.process_time() - worked) / (time.perf_counter() - wall)
    medians = {key: statistics.median(found) for key, found in rates.items()}
    setting = {"items": 10, "positions": cases.POSITIONS, "quick": quick, "turns": effort.turns, "slice": effort.slice}
    return {
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "share_of_a_core": share, **versions()},
        "setting": setting,
        "measured": measured,
        "ratios": _ratios(medians, sizes),
        "ratio_goals": [_goal(name, wanted, ratio) for name, (ratio, wanted) in _wanted_ratios(medians).items()],
        "goals": [
            _goal(name, wanted, medians[key], fastest=max(rates[key])) for name, (key, wanted) in cases.goals().items()
        ],
    }


def _goal(name: str, wanted: float, measured: float, **fastest: float) -> dict[str, Any]:
    return {"goal": name, "wanted": wanted, "measured": measured, **fastest, "met": measured >= wanted}


def _ratios(medians: dict[tuple[Any, ...], float], sizes: Sequence[int]) -> dict[str, float]:
    cartpole, many = cases.CARTPOLE, cases.AGENT_ROWS
    ratios = {f"single {m} / {cartpole}": medians["single", m] / medians["single", cartpole] for m in cases.MODELS}
    for rows in sizes:
        name = f"{rows:,} {'row' if rows == 1 else 'rows'}"
        for kind in cases.LISTS:
            step = medians["step", "PBM", rows, kind, "nothing"]
            ratios[f"PBM step, {kind} / {cartpole} native vector, {name}"] = step / medians["cartpole", rows]
    for recording in ("regret", "all"):
        bare, recorded = (medians["step", "PBM", many, cases.LISTS[0], r] for r in ("nothing", recording))
        ratios[f"PBM step, fixed list, recording {recording} / nothing, {many} rows"] = recorded / bare
    for kind in cases.LISTS:
        still, moving = (medians["step", m, many, kind, "all"] for m in ("PBM", "PBM with breakpoints"))
        ratios[f"PBM step, {kind}, all recorded, with breakpoints / without, {many} rows"] = moving / still
    for rows in cases.UNDRAWN_ROWS if cases.can_draw() else ():
        plain, ready = (medians["undrawn", "PBM", rows, str(mode)] for mode in cases.RENDER_MODES)
        name = "single PBM" if rows == 1 else f"PBM step, random lists, {rows} rows"
        ratios[f"{name}, render_mode rgb_array and no render() / no render_mode"] = ready / plain
    return ratios | {name: ratio for name, (ratio, _) in _wanted_ratios(medians).items()}


def _wanted_ratios(medians: dict[tuple[Any, ...], float]) -> dict[str, tuple[float, float]]:
    """Return ratios that have goals, and the goals: of stretches over steps, of threads, and of training."""
    ratios = {}
    for (name, played, rows), wanted in cases.stretch_goals().items():
        steps, stretches, *threads = (medians.get(("stretch", name, played, rows, way)) for way in cases.WAYS)
        label = f"{rows:,} {'row' if rows == 1 else 'rows'}, {name} on {played}"
        if steps is not None and stretches is not None:
            ratios[f"{label}, stretches / steps"] = (stretches / steps, wanted)
            ratios |= {f"{label}, two threads / one": (n / stretches, cases.THREADS_GOAL) for n in threads if n}
    return ratios | _training_ratios(medians)


def _training_ratios(medians: dict[tuple[Any, ...], float]) -> dict[str, tuple[float, float]]:
    """Return the rate of our adapter over the other's, and the goal; empty if training was not measured."""
    ratios = {}
    for key, wanted in cases.TRAINING_GOALS.items():
        ours, theirs = (medians.get((*key, adapter)) for adapter in cases.ADAPTERS)
        if ours is not None and theirs is not None:
            name = f"{training_label(key)}, {' / '.join(cases.ADAPTERS)}, {cases.TRAINING_ROWS} rows"
            ratios[name] = (ours / theirs, wanted)
    return ratios


def training_label(key: tuple[Any, ...]) -> str:
    """Return the words for a key of ``cases.TRAINING_GOALS``."""
    return "PPO.learn, Plackett-Luce policy" if key[0] == "ppo" else f"PBM step, {key[1]} shown"


def _cpu() -> str:
    """Return the processor's name, if the system has it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def check_out(path: Path) -> None:
    """Raise a ValueError if ``write`` could not write to ``path``, before anything is measured."""
    if path.is_dir():
        raise ValueError(f"out = {str(path)!r} is a folder; allowed: a file")
    check_writable(path, path.parent)


def write(report: dict[str, Any], path: Path) -> None:
    """Write ``report`` as JSON."""
    with atomic_path(path) as unfinished:
        unfinished.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
