"""Click models: closed forms, reductions of one to another, simulated means, and best lists against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.kernels import ABANDONMENT, ENVIRONMENT, EXAMINATION, TERMINATION, bits, row_keys, session_seed, uniform
from rankgym.models import MODELS, ccm, cm, dbm, dbn, dcm, pbm, ubm
from rankgym.models.base import sorted_lists

CASES = [(name, reward) for name, model in MODELS.items() for reward in model.rewards]


def shaped(name, fill, rows=1, items=6, positions=4):
    """The parameters of a model, each of them ``fill(shape)``."""
    sizes = {"item": items, "position": positions, "previous": positions}
    model = MODELS[name]
    shapes = ((rows, *(sizes[axis] for axis in model.axes[field])) for field in model.parameters._fields)
    return model.parameters(*map(fill, shapes))


def drawn_parameters(name, rng, **sizes):
    return shaped(name, rng.random, **sizes)


def play(name, reward, parameters, displayed, cutoff, sessions, seed=0):
    """Play ``sessions`` sessions of row 0's users on one list: clicks (sessions, positions) and rewards (sessions,)."""
    many = MODELS[name].parameters(*(np.repeat(a[:1], sessions, axis=0) for a in parameters))
    key = np.repeat(row_keys([seed], ENVIRONMENT), sessions)
    clicks, rewards = np.empty((sessions, len(displayed)), np.int8), np.empty(sessions)
    lists = np.tile(np.array(displayed), (sessions, 1))
    MODELS[name].rewards[reward].click(*many, key, np.arange(sessions), lists, cutoff, clicks, rewards)
    return clicks, rewards


def coin(seed, index, probability):
    return float(uniform(np.uint64(bits(seed, index)))) < probability


def naive_session(name, reward, parameters, key, number, displayed, cutoff):
    """One session in plain Python, straight from the papers' definitions; the same coins."""
    seed = np.uint64(session_seed(key, number))
    p = MODELS[name].parameters(*(a[0] for a in parameters))
    clicks, previous, left = [0] * len(displayed), -1, None  # left: how, and where
    for k, item in enumerate(displayed):
        if left is not None:
            break
        if name == "PBM":
            looks = coin(seed, EXAMINATION + k, p.examination[k])
        elif name == "UBM":
            looks = coin(seed, EXAMINATION + k, p.examination[k, previous])
        else:
            looks = True
        if looks and coin(seed, item, p.attraction[item]):
            clicks[k], previous = 1, k
            if name == "CM" or (name == "DCM" and coin(seed, TERMINATION + k, p.termination[k])):
                left = "by a click", k
            if name == "DBN" and coin(seed, TERMINATION + k, p.satisfaction[item]):
                left = "by a click", k
        if name == "DBN" and left is None and coin(seed, ABANDONMENT + k, p.abandonment):
            left = "tired", k
        if name == "CCM":
            relevant = coin(seed, TERMINATION + k, p.attraction[item])
            after_click = p.continue_click_relevant if relevant else p.continue_click_irrelevant
            if coin(seed, ABANDONMENT + k, 1 - (after_click if clicks[k] else p.continue_noclick)):
                left = "somehow", k
    if reward == "abandonment":
        return clicks, float(left is not None and left[1] < cutoff)
    return clicks, float(sum(clicks[:cutoff]))


def leaving(name, p, k, item, clicked):
    """The probability that a user who examined position k leaves there."""
    if name == "CM":
        return clicked
    if name == "DCM":
        return p.termination[k] * clicked
    if name == "DBN":
        return 1 - (1 - p.satisfaction[item] * clicked) * (1 - p.abandonment)
    if name == "CCM" and clicked:
        alpha = p.attraction[item]
        return alpha * (1 - p.continue_click_relevant) + (1 - alpha) * (1 - p.continue_click_irrelevant)
    return 1 - p.continue_noclick if name == "CCM" else 0


def users(name, parameters, displayed):
    """Every way a session can go: (probability, examined, clicks, left), lists over positions; left: None or where."""
    p = MODELS[name].parameters(*(a[0] for a in parameters))
    ways = [(1.0, [], [], None)]
    for k, item in enumerate(displayed):
        longer = []
        for chance, examined, clicks, left in ways:
            if left is not None:
                longer.append((chance, [*examined, 0], [*clicks, 0], left))
                continue
            chi = 1.0
            if name in ("PBM", "UBM"):
                previous = max((r for r in range(k) if clicks[r]), default=-1)
                chi = p.examination[k] if name == "PBM" else p.examination[k, previous]
            for looks, likes in itertools.product([0, 1], repeat=2):
                part = chance * (chi if looks else 1 - chi)
                part *= p.attraction[item] if likes else 1 - p.attraction[item]
                leaves = leaving(name, p, k, item, looks * likes)
                for end, share in ((k, leaves), (None, 1 - leaves)):
                    if part * share > 0:
                        longer.append((part * share, [*examined, looks], [*clicks, looks * likes], end))
        ways = longer
    return ways


def naive_value(name, reward, parameters, displayed, cutoff):
    """The expected reward by enumeration of every way a session can go."""
    ways = users(name, parameters, displayed[:cutoff])
    if reward == "abandonment":
        return sum(chance for chance, _, _, left in ways if left is not None)
    return sum(chance * sum(clicks) for chance, _, clicks, _ in ways)


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "reward"), CASES)
def test_sessions_equal_the_oracle(name, reward):
    rng = np.random.default_rng(1)
    parameters = drawn_parameters(name, rng)
    key = row_keys([3], ENVIRONMENT)[0]
    for displayed in ([0, 1, 2, 3], [5, 2, 0, 4]):
        clicks, rewards = play(name, reward, parameters, displayed, 3, 300, seed=3)
        for number in range(300):
            assert (clicks[number].tolist(), rewards[number]) == naive_session(
                name, reward, parameters, key, number, displayed, 3
            )


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "reward"), CASES)
def test_the_expected_reward_equals_enumeration(name, reward):
    rng = np.random.default_rng(2)
    for _ in range(5):
        parameters = drawn_parameters(name, rng)
        displayed = rng.permutation(6)[:4]
        for cutoff in (1, 3, 4):
            value = MODELS[name].values(parameters, displayed[None], cutoff, reward)[0]
            assert value == pytest.approx(naive_value(name, reward, parameters, displayed, cutoff), abs=1e-12)


@pytest.mark.parametrize(("name", "reward"), CASES)
def test_the_expected_reward_is_the_mean_of_a_million_sessions(name, reward):
    """Within 5.6 standard errors: a normal tail of 2.2e-8 each, 8 cases, so wrong with probability under 2e-7."""
    rng = np.random.default_rng(3)
    parameters = drawn_parameters(name, rng)
    displayed = [4, 1, 5, 0]
    _, rewards = play(name, reward, parameters, displayed, 3, 1_000_000)
    value = MODELS[name].values(parameters, np.array([displayed]), 3, reward)[0]
    assert abs(rewards.mean() - value) < 5.6 * rewards.std() / 1000


def test_clicks_of_a_pbm_are_independent_between_positions():
    """One uniform for a whole list has the right marginals and the wrong joint law; this would notice.

    The covariance of two independent clicks over a million sessions has standard error below 0.25 / 1000; 6.5 of
    them are exceeded with probability 8e-11 for each of the 6 pairs.
    """
    parameters = drawn_parameters("PBM", np.random.default_rng(4))
    clicks, _ = play("PBM", "clicks", parameters, [0, 1, 2, 3], 4, 1_000_000)
    covariance = np.cov(clicks.T.astype(float))
    assert np.abs(covariance[~np.eye(4, dtype=bool)]).max() < 6.5 * 0.25 / 1000


def test_two_lists_meet_the_same_users():
    """An item's attraction coin belongs to (session, item), wherever it is displayed: common random numbers."""
    parameters = pbm.Parameters(np.full((1, 6), 0.5), np.ones((1, 4)))
    one, _ = play("PBM", "clicks", parameters, [0, 1, 2, 3], 4, 2000)
    two, _ = play("PBM", "clicks", parameters, [3, 2, 1, 0], 4, 2000)
    assert (one == two[:, ::-1]).all()


@pytest.mark.kernels
@pytest.mark.parametrize("name", MODELS)
def test_the_examination_equals_enumeration(name):
    """And P(click at k) = chi(R, k) alpha(R(k)), whose sum over the cutoff is the number of expected clicks."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        parameters = drawn_parameters(name, rng)
        displayed = rng.permutation(6)[:4]
        chi = MODELS[name].examination(parameters, displayed[None])[0]
        ways = users(name, parameters, displayed)
        assert chi == pytest.approx(sum(chance * np.array(examined) for chance, examined, _, _ in ways), abs=1e-12)
        clicked = chi * parameters.attraction[0, displayed]
        assert clicked == pytest.approx(sum(chance * np.array(clicks) for chance, _, clicks, _ in ways), abs=1e-12)
        for cutoff in (1, 3, 4):
            value = MODELS[name].values(parameters, displayed[None], cutoff, "clicks")[0]
            assert clicked[:cutoff].sum() == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_axes_name_every_parameter(name):
    model = MODELS[name]
    assert model.name == name
    assert tuple(model.axes) == model.parameters._fields
    assert {axis for axes in model.axes.values() for axis in axes} <= {"item", "position", "previous"}


ALPHA = np.random.default_rng(5).random((1, 6))
ONE, NONE, SOME = np.ones(1), np.zeros(1), np.array([0.7])
BLIND = np.random.default_rng(6).random((1, 4))
AFTER_CLICK = np.zeros((1, 4, 4))  # a UBM user who examines everything until she clicks, and then nothing
AFTER_CLICK[:, :, -1] = 1.0

REDUCTIONS = {
    "a DCM that leaves after every click is a CM": (
        dcm.Parameters(ALPHA, np.ones((1, 4))),
        cm.Parameters(ALPHA),
    ),
    "a DCM that never leaves is a DBM": (
        dcm.Parameters(ALPHA, np.zeros((1, 4))),
        dbm.Parameters(ALPHA),
    ),
    "a PBM that examines everything is a DBM": (
        pbm.Parameters(ALPHA, np.ones((1, 4))),
        dbm.Parameters(ALPHA),
    ),
    "a UBM that forgets the last click is a PBM": (
        ubm.Parameters(ALPHA, np.repeat(BLIND[:, :, None], 4, axis=2)),
        pbm.Parameters(ALPHA, BLIND),
    ),
    "a UBM that examines nothing behind a click is a CM": (
        ubm.Parameters(ALPHA, AFTER_CLICK),
        cm.Parameters(ALPHA),
    ),
    "a DBN that is always satisfied and never gives up is a CM": (
        dbn.Parameters(ALPHA, np.ones((1, 6)), NONE),
        cm.Parameters(ALPHA),
    ),
    "a DBN that is never satisfied and never gives up is a DBM": (
        dbn.Parameters(ALPHA, np.zeros((1, 6)), NONE),
        dbm.Parameters(ALPHA),
    ),
    "a DBN that every item satisfies alike is a DCM of that termination": (
        dbn.Parameters(ALPHA, np.full((1, 6), 0.3), NONE),
        dcm.Parameters(ALPHA, np.full((1, 4), 0.3)),
    ),
    "a DBN that gives up at once sees the first position only": (
        dbn.Parameters(ALPHA, np.zeros((1, 6)), ONE),
        pbm.Parameters(ALPHA, np.array([[1.0, 0.0, 0.0, 0.0]])),
    ),
    "a CCM that goes on without a click only is a CM": (
        ccm.Parameters(ALPHA, ONE, NONE, NONE),
        cm.Parameters(ALPHA),
    ),
    "a CCM that always goes on is a DBM": (
        ccm.Parameters(ALPHA, ONE, ONE, ONE),
        dbm.Parameters(ALPHA),
    ),
    "a CCM that only relevance stops for sure is a DBN satisfied as it is attracted": (
        ccm.Parameters(ALPHA, SOME, SOME, NONE),
        dbn.Parameters(ALPHA, ALPHA, 1.0 - SOME),
    ),
}


@pytest.mark.kernels
@pytest.mark.parametrize("fact", REDUCTIONS)
def test_a_model_that_is_another(fact):
    """Session by session, on the same coins; and in examination, values and best lists."""
    parameters = REDUCTIONS[fact]
    models = [next(m for m in MODELS.values() if isinstance(p, m.parameters)) for p in parameters]
    displayed = [5, 1, 0, 2]
    (clicks, rewards), (same_clicks, same_rewards) = (
        play(model.name, "clicks", p, displayed, 3, 600) for model, p in zip(models, parameters, strict=True)
    )
    assert (clicks == same_clicks).all()
    assert (rewards == same_rewards).all()
    assert clicks.any()
    best = [m.rewards["clicks"].best_lists(p, 4, 3) for m, p in zip(models, parameters, strict=True)]
    for lists in (np.array([displayed]), *best):
        chi, same_chi = (m.examination(p, lists) for m, p in zip(models, parameters, strict=True))
        assert chi == pytest.approx(same_chi, abs=1e-14)
        value, same_value = (m.values(p, lists, 3, "clicks") for m, p in zip(models, parameters, strict=True))
        assert value == pytest.approx(same_value, abs=1e-14)
    values = [models[0].values(parameters[0], lists, 3, "clicks") for lists in best]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_a_dcm_that_leaves_after_every_click_abandons_as_often_as_a_cascade_is_clicked():
    leaving, cascade = REDUCTIONS["a DCM that leaves after every click is a CM"]
    a = play("DCM", "abandonment", leaving, [5, 1, 0, 2], 3, 3000)
    b = play("CM", "clicks", cascade, [5, 1, 0, 2], 3, 3000)
    assert all((x == y).all() for x, y in zip(a, b, strict=True))
    lists = np.array([[5, 1, 0, 2]])
    assert MODELS["DCM"].values(leaving, lists, 3, "abandonment") == pytest.approx(
        MODELS["CM"].values(cascade, lists, 3, "clicks"), abs=1e-15
    )


@pytest.mark.parametrize("name", ["DBN", "CCM", "DCM", "UBM"])
def test_what_happens_above_an_item_does_not_change_its_coin(name):
    """An item below is clicked by the same users, as long as they come that far, whatever stands above it."""
    rng = np.random.default_rng(9)
    parameters = drawn_parameters(name, rng)
    dull = parameters._replace(attraction=parameters.attraction * (np.arange(6) != 0))  # nobody clicks item 0
    with_clicks, _ = play(name, "clicks", parameters, [0, 1, 2, 3], 4, 5000)
    without, _ = play(name, "clicks", dull, [0, 1, 2, 3], 4, 5000)
    alone, _ = play("DBM", "clicks", dbm.Parameters(parameters.attraction), [0, 1, 2, 3], 4, 5000)
    assert (with_clicks <= alone).all()
    assert (without <= alone).all()
    assert (with_clicks[:, 1:] != without[:, 1:]).any()


def test_a_cascade_of_certain_items_clicks_the_first_and_is_worth_one():
    parameters = cm.Parameters(np.ones((1, 6)))
    clicks, rewards = play("CM", "clicks", parameters, [3, 1, 2, 0], 4, 100)
    assert (clicks == [1, 0, 0, 0]).all()
    assert (rewards == 1).all()
    assert MODELS["CM"].values(parameters, np.array([[3, 1, 2, 0]]), 4, "clicks")[0] == 1.0


def test_the_value_of_a_cascade_does_not_depend_on_the_order():
    parameters = drawn_parameters("CM", np.random.default_rng(7))
    values = [
        MODELS["CM"].values(parameters, np.array([order]), 4, "clicks")[0]
        for order in itertools.permutations([0, 2, 3, 5])
    ]
    assert np.ptp(values) < 1e-15


@pytest.mark.kernels
@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.parametrize(("name", "reward"), CASES)
def test_the_best_list_equals_brute_force(name, reward, data):
    items = data.draw(st.integers(1, 6))
    positions = data.draw(st.integers(1, items))
    cutoff = data.draw(st.integers(1, positions))
    # few different values, so that ties, zeros and ones come up
    level = st.sampled_from([0.0, 0.1, 0.3, 0.46, 0.4605, 0.7, 0.95, 1.0])

    def fill(shape):
        size = math.prod(shape)
        return np.reshape(data.draw(st.lists(level, min_size=size, max_size=size)), shape)

    parameters = shaped(name, fill, items=items, positions=positions)
    best = MODELS[name].rewards[reward].best_lists(parameters, positions, cutoff)
    assert sorted(set(best[0].tolist())) == sorted(best[0].tolist())
    everything = np.array(list(itertools.permutations(range(items), positions)))
    many = MODELS[name].parameters(*(np.repeat(a, len(everything), axis=0) for a in parameters))
    record = MODELS[name].values(many, everything, cutoff, reward).max()
    assert MODELS[name].values(parameters, best, cutoff, reward)[0] == pytest.approx(record, abs=1e-12)


def test_the_sorted_list_is_not_the_best_for_expected_clicks_of_a_dcm():
    """A user whom the first item satisfies clicks once; behind an item that never satisfies she clicks on."""
    parameters = dcm.Parameters(np.array([[1.0, 0.9, 0.8]]), np.array([[1.0, 0.0, 0.0]]))
    best = MODELS["DCM"].rewards["clicks"].best_lists(parameters, 3, 3)
    assert best.tolist() == [[2, 0, 1]]  # 0.8 + 0.2 * 1.9 beats 1.0
    assert MODELS["DCM"].values(parameters, best, 3, "clicks")[0] == pytest.approx(0.8 + 0.2 * 1.9)
    assert MODELS["DCM"].values(parameters, sorted_lists(parameters.attraction, 3), 3, "clicks")[0] == 1.0


def test_the_best_list_of_a_dcm_may_use_the_least_attractive_item():
    parameters = dcm.Parameters(np.array([[0.9, 0.9, 0.5, 0.0]]), np.array([[1.0, 0.0, 0.0]]))
    assert MODELS["DCM"].rewards["clicks"].best_lists(parameters, 3, 3)[0, 0] == 3


@pytest.mark.parametrize("name", ["DCM", "UBM"])
def test_too_many_positions_for_the_best_list_by_clicks_are_refused(name):
    most = {"DCM": 16, "UBM": 12}[name]
    parameters = drawn_parameters(name, np.random.default_rng(0), items=20, positions=most + 1)
    with pytest.raises(
        ValueError, match=rf"cutoff = {most + 1} is out of range .* allowed: 1 \.\. {most} .*\"sorted\""
    ):
        MODELS[name].rewards["clicks"].best_lists(parameters, most + 1, most + 1)
    assert MODELS[name].rewards["clicks"].best_lists(parameters, most + 1, 3).shape == (1, most + 1)
