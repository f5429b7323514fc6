"""Click models of one's own, named ``package.module:MODEL``: in environments, compiled loops and the keys of jobs."""

import importlib
import re
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym.conformance import ModelError, check_model
from rankgym.experiments import compare
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.kernels import Stretch, bits, session_seed
from rankgym.kernels.compiling import CONFIG
from rankgym.models import MODELS, best_of_all, check_assumptions, coins, find_model
from rankgym.models.exhaustive import MOST_LISTS, all_lists
from rankgym.play.game import Game
from rankgym_agents import TopRank

pytestmark = pytest.mark.usefixtures("quick_figures")

PARAMETERS = {"attraction": np.linspace(0.9, 0.1, 6).tolist(), "examination": [0.9, 0.7, 0.5]}
OWN = '''
"""A PBM of one's own, compiled and with NumPy."""

from typing import NamedTuple

import numpy as np

from rankgym.kernels import EXAMINATION, bernoulli, bits, kernel, session_seed, uniform
from rankgym.models import ClickModel, Reward, best_of_all, coins


class Parameters(NamedTuple):
    attraction: np.ndarray
    examination: np.ndarray


@kernel
def click(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    for row in range(displayed.shape[0]):
        seed = session_seed(key[row], session[row])
        reward[row] = 0.0
        for k in range(displayed.shape[1]):
            item = displayed[row, k]
            clicks[row, k] = bernoulli(seed, item, attraction[row, item]) and bernoulli(
                seed, EXAMINATION + k, examination[row, k]
            )
            if k < cutoff:
                reward[row] += clicks[row, k]


@kernel
def value(attraction, examination, displayed, cutoff, expected):
    for row in range(displayed.shape[0]):
        total = 0.0
        for k in range(cutoff):
            total += examination[row, k] * attraction[row, displayed[row, k]]
        expected[row] = total


@kernel
def examine(attraction, examination, displayed, examined):
    examined[:] = examination


def plain_click(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    places = EXAMINATION + np.arange(displayed.shape[1])
    attracted = coins(key, session, displayed) < np.take_along_axis(attraction, displayed, 1)
    clicks[:] = attracted & (coins(key, session, places) < examination)
    reward[:] = clicks[:, :cutoff].sum(1)


def uncompiled(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    clicks[0, 0] = uniform(bits(session_seed(key[0], session[0]), 0)) < 0.5


AXES = {"attraction": ("item",), "examination": ("position",)}
MODEL = ClickModel("Own", Parameters, AXES, examine, {"clicks": Reward(click, value, best_of_all(value))})
PLAIN = ClickModel("Plain", Parameters, AXES, examine, {"clicks": Reward(plain_click, value, best_of_all(value))})
UNCOMPILED = ClickModel("Plain", Parameters, AXES, examine, {"clicks": Reward(uncompiled, value, best_of_all(value))})
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with models, made anew for each test; its path."""
    path = tmp_path / "own_models_here.py"
    path.write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    sys.modules.pop("own_models_here", None)


def made(model, name="rankgym/PBM-Synthetic-v0", **more):
    arguments = {"num_envs": 5, "model": model, "parameters": PARAMETERS, "num_positions": 3, "horizon": 400}
    return gym.make_vec(name, **{**arguments, **more})


def history(model, threads=None):
    env = made(model)
    game = Game(TopRank.for_env(env, seed=0), env, 300, threads=threads)
    game.reset(0)
    game.play(300, lambda number: None)
    return game.history()


@pytest.mark.parametrize("which", ["MODEL", "PLAIN"])
def test_a_model_of_ones_own_plays_as_the_built_in_one(own, which):
    one, other = history(f"own_models_here:{which}"), history("PBM")
    np.testing.assert_allclose(one.regret, other.regret)
    np.testing.assert_array_equal(one.reward, other.reward)


@pytest.mark.parametrize("which", ["MODEL", "PLAIN"])
def test_rankings_duel_under_a_model_of_ones_own(own, which):
    name = "rankgym/Dueling-PBM-Yandex-v0"
    envs = [made(model, name, dataset="synthetic") for model in (f"own_models_here:{which}", "PBM")]
    pair = {"left": np.tile([0, 1, 2], (5, 1)), "right": np.tile([5, 1, 3], (5, 1))}
    for env in envs:
        env.reset(seed=0)
    for _ in range(30):
        one, other = (env.step(pair)[4] for env in envs)
        np.testing.assert_array_equal(one["clicks"], other["clicks"])
        np.testing.assert_allclose(one["regret"], other["regret"])


@pytest.mark.kernels
def test_kernels_of_ones_own_are_played_in_stretches(own):
    """Bit for bit as step by step."""
    env = made("own_models_here:MODEL")
    assert all(map(Stretch.takes, env.unwrapped.compiled().kernels))
    stretched, stepped = (history("own_models_here:MODEL", threads) for threads in (1, 0))
    for one, other in zip(stretched, stepped, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_compiled_loop_is_made_anew_when_the_models_file_changes(own, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    before = history("own_models_here:MODEL", threads=1)
    sys.modules.pop("own_models_here")
    own.write_text(OWN.replace("reward[row] += clicks[row, k]", "reward[row] += 0.0 * clicks[row, k]  # changed"))
    importlib.invalidate_caches()
    after = history("own_models_here:MODEL", threads=1)
    np.testing.assert_array_equal(before.regret, after.regret)  # the clicks are the same
    assert before.reward[-1].min() > 0
    assert after.reward[-1].max() == 0


def test_gymnasiums_checker_and_specs_take_the_name(own):
    env = gym.make("rankgym/PBM-Synthetic-v0", model="own_models_here:MODEL", num_positions=3)
    check_env(env.unwrapped, skip_render_check=True)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.engine.model.name == "Own"


def test_users_of_a_model_of_ones_own_change(own):
    arguments = {"dataset": "synthetic", "breakpoints": [50]}
    env = made("own_models_here:MODEL", "rankgym/PBM-Yandex-Breakpoint-v0", **arguments)
    same = made("PBM", "rankgym/PBM-Yandex-Breakpoint-v0", **arguments)
    regret = [
        rankgym.simulate(TopRank.for_env(one, seed=0), one, 100, seed=0, progress=False).regret for one in (env, same)
    ]
    np.testing.assert_allclose(*regret)


def test_parameters_that_are_not_given_are_drawn(own):
    """Examination as in the built-in models if it has their axes."""
    env = made("own_models_here:MODEL", parameters=None)
    np.testing.assert_array_equal(env.unwrapped.parameters.examination[0], [1, 1 / 2, 1 / 3])
    own.write_text(OWN.replace('"examination": ("position",)', '"examination": ("item",)'))
    sys.modules.pop("own_models_here")
    importlib.invalidate_caches()
    env = made("own_models_here:MODEL", parameters=None)
    assert env.unwrapped.parameters.examination.shape == (5, 10)


def test_the_assumptions_of_a_model_of_ones_own(own):
    mine, theirs = (check_assumptions(model, PARAMETERS, num_positions=3) for model in ("own_models_here:MODEL", "PBM"))
    assert list(map(mine.row, mine.verdicts)) == list(map(theirs.row, theirs.verdicts))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("pbm", "model = 'pbm' is unknown; did you mean 'PBM'.*or one of your own as package.module:MODEL"),
        ("none_here:MODEL", "model = 'none_here:MODEL': there is no module 'none_here' in .*; run this in the"),
        ("own_models_here.py:MODEL", "there is no module 'own_models_here.py'; did you mean 'own_models_here:MODEL'"),
        ("own_models_here:MODE", "module 'own_models_here' has no 'MODE'; its click models: MODEL, PLAIN, UNCOMPILED"),
        ("own_models_here:AXES", "model = 'own_models_here:AXES' is a dict; allowed: a rankgym.models.ClickModel"),
        (
            "own_models_here:UNCOMPILED",
            "has a function 'uncompiled' that is not compiled and calls .*; allowed: decorate",
        ),
        (":MODEL", "model = ':MODEL': '' is not the name of a module"),
        (None, "model = None is unknown"),
        (["PBM"], "is unknown; allowed"),
    ],
)
def test_a_name_that_is_not_a_model_is_refused(own, model, message):
    if CONFIG.DISABLE_JIT and model == "own_models_here:UNCOMPILED":
        pytest.skip("without the compiler all functions are plain")
    with pytest.raises(ValueError, match=message):
        made(model)


def test_what_the_models_module_fails_to_import_is_named(own):
    own.write_text("import nothing_like_this\n")
    with pytest.raises(ModuleNotFoundError, match=r"'nothing_like_this', imported by .*own_models_here.py, line 1"):
        made("own_models_here:MODEL")


def test_a_function_that_takes_other_arguments_is_named(own):
    own.write_text(own.read_text().replace("displayed, cutoff, expected", "displayed, expected"))
    said = r"has a function value with the arguments \(.*displayed, expected\); allowed: \(.*, cutoff, expected\)"
    with pytest.raises(ValueError, match=said):
        made("own_models_here:MODEL")


@pytest.mark.skipif(CONFIG.DISABLE_JIT, reason="nothing is compiled")
def test_a_kernel_that_cannot_be_compiled_is_named_and_its_agent_is_not_blamed(own):
    source = own.read_text().replace("reward[row] = 0.0", "reward[row] = zero")
    own.write_text(source)
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "= zero" in text)
    said = f"kernel click (own_models_here.py, line {line}) cannot be compiled: name 'zero' is not defined"
    with pytest.raises(ModelError, match=re.escape(said)):
        check_model("own_models_here:MODEL", sessions=1_000)
    with pytest.raises(AgentFailed) as failed:
        compare("PBM-Synthetic-v0", agents=["toprank"], rounds=20, runs=1, jobs=1, model="own_models_here:MODEL")
    assert str(failed.value) == said


@given(st.text() | st.none() | st.integers())
def test_any_name_is_found_or_refused(name):
    if isinstance(name, str) and name in MODELS:
        return
    with pytest.raises(ValueError, match="model"):
        find_model(name)


def test_a_model_that_was_not_fitted_says_what_is_possible(own):
    with pytest.raises(
        ValueError, match="'own_models_here:MODEL' was not fitted to dataset = 'yandex'; allowed: dataset ="
    ):
        gym.make("rankgym/PBM-Yandex-v0", model="own_models_here:MODEL")
    with pytest.raises(ValueError, match="source = 'mine' is unknown; allowed here: fits that"):
        gym.make("rankgym/PBM-Yandex-v0", model="own_models_here:MODEL", source="mine")


def keys():
    environment = Environment(
        "", "PBM-Synthetic-v0", {"model": "own_models_here:MODEL", "num_positions": 2}, query=(0,)
    )
    return [job.key for job in Sweep((environment,), ("toprank",), rounds=20).jobs()]


def test_the_models_file_decides_the_keys_of_jobs(own):
    before = keys()
    assert keys() == before
    own.write_text(OWN.replace("A PBM of one's own", "Another docstring"))
    assert keys() == before
    own.write_text(OWN.replace("k < cutoff", "k <= cutoff - 1"))
    assert keys() != before


@pytest.mark.kernels
def test_coins_are_those_of_the_kernels():
    key, session, index = np.arange(3, dtype=np.uint64), np.array([0, 7, 9]), np.array([[0, 5], [1, 2], [3, 1 << 33]])
    for row, numbers in enumerate(coins(key, session, index)):
        seed = np.uint64(session_seed(key[row], session[row]))
        exact = [int(bits(seed, int(i))) >> 11 for i in index[row]]
        np.testing.assert_array_equal(numbers * 2.0**53, exact)


@pytest.mark.parametrize("name", ["PBM", "CM", "UBM", "DBN"])
def test_the_best_of_all_lists_is_the_models_best_list(name):
    model = MODELS[name]
    env = gym.make_vec(f"rankgym/{name}-Synthetic-v0", num_envs=1, num_items=6, num_positions=3)
    queries = env.unwrapped.queries.parameters
    few = type(queries)(*(table[:15] for table in queries))
    reward = model.rewards["clicks"]
    lists = [best(few, 3, 3) for best in (reward.best_lists, best_of_all(reward.value))]
    np.testing.assert_allclose(*(model.values(few, one, 3, "clicks") for one in lists))


def test_too_many_lists_are_refused():
    assert len(all_lists(5, 2)) == 20
    with pytest.raises(
        ValueError, match=f"20 items have 1,860,480 lists of 5 positions; allowed: at most {MOST_LISTS:,}"
    ):
        all_lists(20, 5)
