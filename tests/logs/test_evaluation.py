"""Off-policy evaluation: the expectation of every estimator, by enumeration of all lists and clicks, is the true value.

Users are written in plain Python here: a cascade user, a position-based one, and one whose clicks depend on what stands
below, whom only SIPS evaluates without bias.
"""

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest

import rankgym  # noqa: F401
from rankgym.logs.evaluation import (
    METHODS,
    ClickModelBaseline,
    FittedBaseline,
    PolicyLog,
    estimate,
    session_terms,
    true_value,
    true_values,
)
from rankgym.logs.policies import MixturePolicy, PlackettLucePolicy, StaticPolicy, UniformPolicy
from rankgym.models import MODELS

ITEMS, POSITIONS = 4, 3
LISTS = list(itertools.permutations(range(ITEMS), POSITIONS))
CLICKS = list(itertools.product((0, 1), repeat=POSITIONS))
SHARES = (0.25, 0.75)  # of two queries
ATTRACTION = ((0.9, 0.3, 0.5, 0.1), (0.2, 0.6, 0.05, 0.8))
EXAMINATION = (0.9, 0.6, 0.35)

LOGGING = PlackettLucePolicy([[0.5, 0.0, -0.4, 0.3], [0.0, 1.0, 0.2, -0.5]], POSITIONS)
POLICIES = {
    "plackett-luce": PlackettLucePolicy([[1.0, -0.5, 0.4, 0.0], [-0.3, 0.2, 0.9, 1.5]], POSITIONS),
    "static": StaticPolicy([[0, 2, 1], [3, 1, 0]], ITEMS),
    "uniform": UniformPolicy(ITEMS, POSITIONS),
}


def cascade(query, ranking, clicks):
    """Scans from the top and stops at the first click."""
    probability = 1.0
    for item, click in zip(ranking, clicks, strict=True):
        probability *= ATTRACTION[query][item] if click else 1 - ATTRACTION[query][item]
        if click:
            return probability if sum(clicks) == 1 else 0.0
    return probability


def by_position(query, ranking, clicks):
    chances = [chi * ATTRACTION[query][item] for chi, item in zip(EXAMINATION, ranking, strict=True)]
    return math.prod(p if click else 1 - p for p, click in zip(chances, clicks, strict=True))


def from_below(query, ranking, clicks):
    """Is distracted by an attractive neighbour below."""
    chances = [ATTRACTION[query][item] for item in ranking]
    chances = [p * (1 - below) for p, below in zip(chances, [*chances[1:], 0.0], strict=True)]
    return math.prod(p if click else 1 - p for p, click in zip(chances, clicks, strict=True))


USERS = {"cascade": cascade, "position": by_position, "below": from_below}
UNBIASED = {
    "cascade": {"sips", "rips", "cascade-dr"},
    "position": {"sips", "iips", "rips", "cascade-dr"},
    "below": {"sips"},
}


def all_sessions(user, logging=LOGGING):
    """Return a log of all sessions that can be, and their probabilities."""
    cases = list(itertools.product((0, 1), LISTS, CLICKS))
    query = np.array([case[0] for case in cases])
    displayed = np.array([case[1] for case in cases])
    chance = np.array([SHARES[case[0]] * user(*case) for case in cases]) * logging.probability(query, displayed)
    table = logging.item_position(np.arange(2))
    log = PolicyLog(
        query,
        displayed,
        np.array([case[2] for case in cases]),
        logging.probability(query, displayed),
        table[query[:, None], displayed, np.arange(POSITIONS)],
        logging.prefixes(query, displayed),
    )
    possible = log.propensity > 0
    assert math.isclose(chance.sum(), 1.0)
    return log.of(possible), chance[possible]


def truth(user, policy, cutoff):
    total = 0.0
    for query, ranking in itertools.product((0, 1), LISTS):
        shown = policy.probability(np.array([query]), np.array([ranking]))[0]
        clicks = sum(user(query, ranking, clicks) * sum(clicks[:cutoff]) for clicks in CLICKS)
        total += SHARES[query] * shown * clicks
    return total


def bad_baseline(query, displayed, position):
    """Far off, and different for every list above."""
    above = np.cos(displayed[:, :position].astype(float) + np.arange(1, position + 1)).sum(axis=1)
    return 7.0 + above[:, None] * np.arange(ITEMS) - 3.0 * query[:, None] + position


@pytest.mark.parametrize("cutoff", [1, 2, 3])
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("who", USERS)
def test_the_expectation_is_the_true_value_where_the_table_says_so(who, method, name, cutoff):
    log, chance = all_sessions(USERS[who])
    policy = POLICIES[name]
    given = {"baseline": bad_baseline} if method == "cascade-dr" else {}
    value = truth(USERS[who], policy, cutoff)
    for logging in (None, LOGGING):  # from the log's columns, and from the policy
        terms, weights = session_terms(log, policy, method, cutoff=cutoff, logging=logging, **given)
        expectation = float(chance @ terms)
        np.testing.assert_allclose(chance @ weights, 1.0, rtol=1e-12)
        if method in UNBIASED[who]:
            assert expectation == pytest.approx(value, rel=1e-12)
        elif name != "uniform" or cutoff > 1:  # bias is there, and not small
            biased = abs(expectation - value) > 1e-3
            only_first = cutoff == 1 and who == "cascade"  # the first click depends on its own item only
            assert biased != only_first


def test_a_fitted_baseline_and_a_click_models_keep_the_expectation():
    log, chance = all_sessions(cascade)
    policy = POLICIES["plackett-luce"]
    fitted = FittedBaseline(log.of(np.arange(len(log.query)) % 7 == 0), policy, 2, POSITIONS)
    model = MODELS["CM"]
    order = np.array([[0, 2, 1, 3], [3, 1, 0, 2]])
    right = ClickModelBaseline(model, model.parameters(np.array(ATTRACTION)), order, POSITIONS)
    value = truth(cascade, policy, POSITIONS)
    errors = {}
    for name, baseline in (("fitted", fitted), ("model", right), ("bad", bad_baseline), ("none", None)):
        method = {"method": "rips"} if baseline is None else {"method": "cascade-dr", "baseline": baseline}
        terms, _ = session_terms(log, policy, **method)
        assert float(chance @ terms) == pytest.approx(value, rel=1e-12)
        errors[name] = float(chance @ (terms - value) ** 2)
    assert errors["model"] < errors["none"] < errors["bad"]


def test_a_click_models_baseline_is_the_expectation_with_the_completed_list():
    model = MODELS["PBM"]
    parameters = model.parameters(np.array(ATTRACTION), np.array([EXAMINATION, EXAMINATION]))
    order = np.array([[0, 2, 1, 3], [3, 1, 0, 2]])
    baseline = ClickModelBaseline(model, parameters, order, 3)
    guess = baseline(np.array([1, 0]), np.array([[0, 3, 2], [3, 0, 1]]), 1)
    for row, (query, above) in enumerate([(1, 0), (0, 3)]):
        for item in set(range(ITEMS)) - {above}:
            rest = [other for other in order[query] if other not in (above, item)]
            ranking = [above, item, rest[0]]
            expected = sum(EXAMINATION[k] * ATTRACTION[query][ranking[k]] for k in (1, 2))
            assert guess[row, item] == pytest.approx(expected, rel=1e-12)


def test_cross_fitting_keeps_the_expectation():
    """All logs of three sessions, with two items at two positions."""
    logging = PlackettLucePolicy([[0.4, -0.3]], 2)
    policy = PlackettLucePolicy([[-0.5, 0.8]], 2)
    attraction = (0.7, 0.2)
    cases = list(itertools.product([(0, 1), (1, 0)], itertools.product((0, 1), repeat=2)))
    query, zeros = np.zeros(3, int), np.zeros(1, int)

    def chance_of(ranking, clicks):
        chances = [attraction[ranking[0]], attraction[ranking[1]] * (0.3 if clicks[0] else 0.9)]
        user = math.prod(p if click else 1 - p for p, click in zip(chances, clicks, strict=True))
        return user * logging.probability(zeros, np.array([ranking]))[0]

    chances = [chance_of(*case) for case in cases]
    assert sum(chances) == pytest.approx(1.0)
    value = 0.0
    for (ranking, clicks), chance in zip(cases, chances, strict=True):
        weight = policy.probability(zeros, np.array([ranking]))[0] / logging.probability(zeros, np.array([ranking]))[0]
        value += chance * weight * sum(clicks)
    expectation = 0.0
    for drawn in itertools.product(range(len(cases)), repeat=3):
        log = PolicyLog(query, np.array([cases[n][0] for n in drawn]), np.array([cases[n][1] for n in drawn]))
        terms, _ = session_terms(log, policy, "cascade-dr", logging=logging, seed=5)
        expectation += math.prod(chances[n] for n in drawn) * terms.mean()
    assert expectation == pytest.approx(value, rel=1e-12)


def test_methods_agree_where_they_must():
    log, _ = all_sessions(by_position)
    policy = POLICIES["plackett-luce"]
    first = [session_terms(log, policy, method, cutoff=1)[0] for method in ("iips", "rips")]
    np.testing.assert_allclose(first[0], first[1], rtol=1e-12)  # one position: one weight
    none = session_terms(log, policy, "cascade-dr", baseline=lambda query, displayed, k: np.zeros((len(query), ITEMS)))
    np.testing.assert_allclose(none[0], session_terms(log, policy, "rips")[0], rtol=1e-12)
    same = session_terms(log, LOGGING, "rips")[1]
    np.testing.assert_allclose(same, 1.0, rtol=1e-12)  # the policy that made the log


def test_an_estimate_has_the_mean_its_error_and_its_interval():
    every, probability = all_sessions(by_position)
    log = every.of(np.random.default_rng(0).choice(len(probability), 2_000, p=probability / probability.sum()))
    policy = POLICIES["plackett-luce"]
    terms, weights = session_terms(log, policy, "rips")
    found = estimate(log, policy, "rips", level=0.9)
    assert found.value == pytest.approx(terms.mean())
    assert found.error == pytest.approx(terms.std(ddof=1) / math.sqrt(len(terms)))
    assert found.high - found.value == pytest.approx(1.6448536269514722 * found.error)
    assert found.value - found.low == pytest.approx(found.high - found.value)
    effective = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    assert found.effective == pytest.approx(effective.min())
    assert found.largest_weight == weights.max()
    boot = estimate(log, policy, "rips", level=0.9, bootstrap=4_000)
    assert boot.value == found.value
    assert boot.low == pytest.approx(found.low, abs=0.15 * found.error)
    assert boot.high == pytest.approx(found.high, abs=0.15 * found.error)
    assert boot == estimate(log, policy, "rips", level=0.9, bootstrap=4_000)
    np.testing.assert_allclose(estimate(log.of(slice(0, 1)), policy, "sips").error, np.nan)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("CM", {"attraction": list(map(list, ATTRACTION))}),
        ("PBM", {"attraction": list(map(list, ATTRACTION)), "examination": list(EXAMINATION)}),
    ],
)
def test_true_values_are_sums_over_all_lists(model, parameters):
    arguments = {"parameters": parameters, "num_positions": POSITIONS, "cutoff": 2}
    env = gym.make_vec(f"rankgym/{model}-Synthetic-v0", num_envs=2, query="all", **arguments)
    user = {"CM": cascade, "PBM": by_position}[model]
    for policy in POLICIES.values():
        values, errors = true_values(env, policy)
        assert SHARES @ values == pytest.approx(truth(user, policy, 2), rel=1e-12)
        assert not errors.any()
        assert true_value(env, policy, np.array([0, 1, 1, 1]))[0] == pytest.approx(truth(user, policy, 2), rel=1e-12)
    assert true_values(env, policy, cutoff=3)[0] @ SHARES == pytest.approx(truth(user, policy, 3), rel=1e-12)


def test_true_values_of_many_lists_are_drawn():
    """Within 7 standard errors for each of 1,000 queries: below 1e-6 by chance, about; the seed is fixed."""
    env = gym.make_vec("rankgym/PBM-Synthetic-v0", num_envs=1, query=0, num_items=20)
    few = gym.make_vec("rankgym/PBM-Synthetic-v0", num_envs=1, query=0, num_items=20, num_positions=2)
    logits = np.tile(np.linspace(1, -1, 20), (env.queries.num_queries, 1))
    value, error = true_values(env, PlackettLucePolicy(logits, 5), cutoff=2, drawn=100)
    exact, zero = true_values(few, PlackettLucePolicy(logits, 2))
    assert not zero.any()
    assert (error > 0).all()
    pulls = (value - exact) / error
    assert np.abs(pulls).max() < 7
    assert 0.8 < pulls.std() < 1.25


def test_weights_without_support_are_in_doubt():
    query, displayed = np.zeros(200, np.int64), np.tile([2, 0, 1], (200, 1))
    clicks = np.random.default_rng(0).integers(0, 2, (200, 3)).astype(np.int8)
    ones = np.ones((200, 3))
    static = PolicyLog(query, displayed, clicks, ones[:, 0], ones, ones)
    for method in METHODS:
        with pytest.warns(UserWarning, match=rf"{method}: all weights are 0\.\d+, not 1: the log never shows some"):
            found = estimate(static, UniformPolicy(ITEMS, POSITIONS), method)
        assert found.doubt
        assert math.isnan(found.effective)
    same = estimate(static, StaticPolicy([[2, 0, 1]], ITEMS), "sips")
    assert same.doubt == ""
    assert same.effective == 200
    halves = np.where(np.arange(200) % 2, 0.5, 0.9)  # the mean weight of "static" is 1.56 +- 0.03
    with pytest.warns(UserWarning, match=r"the mean weight is 1\.56, \d+ of its standard errors away from 1"):
        estimate(static._replace(propensity=halves), StaticPolicy([[2, 0, 1]], ITEMS), "sips")


def test_what_is_missing_or_impossible_is_refused():
    log, _ = all_sessions(cascade)
    policy = POLICIES["plackett-luce"]
    bare = PolicyLog(log.query, log.displayed, log.clicks)
    for method, column in (("sips", "propensity"), ("iips", "item_propensity"), ("rips", "prefix_propensity")):
        with pytest.raises(ValueError, match=f"the log has no {column}, which '{method}' needs; allowed: .* logging="):
            estimate(bare, policy, method)
    zero = log._replace(propensity=np.where(np.arange(len(log.query)) == 3, 0.0, log.propensity))
    with pytest.raises(ValueError, match=r"propensity\[3\] = 0.0 is out of range; allowed: a probability above 0"):
        estimate(zero, policy, "sips")
    unknown = log.prefix_propensity.copy()
    unknown[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"prefix_propensity\[2, 1\] = nan"):
        estimate(log._replace(prefix_propensity=unknown), policy, "rips")
    with pytest.raises(ValueError, match=r"displayed\[0\] = \[0, 1, 2\] has probability 0 under logging"):
        estimate(log, POLICIES["static"], "sips", logging=POLICIES["static"])
    with pytest.raises(ValueError, match="policy shows item 0 at position 2 for query 0, logging never"):
        estimate(log, POLICIES["uniform"], "rips", logging=POLICIES["static"])
    two = MixturePolicy([StaticPolicy([[0, 1, 2]] * 2, ITEMS), StaticPolicy([[1, 0, 3]] * 2, ITEMS)], [0.5, 0.5])
    other = MixturePolicy([StaticPolicy([[0, 1, 3]] * 2, ITEMS), StaticPolicy([[1, 0, 2]] * 2, ITEMS)], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"policy shows the list \[0, 1, 3\] for query 0, logging never"):
        estimate(log, other, "sips", logging=two)
    seen = log.of(two.probability(log.query, log.displayed) > 0)
    assert estimate(seen, other, "iips", logging=two).mean_weight == pytest.approx(1.0)  # every place is covered
    assert estimate(seen, other, "rips", logging=two, cutoff=2).mean_weight == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": np.array([0, 2])}, r"query\[1\] = 2 is out of range; allowed: 0 .. 1"),
        ({"displayed": np.array([[0, 1, 2], [1, 1, 0]])}, r"displayed\[1\] = \[1, 1, 0\] is not a list"),
        ({"displayed": np.array([[0, 1], [1, 0]])}, r"displayed \(2, 2\)"),
        ({"clicks": np.array([[0, 0, 0], [0, 2, 0]])}, r"clicks\[1\] = \[0, 2, 0\]; allowed: 0 and 1"),
        ({"propensity": np.array([0.5])}, r"propensity has shape \(1,\); allowed: \(2,\)"),
    ],
)
def test_a_wrong_log_is_refused(changes, message):
    log, _ = all_sessions(cascade)
    with pytest.raises(ValueError, match=message):
        estimate(log.of(slice(0, 2))._replace(**changes), POLICIES["static"], "sips")


def test_wrong_arguments_are_refused():
    log, _ = all_sessions(cascade)
    policy = POLICIES["uniform"]
    with pytest.raises(ValueError, match="method = 'ips' is unknown"):
        estimate(log, policy, "ips")
    with pytest.raises(ValueError, match="cutoff = 4 is out of range"):
        estimate(log, policy, "rips", cutoff=4)
    with pytest.raises(ValueError, match="level = 1 is out of range"):
        estimate(log, policy, "rips", level=1)
    with pytest.raises(ValueError, match="'rips' has no baseline"):
        estimate(log, policy, "rips", baseline=bad_baseline)
    with pytest.raises(ValueError, match="baseline returned shape"):
        estimate(log, policy, "cascade-dr", baseline=lambda query, displayed, k: np.zeros(3))
    many = PlackettLucePolicy(np.zeros((1, 17)), 2)
    one = PolicyLog(np.zeros(1, int), np.array([[0, 1]]), np.array([[0, 1]]))
    with pytest.raises(ValueError, match="logging has no item-position probabilities with 17 items"):
        estimate(one, UniformPolicy(17, 2), "iips", logging=many)
    changing = gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=1, query=0)
    with pytest.raises(ValueError, match="change; allowed: an environment where they do not"):
        true_values(changing, UniformPolicy(10, 3))
