"""Preference matrices: named ones, what is counted in them, random families, and files that the user brings."""

import functools
import hashlib
import http.server
import io
import itertools
import math
import pickle
import shutil
import threading
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankgym import data
from rankgym.data import catalogue, matrix_files, preferences
from rankgym.data.preferences import (
    FAMILIES,
    borda_scores,
    check_preference,
    condorcet_winner,
    copeland_scores,
    cyclic_triples,
    draw,
    load,
)

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_np2004 = pytest.mark.skipif(
    not (SHARED / "np2004_preferences_64.npy").exists(), reason="np2004_preferences_64.npy is not among the shared data"
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(folder))
    return folder


def valid(matrix):
    """A preference matrix, to the last bit."""
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    assert matrix.flags.writeable
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert (np.diagonal(matrix) == 0.5).all()
    assert (matrix + matrix.T == 1.0).all()
    return matrix


def random_matrix(arms, seed, levels=None):
    """Uniform entries; with few ``levels`` there are ties."""
    rng = np.random.default_rng(seed)
    p = np.full((arms, arms), 0.5)
    for i, j in itertools.combinations(range(arms), 2):
        p[i, j] = rng.random() if levels is None else rng.integers(levels + 1) / levels
        p[j, i] = 1.0 - p[i, j]
    return p


# -- what is counted, beside plain Python -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6), st.sampled_from([None, 2, 4]))
def test_counts_are_what_a_loop_counts(arms, seed, levels):
    p = random_matrix(arms, seed, levels)
    beats = [[p[i, j] > 0.5 for j in range(arms)] for i in range(arms)]
    wins = [sum(row) for row in beats]
    assert copeland_scores(p).tolist() == wins
    assert condorcet_winner(p) == (wins.index(arms - 1) if arms - 1 in wins else -1)
    means = [sum(p[i, j] for j in range(arms) if j != i) / (arms - 1) for i in range(arms)]
    np.testing.assert_allclose(borda_scores(p), means, rtol=1e-12, atol=1e-12)
    circles = sum(
        (beats[i][j] and beats[j][k] and beats[k][i]) or (beats[j][i] and beats[k][j] and beats[i][k])
        for i, j, k in itertools.combinations(range(arms), 3)
    )
    assert cyclic_triples(p) == circles


def test_a_tie_is_no_win():
    assert condorcet_winner(np.full((3, 3), 0.5)) == -1
    p = np.array([[0.5, 0.5, 0.9], [0.5, 0.5, 0.9], [0.1, 0.1, 0.5]])
    assert condorcet_winner(p) == -1
    assert copeland_scores(p).tolist() == [1, 1, 0]
    assert copeland_scores(p).dtype == np.int64


def test_a_tournament_without_ties_has_as_many_circles_as_kendall_and_smith_say():
    """Kendall and Babington Smith (1940): C(K, 3) - sum over arms of C(wins, 2)."""
    for seed in range(5):
        p = random_matrix(30, seed)
        assert cyclic_triples(p) == math.comb(30, 3) - sum(math.comb(int(w), 2) for w in copeland_scores(p))


# -- the check at the door --------------------------------------------------------------------------------------------


def changed(i, j, value, base=None):
    p = load("arxiv") if base is None else base
    p[i, j] = value
    return p


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        (np.full((2, 3), 0.5), r"P has shape \(2, 3\); allowed: \(K, K\), K >= 2"),
        (np.full((2, 2, 2), 0.5), r"P has shape \(2, 2, 2\)"),
        ([[0.5]], r"P has shape \(1, 1\)"),
        ([], r"P has shape \(0,\)"),
        (0.5, r"P has shape \(\)"),
        ([[0.5, 0.5], [0.5]], "P is not a matrix: its rows differ in length"),
        ([["a", "b"], ["c", "d"]], "P has dtype <U1; allowed: real numbers"),
        ([[0.5, None], [0.5, 0.5]], "P has dtype object"),
        (np.full((2, 2), 0.5 + 0j), "P has dtype complex128"),
        (changed(2, 4, np.nan), r"P\[2, 4\] = nan is not a probability; allowed range \[0, 1\]"),
        (changed(2, 4, np.inf), r"P\[2, 4\] = inf is not a probability"),
        (changed(0, 5, 1.01), r"P\[0, 5\] = 1.01 is not a probability"),
        (changed(5, 0, -1e-9), r"P\[5, 0\] = -1e-09 is not a probability"),
        (changed(3, 3, 0.4), r"P\[3, 3\] = 0.4 is an arm against itself; allowed: 0.5"),
        (changed(1, 0, 0.4), r"P\[0, 1\] = 0.55 and its opposite \[1, 0\] = 0.4 add up to 0.95; allowed: 1"),
        (changed(1, 0, 0.45 + 1e-8), r"P\[0, 1\] = 0.55 and its opposite"),
    ],
)
def test_a_wrong_matrix_is_refused_by_its_first_wrong_entry(matrix, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        check_preference("P", matrix)
    assert "\n" not in str(caught.value)


def test_a_right_matrix_comes_back_as_a_copy_that_is_right_to_the_last_bit():
    given_ = [[0.5, 0.3 + 1e-10], [0.7, 0.5 - 1e-10]]
    found = valid(check_preference("P", given_))
    assert found[0, 1] == pytest.approx(0.3 + 0.5e-10, abs=1e-15)
    p = load("cyclic")
    again = check_preference("P", p)
    assert again is not p
    np.testing.assert_array_equal(again, p)
    valid(check_preference("P", np.asfortranarray(p.astype(np.float32)), tolerance=1e-6))
    valid(check_preference("P", np.array([[0.5, 1], [0, 0.5]])))


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10**6), st.floats(-1e-9, 1e-9))
def test_what_is_nearly_right_becomes_right_and_stays(arms, seed, error):
    p = random_matrix(arms, seed)
    p[0, 1] = min(1.0, max(0.0, p[0, 1] + 0.4 * error))
    found = valid(check_preference("P", p))
    np.testing.assert_allclose(found, p, atol=1e-9)
    np.testing.assert_array_equal(check_preference("P", found), found)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(), st.integers(-1, 2), st.none(), st.text(max_size=2)), max_size=4), max_size=4
    )
)
def test_anything_is_refused_on_one_line_or_valid(matrix):
    try:
        valid(check_preference("P", matrix))
    except ValueError as error:
        assert str(error).startswith("P")  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017


# -- matrices by name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "arms", "circles"), [("arxiv", 6, 0), ("cyclic", 4, 1), ("arithmetic", 8, 0)])
def test_the_typed_in_matrices(name, arms, circles):
    p = valid(load(name))
    assert p.shape == (arms, arms)
    assert condorcet_winner(p) == 0
    assert cyclic_triples(p) == circles
    file = SHARED / f"pref_{name}.txt"
    if file.exists():
        np.testing.assert_array_equal(p, np.loadtxt(file))
        data.import_matrix("copy", file)
        np.testing.assert_array_equal(load("copy"), p)


def test_arithmetic_is_arithmetic_and_the_condorcet_winner_of_cyclic_is_not_the_borda_winners():
    i, j = np.indices((8, 8))
    np.testing.assert_allclose(load("arithmetic"), 0.5 + 0.05 * (j - i), atol=1e-12)
    assert (borda_scores(load("cyclic")) - 0.5 == pytest.approx([0.1, -0.1 / 3, -0.1 / 3, -0.1 / 3])) is True


def test_matrices_are_the_callers_own():
    for name in preferences.NAMES:
        load(name)[:] = 0.0
        valid(load(name))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "arxive"}, r"dataset = 'arxive'.*'arxiv', 'cyclic', 'arithmetic', 'mslr'"),
        ({"name": "../secret"}, "not a preference matrix"),
        ({"name": None}, "dataset = None"),
        ({"name": ["arxiv"]}, r"dataset = \['arxiv'\] is not a name"),
        ({"name": "mslr", "source": "real"}, "source = 'real'.*'calibrated', 'published'"),
        ({"name": "mslr", "user_model": "casual"}, "user_model = 'casual'.*'perfect', 'navigational', 'informational'"),
        ({"name": "arxiv", "user_model": "informational"}, "user_model = 'informational' belongs to 'mslr'"),
        ({"name": "arxiv", "uninformative": -1}, r"uninformative = -1.*0 \.\. 10000"),
        ({"name": "arxiv", "uninformative": 1.5}, "uninformative = 1.5"),
        ({"name": "arxiv", "uninformative": True}, "uninformative = True"),
    ],
)
def test_unknown_choices_are_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        load(**arguments)


@pytest.mark.parametrize("name", preferences.NAMES)
def test_uninformative_arms_tie_with_each_other_and_lose_to_all_others(name):
    """Section 7 of the mergeRUCB paper, assumption A1: p = 1/2 among them, and below it against all others."""
    p = load(name)
    arms = len(p)
    grown = valid(load(name, uninformative=3))
    assert grown.shape == (arms + 3, arms + 3)
    np.testing.assert_array_equal(grown[:arms, :arms], p)
    assert (grown[arms:, arms:] == 0.5).all()
    assert (grown[:arms, arms:] > 0.5).all()
    assert (grown[:, arms] == grown[:, arms:].T).all()  # nobody can tell them apart
    assert condorcet_winner(grown) == condorcet_winner(p)
    assert cyclic_triples(grown) == cyclic_triples(p)
    for i in range(arms):
        row = [p[i, j] for j in range(arms) if j != i]
        wins = max(row) if max(row) > 0.5 else 0.5 + min(0.5 - q for q in row if q != 0.5)
        assert grown[i, arms] == wins


def test_arms_that_tie_with_all_are_uninformative_already():
    p = preferences.with_uninformative(np.full((2, 2), 0.5), 2)
    assert (p == 0.5).all()


# -- random families --------------------------------------------------------------------------------------------------


def knobs_of(family):
    return st.fixed_dictionaries(
        {}, optional={name: st.floats(knob.low, knob.high) for name, knob in FAMILIES[family].knobs.items()}
    )


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_draw_is_a_preference_matrix_with_or_without_a_winner(data_):
    family = data_.draw(st.sampled_from(list(FAMILIES)))
    arms = data_.draw(st.integers(FAMILIES[family].least_arms, 25))
    seed, knobs = data_.draw(st.integers(0, 2**70)), data_.draw(knobs_of(family))
    p = valid(draw(family, arms, seed, **knobs))
    assert p.shape == (arms, arms)
    np.testing.assert_array_equal(p, draw(family, arms, np.uint64(seed) if seed < 2**64 else seed, **knobs))
    if family == "strong-borda-no-condorcet":
        scores = np.sort(borda_scores(p))
        assert condorcet_winner(p) == -1
        assert scores[-1] - scores[-2] > 0.05
    elif family in ("uniform", "total-order"):
        winner = condorcet_winner(p)
        assert winner >= 0
        assert np.delete(p[winner], winner).min() >= 0.5 + knobs.get("gap", 0.0) - 1e-12
    if family in ("bradley-terry", "plackett-luce", "total-order"):
        assert cyclic_triples(p) == 0


def test_draws_differ_by_seed_family_and_arms():
    for family in FAMILIES:
        one, other = draw(family, 8, 0), draw(family, 8, 1)
        assert (one != other).mean() > 0.8
        assert not np.array_equal(one, draw(family, 9, 0)[:8, :8])
    assert not np.array_equal(draw("uniform", 8, 0, gap=0.2), draw("uniform", 8, 0))


def test_winners_are_planted_anywhere():
    """200 uniform draws out of 5 arms: an arm is left out with probability 5 (4/5)^200 < 1e-18."""
    for family in ("uniform", "total-order"):
        assert {condorcet_winner(draw(family, 5, seed)) for seed in range(200)} == set(range(5))
    assert {int(borda_scores(draw("strong-borda-no-condorcet", 5, s)).argmax()) for s in range(200)} == set(range(5))


@pytest.mark.parametrize("family", ["bradley-terry", "plackett-luce"])
def test_logits_are_differences_of_utilities(family):
    p = draw(family, 12, 3)
    logit = np.log(p / (1 - p))
    utility = logit[:, 0]
    np.testing.assert_allclose(logit, utility[:, None] - utility, atol=1e-9)


def test_how_utilities_are_drawn():
    """Over 400 draws of 20 arms: BT's differences have variance 2 spread^2; PL's weights of concentration 1 are
    exponential, so that w / (w + w') is uniform. With 76,000 dependent pairs the tolerances are more than 6 standard
    errors, which are at most those of 4,000 independent pairs: error below 1e-8."""
    upper = np.triu_indices(20, 1)
    bt = np.array([draw("bradley-terry", 20, seed, spread=0.5)[upper] for seed in range(400)])
    assert (np.log(bt / (1 - bt)) ** 2).mean() == pytest.approx(0.5, abs=6 * 0.5 * math.sqrt(2 / 4000))
    pl = np.array([draw("plackett-luce", 20, seed)[upper] for seed in range(400)]).ravel()
    for level in (0.1, 0.25, 0.5, 0.9):
        assert (pl < level).mean() == pytest.approx(level, abs=6 * 0.5 / math.sqrt(4000))
    alike = np.array([draw("plackett-luce", 20, seed, concentration=1000.0)[upper] for seed in range(20)])
    assert np.abs(alike - 0.5).max() < 0.06


@pytest.mark.parametrize(
    ("arguments", "knobs", "complaint"),
    [
        (("gumbel", 5, 0), {}, "family = 'gumbel' is unknown; allowed: .*'bradley-terry'"),
        ((["uniform"], 5, 0), {}, r"family = \['uniform'\] is unknown"),
        (("uniform", 1, 0), {}, r"num_arms = 1 is out of range; allowed: a whole number in 2 \.\. 5000"),
        (("strong-borda-no-condorcet", 2, 0), {}, r"num_arms = 2 .*3 \.\. 5000"),
        (("uniform", 5.0, 0), {}, "num_arms = 5.0"),
        (("uniform", True, 0), {}, "num_arms = True"),
        (("uniform", 5, -1), {}, "seed = -1 is out of range; allowed: a whole number, at least 0"),
        (("uniform", 5, None), {}, "seed = None"),
        (("uniform", 5, 0), {"spread": 1.0}, r"spread is not a knob of the family 'uniform'; allowed: \['gap'\]"),
        (("uniform", 5, 0), {"gap": 0.5}, r"gap = 0.5 is out of range; allowed: a number in \[0, 0.49\]"),
        (("uniform", 5, 0), {"gap": math.nan}, "gap = nan"),
        (("uniform", 5, 0), {"gap": "0.1"}, "gap = '0.1'"),
    ],
)
def test_wrong_draws_are_refused(arguments, knobs, complaint):
    with pytest.raises(ValueError, match=complaint):
        draw(*arguments, **knobs)


# -- importing a file -------------------------------------------------------------------------------------------------


def put(tmp_path, content, name="matrix.txt"):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def npy(array, **kwargs):
    buffer = io.BytesIO()
    np.save(buffer, array, **kwargs)
    return buffer.getvalue()


ARXIV = load("arxiv")
GOOD = "0.5 0.6 0.7\n0.4 0.5 0.8\n0.3 0.2 0.5\n"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "# three arms\n\n0.5,0.6 , 0.7 # the winner\r\n  0.4,\t0.5,0.8\r\n\r\n0.3,0.2,0.5",
        "\ufeff.5\t.6\t.7\n4e-1 5E-1 0.8\n0.3 0.2 0.5\n# end",
        "0.5 0.6 0.7\n0.4 0.5 0.8\n0.2999999 0.2 0.5000001\n",
    ],
)
def test_a_text_file_becomes_a_matrix(tmp_path, home, text):
    kept = data.import_matrix("mine", put(tmp_path, text))
    assert kept == home / "preferences" / "mine.npz"
    assert [path.name for path in kept.parent.iterdir()] == ["mine.npz"]
    np.testing.assert_allclose(valid(load("mine")), [[0.5, 0.6, 0.7], [0.4, 0.5, 0.8], [0.3, 0.2, 0.5]], atol=1e-7)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_npy_file_becomes_a_matrix(tmp_path, dtype, order):
    p = np.array([[0.5, 0.75, 1.0], [0.25, 0.5, 0.875], [0.0, 0.125, 0.5]])
    data.import_matrix("mine", put(tmp_path, npy(np.array(p, dtype, order=order)), "m.npy"))
    np.testing.assert_array_equal(valid(load("mine")), p)


@needs_np2004
def test_the_np2004_rankers(tmp_path):
    """The matrix of 64 feature rankers: it is complementary to the last bit, and ranker 13 wins."""
    data.import_matrix("np2004", SHARED / "np2004_preferences_64.npy")
    found = valid(load("np2004"))
    np.testing.assert_array_equal(found, np.load(SHARED / "np2004_preferences_64.npy"))
    assert (found.shape, condorcet_winner(found)) == ((64, 64), 13)
    (row,) = [row for row in data.listing() if row["name"] == "np2004"]
    assert row["what"] == "preference matrix of 64 arms, Condorcet winner 13"
    assert (row["source"], row["state"][:14]) == ("imported", "in the cache: ")
    assert "np2004_preferences_64.npy, sha256 f60b72a7a8b3" in row["provenance"]


class Evil:
    def __reduce__(self):
        return (open, ("should-not-exist", "w"))


BROKEN = {
    "one opposite": (GOOD.replace("0.2", "0.3"), "line 2, column 3: the probability = 0.8 and its opposite"),
    "the place of comments": (
        "# a\n\n" + GOOD.replace("0.2", "0.3"),
        r"line 4, column 3: the probability = 0.8 and its opposite \[2, 1\] = 0.3 add up to 1.1; allowed: 1",
    ),
    "nan": (GOOD.replace("0.8", "nan"), r"line 2, column 3: the probability = nan is not a probability"),
    "infinity": (GOOD.replace("0.8", "1e999"), "line 2, column 3: the probability = inf"),
    "negative": (GOOD.replace("0.8", "-.1"), "line 2, column 3: the probability = -0.1 is not"),
    "percent": (
        GOOD.replace("0.6", "60"),
        r"line 1, column 2: the probability = 60.0 is not .* allowed range \[0, 1\]",
    ),
    "diagonal": ("1 .6\n.4 1\n", "line 1, column 1: the probability = 1.0 is an arm against itself; allowed: 0.5"),
    "a word": (GOOD.replace("0.8", "high"), "line 2, column 3: 'high' is not a number"),
    "a header": ("a,b\n0.5,0.6\n0.4,0.5\n", "line 1, column 1: 'a' is not a number"),
    "an underscore": (GOOD.replace("0.8", "0_8"), "line 2, column 3: '0_8' is not a number"),
    "other digits": (GOOD.replace("0.8", "\u0661"), r"line 2, column 3: '\\u0661' is not a number"),
    "an empty field": ("0.5,,0.6\n", "line 1, column 2: '' is not a number"),
    "a trailing comma": ("0.5,0.6,\n0.4,0.5,\n", "line 1, column 3: '' is not a number"),
    "a short line": ("0.5 0.6 0.7\n0.4 0.5\n", "line 2: the number of entries = 2 is not that of line 1; allowed: 3"),
    "a long line": ("0.5 0.6\n0.4 0.5 0.1\n", "line 2: the number of entries = 3 is not that of line 1; allowed: 2"),
    "too few lines": ("0.5 0.6 0.7\n0.4 0.5 0.8\n", "line 2: the matrix ends after 2 rows of 3"),
    "too many lines": (GOOD + "0.1 0.2 0.3\n", "line 4: this is more than a square matrix; allowed: 3 rows"),
    "a single number": ("0.5\n", "line 1: the matrix ends after 1 rows of 1; allowed: .* at least 2"),
    "nothing": ("", "does not have any numbers"),
    "comments only": ("# 0.5\n\n", "does not have any numbers"),
    "binary": (b"0.5 0.6\n\xff\xfe", "line 2: this is not UTF-8 text"),
    "null bytes": (b"0.5 \x00\n", r"line 1, column 2: '\\x00' is not a number"),
    "gzip": (b"\x1f\x8b\x08\x00\x00", "line 1: the file is compressed by gzip"),
    "a pickle": (pickle.dumps(Evil()), r"is a pickle, and mine is not a published data set.*\['yandex60', 'mslr'\]"),
    "an npz": (b"PK\x03\x04....", "is an .npz file"),
    "npy, one opposite": (
        npy(changed(1, 4, 0.1)),
        r"index \[1, 4\]: the probability = 0.1 and its opposite \[4, 1\] = 0.42",
    ),
    "npy, nan": (npy(changed(1, 4, np.nan)), r"index \[1, 4\]: the probability = nan is not a probability"),
    "npy, not square": (npy(np.full((2, 3), 0.5)), r"has shape \(2, 3\); allowed: \(K, K\), K from 2 to 5000"),
    "npy, a vector": (npy(np.full(9, 0.5)), r"has shape \(9,\)"),
    "npy, empty": (npy(np.empty((0, 0))), r"has shape \(0, 0\)"),
    "npy, objects": (npy(np.array([[0.5, Evil()], [0.5, 0.5]], object), allow_pickle=True), "holds Python objects"),
    "npy, words": (npy(np.array([["a", "b"], ["c", "d"]])), "holds dtype <U1"),
    "npy, records": (npy(np.zeros((2, 2), "f8,f8")), "holds dtype .*; allowed: real numbers|holds dtype"),
    "npy, complex": (npy(np.full((2, 2), 0.5 + 0j)), "holds dtype complex128"),
    "npy, truncated": (npy(ARXIV)[:-1], "is a broken .npy file: 287 bytes of numbers; allowed: 288"),
    "npy, too long": (npy(ARXIV) + b"x", "is a broken .npy file: 289 bytes of numbers; allowed: 288"),
    "npy, header only": (npy(ARXIV)[:40], "is a broken .npy file"),
    "npy, magic only": (b"\x93NUMPY", "is a broken .npy file"),
    "npy, huge": (npy(ARXIV).replace(b"(6, 6), }  ", b"(4999,4999)"), "is a broken .npy file"),
    "npy, a hostile header": (npy(ARXIV).replace(b"'<f8'", b"f(1) "), "is a broken .npy file"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_on_one_line_and_leaves_everything_as_it_was(case, tmp_path, home, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data.import_matrix("mine", put(tmp_path, GOOD))
    before = (home / "preferences" / "mine.npz").read_bytes()
    content, complaint = BROKEN[case]
    file = put(tmp_path, content, "broken")
    with pytest.raises(data.DataError, match=complaint) as caught:
        data.import_matrix("mine", file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)
    assert (home / "preferences" / "mine.npz").read_bytes() == before
    assert not (tmp_path / "should-not-exist").exists()


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=80), st.text("0123456789.,-+e#\n naif", max_size=60).map(str.encode)))
def test_any_bytes_are_refused_on_one_line_or_valid(raw):
    for content in (raw, b"\x93NUMPY" + raw):
        try:
            valid(matrix_files.from_bytes(content, "FILE"))
        except data.DataError as error:
            assert str(error).startswith("FILE")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 420), st.integers(0, 4), st.binary(max_size=4)), min_size=1, max_size=4))
@example([(135, 4, b"\x7f\x00\x00\x00")])  # 9e307 on the diagonal, which overflows where it is added to itself
def test_a_mutated_npy_file_is_refused_or_valid(edits):
    raw = bytearray(npy(ARXIV))
    for start, length, piece in edits:
        raw[start : start + length] = piece
    try:
        valid(matrix_files.from_bytes(bytes(raw), "FILE"))
    except data.DataError as error:
        assert "\n" not in str(error)  # noqa: PT017


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6), st.sampled_from([" ", ",", "\t", " , "]))
def test_what_is_written_as_text_comes_back(arms, seed, separator):
    p = random_matrix(arms, seed)
    text = "\n".join(separator.join(map(repr, row)) for row in p.tolist())
    np.testing.assert_allclose(matrix_files.from_bytes(text.encode(), "FILE"), p, atol=1e-15)


def test_files_that_cannot_be_looked_at(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        data.import_matrix("mine", tmp_path / "nothing")
    monkeypatch.setattr(matrix_files, "MAX_BYTES", 10)
    with pytest.raises(data.DataError, match=r"has 36 bytes; allowed: at most 10"):
        data.import_matrix("mine", put(tmp_path, GOOD))


@pytest.mark.parametrize("name", ["", "a b", "../x", ".x", "-x", "x" * 65, "ä", "a/b", "a\n", None, 3])
def test_names_that_are_no_names(name, tmp_path):
    with pytest.raises(ValueError, match=r"name = .* is not allowed; allowed: 1 to 64 letters"):
        data.import_matrix(name, put(tmp_path, GOOD))


@pytest.mark.parametrize("name", ["arxiv", "Cyclic", "mslr", "mslr-calibrated", "yandex60", "synthetic"])
def test_names_that_are_taken(name, tmp_path):
    with pytest.raises(ValueError, match=r"name = .* is taken"):
        data.import_matrix(name, put(tmp_path, GOOD))


def test_importing_again_replaces(tmp_path):
    data.import_matrix("mine", put(tmp_path, GOOD))
    data.import_matrix("mine", put(tmp_path, npy(ARXIV), "m.npy"))
    np.testing.assert_array_equal(load("mine"), ARXIV)
    assert catalogue.imported_names() == ["mine"]


def test_an_interrupted_write_leaves_what_was_there(tmp_path, home, monkeypatch):
    data.import_matrix("mine", put(tmp_path, GOOD))
    before = (home / "preferences" / "mine.npz").read_bytes()

    def broken(file, **_):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="disk full"):
        data.import_matrix("mine", put(tmp_path, npy(ARXIV), "m.npy"))
    assert [path.name for path in (home / "preferences").iterdir()] == ["mine.npz"]
    assert (home / "preferences" / "mine.npz").read_bytes() == before


def test_a_damaged_import_is_noticed(tmp_path, home):
    """Any byte of the numbers, of the digest or of the origin."""
    kept = data.import_matrix("mine", put(tmp_path, GOOD))
    good = kept.read_bytes()
    place = good.index(np.float64(0.8).tobytes())
    for damaged in (
        good[:place] + np.float64(0.9).tobytes() + good[place + 8 :],
        good[:-20],
        b"nothing",
        good.replace("matrix.txt".encode("utf-32-le"), "matrax.txt".encode("utf-32-le")),
    ):
        assert damaged != good
        kept.write_bytes(damaged)
        with pytest.raises(data.DataError, match=r"is damaged: .*; run `rankgym data import mine FILE`"):
            load("mine")
        (row,) = [row for row in data.listing() if row["name"] == "mine"]
        assert row["state"].startswith("unusable: ")
    other = matrix_files.to_arrays({"preference": np.full((2, 2), 0.4)}, "somewhere")
    np.savez(kept, **other)  # with the digest of what it holds, but no preference matrix
    with pytest.raises(data.DataError, match=r"is an arm against itself"):
        load("mine")


# -- the published matrices, with made-up ones in their place ---------------------------------------------------------

MADE_UP = {user: random_matrix(7, seed) for seed, user in enumerate(preferences.USER_MODELS)}


def as_text(matrix):
    buffer = io.StringIO()
    np.savetxt(buffer, matrix)  # as the published ones are
    return buffer.getvalue().encode()


@pytest.fixture
def originals(tmp_path, monkeypatch):
    """The catalogue with digests of made-up texts, and a folder with these texts."""
    entry, folder, parts = data.DATASETS["mslr"], tmp_path / "originals", []
    folder.mkdir()
    for part in entry.parts:
        raw = as_text(MADE_UP[part.array])
        (folder / part.file).write_bytes(raw)
        parts.append(part._replace(sha256=hashlib.sha256(raw).hexdigest()))
    monkeypatch.setitem(data.DATASETS, "mslr", entry._replace(parts=tuple(parts), url="http://127.0.0.1:9/nobody"))
    return [folder / part.file for part in parts]


def test_the_addresses_and_digests_of_the_published_matrices():
    entry = data.DATASETS["mslr"]
    assert entry.url.endswith("chang-li/MergeDTS/296f3e2943ac1291f2ca2316c5c75e9d0f1868c5/matrix")
    assert [(part.array, part.file, part.sha256[:8]) for part in entry.parts] == [
        ("perfect", "MSLR-Perfect.txt", "79f8f3b3"),
        ("navigational", "MSLR-Nabigational.txt", "b299a41e"),
        ("informational", "MSLR-Informational-CDC.txt", "cbd9a51a"),
    ]
    assert [part.size for part in entry.parts] == [25 * arms * arms for arms in (136, 136, 135)]  # 25 bytes a number


def test_the_originals_are_told_apart_by_their_digests(originals, home, tmp_path):
    renamed = [shutil.copy(file, tmp_path / f"{n}") for n, file in enumerate(reversed(originals))]
    assert data.import_file("mslr", *renamed) == home / "mslr.npz"
    for user, matrix in MADE_UP.items():
        np.testing.assert_allclose(valid(load("mslr", source="published", user_model=user)), matrix, atol=1e-15)
    assert catalogue.usable("mslr")
    row = next(row for row in data.listing() if row["name"] == "mslr")
    assert row["state"] == f"in the cache: {home / 'mslr.npz'}"


def test_wrong_originals_are_refused(originals, home):
    with pytest.raises(ValueError, match=r"number of files = 1 .*allowed: 3: MSLR-Perfect.txt, MSLR-Nabigational.txt"):
        data.import_file("mslr", originals[0])
    with pytest.raises(ValueError, match=r"MSLR-Perfect.txt again; allowed: each of the 3 files once"):
        data.import_file("mslr", originals[0], originals[0], originals[1])
    originals[1].write_bytes(originals[1].read_bytes() + b"\n")
    with pytest.raises(data.WrongDigest, match=r"MSLR-Nabigational.txt is not a published file: its sha256 is"):
        data.import_file("mslr", *originals)
    assert not home.exists()


def test_without_the_published_matrices_the_error_says_what_to_run(home):
    with pytest.raises(
        data.MissingData, match=r"`rankgym data fetch mslr` or `rankgym data import mslr FILE FILE FILE`"
    ):
        load("mslr", source="published")


def test_damage_to_the_published_matrices_is_noticed(originals, home):
    kept = data.import_file("mslr", *originals)
    good = kept.read_bytes()
    load("mslr", source="published")
    place = good.index(MADE_UP["perfect"][0, 1].tobytes())
    kept.write_bytes(good[:place] + np.float64(0.123).tobytes() + good[place + 8 :])
    with pytest.raises(data.DataError, match=r"mslr.npz is damaged.*run `rankgym data fetch mslr`"):
        catalogue.published("mslr")
    np.savez(kept, **matrix_files.to_arrays(MADE_UP, "somewhere else"))
    with pytest.raises(data.DataError, match="it was not made from the published files"):
        catalogue.published("mslr")
    assert not catalogue.usable("mslr")


def test_published_matrices_that_contradict_themselves_are_refused(originals, home, monkeypatch):
    """Should a published text not be complementary up to 1e-6: rather no matrix than a guess."""
    entry = data.DATASETS["mslr"]
    text = originals[0].read_bytes().replace(b"5.000000000000000000e-01", b"4.000000000000000000e-01", 1)
    originals[0].write_bytes(text)
    first = entry.parts[0]._replace(sha256=hashlib.sha256(text).hexdigest())
    monkeypatch.setitem(data.DATASETS, "mslr", entry._replace(parts=(first, *entry.parts[1:])))
    with pytest.raises(data.DataError, match=r"MSLR-Perfect.txt, line 1, column 1: .* is an arm against itself"):
        data.import_file("mslr", *originals)
    assert not (home / "mslr.npz").exists()


class Folder(http.server.SimpleHTTPRequestHandler):
    asked: ClassVar[list] = []

    def log_message(self, *_):
        self.asked.append(self.path)


@pytest.fixture
def address(originals, monkeypatch):
    """A server on loopback with the folder of the originals."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(Folder, "asked", [])
    handler = functools.partial(Folder, directory=str(originals[0].parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_download_of_the_published_matrices(originals, home, address, monkeypatch):
    monkeypatch.setitem(data.DATASETS, "mslr", data.DATASETS["mslr"]._replace(url=address))  # the table's address
    assert data.fetch("mslr") == home / "mslr.npz"
    assert [path.name for path in home.iterdir()] == ["mslr.npz"]
    for user, matrix in MADE_UP.items():
        np.testing.assert_allclose(load("mslr", source="published", user_model=user), matrix, atol=1e-15)
    assert Folder.asked == [f"/{file.name}" for file in originals]
    data.fetch("mslr", progress=False)
    assert len(Folder.asked) == 3  # it was there


def test_nothing_is_kept_if_one_of_the_files_is_another(originals, home, address):
    originals[2].write_bytes(originals[1].read_bytes())
    with pytest.raises(data.WrongDigest, match=r"MSLR-Informational-CDC.txt did not send the published file"):
        data.fetch("mslr", url=address, progress=False)
    assert list(home.iterdir()) == []
    originals[1].unlink()
    with pytest.raises(data.DownloadFailed, match="404"):
        data.fetch("mslr", url=address, progress=False)
    assert list(home.iterdir()) == []


def test_a_near_name_is_suggested():
    with pytest.raises(
        ValueError, match=r"^name = 'msrl' is not a data set; did you mean 'mslr'\? allowed: \['yandex60'"
    ):
        data.fetch("msrl")
    for nothing_near in ("q", 3):
        with pytest.raises(ValueError, match=r"^name = .* is not a data set; allowed: \["):
            data.fetch(nothing_near)


def test_a_failed_download_says_what_else_to_do(originals, home):
    with pytest.raises(
        data.DownloadFailed, match=r"`rankgym data import mslr FILE FILE FILE` takes copies of the files"
    ):
        data.fetch("mslr", url="nonsense://address", progress=False)
    assert list(home.iterdir()) == []


# -- on the command line ----------------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch):
    from typer.testing import CliRunner

    from rankgym.cli import app

    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: CliRunner().invoke(app, list(words))


def test_errors_on_the_command_line_are_one_line(tmp_path, monkeypatch, capsys):
    from rankgym import cli

    broken = put(tmp_path, GOOD.replace("0.2", "0.3"))
    monkeypatch.setattr("sys.argv", ["rankgym", "data", "import", "mine", str(broken)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    said = f"error: {broken}, line 2, column 3: the probability = 0.8 and its opposite [2, 1] = 0.3 add up to 1.1;"
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith(said)


def test_import_on_the_command_line(run, tmp_path, home, originals):
    result = run("data", "import", "mine", str(put(tmp_path, GOOD)))
    assert result.stdout.startswith(f"mine: {home / 'preferences' / 'mine.npz'}\n3 arms, Condorcet winner 0; ")
    result = run("data", "import", "mslr", *map(str, originals))
    assert result.stdout == f"mslr: {home / 'mslr.npz'}\n"
    listed = " ".join(run("data", "list").stdout.split())
    assert "preference matrix of 3 arms, Condorcet winner 0" in listed
    assert "SYNTHETIC" in listed
    result = run("data", "import", "mine", "one", "two")
    assert result.exit_code != 0
