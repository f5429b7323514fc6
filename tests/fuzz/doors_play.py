"""Doors of playing: arguments of environments and agents, actions, ``simulate``.

An error must be a ValueError or a TypeError, and name an argument: an odd one, or one that does not fit it.
"""

import contextlib
import functools
import importlib.util
import inspect
import json
from pathlib import Path

import fuzzing
import gymnasium as gym
import numpy as np

import rankgym
from rankgym.arguments import class_keywords
from rankgym.experiments.plan.agents import SHAPE, parse_agent
from rankgym_agents import AGENTS, DUELERS, RANKERS

LETOR = "rankgym/Dueling-LETOR-v0"
FILE = "small_letor.txt"
LINES = [f"{(d * q) % 3} qid:{q} 1:0.{d} 2:0.{9 - d} 3:{d % 2}\n" for q in (1, 2) for d in range(5)]
HUGE = [2**40, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(2**63), 1e300, 3.0, -0.0]


def _nonsense():
    path = Path(__file__).parents[1] / "envs" / "nonsense.py"
    spec = importlib.util.spec_from_file_location("nonsense", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.NONSENSE


ODD = [*_nonsense(), *HUGE]


def odd(rng):
    """A value as nobody expects it. Sizes are small, or of more than any machine has."""
    if rng.random() < 0.6:
        return rng.choice(ODD)
    value = fuzzing.odd_value(rng)
    return 2**41 if isinstance(value, int) and 2**20 < value < 2**40 else value


def odd_keywords(rng, names):
    return {rng.choice(names): odd(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))}


def names_them(use, names):
    """Call ``use``; an AssertionError if its ValueError or TypeError has more than a line or none of ``names``."""
    try:
        return use()
    except (ValueError, TypeError) as error:
        said = str(error)
        assert any(name in said for name in names), f"names none of {names}: {said}"
        assert "\n" not in said, said
        raise


# -- environments ------------------------------------------------------------------------------------------------------


@functools.cache
def env_keywords(name):
    creator = gym.envs.registration.load_env_creator(gym.spec(name).vector_entry_point)
    return list(inspect.signature(creator).parameters)


@functools.cache
def warm(use, given):
    """Use a good input once: what is compiled then is not compiled while an input is timed."""
    with contextlib.suppress(ValueError, TypeError):
        use((*given, {}))


def environment(rng):
    name = rng.choice(list(rankgym.ENVS))
    warm(make_and_step, (name, False))
    single = rng.random() < 0.4
    not_ours = ("max_episode_steps", "num_envs", "autoreset_mode") if single else ()  # Gymnasium's own in gym.make
    return name, single, odd_keywords(rng, [one for one in env_keywords(name) if one not in not_ours])


def make_and_step(given):
    name, single, odd_ones = given
    if name == LETOR:
        Path(FILE).write_text("".join(LINES))
    keywords = {**({"file": FILE} if name == LETOR else {}), **({} if single else {"num_envs": 2}), **odd_ones}

    def use():
        env = (gym.make if single else gym.make_vec)(name, **keywords)
        env.action_space.seed(0)
        for seed in (0, None):
            env.reset(seed=seed)
            env.step(env.action_space.sample())

    inside = [str(key) for value in odd_ones.values() if isinstance(value, dict) for key in value]
    names_them(use, [*env_keywords(name), *inside])


# -- actions -----------------------------------------------------------------------------------------------------------

PLAYED = ("rankgym/PBM-Yandex-v0", "rankgym/Dueling-Arxiv-v0", "rankgym/Dueling-PBM-Yandex-v0")


@functools.cache
def ready(name, single):
    env = gym.make(name, disable_env_checker=True) if single else gym.make_vec(name, num_envs=2)
    env.reset(seed=0)
    env.step(env.action_space.sample())  # compiles
    return env


def action(rng):
    def spoil(value):
        if isinstance(value, dict):
            side = rng.choice(["left", "right"])
            return {**value, side: spoil(value[side])} if rng.random() < 0.9 else {side: value[side], "x": odd(rng)}
        array = np.array(value)
        kind = rng.randrange(5)
        if kind == 0 or array.size == 0:
            return odd(rng)
        if kind == 1:
            array = array.astype(rng.choice(["float64", "int8", "uint64", "object", "complex64", "U5"]))
        elif kind == 2:
            array = array.astype(object)
            array[tuple(rng.randrange(n) for n in array.shape)] = odd(rng)
        elif kind == 3:
            array[tuple(rng.randrange(n) for n in array.shape)] = rng.choice([-1, 2**62, -(2**63), 10, 5])
        else:
            array = array[..., :-1] if array.ndim else array[None]
        return rng.choice([array, array.tolist()])

    name, single = rng.choice(PLAYED), rng.random() < 0.5
    space = ready(name, single).action_space
    space.seed(rng.randrange(2**31))
    return name, single, spoil(space.sample())


def step(given):
    """The odd action is taken, or nothing has happened and the next good one is taken."""
    name, single, odd_action = given
    env = ready(name, single)
    engine = env.unwrapped.engine if single else env.unwrapped
    before = {part: values.copy() for part, values in engine.snapshot().items()}
    try:
        env.step(odd_action)
    except (ValueError, TypeError):
        assert all(np.array_equal(values, before[part]) for part, values in engine.snapshot().items())
        env.step(env.action_space.sample())
        raise


# -- agents ------------------------------------------------------------------------------------------------------------


def agent(rng):
    name = rng.choice(list(AGENTS))
    warm(make_agent, (name, "class"))
    keywords = class_keywords(AGENTS[name])
    return name, rng.choice(["class", "class", "for_env", "text"]), odd_keywords(rng, keywords)


@functools.cache
def arena(name):
    return gym.make_vec("rankgym/Dueling-Arxiv-v0" if name in DUELERS else "rankgym/CM-Yandex-v0", num_envs=2)


def _played(name, made):
    for _ in range(2):
        if name in DUELERS:
            made.update(made.act(None), np.tile([1, 0], (made.num_envs, 1)))
            assert made.candidate.shape == (made.num_envs,)
        else:
            displayed = made.act(None)
            made.update(displayed, np.zeros(displayed.shape, np.int8))


def make_agent(given):
    name, form, odd_ones = given
    env, cls = arena(name), AGENTS[name]
    sizes = {"num_arms": 6} if name in DUELERS else {"num_items": 10, "num_positions": 5}

    def use():
        if form == "class":
            made = cls(**{**sizes, "num_envs": 2, "horizon": 100, "seed": 0, **odd_ones})
        elif form == "for_env":
            made = cls.for_env(env, **{"horizon": 100, "seed": 0, **odd_ones})
        else:
            try:
                words = [f"{knob}={json.dumps(value)}" for knob, value in odd_ones.items() if knob not in SHAPE]
            except (TypeError, ValueError):
                words = [
                    f"{knob}={value!r:.300}" for knob, value in odd_ones.items() if isinstance(value, (str, float))
                ]
            made = parse_agent(":".join([name, *words])).make(env, 100, 0)
        _played(name, made)

    names_them(use, class_keywords(cls))


# -- simulate ----------------------------------------------------------------------------------------------------------


class Enough(Exception):
    """The game has begun."""


def game(rng):
    dueling, endless = rng.random() < 0.5, rng.random() < 0.5
    warm(play, (dueling, 50))
    odd_ones = odd_keywords(rng, ["rounds", "seed", "record_at", "progress", "agent", "env"])
    if rng.random() < 0.5:
        odd_ones["record_at"] = [odd(rng) for _ in range(rng.randrange(4))]
    return dueling, rng.choice([None, 50, 2**60, 2**63 - 1, 2**64, 10**30]) if endless else 50, odd_ones


def enough(played):
    if played:
        raise Enough


def play(given):
    dueling, horizon, odd_ones = given
    env = gym.make_vec("rankgym/Dueling-Arxiv-v0" if dueling else "rankgym/CM-Yandex-v0", num_envs=2, horizon=horizon)
    made = AGENTS["rucb" if dueling else "toprank"].for_env(env, horizon=100, seed=0)
    keywords = {"agent": made, "env": env, "rounds": 50, "seed": 0, "progress": enough, **odd_ones}
    if "progress" in odd_ones:
        keywords["rounds"] = 50
        if callable(odd_ones["progress"]):  # the caller's own
            keywords["progress"] = enough
    with contextlib.suppress(Enough):
        names_them(lambda: rankgym.simulate(**keywords), [*keywords, "horizon"])


WRONG_ARGUMENT = (ValueError, TypeError)
DOORS = {
    "environment's arguments": fuzzing.Door(environment, make_and_step, WRONG_ARGUMENT),
    "action": fuzzing.Door(action, step, WRONG_ARGUMENT),
    "agent's arguments": fuzzing.Door(agent, make_agent, WRONG_ARGUMENT),
    "simulate's arguments": fuzzing.Door(game, play, WRONG_ARGUMENT),
}
assert set(RANKERS) | set(DUELERS) == set(AGENTS)
