"""What newcomers do wrong first, and that the error says what to do."""

import gymnasium as gym
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


WRONG = {
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
