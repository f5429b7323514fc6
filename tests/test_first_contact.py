"""What newcomers do wrong first, and that the error says what to do."""

import functools
import importlib
import pydoc
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym import experiments, wrappers
from rankgym.arguments import one_of
from rankgym_agents import RUCB, TopRank

RANK = "rankgym/PBM-Yandex-v0"


def ranking(**arguments):
    return gym.make_vec(RANK, num_envs=2, **arguments)


def arms():
    return gym.make_vec("rankgym/Dueling-Cyclic-v0", num_envs=2)


def lists():
    return gym.make_vec("rankgym/Dueling-PBM-Yandex-v0", num_envs=2)


def played():
    env = ranking(horizon=20)
    return rankgym.simulate(TopRank.for_env(env, seed=0), env, 20, seed=0, progress=False)


class OnlyActs:
    def act(self, observation): ...


class OnlyLearns:
    def update(self, displayed, clicks): ...


class Epsilon:
    """Shows a list with probability 1 - epsilon, as its only knob may say."""

    def __init__(self, *, num_envs, num_positions, epsilon, **rest):
        self.shape, self.epsilon = (num_envs, num_positions), epsilon

    def act(self, observation):
        return np.tile(np.arange(self.shape[1]), (self.shape[0], 1))

    def update(self, displayed, clicks): ...


def compared(agents=("static",), **arguments):
    return experiments.compare("PBM-Yandex-v0", agents, **{"rounds": 10, "query": 0, "progress": False, **arguments})


WRONG = {
    "a class without update, to simulate": (
        lambda: rankgym.simulate(OnlyActs(), ranking(), 10),
        "has no method update; allowed: an object with act and update",
    ),
    "a class without act, to simulate": (
        lambda: rankgym.simulate(OnlyLearns(), ranking(), 10),
        "has no method act; allowed: an object with act and update",
    ),
    "a class without update, to compare": (
        lambda: compared([OnlyActs]),
        ":OnlyActs has no method update; allowed: a class with methods act and update",
    ),
    "an agent's object to compare": (
        lambda: compared([TopRank.for_env(ranking())]),
        "functools.partial(TopRank, delta=1e-6); an agent for each environment is made of its class",
    ),
    "a class whose knob is missing": (
        lambda: compared([Epsilon]),
        ":Epsilon:epsilon=VALUE, in Python also by functools.partial",
    ),
    "knobs by place": (
        lambda: compared([functools.partial(TopRank, 0.1)]),
        "is not an agent; allowed: functools.partial(Class, knob=value), or a text such as 'package.module:Class:knob=",
    ),
    "a knob that is not plain": (
        lambda: compared([functools.partial(Epsilon, epsilon=object())]),
        "has knobs that are not plain JSON values: Object of type object is not JSON serializable",
    ),
    "a misspelled name among many": (
        lambda: compared(["toprnak"]),
        "agent = 'toprnak' is unknown; did you mean 'toprank'? `rankgym agents` lists all",
    ),
    "rows of a comparison": (
        lambda: compared(num_envs=3),
        "compare has no argument 'num_envs'; did you mean runs=3, the rows for each query?",
    ),
    "queries as on the command line": (
        lambda: compared(query="0,1,2"),
        "query = '0,1,2' is unknown or empty with 100 queries; did you mean [0, 1, 2]? allowed: 0 .. 99, a list",
    ),
    "a query in quotes": (lambda: gym.make(RANK, query="3"), "did you mean 3? allowed: 0 .. 99, a list of these"),
    "a misspelled render mode": (lambda: gym.make(RANK, render_mode="rgb_aray"), "; did you mean 'rgb_array'?"),
    "a round after the last": (
        lambda: played().at(10**6),
        "round = 1000000 was not played; allowed: a recorded round, 1 .. 20",
    ),
    "round 0": (lambda: played().at(0), "round = 0 was not played; allowed: a recorded round, 1 .. 20"),
    "a round between two records": (lambda: played().at(19), "was not recorded; ask for it with record_at=[19]"),
    "a ranking agent for duels of arms": (
        lambda: TopRank.for_env(arms()),
        "allowed: a Permutation of items. Arms duel here: take an agent of rankgym_agents.DUELERS",
    ),
    "a ranking agent for duels of lists": (
        lambda: TopRank.for_env(lists()),
        "Two lists duel here: rankgym.wrappers.AgainstItself(env) shows one list on both sides",
    ),
    "a dueling agent for rankings": (
        lambda: RUCB.for_env(ranking()),
        "Items are ranked here: take an agent of rankgym_agents.RANKERS",
    ),
    "an agent above a wrapper of actions": (
        lambda: TopRank.for_env(wrappers.ScoresToRanking(gym.make(RANK))),
        "If a wrapper changes the actions, make the agent for the environment below it",
    ),
    "an agent without a horizon": (
        lambda: TopRank(num_items=10, num_positions=5),
        "allowed: a horizon, from which the default of delta is computed, or a delta; for_env takes that of env",
    ),
    "a single environment to simulate": (
        lambda: rankgym.simulate(TopRank.for_env(gym.make(RANK)), gym.make(RANK), 10),
        "is not a vector environment; make one with gym.make_vec(id, num_envs=1)",
    ),
    "arguments of simulate exchanged": (
        lambda: rankgym.simulate(ranking(), TopRank.for_env(ranking()), 10),
        "is not an agent; allowed: an object with act and update, such as TopRank.for_env(env)",
    ),
    "an environment where its id is wanted": (
        lambda: experiments.compare(ranking(), ["static"], rounds=10),
        "is not an id; allowed: a text, such as 'PBM-Yandex-v0'",
    ),
    "a click model in small letters": (
        lambda: gym.make("rankgym/CM-Synthetic-v0", model="pbm"),
        "model = 'pbm' is unknown; did you mean 'PBM'? allowed: 'CM', 'PBM', 'DCM', 'DBN', 'UBM', 'CCM', 'DBM', or one",
    ),
    "an id with letters exchanged, in a comparison": (
        lambda: experiments.compare("PMB-Yandex-v0", ["static"], rounds=10),
        "environment 'PMB-Yandex-v0' is unknown; did you mean 'PBM-Yandex-v0'?",
    ),
    "an id without its version, in a comparison": (
        lambda: experiments.compare("rankgym/PBM-Yandex", ["static"], rounds=10),
        "did you mean 'PBM-Yandex-v0'?",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_the_error_says_what_to_do(mistake):
    call, words = WRONG[mistake]
    with pytest.raises(ValueError) as refusal:
        call()
    assert words in str(refusal.value)


def test_gymnasium_names_the_near_id():
    with pytest.raises(gym.error.NameNotFound, match="Did you mean: `PBM-Yandex`"):
        gym.make("rankgym/PMB-Yandex-v0")


def test_agents_may_be_one_text_as_on_the_command_line():
    comparison = experiments.compare("CM-Yandex-v0", "static, random", rounds=10, query=0, progress=False)
    assert [agent.label for agent in comparison.agents] == ["static", "random"]


@pytest.mark.parametrize("word", ["frist", "First", "firsty"])
def test_a_misspelled_word_of_a_choice_is_answered(word):
    with pytest.raises(ValueError, match=f"feedback = '{word}' is unknown; allowed: .*; did you mean 'first'"):
        one_of("feedback", word, ("first", "last", "all"))


def test_gym_make_does_not_list_what_only_a_batch_has():
    with pytest.raises(TypeError) as refusal:
        gym.make(RANK, nonsense=1)
    said = str(refusal.value).partition(" was raised")[0]
    assert said.startswith("gym.make has no argument 'nonsense'; allowed: model, dataset, ")
    assert "num_envs" not in said
    assert "autoreset_mode" not in said
    assert "unexpected keyword argument 'nonsense'" in said  # TorchRL tries frameskip=1, and goes on without it if so
    with pytest.raises(TypeError, match="no argument 'num_env'; did you mean 'num_envs'"):
        gym.make(RANK, num_env=3)


def test_a_misspelled_keyword_of_compare_is_named_though_others_go_to_the_environment():
    with pytest.raises(
        TypeError, match=r"^compare has no argument 'round'; did you mean 'rounds'\? rounds is missing$"
    ):
        experiments.compare("PBM-Yandex-v0", ["static"], round=10)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'rounds'"):
        experiments.compare("PBM-Yandex-v0", ["static"], horizon=10)


def test_partial_gives_knobs_to_a_class():
    """The results are those of the same agent by its name, and of a sweep, which writes the knob down."""
    fixed = functools.partial(TopRank, delta=0.1)
    comparison = compared([fixed, functools.partial(Epsilon, epsilon=0.5)])
    assert [agent.label for agent in comparison.agents] == ["TopRank:delta=0.1", "Epsilon:epsilon=0.5"]
    named = compared(["toprank:delta=0.1"]).histories["toprank:delta=0.1"]
    assert np.array_equal(comparison.histories["TopRank:delta=0.1"].regret, named.regret)
    sweep = experiments.Sweep((experiments.Environment("", "PBM-Yandex-v0"),), fixed, rounds=10)
    assert sweep.agents == ("rankgym_agents.toprank:TopRank:delta=0.1",)


@pytest.mark.parametrize("agent", [rankgym.Agent, rankgym.DuelingAgent, rankgym.KernelAgent])
def test_help_on_agents_can_be_read(agent):
    """Without numpy's long names of types, and with the attribute that own agents draw from."""
    text = pydoc.render_doc(agent, renderer=pydoc.plaintext)
    assert "    seeds: the rows' seeds" in text or agent is rankgym.KernelAgent  # which refers to Agent
    assert "Union[" not in text
    assert "numpy._typing" not in text


@pytest.mark.parametrize(
    ("name", "home"),
    [
        *(("TopRank", "rankgym_agents"), ("AGENTS", "rankgym_agents"), ("compare", "rankgym.experiments")),
        *(
            ("AgainstItself", "rankgym.wrappers"),
            ("ClickModel", "rankgym.models"),
            ("AgentError", "rankgym.conformance"),
        ),
    ],
)
def test_names_of_other_rooms_are_said_to_be_there(name, home):
    with pytest.raises(AttributeError, match=rf"; it is in {home}: from {home} import {name}$"):
        getattr(rankgym, name)
    assert hasattr(importlib.import_module(home), name)
    assert name not in dir(rankgym)


def test_a_name_of_no_room_has_no_hint_and_nothing_is_imported_for_it():
    script = """
import sys, rankgym
for name in ("static", "no_such_name", "compare"):
    try:
        getattr(rankgym, name)
    except AttributeError as error:
        print(error)
print("rankgym.experiments" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    static, other, _, imported = done.stdout.splitlines()
    assert static == "module 'rankgym' has no attribute 'static'"
    assert other == "module 'rankgym' has no attribute 'no_such_name'"
    assert imported == "False"
