"""Fits of click models: closed forms, reductions, conventions, recovery, and what the door refuses."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.logs.fitting import evaluate, fit, showing
from rankgym.logs.fitting.fit import PROBLEMS, walked
from tests.logs.small_logs import NAMES, made_log, random_log, random_parameters, simulated_log


def quietly(log, name, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a small log may need many steps
        return fit(log, name, progress=False, **keywords)


def log_likelihood(name, log, **values):
    return PROBLEMS[name](walked(log), name).expect({k: np.asarray(v, float) for k, v in values.items()}).log_likelihood


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), a=st.sampled_from([1.0, 1.5, 4.0]), b=st.sampled_from([1.0, 2.0]))
def test_the_likelihood_never_falls(name, seed, a, b):
    log = random_log(seed, groups=12)
    fitted = quietly(log, name, prior=(a, b), max_steps=60)
    assert (np.diff(fitted.trace) >= -1e-11 * (1 + abs(fitted.trace[-1]))).all()
    for table in fitted.parameters.values():
        assert ((table >= 0) & (table <= 1)).all()
    if (a, b) == (1.0, 1.0):
        assert fitted.log_likelihood == pytest.approx(fitted.trace[-1], rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_point_nearby_is_higher(name):
    """The estimates are a maximum, at 0 and 1 as well; so are those with a prior that keeps off 0 and 1."""
    log = random_log(1, groups=40)
    fitted = quietly(log, name)
    generator = np.random.default_rng(2)
    for _ in range(60):
        moved = {
            key: np.clip(table + generator.normal(0, 10.0 ** generator.uniform(-4, -1), table.shape), 0, 1)
            for key, table in fitted.parameters.items()
        }
        if "examination" in moved:  # the scale
            moved["examination"][(0, -1)[: moved["examination"].ndim]] = 1.0
        assert log_likelihood(name, log, **moved) <= fitted.log_likelihood + 1e-6


def test_the_cascade_model_counts_down_to_the_first_click():
    log = made_log(
        np.zeros(3),
        np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]]),
        np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]]),
        [3, 2, 5],
        1,
        3,
    )
    fitted = fit(log, "CM", progress=False)
    np.testing.assert_allclose(fitted.parameters["attraction"], [0 / 8, 5 / 10, 0 / 5])
    assert fitted.ignored_clicks == 3
    assert "3 clicks ignored" in repr(fitted)
    assert fitted.log_likelihood == pytest.approx(10 * np.log(0.5))
    np.testing.assert_allclose(fitted.errors["attraction"], [np.nan, np.sqrt(0.25 / 10), np.nan])
    low, high = fitted.interval("attraction")
    half = 1.959963984540054 * np.sqrt(0.25 / 10) / 0.25
    assert (low[1], high[1]) == pytest.approx((1 / (1 + np.exp(half)), 1 / (1 + np.exp(-half))))
    assert np.isnan(low[0])


def test_the_document_based_model_counts_everywhere():
    log = random_log(3)
    fitted = fit(log, "DBM", progress=False)
    shown, clicked = np.zeros(8), np.zeros(8)
    for items, clicks, repeats in zip(log.item, log.clicked(), log.repeats, strict=True):
        for item, click in zip(items, clicks, strict=True):
            if item >= 0:
                shown[item] += repeats
                clicked[item] += repeats * click
    np.testing.assert_allclose(fitted.parameters["attraction"], clicked / shown)
    prior = fit(log, "DBM", prior={"attraction": (2, 3)}, progress=False)
    np.testing.assert_allclose(prior.parameters["attraction"], (clicked + 1) / (shown + 3))


def test_a_list_that_never_moves_tells_products_only():
    """Every position has its own share of clicks, whatever attraction and examination are."""
    clicked = np.random.default_rng(4).random((50, 3)) < [0.6, 0.4, 0.2]
    log = made_log(np.zeros(50), np.tile([0, 1, 2], (50, 1)), clicked, np.ones(50), 1, 3)
    fitted, share = quietly(log, "PBM"), clicked.mean(axis=0)
    products = fitted.parameters["attraction"] * fitted.parameters["examination"]
    np.testing.assert_allclose(products, share, rtol=1e-5)
    entropy = share * np.log(share) + (1 - share) * np.log(1 - share)
    assert fitted.log_likelihood == pytest.approx(50 * entropy.sum(), rel=1e-9)
    assert fitted.parameters["examination"][0] == 1.0
    assert np.isnan(fitted.errors["examination"][1:]).all()


def test_users_who_are_always_satisfied_are_a_cascade():
    log = random_log(5, most_clicks=1)
    attraction = random_parameters("CM", log, 6)["attraction"]
    cascade = log_likelihood("CM", log, attraction=attraction)
    assert log_likelihood("DBN", log, attraction=attraction, satisfaction=np.ones(8), abandonment=0) == pytest.approx(
        cascade
    )
    assert log_likelihood("DCM", log, attraction=attraction, termination=np.ones(3)) == pytest.approx(cascade)
    numbers = {"continue_noclick": 1, "continue_click_irrelevant": 0, "continue_click_relevant": 0}
    assert log_likelihood("CCM", log, attraction=attraction, **numbers) == pytest.approx(cascade)
    fitted = fit(log, "CM", progress=False)
    same = quietly(log, "DBN", fixed={"satisfaction": 1.0, "abandonment": 0.0})
    np.testing.assert_allclose(same.parameters["attraction"], fitted.parameters["attraction"], atol=1e-6)
    np.testing.assert_allclose(same.errors["attraction"], fitted.errors["attraction"], rtol=1e-5)


def test_users_who_never_leave_examine_all():
    log = random_log(7)
    attraction = random_parameters("DBM", log, 8)["attraction"]
    every = log_likelihood("DBM", log, attraction=attraction)
    assert log_likelihood("DCM", log, attraction=attraction, termination=np.zeros(3)) == pytest.approx(every)
    assert log_likelihood("PBM", log, attraction=attraction, examination=np.ones(3)) == pytest.approx(every)
    numbers = {"continue_noclick": 1, "continue_click_irrelevant": 1, "continue_click_relevant": 1}
    assert log_likelihood("CCM", log, attraction=attraction, **numbers) == pytest.approx(every)


def test_a_ubm_of_equal_columns_is_a_pbm():
    log = random_log(9)
    p = random_parameters("PBM", log, 10)
    table = np.tile(p["examination"][:, None], (1, 3))
    assert log_likelihood("UBM", log, attraction=p["attraction"], examination=table) == pytest.approx(
        log_likelihood("PBM", log, **p)
    )


def test_one_satisfaction_for_all_is_a_dcm_and_a_ccm_that_does_not_care():
    log = random_log(11)
    attraction = random_parameters("DBM", log, 12)["attraction"]
    dcm = log_likelihood("DCM", log, attraction=attraction, termination=np.full(3, 0.3))
    assert log_likelihood(
        "DBN", log, attraction=attraction, satisfaction=np.full(8, 0.3), abandonment=0
    ) == pytest.approx(dcm)
    numbers = {"continue_noclick": 1, "continue_click_irrelevant": 0.7, "continue_click_relevant": 0.7}
    assert log_likelihood("CCM", log, attraction=attraction, **numbers) == pytest.approx(dcm)


def test_a_model_is_no_worse_than_one_that_it_contains():
    log = random_log(13, groups=60)
    height = {name: quietly(log, name).log_likelihood for name in NAMES}
    assert height["UBM"] >= height["PBM"] >= height["DBM"]
    assert min(height["DCM"], height["CCM"]) >= height["DBM"]
    simplified = quietly(log, "DBN", fixed={"abandonment": 0.0})
    assert height["DBN"] >= simplified.log_likelihood - 1e-6
    assert simplified.parameters["abandonment"] == 0.0
    assert np.isnan(simplified.errors["abandonment"])


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_recovered(name):
    """20,000 sessions, at most 51 parameters: a normal variate beyond 6 has probability 2e-9, of any 1e-7."""
    shape = random_log(0, queries=3, items=6, positions=5)
    true = random_parameters(name, shape, 14)
    true = {key: 0.15 + 0.7 * table for key, table in true.items()}
    if "examination" in true:
        true["examination"][(0, -1)[: true["examination"].ndim]] = 1.0
    log = simulated_log(name, true, 20_000, 15)
    fitted = fit(log, name, progress=False)
    assert fitted.converged
    assert fitted.distance < 0.02
    for key, table in true.items():
        z = (fitted.parameters[key] - table) / fitted.errors[key]
        assert np.nanmax(np.abs(z)) < 6.0
    unused = np.isnan(fitted.errors.get("examination", np.zeros((5, 5))))
    if name == "UBM":  # of the table's 25 entries users come to 15, and the first is known
        assert unused.sum() == 11
        assert (fitted.parameters["examination"][1, 1:4] == 0).all()
    if name == "DCM":  # nothing is displayed below the last position
        assert fitted.parameters["termination"][-1] == 1.0
        assert np.isnan(fitted.errors["termination"]).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("name", ["PBM", "UBM"])
def test_another_position_may_be_examined_most(name):
    shape = random_log(0, queries=3, items=6, positions=5)
    true = random_parameters(name, shape, 16)
    true["examination"] = np.full(true["examination"].shape, 0.5)
    true["examination"][2] = 1.0
    log = simulated_log(name, true, 20_000, 17)
    fitted = quietly(log, name)
    table = fitted.parameters["examination"]
    assert table.max() == 1.0
    first = (0, -1)[: table.ndim]
    assert abs(table[first] - 0.5) < 6 * fitted.errors["examination"][first]
    known = np.full(table.shape, np.nan)
    free = quietly(log, name, fixed={"examination": known}, max_steps=3_000)
    assert fitted.log_likelihood == pytest.approx(free.log_likelihood, abs=0.1)
    known[first] = 1.0
    assert quietly(log, name, fixed={"examination": known}).log_likelihood < fitted.log_likelihood - 10


def test_what_was_never_displayed_has_the_mean_and_no_error():
    log = made_log(np.zeros(2), np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, 0]]), [6, 2], 1, 4)
    for name in NAMES:
        fitted = quietly(log, name)
        attraction, error = fitted.parameters["attraction"], fitted.errors["attraction"]
        assert attraction[2] == attraction[3]
        assert 0.0 < attraction[2] < 1.0
        assert np.isnan(error[2:]).all()
    dbn = quietly(log, "DBN")
    assert dbn.parameters["satisfaction"][1] == dbn.parameters["satisfaction"][0]  # item 1 was never clicked


def test_starting_points_by_chance_come_to_the_same_maximum():
    shape = random_log(0, queries=3, items=6, positions=5)
    log = simulated_log("CCM", random_parameters("CCM", shape, 18), 3_000, 19)
    fitted = quietly(log, "CCM", restarts=3, seed=1)
    assert fitted.starts.shape == (4,)
    np.testing.assert_allclose(fitted.starts, fitted.starts[0], rtol=1e-9)
    again = quietly(log, "CCM", restarts=3, seed=1)
    assert np.array_equal(fitted.parameters["attraction"], again.parameters["attraction"])


def test_known_entries_stay():
    log = random_log(20, groups=60)
    known = np.array([0.9, np.nan, 0.4])
    fitted = quietly(log, "PBM", fixed={"examination": known})
    assert fitted.parameters["examination"][[0, 2]].tolist() == [0.9, 0.4]
    assert np.isnan(fitted.errors["examination"]).tolist()[::2] == [True, True]


def test_too_few_steps_are_warned_of():
    log = random_log(21, groups=60)
    with pytest.warns(UserWarning, match="UBM did not converge in max_steps = 2 steps"):
        fitted = fit(log, "UBM", max_steps=2, progress=False)
    assert not fitted.converged
    assert "NOT converged" in repr(fitted)


def test_steps_are_shown(monkeypatch, capsys):
    monkeypatch.setattr(showing, "PATIENCE", 0.0)
    fit(random_log(22, groups=60), "DCM", restarts=1)
    assert "DCM, start 2 of 2: step" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"model": "PMB"}, "model = 'PMB' is unknown; .*did you mean 'PBM'"),
        ({"prior": (0.5, 1)}, r"prior = \(0.5, 1\) is not a Beta prior; allowed: \(a, b\), both 1 or more"),
        ({"prior": {"atraction": (2, 2)}}, "prior has 'atraction'; did you mean 'attraction'"),
        ({"fixed": {"examination": [1.0]}}, r"fixed\['examination'\] has shape \(1,\); allowed: .* \(3,\)"),
        ({"fixed": {"examination": 1.5}}, r"fixed\['examination'\] = 1.5 is out of range"),
        ({"fixed": {"abandonment": 0.0}}, "fixed has 'abandonment'.* allowed: attraction, examination"),
        ({"fixed": 3}, "fixed = 3 is not a dict"),
        ({"tolerance": -1}, "tolerance = -1 is out of range"),
        ({"max_steps": 1}, "max_steps = 1 is out of range"),
        ({"restarts": -1}, "restarts = -1 is out of range"),
        ({"seed": -1}, "seed = -1 is out of range"),
    ],
)
def test_the_door_says_what_is_allowed(keywords, said):
    with pytest.raises(ValueError, match=said):
        fit(random_log(23), **{"model": "PBM"} | keywords)


def test_sessions_must_be_sessions():
    with pytest.raises(ValueError, match="sessions is a list"):
        fit([], "PBM")
    log = random_log(24)
    none = log._replace(query=log.query[:0], item=log.item[:0], clicks=log.clicks[:0], repeats=log.repeats[:0])
    with pytest.raises(ValueError, match="at least one group"):
        fit(none, "PBM")
    with pytest.raises(TypeError, match="did you mean 'prior'"):
        fit(log, "PBM", prio=(1, 1))


def test_evaluation_needs_the_same_items_and_no_more_positions():
    log, longer = random_log(25), random_log(25, items=5)
    fitted = quietly(log, "DCM")
    with pytest.raises(ValueError, match=r"sessions has 10 items; allowed: the 8 of"):
        evaluate(fitted, longer)
    more = log._replace(item=np.pad(log.item, ((0, 0), (0, 1)), constant_values=-1))
    with pytest.raises(ValueError, match=r"sessions has 4 positions; allowed: at most the 3"):
        evaluate(fitted, more)
    shorter = log._replace(item=log.item[:, :2], clicks=log.clicks & np.uint64(3))
    for name in NAMES:
        score = evaluate(quietly(log, name), shorter, progress=False)
        assert score.perplexity_by_position.shape == (2,)
    with pytest.raises(ValueError, match=r"smallest = 0.5 is out of range"):
        evaluate(fitted, log, smallest=0.5)
    with pytest.raises(ValueError, match="parameter = 'attracton' is unknown"):
        fitted.interval("attracton")


def test_a_click_that_the_model_excludes_is_counted_and_held_off_zero():
    log = made_log(np.zeros(2), np.array([[0, 1], [0, 1]]), np.array([[1, 1], [0, 1]]), [2, 2], 1, 2)
    fitted = quietly(log, "CM")
    score = evaluate(fitted, log, progress=False)
    assert score.impossible_clicks == 2
    assert "2 impossible clicks" in repr(score)
    assert np.isfinite(score.log_likelihood)
    assert evaluate(fitted, log, smallest=0.0, progress=False).log_likelihood == -np.inf
