"""Names that people type: what they mean, and what is said when they mean nothing."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgym import ENVS
from rankgym.arguments import near
from rankgym.experiments.plan.agents import AgentSpec, literal, parse_agent, shipped_models, split_names
from rankgym.experiments.plan.environments import env_id
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.spaces import Permutation
from rankgym_agents import AGENTS, TopRank


@pytest.mark.parametrize("name", AGENTS)
def test_a_name_of_the_table_is_its_class(name):
    spec = parse_agent(name)
    assert spec.load() is AGENTS[name]
    assert (spec.label, spec.knobs) == (name, {})


@pytest.mark.parametrize(
    ("text", "knobs"),
    [
        ("toprank:delta=1e-6", {"delta": 1e-6}),
        ("cascade-kl-ucb:feedback=last:exploration=log", {"feedback": "last", "exploration": "log"}),
        ("toprank:delta=null", {"delta": None}),
        ('toprank:delta="0.5"', {"delta": "0.5"}),
    ],
)
def test_knobs_are_json_or_words(text, knobs):
    assert parse_agent(text).knobs == knobs
    assert parse_agent(text).label == text


def test_a_class_of_ones_own_by_path_and_by_itself():
    assert parse_agent("rankgym_agents.toprank:TopRank:delta=0.5") == AgentSpec(
        "rankgym_agents.toprank:TopRank:delta=0.5", "rankgym_agents.toprank:TopRank", {"delta": 0.5}
    )
    assert parse_agent(TopRank).load() is TopRank


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("topranc", "agent = 'topranc' is unknown; did you mean 'toprank'? `rankgym agents` lists all"),
        (
            "zzz",
            "agent = 'zzz' is unknown; allowed: "
            f"{', '.join([*AGENTS, *shipped_models()])}, the .zip or .safetensors of a trained model, "
            "or one of your own as package.module:Class",
        ),
        ("toprank:delta=1:x", "agent = 'toprank:delta=1:x': the knob 'x' needs a value: x=value"),
        ("toprank:delta", "agent = 'toprank:delta': the knob 'delta' needs a value: delta=value"),
        (
            "toprank:delta=[1",
            "agent = 'toprank:delta=[1': delta = [1 is not valid JSON: "
            "Expecting ',' delimiter: line 1 column 3 (char 2)",
        ),
        ("toprank:=1", "agent = 'toprank:=1': '=1' is not a knob; allowed: name=value"),
        (
            7,
            "agent = 7 is not an agent's name or class; allowed: a name or a class, with knobs as 'toprank:delta=1e-6' "
            "or functools.partial(TopRank, delta=1e-6)",
        ),
    ],
)
def test_what_is_no_agent_is_refused(agent, message):
    with pytest.raises(ValueError) as refusal:
        parse_agent(agent)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (
            "rankgym_agents.nowhere:Mine",
            "agent = 'rankgym_agents.nowhere:Mine': there is no module 'rankgym_agents.nowhere'",
        ),
        (
            "agents/no_such_file.py:Mine",
            "agent = 'agents/no_such_file.py:Mine': there is no module 'agents/no_such_file'; "
            "did you mean 'agents.no_such_file:Mine'?",
        ),
        ("rankgym_agents:Mine", "agent = 'rankgym_agents:Mine': module 'rankgym_agents' has no 'Mine'"),
    ],
)
def test_a_class_that_is_not_there_is_refused(agent, message):
    with pytest.raises(ValueError) as refusal:
        parse_agent(agent).load()
    assert str(refusal.value) == message


def test_a_module_that_is_not_there_was_searched_in_folders(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    said = (
        f"agent = 'nowhere_here:Mine': there is no module 'nowhere_here' in {re.escape(str(tmp_path))}, .*; run this in"
    )
    with pytest.raises(ValueError, match=said):
        parse_agent("nowhere_here:Mine").load()


def test_what_ones_module_fails_to_import_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("\nimport no_such_package_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r"'no_such_package_at_all', imported by .*needs_more.py, line 2"):
        parse_agent("needs_more:Mine").load()


@pytest.mark.parametrize("name", ENVS)
def test_environments_with_and_without_the_prefix(name):
    assert env_id(name) == name
    assert env_id(name.removeprefix("rankgym/")) == name


@pytest.mark.parametrize("name", ["PBM-Yandx-v0", "rankgym/PBM-Yandx-v0", "pbm-yandex-v0"])
def test_a_near_environment_is_suggested(name):
    with pytest.raises(ValueError) as refusal:
        env_id(name)
    hint = f"did you mean 'PBM-Yandex-v0'? `rankgym envs` lists all {len(ENVS)}"
    assert str(refusal.value) == f"environment {name!r} is unknown; {hint}"


def test_nothing_near_is_not_suggested():
    assert near("xyzzy", ENVS) == ""
    with pytest.raises(ValueError, match="environment 'other/Thing-v0' is unknown; allowed: CM-Yandex-v0, "):
        env_id("other/Thing-v0")


def test_commas_within_brackets_do_not_split():
    assert split_names("toprank, mine:M:x=[1,2],static") == ["toprank", "mine:M:x=[1,2]", "static"]


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers()))
def test_json_is_what_it_says(value):
    assert literal(json.dumps(value)) == value


@given(st.from_regex(r"[a-z][a-z0-9_+-]*", fullmatch=True).filter(lambda word: word not in ("true", "false", "null")))
def test_words_are_themselves(word):
    assert literal(word) == word


@given(st.text(max_size=30))
def test_any_text_is_an_agent_or_a_value_error(text):
    message = "agent = "
    try:
        assert parse_agent(text).label == text
    except ValueError as refusal:
        message = str(refusal)
    assert message.startswith("agent = ")


class Idle:
    """Has what an agent needs, and does nothing."""

    def act(self, observation):
        raise NotImplementedError

    def update(self, displayed, clicks):
        raise NotImplementedError


class Plain(Idle):
    """Takes two of the arguments that agents are told."""

    def __init__(self, num_items, seed, *, bold=1):
        self.told = (num_items, seed, bold)


class Greedy(Idle):
    """Takes whatever there is."""

    def __init__(self, **everything):
        self.told = everything


class Env:
    """As much of an environment as making an agent needs."""

    num_envs, single_action_space = 2, Permutation(4, 3)
    initial_list = np.tile(np.arange(4), (2, 1))

    @property
    def unwrapped(self):
        return self


def test_a_plain_class_is_told_what_it_takes():
    assert AgentSpec("plain", f"{__name__}:Plain", {"bold": 3}).make(Env(), 10, 5).told == (4, 5, 3)
    told = AgentSpec("greedy", f"{__name__}:Greedy", {}).make(Env(), 10, 5).told
    assert np.array_equal(told.pop("initial_list"), Env.initial_list)
    assert told == {"num_items": 4, "num_positions": 3, "num_envs": 2, "horizon": 10, "seed": 5}


def test_an_unknown_knob_is_refused_with_those_there_are():
    with pytest.raises(ValueError) as refusal:
        AgentSpec("plain:shy=1", f"{__name__}:Plain", {"shy": 1}).make(Env(), 10, 5)
    assert str(refusal.value).startswith("agent = 'plain:shy=1': ")
    assert str(refusal.value).endswith("got an unexpected keyword argument 'shy'; its knobs: bold")


@pytest.mark.parametrize("typed", ["runs/x", "runs/x/best"])
def test_a_trained_model_without_its_ending_is_suggested(typed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "best.zip").write_bytes(b"")
    with pytest.raises(ValueError, match=rf"agent = '{typed}' is unknown; did you mean 'runs/x/best.zip'\?"):
        parse_agent(typed)


def test_a_foreign_class_is_refused_before_it_is_called(tmp_path):
    """Popen would run its command."""
    made = tmp_path / "made"
    agent = f'subprocess:Popen:args=["touch", "{made}"]'
    with pytest.raises(ValueError, match="subprocess:Popen is not an agent; allowed: a class with methods act"):
        Sweep((Environment("", "CM-Synthetic-v0"),), (agent,), rounds=10, query=0).check()
    assert not made.exists()
    with pytest.raises(ValueError, match="os:system is not an agent"):
        AgentSpec("mine", "os:system", {}).load()


FUNCTIONS = """
from __future__ import annotations
from rankgym_agents.baselines import RandomRanker

def makes(num_items, num_positions, seed, bold=1) -> RandomRanker:
    return RandomRanker(num_items=num_items, num_positions=num_positions, num_envs=2, seed=seed + bold)

def unannotated(num_items):
    raise AssertionError("it was called")

def text() -> str:
    raise AssertionError("it was called")

def missing() -> NoSuchName:
    raise AssertionError("it was called")
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """The name of a module of functions."""
    name = f"functions_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_function_annotated_with_an_agents_class_makes_agents(functions):
    spec = parse_agent(f"{functions}:makes:bold=4")
    agent = spec.make(Env(), 10, 5)
    assert (type(agent), agent.seeds) == (AGENTS["random"], [9, 10])
    assert len(spec.digest().split()) == 2  # its file, and that of the class
    inner = parse_agent(f"restarting:agent={functions}:makes:every=3")
    assert type(inner.make(Env(), 10, 5).inner) is AGENTS["random"]


@pytest.mark.parametrize("name", ["unannotated", "text", "missing"])
def test_other_functions_are_refused_before_they_are_called(functions, name):
    rule = "is not an agent; allowed: a class with methods act and update, or a function whose return annotation is"
    with pytest.raises(ValueError, match=f"{functions}:{name} {rule}"):
        parse_agent(f"{functions}:{name}").load()
    with pytest.raises(ValueError, match=f"{functions}:{name}' {rule}"):
        parse_agent(f"restarting:agent={functions}:{name}").make(Env(), 10, 5)
    with pytest.raises(ValueError, match="subprocess:Popen' is not an agent"):
        parse_agent("restarting:agent=subprocess:Popen:args=true").make(Env(), 10, 5)
