"""The summary of a training run, in lines for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.sb3.record import AVERAGE
from rankgym.sb3.settings import as_options, query_text
from rankgym.sb3.training import Training

__all__ = ["summary"]


def summary(training: Training) -> list[str]:
    """Return the results of a training run, in lines for a terminal."""
    minutes, curve = training.seconds / 60, training.curve
    last = [one for one in curve if one.steps == curve[-1].steps]
    lines = [f"{training.steps:,} steps in {minutes:,.1f} minutes, evaluations included"]
    lines += [
        f"{one.environment}: regret {one.regret:,.1f} ± {one.regret_se:,.1f}, violations {one.violations:,.1f}, "
        f"NDCG {one.ndcg:.3f}; untrained, regret {first.regret:,.1f}"
        for one, first in zip(last, curve, strict=False)
    ]
    best = training.best
    lines.append(f"best after {best['steps']:,} steps: regret {best['regret']:,.1f}, mean of all environments")
    lines.append(f"digest of the last weights: {training.weights}")
    if training.out is not None:
        names = [
            "best.zip",
            "last.zip",
            *([AVERAGE] if training.settings["average"] else []),
            "curve.csv",
            "train.json",
        ]
        lines.append(f"Written to {training.out}: {', '.join(names)}")
        lines.append(f"{_compare_command(training.settings, training.out / 'best.zip')} compares it")
        if _share_queries(training.settings["query"], training.settings["eval_query"]):
            lines.append("queries of these evaluations were trained on")
        more = "-Yandex-" in last[0].environment and training.settings["env_kwargs"].get("source") != "published"
        lines.append(
            "best.zip was chosen by these evaluations, which flatter it: for a fair number, compare it on queries that "
            f"it was not chosen on{', such as those of --source published' if more else ''}"
        )
    return lines


def _share_queries(query: Any, eval_query: Any) -> bool:
    """Return whether the two choices are known to have queries in common."""
    both = (query, eval_query)
    if query == eval_query or any(one is None or one == "all" for one in both):
        return True
    listed = [set(np.ravel(one).tolist()) for one in both if not isinstance(one, str)]
    return len(listed) == 2 and bool(listed[0] & listed[1])


def _compare_command(settings: Mapping[str, Any], model: Path) -> str:
    """Return the command line that compares a model with a bandit, as it was evaluated."""
    kwargs = dict(settings["env_kwargs"])
    words = ["rankgym", "compare", settings["environments"][0].removeprefix("rankgym/")]
    if isinstance(kwargs.get("source"), str):
        words += ["--source", kwargs.pop("source")]
    words += as_options("--set", kwargs)
    words += ["--query", "all" if settings["eval_query"] is None else query_text(settings["eval_query"])]
    words += ["--rounds", str(settings["eval_horizon"]), "--agents", f"cascade-kl-ucb,{model}"]
    return shlex.join(words)
