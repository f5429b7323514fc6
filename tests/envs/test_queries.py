"""Where ranking problems come from: what callers give is taken or refused, the rest is drawn, and all of it is cut."""

import json

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgym  # noqa: F401  (registers the ids)
from rankgym.envs.queries import Queries
from rankgym.models import MODELS

PARAMETERS = [(model, name) for model in MODELS for name in MODELS[model].axes]


def load(model, num_positions=3, **keywords):
    return Queries.load(model, dataset="synthetic", num_positions=num_positions, **keywords)


def shape_of(model, name, items, positions):
    return tuple(items if axis == "item" else positions for axis in MODELS[model].axes[name])


@pytest.mark.parametrize("model", MODELS)
def test_a_thousand_queries_are_drawn_once_and_for_all(model):
    problems = load(model)
    for name, table in problems.parameters._asdict().items():
        assert table.shape == (1000, *shape_of(model, name, 10, 3))
        assert table.flags.c_contiguous
        assert table.flags.writeable
        assert (table == getattr(load(model).parameters, name)).all()
        assert (table >= 0).all()
        assert (table <= 1).all()
        if name != "examination":
            assert len(np.unique(table)) == table.size  # uniform; two of these numbers do not coincide


def test_the_examination_that_is_not_given():
    assert load("PBM", 4).parameters.examination[7].tolist() == [1, 1 / 2, 1 / 3, 1 / 4]
    assert load("UBM", 4).parameters.examination[7].tolist() == [
        [0, 0, 0, 1],
        [1, 0, 0, 1 / 2],
        [1 / 2, 1, 0, 1 / 3],
        [1 / 3, 1 / 2, 1, 1 / 4],
    ]
    assert load("UBM", 1).parameters.examination[7].tolist() == [[1]]


def test_a_wide_table_of_the_ubm_keeps_its_last_column():
    table = np.round(np.random.default_rng(0).random((5, 6)), 3)
    for positions in (1, 2, 5):
        cut = load("UBM", positions, parameters={"attraction": [0.5] * 5, "examination": table.tolist()}).parameters
        assert cut.examination.shape == (1, positions, positions)
        assert (cut.examination[0, :, :-1] == table[:positions, : positions - 1]).all()
        assert (cut.examination[0, :, -1] == table[:positions, -1]).all()


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        ("DBN", {"abandonment": 1.3}, r"parameters\['abandonment'\].* = 1\.3 .*\[0, 1\]"),
        ("DBN", {"abandonment": [[0.1]]}, r"parameters\['abandonment'\] has shape \(1, 1\); allowed: 1 to 1 dim"),
        ("DBN", {"abandonment": None}, r"parameters\['abandonment'\].* = nan .*\[0, 1\]"),
        ("DBN", {"abandonment": "high"}, r"parameters\['abandonment'\] = .*high.* not an array of numbers"),
        ("DBN", {"abandonment": "0.3"}, r"parameters\['abandonment'\] = .*0\.3.* not an array of numbers"),
        ("DBN", {"abandonment": 10**400}, r"parameters\['abandonment'\] = .* not an array of numbers"),
        ("CM", {"attraction": ["0.5", 0.1, 0.2]}, r"parameters\['attraction'\] = .* not an array of numbers"),
        ("DBN", {"abandonment": []}, r"parameters\['abandonment'\] has shape \(0,\)"),
        ("DBN", {"attraction": [0.5] * 4, "satisfaction": [0.5] * 3}, r"'satisfaction'\] has 3 entries; .* at least 4"),
        (
            "DBN",
            {"termination": [0.5] * 3},
            r"unknown name 'termination'; allowed: \['attraction', 'satisfaction', 'aba",
        ),
        ("DBN", {"attraction": [[0.5] * 4] * 3, "abandonment": [0.1, 0.2]}, r"describe \[2, 3\] queries"),
        ("CCM", {"continue_noclick": [0.5, -0.1]}, r"'continue_noclick'\]\[1\] = -0\.1 .*\[0, 1\]"),
        ("CCM", {"attraction": 0.5}, r"parameters\['attraction'\] has shape \(\)"),
        ("UBM", {"examination": [0.5] * 3}, r"'examination'\] has shape \(3,\); allowed: 2 to 3 dimensions: a row for"),
        ("UBM", {"examination": [[0.5] * 3] * 2}, r"'examination'\] has 2 rows; allowed: at least 3: a row for each"),
        ("UBM", {"examination": [[0.5]] * 3}, r"'examination'\] has 1 column; allowed: at least 3: a row for each"),
        ("UBM", {"examination": [[0.5], [0.5, 0.5]]}, r"'examination'\] = .* a row for each position, a column "),
        ("DBN", {"attraction": [0.5] * 4, "continuation": 0.9}, r"unknown name 'continuation'; .*'abandonment'"),
        ("UBM", {"examination": [[0.5] * 2] * 3}, r"'examination'\] has 2 columns; .* at least 3"),
        ("UBM", {"examination": [[0.5, 2.0, 0.5]] * 3}, r"'examination'\]\[0, 1\] = 2\.0 .*\[0, 1\]"),
        ("UBM", {"examination": [[0.5], [0.5, 0.5]]}, r"'examination'\] = .* not an array of numbers"),
        ("DBM", {"examination": [0.5] * 3}, r"unknown name 'examination'; allowed: \['attraction'\]"),
    ],
)
def test_wrong_parameters_are_refused(model, parameters, message):
    with pytest.raises(ValueError, match=message):
        load(model, parameters=parameters)


def test_satisfaction_alone_says_how_many_items_there_are():
    problems = load("DBN", parameters={"satisfaction": [0.5, 0.2, 0.1]})
    assert problems.parameters.attraction.shape == (1000, 3)
    assert (problems.parameters.satisfaction == [0.5, 0.2, 0.1]).all()


@pytest.mark.parametrize("num_items", [0, 10_001, 10**30, "", []])
def test_drawn_queries_have_up_to_ten_thousand_items(num_items):
    with pytest.raises(ValueError, match=r"num_items = .* allowed: a whole number in 1 \.\. 10000"):
        load("CM", num_items=num_items)


@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.parametrize(("model", "name"), PARAMETERS)
def test_whatever_is_given_is_taken_or_refused_by_name(model, name, data):
    """One parameter of any shape and size; what is taken has the model's shapes and holds the numbers given."""
    number = st.sampled_from([0, 0.25, 1, 1.0, 0.7])
    anything = st.sampled_from([0.3, 1.5, float("nan"), None, "x", True])
    shape = data.draw(st.lists(st.integers(1, 4), max_size=3))
    values = number
    for size in shape:
        values = st.lists(values, min_size=size, max_size=size)
    values = data.draw(values | st.recursive(anything, lambda inside: st.lists(inside, max_size=4), max_leaves=9))
    positions = data.draw(st.integers(1, 3))
    try:
        problems = load(model, positions, num_items=None if name == "attraction" else 3, parameters={name: values})
    except ValueError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert name in message or "num_positions" in message
        return
    table = getattr(problems.parameters, name)
    assert table.shape == (problems.num_queries, *shape_of(model, name, problems.num_items, positions))
    assert set(table.ravel()) <= set(np.array(values, float).ravel())
    for other, axes in MODELS[model].axes.items():
        assert getattr(problems.parameters, other).ndim == 1 + len(axes)


@pytest.mark.parametrize("model", MODELS)
def test_one_table_serves_all_queries_or_each_has_its_own(model):
    rng = np.random.default_rng(1)
    whole = {name: rng.random((4, *shape_of(model, name, 5, 3))) for name in MODELS[model].axes}
    for shared in MODELS[model].axes:
        if len(whole) > 1 or shared != "attraction":
            one = {**whole, shared: whole[shared][2]}
            problems = load(model, parameters={name: table.tolist() for name, table in one.items()})
            assert problems.num_queries == 4
            for name, table in problems.parameters._asdict().items():
                assert (table == (whole[name][2] if name == shared else whole[name])).all()


@pytest.mark.parametrize("model", MODELS)
def test_an_environment_with_given_parameters_has_a_json_form(model):
    rng = np.random.default_rng(2)
    parameters = {name: rng.random(shape_of(model, name, 5, 3)).tolist() for name in MODELS[model].axes}
    env = gym.make(f"rankgym/{model}-Synthetic-v0", num_positions=3, parameters=parameters, horizon=20)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json())["kwargs"]["parameters"] == parameters
    for each in (env, again):
        each.reset(seed=3)
    for _ in range(20):
        one, other = env.step([4, 0, 2]), again.step([4, 0, 2])
        assert (one[0] == other[0]).all()
        assert one[4]["expected_reward"] == other[4]["expected_reward"]
        assert one[4]["regret"] >= -1e-12
