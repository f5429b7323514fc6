"""The kernels of fitting beside users in plain Python, every coin of whom is enumerated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.logs.fitting import cells, chain_problem, evaluate, fit
from rankgym.logs.fitting.climb import Beta
from rankgym.logs.fitting.evaluation import clicks_above, clicks_before
from rankgym.logs.fitting.fit import PROBLEMS, usual_restarts, walked
from rankgym.logs.fitting.result import Fitted
from tests.logs.small_logs import CASCADES, NAMES, all_clicks, e_step, made_log, random_log, random_parameters, users

pytestmark = pytest.mark.kernels
NOTHING = np.zeros(0)


def fitted_with(name, parameters):
    return Fitted(name, parameters, parameters, 0.0, 1, 0, True, 0.0, NOTHING, NOTHING)


def everything_free(parameters):
    return {key: np.ones(np.shape(table), bool) for key, table in parameters.items()}


def no_penalty(parameters):
    return {key: np.zeros(np.shape(table)) for key, table in parameters.items()}


def vector(tables):
    return np.concatenate([np.ravel(table) for table in tables.values()])


def put(tables, numbers):
    """The same tables with other numbers."""
    ends = np.cumsum([np.size(table) for table in tables.values()])
    parts = np.split(numbers, ends[:-1])
    return {key: part.reshape(np.shape(table)) for (key, table), part in zip(tables.items(), parts, strict=True)}


def problem_of(name, log):
    return PROBLEMS[name](walked(log), name)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32))
def test_an_e_step_is_the_mean_over_all_users_with_these_clicks(name, seed):
    log = random_log(seed, most_clicks=1 if name == "CM" else 99)
    parameters = random_parameters(name, log, seed)
    heads, tosses, total = e_step(name, parameters, log)
    expected = problem_of(name, log).expect(parameters)
    assert expected.log_likelihood == pytest.approx(total, rel=1e-12)
    for key in parameters:
        np.testing.assert_allclose(expected.heads[key], heads[key], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(expected.tosses[key], tosses[key], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_of_clicks_are_those_of_all_users(name):
    log = all_clicks(random_log(3, groups=3, positions=4, items=4))
    parameters = random_parameters(name, log, 4)
    fitted, walks = fitted_with(name, parameters), walked(log)
    before, above = clicks_before(fitted, log.item), clicks_above(fitted, walks, slice(None))
    for g, items in enumerate(log.item.tolist()):
        items = [item for item in items if item >= 0]
        clicks = tuple(log.clicked()[g, : len(items)].tolist())
        made = [(chance, seen) for chance, seen, _ in users(name, parameters, items)]
        for k in range(len(items)):
            assert before[g, k] == pytest.approx(sum(chance for chance, seen in made if seen[k]), abs=1e-12)
            those = [(chance, seen[k]) for chance, seen in made if seen[:k] == clicks[:k]]
            whole = sum(chance for chance, _ in those)
            if whole > 0.0:
                assert above[g, k] == pytest.approx(sum(c for c, seen in those if seen) / whole, abs=1e-12)
        assert not above[g, len(items) :].any()


@pytest.mark.parametrize("name", NAMES)
def test_the_click_vectors_of_a_list_have_probabilities_that_sum_to_one(name):
    log = all_clicks(random_log(5, groups=1, positions=4, items=4))
    parameters = random_parameters(name, log, 6)
    problem = {"CM": "DCM"}.get(name, name)
    if name == "CM":
        parameters["termination"] = np.ones(log.num_positions)
    ones = [log._replace(query=log.query[[g]], item=log.item[[g]], clicks=log.clicks[[g]], repeats=log.repeats[[g]])
            for g in range(len(log.item))]  # fmt: skip
    with np.errstate(divide="ignore"):
        chances = [math.exp(problem_of(problem, one).expect(parameters).log_likelihood) for one in ones]
    assert sum(chances) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_score_is_the_derivative_of_the_log_likelihood(name):
    log = random_log(7)
    problem, parameters = problem_of(name, log), random_parameters(name, log, 8)
    expected = problem.expect(parameters)
    score = vector(cells.scores(parameters, expected, everything_free(parameters)))
    at, step = vector(parameters), 1e-6
    for j in range(len(at)):
        up, down = at.copy(), at.copy()
        up[j] += step
        down[j] -= step
        rise = problem.expect(put(parameters, up)).log_likelihood - problem.expect(put(parameters, down)).log_likelihood
        assert score[j] == pytest.approx(rise / (2 * step), rel=1e-5, abs=1e-5)


def by_differences(problem, parameters, prior):
    """Standard errors and the Newton step, by differences of the score."""
    free = everything_free(parameters)

    def score(numbers):
        tables = put(parameters, numbers)
        return vector(cells.scores(tables, prior.heads(problem.expect(tables), free), free))

    at, step = vector(parameters), 1e-6
    columns = []
    for j in range(len(at)):
        up, down = at.copy(), at.copy()
        up[j] += step
        down[j] -= step
        columns.append((score(down) - score(up)) / (2 * step))
    covariance = np.linalg.inv(np.array(columns))
    return np.sqrt(np.diag(covariance)), covariance @ score(at)


def full_log(seed, queries=2):
    """Lists of full length in which every coin is tossed."""
    return random_log(seed, queries=queries, items=4, positions=4, groups=150)


@pytest.mark.parametrize("name", NAMES)
def test_standard_errors_are_those_of_the_second_derivatives(name, monkeypatch):
    log = full_log(9)
    prior = dict.fromkeys(random_parameters(name, log, 0), (2.0, 3.0))
    fitted = fit(log, name, prior=prior, fixed=UNSCALED.get(name), progress=False)
    beta = Beta(dict.fromkeys(prior, 2.0), dict.fromkeys(prior, 3.0))
    errors, _ = by_differences(problem_of(name, log), fitted.parameters, beta)
    np.testing.assert_allclose(vector(fitted.errors), errors, rtol=1e-4)
    monkeypatch.setattr(chain_problem, "MOST_ENTRIES", 70)  # a pass over the log for every block
    monkeypatch.setattr(cells, "MOST_CELLS", 40)
    again = fit(log, name, prior=prior, fixed=UNSCALED.get(name), progress=False)
    np.testing.assert_allclose(vector(again.errors), vector(fitted.errors), rtol=1e-10)
    assert again.log_likelihood == pytest.approx(fitted.log_likelihood, rel=1e-12)
    order = np.random.default_rng(0).permutation(len(log.item))  # a log that is not sorted by query
    mixed = log._replace(**{key: getattr(log, key)[order] for key in ("query", "item", "clicks", "repeats")})
    again = fit(mixed, name, prior=prior, fixed=UNSCALED.get(name), progress=False)
    np.testing.assert_allclose(vector(again.errors), vector(fitted.errors), rtol=1e-8)


UNSCALED = {
    "PBM": {"examination": np.full(4, np.nan)},
    "UBM": {"examination": np.full((4, 4), np.nan)},
}  # a prior identifies the scale


@pytest.mark.parametrize("name", NAMES)
def test_the_newton_step_away_from_the_maximum(name):
    log = full_log(10)
    parameters = random_parameters(name, log, 11)
    prior = Beta(dict.fromkeys(parameters, 30.0), dict.fromkeys(parameters, 30.0))  # strong: the curvature is definite
    problem = problem_of(name, log)
    errors, step = by_differences(problem, parameters, prior)
    free = everything_free(parameters)
    expected = prior.heads(problem.expect(parameters), free)
    found = problem.curvature(parameters, expected, free, prior.penalty(parameters))
    np.testing.assert_allclose(vector(found.errors), errors, rtol=1e-4)
    np.testing.assert_allclose(vector(found.step), step, rtol=1e-3, atol=1e-6)
    assert found.distance == pytest.approx(np.abs(step / errors).max(), rel=1e-3)


@pytest.mark.parametrize("name", CASCADES)
def test_blocks_of_many_items_are_cut(name, monkeypatch):
    """Then correlations between blocks are left out: errors change little, and those of whole blocks not at all."""
    log, prior = full_log(12), (2.0, 2.0)
    whole = fit(log, name, prior=prior, progress=False)
    monkeypatch.setattr(chain_problem, "LARGEST_BLOCK", 2)
    cut = fit(log, name, prior=prior, progress=False)
    for key in whole.errors:
        np.testing.assert_allclose(cut.parameters[key], whole.parameters[key], atol=1e-4)
        np.testing.assert_allclose(cut.errors[key], whole.errors[key], rtol=0.3)


def test_what_no_session_can_be():
    good = random_log(13)
    item = good.item.copy()
    item[2] = [1, -1, 2]
    clicks = good.clicks.copy()
    clicks[3] = 8
    repeats = good.repeats.copy()
    repeats[4] = 0
    beyond = good.item.copy()
    beyond[1, 0] = 8
    for wrong, group in (
        (good._replace(item=item), 2),
        (good._replace(clicks=clicks), 3),
        (good._replace(repeats=repeats), 4),
        (good._replace(item=beyond), 1),
    ):
        with pytest.raises(ValueError, match=f"group {group} with items"):
            walked(wrong)


def test_a_dbn_starts_from_several_points_where_items_never_move():
    item = np.array([[0, 1, 2], [3, 4, 5], [0, 1, 2]])
    clicked = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]], bool)
    still = made_log(np.array([0, 1, 0]), item, clicked, np.ones(3), 2, 3)
    moved = made_log(np.array([0, 0]), np.array([[0, 1, 2], [2, 0, 1]]), clicked[:2], np.ones(2), 1, 3)
    assert usual_restarts(walked(still), "DBN") == 4
    assert usual_restarts(walked(moved), "DBN") == 0
    assert usual_restarts(walked(still), "PBM") == 0


def test_perplexity_is_its_definition():
    log = random_log(14, groups=20)
    fitted = fit(log, "UBM", prior=(2, 2), progress=False)
    score = evaluate(fitted, log, smallest=0.0, progress=False)
    before, above = clicks_before(fitted, log.item), clicks_above(fitted, walked(log), slice(None))
    for probability, found in (
        (before, score.perplexity_by_position),
        (above, score.conditional_perplexity_by_position),
    ):
        for k in range(3):
            bits, number = 0.0, 0
            for g in range(len(log.item)):
                if log.item[g, k] >= 0:
                    p = probability[g, k] if log.clicked()[g, k] else 1.0 - probability[g, k]
                    bits -= int(log.repeats[g]) * math.log2(p)
                    number += int(log.repeats[g])
            assert found[k] == pytest.approx(2.0 ** (bits / number))
    assert score.perplexity == pytest.approx(score.perplexity_by_position.mean())
    assert score.log_likelihood * log.num_sessions == pytest.approx(fitted.log_likelihood)
