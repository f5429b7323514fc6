"""A misspelled keyword: every class and function of the public face names the one that was meant."""

import copy
import inspect
import pickle

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym import envs, experiments, sb3, wrappers
from rankgym.agent import Agent
from rankgym.arguments import class_keywords, named_keywords, near
from rankgym_agents import AGENTS, Restarting, TopRank

pytest.importorskip("stable_baselines3", reason="needs the extra sb3")

RANK, RERANK, DUELS = "rankgym/PBM-Yandex-v0", "rankgym/PBM-Yandex-Rerank-v0", "rankgym/Dueling-PBM-Yandex-v0"
ENVIRONMENTS = [
    value for value in vars(envs).values() if inspect.isclass(value) and issubclass(value, gym.vector.VectorEnv)
]
WRAPPERS = [wrappers.RecordRegret, wrappers.RecordSafety, wrappers.RecordRanking, wrappers.AdjacentSwaps]
WRAPPERS += [wrappers.ItemStatistics, wrappers.SafeLists]  # the others have no options
FUNCTIONS = [
    *(rankgym.simulate, rankgym.check_agent, rankgym.check_vector_env, envs.vector_breakpoint),
    *(experiments.run_sweep, experiments.load, experiments.read, sb3.export_model),
]
CLASSES = [*AGENTS.values(), *ENVIRONMENTS, *WRAPPERS, sb3.SB3Agent, sb3.RankingVecEnv, sb3.PlackettLuce]
CLASSES += [sb3.PlackettLucePolicy, experiments.Sweep]
LETTERS = "abcdefghijklmnopqrstuvwxyz_"


@st.composite
def misspelled(draw, names):
    """A name of five letters or more, and what becomes of it by a letter too few, too many, wrong, or exchanged."""
    name = draw(st.sampled_from([name for name in names if len(name) >= 5]))
    place, letter = draw(st.integers(0, len(name) - 2)), draw(st.sampled_from(LETTERS))
    word = draw(
        st.sampled_from(
            [
                name[:place] + name[place + 1 :],
                name[:place] + letter + name[place:],
                name[:place] + letter + name[place + 1 :],
                name[:place] + name[place + 1] + name[place] + name[place + 2 :],
            ]
        ).filter(lambda word: word not in names and word.isidentifier())
    )
    return name, word


def names_of(called):
    if inspect.isclass(called):
        return class_keywords(called)
    return [one.name for one in inspect.signature(called).parameters.values() if one.kind is not one.VAR_KEYWORD]


@pytest.mark.parametrize("called", [*CLASSES, *FUNCTIONS], ids=lambda called: called.__name__)
@given(data=st.data())
def test_a_misspelled_keyword_is_answered_with_the_one_that_was_meant(called, data):
    names = names_of(called)
    meant, word = data.draw(misspelled(names))
    sizes = {"num_items": 4, "num_positions": 2} if called is Restarting else {}  # it refuses knobs of its inner agent
    with pytest.raises((TypeError, ValueError)) as refusal:
        called(**sizes, **{word: 1})
    assert word in str(refusal.value)
    assert near(word, names) in str(refusal.value)
    assert f"did you mean {meant!r}" in str(refusal.value) or near(word, names) != near(word, [meant])


@pytest.mark.parametrize("name", rankgym.ENVS)
@given(data=st.data())
def test_gym_make_and_make_vec_name_the_argument_that_was_meant(name, data):
    creator = gym.envs.registration.load_env_creator(gym.spec(name).vector_entry_point)
    known = list(inspect.signature(creator).parameters)
    _, word = data.draw(misspelled(known))
    for make in (gym.make, gym.make_vec):
        with pytest.raises(TypeError, match=f"has no argument '{word}'; did you mean '") as refusal:
            make(name, **{word: 1})
        listed = [one for one in known if make is gym.make_vec or one not in ("num_envs", "autoreset_mode")]
        assert f"allowed: {', '.join(listed)}" in str(refusal.value)
        assert near(word, known) in str(refusal.value)


@given(data=st.data())
def test_for_env_passes_the_question_on(data):
    names = class_keywords(TopRank)
    _, word = data.draw(misspelled(names))
    venv = gym.make_vec(RANK, num_envs=2)
    with pytest.raises(TypeError) as refusal:
        TopRank.for_env(venv, **{word: 1})
    assert str(refusal.value).startswith(
        f"TopRank has no argument '{word}'{near(word, names)} allowed: delta, num_items"
    )


def test_for_env_says_what_it_reads_from_the_environment():
    with pytest.raises(TypeError, match="num_items = 3, but for_env reads num_items from env; leave it out"):
        TopRank.for_env(gym.make_vec(RANK), num_items=3)
    with pytest.raises(TypeError, match="num_arms = 3, but for_env reads num_arms from env"):
        AGENTS["rucb"].for_env(gym.make_vec("rankgym/Dueling-Cyclic-v0"), num_arms=3)


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_wrappers_of_both_forms(make):
    for wrapper, word, meant in [
        (wrappers.RecordRegret, "recordat", "record_at"),
        (wrappers.AdjacentSwaps, "dleta", "delta"),
        (wrappers.ItemStatistics, "discount", "discounts"),
    ]:
        with pytest.raises(TypeError, match=f"has no argument '{word}'; did you mean '{meant}'"):
            wrapper(make(RERANK), **{word: 1})


def test_a_single_environment_is_not_many():
    with pytest.raises(TypeError, match=r"gym.make makes one environment .*; use gym.make_vec\(..., num_envs=3\)"):
        gym.make(RANK, num_envs=3)


@pytest.mark.parametrize(("word", "meant"), [("rusn", "runs"), ("qeury", "query"), ("num_position", "num_positions")])
def test_compare_knows_its_own_arguments_and_the_environments(word, meant):
    with pytest.raises(ValueError, match=f"PBM-Yandex-v0 has no argument '{word}'; did you mean '{meant}'"):
        experiments.compare("PBM-Yandex-v0", ["static"], rounds=10, **{word: 3})


class Keen(Agent):
    """Hands on what it does not know."""

    def __init__(self, *, keenness=0.5, **rest):
        super().__init__(**rest)
        self.keenness = keenness

    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))

    def update(self, displayed, clicks):
        pass


class Closed(Keen):
    """Takes any keyword, and hands on others."""

    def __init__(self, **sizes):
        super().__init__(num_items=sizes["items"], num_positions=sizes["positions"])


class Heir(Keen):
    """Has no constructor of its own."""


def test_own_classes_are_helped_and_not_hindered():
    for cls in (Keen, Heir):
        with pytest.raises(TypeError, match=f"{cls.__name__} has no argument 'keeness'; did you mean 'keenness'"):
            cls(num_items=3, num_positions=2, keeness=1)
    assert Closed(items=3, positions=2).num_items == 3
    keen = Keen(num_items=3, num_positions=2, keenness=1)
    assert pickle.loads(pickle.dumps(keen)).keenness == copy.deepcopy(keen).keenness == 1
    rankgym.check_agent(Keen)


def test_signatures_stay():
    assert list(inspect.signature(Keen).parameters) == ["keenness", "rest"]
    assert list(inspect.signature(rankgym.simulate).parameters)[:3] == ["agent", "env", "rounds"]
    assert rankgym.simulate.__doc__.startswith("Let ``agent`` play")


def test_functions_with_any_keyword_are_left_to_what_they_call():
    @named_keywords
    def outer(**rest):
        return inner(**rest)

    @named_keywords
    def inner(a, *, bright=1):
        return a, bright

    assert outer(a=2, bright=3) == (2, 3)
    with pytest.raises(TypeError, match="inner has no argument 'brigth'; did you mean 'bright'\\? allowed: a, bright"):
        outer(a=2, brigth=3)


@pytest.mark.parametrize("name", ["experiments", "sb3", "grading"])
def test_modules_of_their_own_are_named(name, monkeypatch):
    monkeypatch.delattr(rankgym, name, raising=False)
    with pytest.raises(AttributeError, match=f"it is a module of its own: import rankgym.{name}"):
        getattr(rankgym, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'experiment'$"):
        rankgym.experiment  # noqa: B018
