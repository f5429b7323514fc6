"""The files of a comparison: histories, tables, settings, figure."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.experiments.judge.comparison import Comparison
from rankgym.experiments.plan.agents import slug
from rankgym.experiments.show.tables import csv_text, markdown_text
from rankgym.extras import require
from rankgym.outputs import atomic_path, json_text

NO_FIGURE = 'no figure without matplotlib: pip install "rankgym[experiments]"'


def save(comparison: Comparison, out: Path) -> None:
    """Write histories, tables, settings and the figure into the folder ``out``.

    The files are ``<agent>.npz``, ``table.csv``, ``table.md``, ``compare.json``, ``regret.png`` and ``regret.svg``. A
    history file has ``rounds`` (records,), ``regret``, ``violations``, ``ndcg`` and ``reward`` (records, rows), and
    ``query`` and ``seed`` (rows,); in a non-stationary environment also ``epoch_regret`` (epochs, rows), NaN where a
    row did not reach an epoch. The history file of duels has ``regret``, ``accuracy`` (NaN: unknown) and ``reward``,
    and ``problem`` instead of ``query`` if the environment has problems. If no regret is known the figure shows the
    reward. Without matplotlib there is no figure, and a note says so.

    Histories of an earlier comparison in the same folder, which its ``compare.json`` names, are removed unless the new
    one has them too; a note says so if that comparison was another one.
    """
    out.mkdir(parents=True, exist_ok=True)
    settings = json.loads(json.dumps(comparison.settings()))
    _remove_old_histories(out, settings, comparison.notes)
    query = np.tile(comparison.queries, comparison.runs)
    seeds = [comparison.seed + row for row in range(comparison.rows)]
    seed = np.array(seeds) if seeds[-1] < 2**63 else np.array(list(map(str, seeds)))  # seeds may have any size
    for label, history in comparison.histories.items():
        with atomic_path(out / f"{slug(label)}.npz") as path, path.open("wb") as file:
            arrays = {name: a for name, a in history._asdict().items() if name != "epoch_regret" or len(a)}
            arrays |= {comparison.choice: query} if comparison.choice else {}
            np.savez(file, **arrays, seed=seed)
    texts = json_text(settings), csv_text(comparison), markdown_text(comparison)
    for name, text in zip(("compare.json", "table.csv", "table.md"), texts, strict=True):
        with atomic_path(out / name) as path:
            path.write_text(text, encoding="utf-8")
    try:
        require("matplotlib")
    except RuntimeError:
        comparison.notes.append(NO_FIGURE)
        return
    from rankgym import style
    from rankgym.experiments.show import comparison_figure

    figure = comparison_figure.draw_comparison(comparison)
    for kind in ("png", "svg"):
        with atomic_path(out / f"regret.{kind}") as path:
            style.write(figure, path, kind)


def _remove_old_histories(out: Path, new: dict[str, Any], notes: list[str]) -> None:
    """Remove histories of the comparison in ``out`` that ``new`` does not have; add a note if it was another one."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # no compare.json, or not one of ours
        old = json.loads((out / "compare.json").read_text(encoding="utf-8"))
        files, names = ([str(agent[key]) for agent in old["agents"]] for key in ("file", "name"))
        kept = {agent["file"] for agent in new["agents"]}
        decisive = ("environment", "arguments", "rounds", "seed", "queries", "problems")
        same = all(old.get(key) == new.get(key) for key in decisive)
        if not same or old["runs"] > new["runs"] or not set(files) <= kept:
            rounds = f"{old['rounds']} {'round' if old['rounds'] == 1 else 'rounds'}, seed {old['seed']}"
            notes.append(f"replaces the comparison of {old['environment']} ({', '.join(names)}; {rounds}) in {out}")
        for file in set(files) - kept:
            if Path(file).name == file and file.endswith(".npz"):
                (out / file).unlink(missing_ok=True)
