"""Click models: closed forms, reductions of one to another, simulated means, and best lists against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.kernels import ENVIRONMENT, EXAMINATION, TERMINATION, bits, row_keys, session_seed, uniform
from rankgym.models import MODELS, cm, dcm, pbm
from rankgym.models.base import sorted_lists

CASES = [(name, reward) for name, model in MODELS.items() for reward in model.rewards]


def drawn_parameters(name, rng, rows=1, items=6, positions=4):
    sizes = {"attraction": items}
    return MODELS[name].parameters(
        *(rng.random((rows, sizes.get(f, positions))) for f in MODELS[name].parameters._fields)
    )


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
    clicks, left_at = [0] * len(displayed), None
    for k, item in enumerate(displayed):
        if left_at is not None:
            break
        attracted = coin(seed, item, parameters.attraction[0, item])
        if name == "PBM":
            clicks[k] = int(attracted and coin(seed, EXAMINATION + k, parameters.examination[0, k]))
        elif attracted:
            clicks[k] = 1
            if name == "CM" or coin(seed, TERMINATION + k, parameters.termination[0, k]):
                left_at = k
    if reward == "abandonment":
        return clicks, float(left_at is not None and left_at < cutoff)
    return clicks, float(sum(clicks[:cutoff]))


def naive_value(name, reward, parameters, displayed, cutoff):
    """The expected reward by enumeration of every user: attraction of the items, examination or termination coins."""
    alpha = [parameters.attraction[0, item] for item in displayed[:cutoff]]
    other = np.ones(cutoff) if name == "CM" else parameters[1][0, :cutoff]
    total = 0.0
    for coins in itertools.product([0, 1], repeat=2 * cutoff):
        attracted, second = coins[:cutoff], coins[cutoff:]
        chance = np.prod([a if c else 1 - a for a, c in zip(alpha, attracted, strict=True)])
        chance *= np.prod([o if c else 1 - o for o, c in zip(other, second, strict=True)])
        if name == "PBM":
            earned = sum(a and s for a, s in zip(attracted, second, strict=True))
        else:
            stops = [k for k in range(cutoff) if attracted[k] and second[k]]
            end = stops[0] + 1 if stops else cutoff
            earned = len(stops) > 0 if reward == "abandonment" else sum(attracted[:end])
        total += chance * earned
    return total


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
    """Within 5.2 standard errors: a normal tail of 2e-7 each, 4 cases, so wrong with probability under 1e-6."""
    rng = np.random.default_rng(3)
    parameters = drawn_parameters(name, rng)
    displayed = [4, 1, 5, 0]
    _, rewards = play(name, reward, parameters, displayed, 3, 1_000_000)
    value = MODELS[name].values(parameters, np.array([displayed]), 3, reward)[0]
    assert abs(rewards.mean() - value) < 5.2 * rewards.std() / 1000


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


def test_a_dcm_that_always_leaves_after_a_click_is_a_cascade():
    rng = np.random.default_rng(5)
    attraction = rng.random((1, 6))
    leaving = dcm.Parameters(attraction, np.ones((1, 4)))
    for reward in ("clicks", "abandonment"):
        a = play("CM", "clicks", cm.Parameters(attraction), [5, 1, 0, 2], 3, 3000)
        b = play("DCM", reward, leaving, [5, 1, 0, 2], 3, 3000)
        assert all((x == y).all() for x, y in zip(a, b, strict=True))
        lists = np.array([[5, 1, 0, 2]])
        assert MODELS["DCM"].values(leaving, lists, 3, reward) == pytest.approx(
            MODELS["CM"].values(cm.Parameters(attraction), lists, 3, "clicks"), abs=1e-15
        )


def test_a_dcm_that_never_leaves_is_a_pbm_that_examines_everything():
    attraction = np.random.default_rng(6).random((1, 6))
    staying = dcm.Parameters(attraction, np.zeros((1, 4)))
    examining = pbm.Parameters(attraction, np.ones((1, 4)))
    a = play("DCM", "clicks", staying, [5, 1, 0, 2], 4, 3000)
    b = play("PBM", "clicks", examining, [5, 1, 0, 2], 4, 3000)
    assert all((x == y).all() for x, y in zip(a, b, strict=True))


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
    sizes = {"attraction": items}
    fields = MODELS[name].parameters._fields
    parameters = MODELS[name].parameters(
        *(np.array([[data.draw(level) for _ in range(sizes.get(f, positions))]]) for f in fields)
    )
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


def test_too_many_positions_for_the_best_list_by_clicks_are_refused():
    parameters = drawn_parameters("DCM", np.random.default_rng(0), items=20, positions=17)
    with pytest.raises(ValueError, match=r"cutoff = 17 is out of range .* allowed: 1 \.\. 16"):
        MODELS["DCM"].rewards["clicks"].best_lists(parameters, 17, 17)
