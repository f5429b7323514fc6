"""A row's whole history, environment and agent together, depends on its own seed alone; and numbers once out stay."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym_agents import AGENTS

GOLDEN = Path(__file__).with_name("golden.json")
ROUNDS = 400


def history(agent, rows, seed, query, *, model="PBM", rounds=ROUNDS, mode="NextStep"):
    venv = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=rows, query=query, horizon=rounds, autoreset_mode=mode)
    return rankgym.simulate(AGENTS[agent].for_env(venv, seed=seed), venv, rounds, seed=seed, progress=False)


def same(one, row, other, other_row):
    return all((a[:, row] == b[:, other_row]).all() for a, b in zip(one[1:], other[1:], strict=True))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("model", ["CM", "PBM", "DCM"])
def test_row_7_of_600_is_the_row_alone(agent, model):
    whole = history(agent, 600, 50, "all", model=model)
    for mode in ("NextStep", "SameStep", "Disabled"):
        alone = history(agent, 1, 57, 7, model=model, mode=mode)
        assert (alone.rounds == whole.rounds).all()
        assert same(whole, 7, alone, 0)
    shard = history(agent, 3, [55, 56, 57], [5, 6, 7], model=model)
    assert same(whole, 7, shard, 2)


def digest(agent):
    numbers = hashlib.sha256()
    for model in ("CM", "PBM", "DCM"):
        for part in history(agent, 3, 9, [3, 4, 5], model=model, rounds=120):
            numbers.update(np.ascontiguousarray(part).tobytes())
    return numbers.hexdigest()


@pytest.mark.parametrize("agent", AGENTS)
def test_the_history_is_the_same_in_another_process_and_without_the_compiler(agent):
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
    script += f"from test_reproducibility import digest; print(digest({agent!r}))"
    for flag in ("0", "1"):
        output = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert output.strip() == digest(agent)


def golden_numbers(name):
    """Regret, violations and NDCG after 1,000 rounds, mean of 20 rows, of each agent in one environment.

    Epochs have 100 rounds where there are any: 1,000 rounds shall see breakpoints.
    """
    epochs = {"epoch_lengths": 100} if "-Breakpoint-" in name else {}
    numbers = {}
    for agent in AGENTS:
        venv = gym.make_vec(name, num_envs=20, query="all", horizon=1000, **epochs)
        end = rankgym.simulate(AGENTS[agent].for_env(venv, seed=1), venv, 1000, seed=1, progress=False).at(1000)
        numbers[f"{name} {agent}"] = [float(end[key].mean()) for key in ("regret", "violations", "ndcg")]
    return numbers


@pytest.mark.parametrize("name", rankgym.ENVS)
def test_numbers_once_out_stay(name):
    """A difference here is a new version of the id, and a line in the changelog.

    The file is made anew by ``python tests/test_reproducibility.py``. The tolerance is for sums of floats in another
    order on another machine; whatever changes a single click is far above it.
    """
    now = golden_numbers(name)
    then = {key: numbers for key, numbers in json.loads(GOLDEN.read_text()).items() if key.split()[0] == name}
    assert now.keys() == then.keys()
    for key in now:
        assert now[key] == pytest.approx(then[key], rel=1e-9), key


def test_there_are_numbers_of_no_other_environment():
    assert {key.split()[0] for key in json.loads(GOLDEN.read_text())} == set(rankgym.ENVS)


if __name__ == "__main__":
    numbers = {key: value for name in rankgym.ENVS for key, value in golden_numbers(name).items()}
    GOLDEN.write_text(json.dumps(numbers, indent=1) + "\n")
