"""The files of a training run: writing them, and resuming from them without unpickling anything."""

import csv
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch as th
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import recursive_setattr

from rankgym.arguments import number_in, plain_number, whole_number
from rankgym.outputs import atomic_path, versions
from rankgym.sb3.average import Average
from rankgym.sb3.defaults import EVALUATION_SEED, EVALUATIONS
from rankgym.sb3.model_files import MOST_JSON, library_versions, read_parts, tensors_in, weights_digest
from rankgym.sb3.plan import EvaluationResult, TrainingPlan
from rankgym.sb3.settings import train_command
from rankgym.sb3.tensor_files import MOST_BYTES
from rankgym.sb3.vec_env import RankingVecEnv
from rankgym.untrusted.files import parse_json, read_file

AVERAGE = "average.pth"  # the averaged weights so far
FILES = ("train.json", "curve.csv", "last.zip", "best.zip", AVERAGE)
COUNTERS = ("num_timesteps", "_n_updates", "_episode_num", "_n_calls")  # attributes of models, as ``last.zip`` has them
EPISODES = "rankgym_episodes"  # the attribute of a model that has the last episodes, for means over a hundred


class TrainingRecord:
    """The learning curve, and the files in ``folder``, if any."""

    def __init__(self, plan: TrainingPlan, folder: Path | None, old: dict[str, Any] | None, average: Average) -> None:
        before = old or {}
        self.plan, self.folder, self.average = plan, folder, average
        self.command = train_command(plan.settings, folder)
        self.curve: list[EvaluationResult] = before.get("curve", [])
        self.training: list[dict[str, Any]] = before.get("training_episodes", [])
        self.best: dict[str, Any] = before.get("best", {})
        self.last: dict[str, Any] = before.get("last", {})
        self.seconds: float = before.get("seconds", 0.0)
        self.resumed: list[int] = before.get("resumed_at", []) + ([before["last"]["steps"]] if before else [])
        self.latest = float("inf")
        self.rivals = plan.rivals()  # what evaluations are shown beside
        self._began = time.perf_counter() - self.seconds

    @property
    def spent(self) -> float:
        """The seconds of training and evaluations so far."""
        return time.perf_counter() - self._began

    @property
    def evaluated(self) -> int:
        """The steps before the last evaluation; -1 before the first one."""
        return self.curve[-1].steps if self.curve else -1

    def add(self, model: Any, results: list[EvaluationResult], episodes: dict[str, float]) -> None:
        """Add an evaluation, and write all files."""
        self.curve += results
        if episodes:
            self.training.append({"steps": results[0].steps, **episodes})
        self.latest = float(np.mean([one.regret for one in results]))
        model.rankgym["training"] = {
            "command": train_command(self.plan.settings, None),  # the folder does not decide the weights
            "steps": results[0].steps,
            "seconds": round(self.spent, 1),
            "regret": self.latest,
            "versions": versions() | library_versions(),
        }
        if not self.best or self.latest < self.best["regret"]:
            with self.average.applied():
                weights = weights_digest(model)
                self._save("best.zip", model.save)
            self.best = {"steps": results[0].steps, "regret": self.latest, "weights": weights}
        self.save_last(model)

    def save_last(self, model: Any) -> None:
        """Write the present model. Its card has a regret only if these very weights were evaluated."""
        card = model.rankgym["training"]
        card["steps"], card["seconds"] = model.num_timesteps, round(self.spent, 1)
        if self.average.rate or model.num_timesteps != self.evaluated:
            card.pop("regret", None)
        self.last = {"steps": model.num_timesteps, "weights": weights_digest(model)}
        setattr(model, EPISODES, list(model.ep_info_buffer or ()))
        self._save("last.zip", model.save)
        if self.average.rate:
            self._save(AVERAGE, lambda file: th.save(self.average.state, file))
        self.write()

    def _save(self, name: str, save: Callable[[Any], Any]) -> None:
        if self.folder is not None:
            with atomic_path(self.folder / name) as path, path.open("wb") as file:
                save(file)

    def write(self) -> None:
        """Write ``train.json`` and ``curve.csv``."""
        self.seconds = self.spent
        if self.folder is None:
            return
        with atomic_path(self.folder / "curve.csv") as path, path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([EvaluationResult._fields, *self.curve])
        report = {
            "command": self.command,
            "settings": asdict(self.plan.settings),
            "algorithm": self.plan.algorithm,
            "policy_kwargs": self.plan.policy_kwargs,
            "seeds": f"rows: {self.plan.settings.seed} + b; evaluations: {EVALUATION_SEED} + b",
            "versions": versions() | library_versions(),
            "resumed_at": self.resumed,
            "seconds": round(self.seconds, 3),
            "best": self.best,
            "last": self.last,
            "curve": [one._asdict() for one in self.curve],
            "training_episodes": self.training,
        }
        with atomic_path(self.folder / "train.json") as path:
            path.write_bytes((json.dumps(report, indent=1) + "\n").encode())


# -- resuming ---------------------------------------------------------------------------------------------------------


def read_earlier(folder: Path, plan: TrainingPlan) -> dict[str, Any]:
    """Return the record of the run to resume, as ``train.json`` has it; its settings must be the plan's."""
    path = folder / "train.json"
    if not path.exists() or not (folder / "last.zip").exists():
        raise ValueError(f"out = {str(folder)!r} has no training to resume; allowed: one with train.json and last.zip")
    try:
        before: dict[str, Any] = parse_json(read_file(path, MOST_JSON))
        old, _ = before["settings"], before["last"]["steps"]
        keywords = {**before["algorithm"]}, {**before["policy_kwargs"]}
        automatic = max(old["steps"] // EVALUATIONS, 1) == old["eval_every"]
        before["curve"] = [EvaluationResult(**one) for one in before["curve"]]
        whole_number("steps", before["last"]["steps"], 0)
        if None in map(plain_number, (before["seconds"], before["best"].get("regret", 0.0))):
            raise TypeError("seconds or the best regret is not a number")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error}); allowed: fresh (--fresh)") from None
    for key, value in asdict(plan.settings).items():
        if key == "steps" or (key == "eval_every" and automatic):
            continue
        if old.get(key) != value:
            raise ValueError(
                f"{key} = {value!r}, but the training in {folder} had {old.get(key)!r}; allowed: the same, another "
                "folder, or fresh (--fresh)"
            )
    for then, mine in zip(keywords, (plan.algorithm, plan.policy_kwargs), strict=True):
        now = json.loads(json.dumps(mine))
        for key in {**then, **now}:
            value, had = (repr(one[key]) if key in one else "its library's" for one in (now, then))
            if value != had:
                raise ValueError(
                    f"{key} = {value} by default, but the training in {folder} had {had}; allowed: the rankgym version "
                    "that began it, another folder, or fresh (--fresh)"
                )
    return before


def resumed_model(folder: Path, before: dict[str, Any], plan: TrainingPlan, env: RankingVecEnv) -> BaseAlgorithm:
    """Return the model of ``last.zip``: made from the settings, with the file's tensors and counters.

    The file may come from anybody: its pickled parts are not read. Episodes start afresh, from other seeds.
    """
    path = folder / "last.zip"
    model: Any = plan.model(env)
    try:
        parts, variables = model._get_torch_save_params()
        names = [*parts, *(["pytorch_variables"] if variables else [])]
        data, read = read_parts(path, [f"{name}.pth" for name in names])
        model.set_parameters({name: read[f"{name}.pth"] for name in parts}, device="cpu")
        tensors = read.get("pytorch_variables.pth", {})
        for name in variables:
            recursive_setattr(model, f"{name}.data", tensors[name].data)
        for name in COUNTERS:
            if hasattr(model, name):
                setattr(model, name, whole_number(name, data[name], 0))
        if hasattr(model, "exploration_rate"):
            model.exploration_rate = number_in("exploration_rate", data["exploration_rate"], 0, 1)
        model.ep_info_buffer = deque(_episodes(data.get(EPISODES, [])), maxlen=model._stats_window_size)
        model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    except Exception as error:
        raise _unreadable(path, error) from None
    sequence = np.random.SeedSequence([plan.settings.seed, before["last"]["steps"]])
    model.set_random_seed(int(sequence.generate_state(1)[0]))
    return model


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} cannot be read ({type(error).__name__}: {error}); allowed: fresh (--fresh)")


def _episodes(given: Any) -> list[dict[str, float]]:
    """Return the last episodes of a file, checked: it may come from anybody."""
    for episode in given:
        if any(plain_number(episode[name]) is None for name in ("r", "l", "t", "regret", "violations")):
            raise ValueError(f"{EPISODES} has {episode!r}; allowed: numbers")
    return given


def restore_average(model: BaseAlgorithm, plan: TrainingPlan, folder: Path | None) -> Average:
    """Return the average so far of the run to resume in ``folder``, or a new one (None)."""
    average = Average(model, float(plan.settings.average or 0))
    if folder is not None and average.rate:
        path = folder / AVERAGE
        try:
            state = tensors_in(AVERAGE, read_file(path, MOST_BYTES))
            moves, weights = whole_number("moves", state["moves"], 0), average.state["weights"]
            if weights.keys() != state["weights"].keys():
                raise ValueError("other weights than the model's")
            average.state = {"moves": moves, "weights": {n: w.copy_(state["weights"][n]) for n, w in weights.items()}}
        except Exception as error:
            raise _unreadable(path, error) from None
    return average
