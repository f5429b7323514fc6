"""Cascade users of graded documents: the table, sessions beside plain Python, and the exact law of their clicks."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.data.letor import LetorData
from rankgym.kernels import ENVIRONMENT, TERMINATION, bits, row_keys, session_seed, uniform
from rankgym.models import dcm, users
from rankgym.models.users import GRADES, USERS, User, click_vectors, num_grades, user

EVERYBODY = [(name, grades) for name, by_grades in USERS.items() for grades in by_grades]


def naive_session(reader, key, session, documents, grade_of):
    """One session in plain Python, with the kernel's coins."""
    seed = np.uint64(session_seed(key, session))

    def coin(number, probability):
        return float(uniform(np.uint64(bits(seed, number)))) < probability

    clicks = [0] * len(documents)
    for k, document in enumerate(documents):
        if document < 0:
            continue
        grade = grade_of[document]
        if coin(document, reader.clicking[grade]):
            clicks[k] = 1
            if coin(TERMINATION + k, reader.stopping[grade]):
                break
    return clicks


def naive_law(reader, grades):
    """{clicks: probability} by following every user."""
    law = {}

    def go(k, clicks, probability):
        if k == len(grades):
            law[clicks] = law.get(clicks, 0.0) + probability
            return
        p = reader.clicking[grades[k]] if grades[k] >= 0 else 0.0
        stop = reader.stopping[grades[k]] if grades[k] >= 0 else 0.0
        ended = clicks + (1,) + (0,) * (len(grades) - k - 1)
        law[ended] = law.get(ended, 0.0) + probability * p * stop
        go(k + 1, (*clicks, 1), probability * p * (1 - stop))
        go(k + 1, (*clicks, 0), probability * (1 - p))

    go(0, (), 1.0)
    return law


TABLE_II = ("perfect", "navigational", "informational")


def test_the_table_is_that_of_the_paper():
    """Hofmann et al. (2013), table II."""
    assert [list(u.clicking) for u in (user(n, 2) for n in TABLE_II)] == [[0, 1], [0.05, 0.95], [0.4, 0.9]]
    assert [list(u.stopping) for u in (user(n, 2) for n in TABLE_II)] == [[0, 0], [0.2, 0.9], [0.1, 0.5]]
    five = [user(name, 5) for name in TABLE_II]
    assert [list(u.clicking) for u in five] == [
        [0, 0.2, 0.4, 0.8, 1],
        [0.05, 0.3, 0.5, 0.7, 0.95],
        [0.4, 0.6, 0.7, 0.8, 0.9],
    ]
    assert [list(u.stopping) for u in five] == [[0] * 5, [0.2, 0.3, 0.5, 0.7, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5]]


def test_users_of_three_grades_and_almost_random_ones_are_those_of_published_code():
    """``utils/clicks.py`` of HarrieO/OnlineLearningToRank ("short" models; "almost_random" of all three kinds)."""
    assert [list(user(name, 3).clicking) for name in TABLE_II] == [[0, 0.5, 1], [0.05, 0.5, 0.95], [0.4, 0.7, 0.9]]
    assert [list(user(name, 3).stopping) for name in TABLE_II] == [[0, 0, 0], [0.2, 0.5, 0.9], [0.1, 0.3, 0.5]]
    clicking = {2: [0.4, 0.6], 3: [0.4, 0.5, 0.6], 5: [0.4, 0.45, 0.5, 0.55, 0.6]}
    for grades, expected in clicking.items():
        assert list(user("almost-random", grades).clicking) == expected
        assert list(user("almost-random", grades).stopping) == [0.5] * grades


def test_what_users_have_in_common():
    """Each has 2, 3 and 5 grades; more relevance, more clicks; worst and best grade are the same for all numbers."""
    for name, by_grades in USERS.items():
        assert tuple(by_grades) == GRADES == (2, 3, 5), name
        for grades, (clicking, stopping) in by_grades.items():
            assert len(clicking) == len(stopping) == grades
            assert (np.diff(clicking) > 0).all()
            assert (np.diff(stopping) >= 0).all()
            assert [clicking[0], clicking[-1]] == [by_grades[2].clicking[0], by_grades[2].clicking[1]]
            assert [stopping[0], stopping[-1]] == [by_grades[2].stopping[0], by_grades[2].stopping[1]]


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "grades"), EVERYBODY)
def test_sessions_are_those_of_plain_python(name, grades):
    """Rows of other queries, with fewer documents than positions in some."""
    rng = np.random.default_rng(grades)
    rows, positions, documents = 60, 6, 9
    labels = rng.integers(0, grades, (rows, documents)).astype(np.int8)
    first = rng.permutation(rows) * documents
    displayed = np.argsort(rng.random((rows, documents)), axis=1)[:, :positions]
    displayed[::5, 4:] = -1
    key, session = row_keys(range(rows), ENVIRONMENT), rng.integers(0, 1000, rows)
    clicks, reward = np.empty((rows, positions), np.int8), np.empty(rows)
    reader = user(name, grades)
    users.click(*reader, labels.ravel(), first, key, session, displayed, clicks, reward)
    for row in range(rows):
        mine = labels.ravel()[first[row] : first[row] + documents]
        expected = naive_session(reader, key[row], session[row], displayed[row].tolist(), mine)
        assert clicks[row].tolist() == expected
        assert reward[row] == sum(expected)


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "grades"), EVERYBODY)
def test_the_law_of_clicks_is_that_of_all_users(name, grades):
    rng = np.random.default_rng(grades)
    lists = rng.integers(-1, grades, (8, 4))
    law = click_vectors(user(name, grades), lists)
    assert law.sum(axis=1) == pytest.approx(np.ones(8))
    for row in range(8):
        expected = naive_law(user(name, grades), lists[row].tolist())
        for clicks in itertools.product([0, 1], repeat=4):
            number = sum(1 << k for k, c in enumerate(clicks) if c)
            assert law[row, number] == pytest.approx(expected.get(clicks, 0.0), abs=1e-15)


@pytest.mark.parametrize(("name", "grades"), EVERYBODY)
def test_simulated_clicks_have_the_exact_law(name, grades):
    """100,000 sessions; each of the 32 frequencies within 6 standard errors: error below 1e-6 in all."""
    sessions, positions = 100_000, 5
    labels = np.resize(np.arange(grades)[::-1], positions).astype(np.int8)
    key = row_keys([grades], ENVIRONMENT).repeat(sessions)
    displayed = np.tile(np.arange(positions), (sessions, 1))
    clicks, reward = np.empty((sessions, positions), np.int8), np.empty(sessions)
    first = np.zeros(sessions, np.int64)
    users.click(*user(name, grades), labels, first, key, np.arange(sessions), displayed, clicks, reward)
    found = np.bincount(clicks.astype(np.int64) @ (1 << np.arange(positions)), minlength=32) / sessions
    (law,) = click_vectors(user(name, grades), labels[None].astype(np.int64))
    assert (np.abs(found - law) <= 6 * np.sqrt(law * (1 - law) / sessions) + 6e-5 * (law < 1e-3) * (law > 0)).all()


def test_one_grade_a_document_is_a_dependent_click_model():
    """With P(stop) the same for all grades, it is the DCM of that termination at all positions: the same clicks."""
    rng = np.random.default_rng(0)
    rows, items = 500, 5
    labels = rng.integers(0, 5, items).astype(np.int8)
    reader = User(user("navigational", 5).clicking, np.full(5, 0.6))
    key, session = row_keys(range(rows), ENVIRONMENT), np.zeros(rows, np.int64)
    displayed = np.argsort(rng.random((rows, items)), axis=1)
    mine, theirs = np.empty((2, rows, items), np.int8)
    paid, counted = np.empty((2, rows))
    users.click(*reader, labels, np.zeros(rows, np.int64), key, session, displayed, mine, paid)
    attraction = np.tile(reader.clicking[labels], (rows, 1))
    termination = np.full((rows, items), 0.6)
    dcm.MODEL.rewards["clicks"].click(attraction, termination, key, session, displayed, items, theirs, counted)
    assert (mine == theirs).all()
    assert (paid == counted).all()


def test_a_perfect_user_clicks_what_is_relevant():
    (law,) = click_vectors(user("perfect", 2), [[1, 0, -1, 1]])
    assert law[0b1001] == 1


def test_who_looks_for_one_document_mostly_stops_there():
    """Navigational, relevant on top: P(no second click) by hand, with one irrelevant document below."""
    (law,) = click_vectors(user("navigational", 2), [[1, 0]])
    assert law[0b01] == pytest.approx(0.95 * (0.9 + 0.1 * 0.95))
    assert law[0b11] == pytest.approx(0.95 * 0.1 * 0.05)
    assert math.isclose(law[0b00], 0.05 * 0.95)


@settings(deadline=None)
@given(
    st.one_of(
        st.lists(st.lists(st.integers(-2, 5), min_size=1, max_size=3), max_size=2),
        st.lists(st.floats(), max_size=2),
        st.none(),
        st.text(max_size=2),
    ),
    st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=3),
)
def test_click_vectors_gives_a_law_or_a_value_error(grades, clicking):
    reader = User(np.array(clicking), np.full(len(clicking), 0.5))
    try:
        law = click_vectors(reader, grades)
    except ValueError as error:
        if "allowed" not in str(error):
            raise
        return
    assert law.shape == (len(grades), 1 << len(grades[0]))
    assert law.sum(axis=1) == pytest.approx(np.ones(len(grades)))
    assert all(-1 <= g < len(clicking) for row in grades for g in row)


def test_who_there_is():
    with pytest.raises(ValueError, match="user_model = 'nobody' is unknown; allowed: 'perfect'"):
        user("nobody", 2)
    for grades in (4, 1, True, 2.0, "2", None):
        with pytest.raises(ValueError, match="has no user; allowed: 2"):
            user("perfect", grades)
    with pytest.raises(ValueError, match="stopping has shape"):
        click_vectors(User(np.ones(2), np.ones(3)), [[0]])
    with pytest.raises(ValueError, match=r"1 \.\. 20 positions"):
        click_vectors(user("perfect", 2), [[0] * 21])


# -- the grades of a file ---------------------------------------------------------------------------------------------


def labelled(*queries):
    """Documents with these labels, a list for each query."""
    labels = np.concatenate(queries).astype(np.int8)
    start = np.cumsum([0, *map(len, queries)])
    names = np.array([f"q{number}" for number in range(len(queries))])
    return LetorData(np.zeros((len(labels), 1), np.float32), labels, start, names)


def test_the_largest_label_decides():
    """At most 1: two grades; 2: three; 3 and 4: five. A given number of grades holds for fewer labels, too."""
    for highest, grades in ((0, 2), (1, 2), (2, 3), (3, 5), (4, 5)):
        data = labelled([0], [0, highest, 0])
        assert num_grades(data, None, "f") == grades
        for given_grades in (number for number in GRADES if number >= grades):
            assert num_grades(data, given_grades, "f") == given_grades
            assert num_grades(data, np.int64(given_grades), "f") == given_grades


def test_labels_that_users_do_not_know():
    """The first document whose label is beyond is named."""
    allowed = "2 (labels 0, 1), 3 (labels 0 .. 2) or 5 (labels 0 .. 4)"
    second, third = (f"in query q1, document {number} (from 0)" for number in (1, 2))
    data = labelled([0, 1], [0, 2, 7, 9])
    for grades, message in (
        (None, f"f.txt has a label 7, {third}; allowed: 0 .. 4, since users know grades = {allowed}"),
        (2, f"grades = 2, but f.txt has a label 2, {second}; allowed: 0 .. 1, or other grades: {allowed}"),
        (3, f"grades = 3, but f.txt has a label 7, {third}; allowed: 0 .. 2, or other grades: {allowed}"),
        (4, f"grades = 4 has no user; allowed: {allowed}"),
        (True, f"grades = True has no user; allowed: {allowed}"),
        ("3", f"grades = '3' has no user; allowed: {allowed}"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            num_grades(data, grades, Path("f.txt"))
