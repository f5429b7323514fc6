"""A row's whole history, environment and agent together, depends on its own seed alone; and numbers once out stay."""

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym.arguments import ActionKind, action_kind
from rankgym.experiments.bench.cases import write_letor
from rankgym.experiments.plan.agents import fitting_agents
from rankgym.wrappers import AgainstItself
from rankgym_agents import AGENTS, DUELERS, RANKERS

GOLDEN = Path(__file__).with_name("golden.json")
ROUNDS = 80  # in rankings, of 600 rows
GOLDEN_ROUNDS = 1_000  # of golden.json, which is never made anew: numbers once out stay


def history(agent, rows, seed, query, *, model="PBM", rounds=ROUNDS, mode="NextStep"):
    venv = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=rows, query=query, horizon=rounds, autoreset_mode=mode)
    return rankgym.simulate(AGENTS[agent].for_env(venv, seed=seed), venv, rounds, seed=seed, progress=False)


def duels(agent, rows, seed, *, problem="all", rounds=400, mode="NextStep"):
    """Of 9 arms each row plays a problem, and of 12 arms of MSLR's each row has 7 of its own."""
    shape = {"num_envs": rows, "horizon": rounds, "autoreset_mode": mode}
    venvs = [
        gym.make_vec("rankgym/Dueling-Synthetic-v0", num_arms=9, problem=problem, **shape),
        gym.make_vec("rankgym/Dueling-MSLR-v0", num_arms=12, **shape),
    ]
    found = [
        rankgym.simulate(AGENTS[agent].for_env(venv, seed=seed), venv, rounds, seed=seed, progress=False)
        for venv in venvs
    ]
    return [part for history in found for part in history]


def same(one, row, other, other_row):
    return all((a[:, row] == b[:, other_row]).all() for a, b in zip(one[1:], other[1:], strict=True))


@pytest.mark.parametrize("agent", RANKERS)
@pytest.mark.parametrize("model", ["CM", "PBM", "DCM"])
def test_row_7_of_600_is_the_row_alone(agent, model):
    rounds = 12 if agent == "adaptive-index" else ROUNDS  # thirty times as slow as others
    whole = history(agent, 600, 50, "all", model=model, rounds=rounds)
    for mode in ("NextStep", "SameStep", "Disabled"):
        alone = history(agent, 1, 57, 7, model=model, mode=mode, rounds=rounds)
        assert (alone.rounds == whole.rounds).all()
        assert same(whole, 7, alone, 0)
    shard = history(agent, 3, [55, 56, 57], [5, 6, 7], model=model, rounds=rounds)
    assert same(whole, 7, shard, 2)


@pytest.mark.parametrize("agent", DUELERS)
def test_row_7_of_100_duels_is_the_row_alone(agent):
    whole = duels(agent, 100, 50)
    for mode in ("NextStep", "SameStep", "Disabled"):
        for mine, one in zip(whole, duels(agent, 1, 57, problem=7, mode=mode), strict=True):
            assert (mine[..., 7] == one[..., 0]).all() if mine.ndim == 2 else (mine == one).all()


@functools.cache
def digest(agent, rounds):
    numbers = hashlib.sha256()
    if agent in DUELERS:
        for part in duels(agent, 3, 9, rounds=rounds):
            numbers.update(np.ascontiguousarray(part).tobytes())
        return numbers.hexdigest()
    for model in ("CM", "PBM", "DCM"):
        for part in history(agent, 3, 9, [3, 4, 5], model=model, rounds=rounds):
            numbers.update(np.ascontiguousarray(part).tobytes())
    return numbers.hexdigest()


def in_another_process(rounds, flag):
    """Digests of the agents with so many rounds each, with the compiler switched off by ``flag`` "1"."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
    script += f"from test_reproducibility import digest; print(*(digest(*pair) for pair in {rounds!r}.items()))"
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_the_history_is_the_same_in_another_process_and_without_the_compiler():
    rounds = dict.fromkeys(AGENTS, 60)
    found = [digest(*pair) for pair in rounds.items()]
    assert len(set(found)) == len(AGENTS) - 3  # so soon random, TopRank and BatchRank differ not, nor does restarting
    assert in_another_process(rounds, "0") == found
    rounds = dict.fromkeys(AGENTS, 20)
    rounds |= {"bayes-index": 8, "bayes-thompson": 8, "adaptive-index": 2}  # very slow without the compiler
    assert in_another_process(rounds, "1") == [digest(*pair) for pair in rounds.items()]


MEASURES = {rankgym.History: ("regret", "violations", "ndcg"), rankgym.DuelingHistory: ("regret", "accuracy", "reward")}


def golden_numbers(name, every=1, first=0):
    """After 1,000 rounds, mean of 20 rows, of each agent that can play: regret, violations and NDCG; of duels regret,
    accuracy and reward, if they are known. Of the agents only each ``every``-th from number ``first`` on plays.

    Epochs have 100 rounds where there are any: 1,000 rounds shall see breakpoints.
    """
    arguments = {"num_envs": 20, "horizon": GOLDEN_ROUNDS}
    arguments |= {"query": "all"} if "Dueling" not in name or "Yandex" in name else {}
    arguments |= {"epoch_lengths": 100} if "-Breakpoint-" in name else {}
    numbers = {}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if "LETOR" in name:
            patch.setenv("RANKGYM_DATA_HOME", folder)
            write_letor(Path(folder) / "letor.txt", 12, 30, 8)
            arguments["file"] = str(Path(folder) / "letor.txt")
        for agent in list(fitting_agents(gym.make_vec(name, **arguments)))[first::every]:
            venv = gym.make_vec(name, **arguments)
            env = AgainstItself(venv) if action_kind(venv) is ActionKind.DUEL_OF_RANKINGS else venv
            history = rankgym.simulate(AGENTS[agent].for_env(env, seed=1), env, GOLDEN_ROUNDS, seed=1, progress=False)
            end = history.at(GOLDEN_ROUNDS)
            means = (float(end[key].mean()) for key in MEASURES[type(history)])
            numbers[f"{name} {agent}"] = [mean for mean in means if not np.isnan(mean)]
    return numbers


@pytest.mark.parametrize("name", rankgym.ENVS)
def test_numbers_once_out_stay(name):
    """A difference here is a new version of the id, and a line in the changelog.

    Half of an id's agents play, in the next id the other half: each of them in every family of ids. The file is made
    anew by ``python tests/test_reproducibility.py``. The tolerance is for sums of floats in another order on another
    machine; whatever changes a single click is far above it.
    """
    half = list(rankgym.ENVS).index(name) % 2
    now = golden_numbers(name, every=2, first=half)
    then = {key: numbers for key, numbers in json.loads(GOLDEN.read_text()).items() if key.split()[0] == name}
    assert list(now) == list(then)[half::2]
    for key in now:
        assert now[key] == pytest.approx(then[key], rel=1e-9), key


def test_there_are_numbers_of_all_environments_and_agents_and_no_others():
    names, agents = zip(*map(str.split, json.loads(GOLDEN.read_text())), strict=True)
    assert set(names) == set(rankgym.ENVS)
    assert set(agents) == {*RANKERS, *DUELERS}


if __name__ == "__main__":
    numbers = {key: value for name in rankgym.ENVS for key, value in golden_numbers(name).items()}
    GOLDEN.write_text(json.dumps(numbers, indent=1) + "\n")
