"""The counter-based generator against its published answers, and against chance."""

import importlib
import math
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgym import kernels
from rankgym.kernels import (
    bernoulli,
    bits,
    compiling,
    exponential,
    fair_coins_show,
    first_fault,
    kernel,
    largest_upper_bound,
    logarithm,
    place_of_largest,
    popcount,
    row_keys,
    session_seed,
    shuffle,
    uniform,
    uniform_below,
)

WORD = 2**64
# Every test of chance below has one fixed seed and rejects when its p-value is under 1e-7, its probability of error.
ERROR = 1e-7


def naive_bits(seed, index):
    """SplitMix64 in Python integers: state plus gamma, then the two xor-shift-multiply rounds."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


@kernel
def fill_functions(numbers, logarithms, exponentials):
    for n in range(numbers.shape[0]):
        logarithms[n], exponentials[n] = logarithm(numbers[n]), exponential(numbers[n])


@kernel
def fill_coins(keys, rounds, indices, out):
    for a in range(keys.shape[0]):
        for b in range(rounds):
            seed = session_seed(keys[a], b)
            for c in range(indices):
                out[a, b, c] = uniform(bits(seed, c))


@kernel
def fill_shuffles(seed, start, stop, places, out):
    for n in range(out.shape[0]):
        for item in range(out.shape[1]):
            out[n, item] = item
        shuffle(out[n], start, stop, places, session_seed(seed, n), 7)


def coins(keys, rounds, indices):
    out = np.empty((len(keys), rounds, indices))
    fill_coins(row_keys(keys, kernels.ENVIRONMENT), rounds, indices, out)
    return out


@pytest.mark.kernels
def test_known_answers_of_splitmix64():
    # The first outputs from seed 1234567, as listed for "Pseudo-random numbers/Splitmix64" on Rosetta Code.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(bits(np.uint64(1234567), n)) for n in range(5)] == expected


@pytest.mark.kernels
@given(st.integers(0, WORD - 1), st.integers(0, 2**40))
def test_bits_equal_the_oracle(seed, index):
    assert int(bits(np.uint64(seed), index)) == naive_bits(seed, index)


@pytest.mark.kernels
@given(st.integers(0, WORD - 1))
def test_popcount_equals_python(word):
    assert popcount(np.uint64(word)) == bin(word).count("1")


@pytest.mark.kernels
@given(st.one_of(st.floats(1e-300, 1e300), st.floats(0.5, 2)))
@example(1.0)
@example(math.sqrt(0.5))
@example(math.nextafter(math.sqrt(0.5), 0))
@example(math.nextafter(1, 0))
def test_the_logarithm_is_the_librarys(x):
    assert abs(logarithm(x) - math.log(x)) <= 4e-16 * (1 + abs(math.log(x)))


@pytest.mark.kernels
@given(st.one_of(st.floats(0, 800), st.floats(0, 1)))
def test_the_exponential_function_is_the_librarys(x):
    assert exponential(x) == pytest.approx(math.exp(-min(x, 700)), rel=1e-13, abs=0)


def test_vectors_of_logarithms_have_the_bits_of_single_ones():
    numbers = np.exp(np.random.default_rng(0).uniform(-30, 6, 1003))
    logarithms, exponentials = np.empty(1003), np.empty(1003)
    fill_functions(numbers, logarithms, exponentials)
    assert logarithms.tolist() == [logarithm(x) for x in numbers]
    assert exponentials.tolist() == [exponential(x) for x in numbers]


@pytest.mark.kernels
@given(st.integers(0, WORD - 1), st.integers(1, 2**32 - 1))
def test_uniform_below_is_the_upper_words_product(word, n):
    assert uniform_below(np.uint64(word), n) == (word >> 32) * n >> 32
    assert 0 <= uniform(np.uint64(word)) < 1


@pytest.mark.kernels
def test_a_bernoulli_coin_never_shows_at_0_and_always_at_1():
    assert not any(bernoulli(np.uint64(5), n, 0.0) for n in range(1000))
    assert all(bernoulli(np.uint64(5), n, 1.0) for n in range(1000))


@pytest.mark.parametrize("shape", [(1, 200_000, 1), (200_000, 1, 1), (1, 1, 200_000), (50, 50, 80)])
def test_coins_are_uniform_along_key_round_and_index(shape):
    sample = coins(range(shape[0]), shape[1], shape[2]).ravel()
    assert stats.kstest(sample, "uniform").pvalue > ERROR
    counts = np.bincount((sample * 256).astype(int), minlength=256)
    assert stats.chisquare(counts).pvalue > ERROR


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["key", "round", "index"])
def test_neighbouring_coins_are_independent(axis):
    """Pairs of coins that differ by one in key, round or index fill the unit square evenly (16 x 16 cells)."""
    sample = np.moveaxis(coins(range(64), 64, 64), axis, 0)
    for lag in (1, 2, 8):
        cells = (sample[:-lag] * 16).astype(int) * 16 + (sample[lag:] * 16).astype(int)
        # only every other pair along the axis, so that no coin is in two of them
        kept = cells[np.arange(len(cells)) // lag % 2 == 0].ravel()
        assert stats.chisquare(np.bincount(kept, minlength=256)).pvalue > ERROR


def test_every_bit_is_fair_and_flips_half_of_the_bits_when_an_input_changes():
    rng = np.random.default_rng(0)
    seeds = rng.integers(0, 2**64, 4000, dtype=np.uint64)
    first = np.array([bits(s, 3) for s in seeds], np.uint64)
    ones = np.unpackbits(first.view(np.uint8)).reshape(-1, 64).sum(0).astype(int)
    assert np.all(np.abs(ones - 2000) < 6.5 * np.sqrt(1000))  # two-sided normal tail, 64 bits: 64 * 8e-11
    flips = np.array([popcount(a ^ np.uint64(bits(s, 4))) for a, s in zip(first, seeds, strict=True)])
    assert abs(flips.mean() - 32) < 6.5 * 4 / np.sqrt(4000)


def test_the_purposes_of_one_seed_have_unrelated_keys():
    keys = {int(row_keys([9], purpose)[0]) for purpose in (kernels.ENVIRONMENT, kernels.AGENT, kernels.QUERY)}
    assert len(keys) == 3


def test_keys_of_a_row_do_not_depend_on_the_other_rows():
    many = row_keys(range(100, 150), kernels.AGENT)
    assert many[7] == row_keys([107], kernels.AGENT)[0]
    assert len(set(many.tolist())) == 50


@pytest.mark.parametrize(("start", "stop", "places"), [(0, 4, 4), (1, 5, 4), (0, 5, 2), (2, 4, 9)])
def test_a_shuffle_is_uniform_over_its_places_and_leaves_the_rest(start, stop, places):
    out = np.empty((60_000, 6), np.int64)
    fill_shuffles(np.uint64(11), start, stop, places, out)
    assert (out[:, :start] == np.arange(start)).all()
    assert (out[:, stop:] == np.arange(stop, 6)).all()
    assert (np.sort(out, axis=1) == np.arange(6)).all()
    drawn = out[:, start : min(start + places, stop)]
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    n, k = stop - start, drawn.shape[1]
    assert len(counts) == np.prod(range(n - k + 1, n + 1))  # every ordered choice of k out of n comes up
    assert stats.chisquare(counts).pvalue > ERROR


@given(
    st.lists(st.lists(st.integers(-2, 70), min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from([3, 10, 64, 65, 70]),
)
@pytest.mark.kernels
def test_first_fault_finds_the_first_row_that_is_no_ranking(rows, num_items):
    faults = [len(set(r)) < 3 or not all(0 <= i < num_items for i in r) for r in rows]
    assert first_fault(np.array(rows), num_items) == (faults.index(True) if any(faults) else -1)


@pytest.mark.kernels
@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.integers(0, WORD - 1))
def test_the_place_of_the_largest_is_drawn_among_its_places(values, word):
    places = [place for place, value in enumerate(values) if value == max(values)]
    assert place_of_largest(np.array(values), np.uint64(word)) == places[(word >> 32) * len(places) >> 32]


@pytest.mark.kernels
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8),
    st.floats(0, 20),
    st.integers(0, WORD - 1),
    st.integers(0, 9),
)
def test_the_largest_upper_bound_is_the_largest_and_its_ties_go_to_the_largest_word(counts, budget, seed, index):
    won, played = np.array([min(pair) for pair in counts]), np.array([max(pair) for pair in counts])
    upper = [w / n + math.sqrt(budget / n) if n else math.inf for w, n in zip(won, played, strict=True)]
    found = largest_upper_bound(won, played, budget, np.uint64(seed), index, np.empty(len(counts)))
    assert upper[found] == pytest.approx(max(upper), rel=1e-14)
    alike = [arm for arm in range(len(counts)) if (won[arm], played[arm]) == (won[found], played[found])]
    assert found == max(alike, key=lambda arm: naive_bits(seed, index + arm))


@settings(deadline=None)  # the first example may wait for the compiler
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_fair_coins_show_heads_with_the_binomial_probability(heads, tails):
    exact = stats.binom.pmf(heads, heads + tails, 0.5)
    assert fair_coins_show(heads, tails) == pytest.approx(exact, rel=1e-7, abs=1e-300)


def test_the_cache_folder_is_named_by_the_flags(monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    plain = kernels.cache_folder()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert plain == kernels.cache_folder()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert kernels.cache_folder() != plain
    assert kernels.cache_folder().parent == plain.parent


def test_the_cache_folder_is_named_by_every_file_of_the_room(monkeypatch, tmp_path):
    """A kernel's cached machine code contains that of its callees in the room, which numba does not compare."""
    folders = {kernels.cache_folder()}
    files = sorted(compiling.ROOM.glob("*.py"))
    for edited in files:
        room = shutil.copytree(compiling.ROOM, tmp_path / edited.stem)
        (room / edited.name).write_text(edited.read_text() + "# edited\n")
        monkeypatch.setattr(compiling, "ROOM", room)
        folders.add(kernels.cache_folder())
    assert len(folders) == 1 + len(files)


def test_kernels_live_without_a_cache_folder(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="not kept between processes"):
        twice = kernel(lambda x: 2 * x)
    assert twice(4) == 8


def test_without_the_compiler_the_same_lines_give_the_same_bits():
    script = (
        "import numpy as np\n"
        "from rankgym.kernels import bits, exponential, logarithm, uniform_below, popcount, session_seed\n"
        "seed = np.uint64(session_seed(np.uint64(2**64 - 3), 12))\n"
        "print([(float(logarithm(1e-9 + x / 7)), float(exponential(x * 3.7))) for x in range(200)])\n"
        "print([int(bits(seed, n)) for n in range(20)], int(uniform_below(seed, 10)), int(popcount(seed)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for flag in ("0", "1")
    }
    assert len(outputs) == 1


def test_a_kernel_typed_at_a_prompt_is_compiled():
    scope = {"kernel": kernel}
    exec("@kernel\ndef twice(x):\n    return 2 * x", scope)
    assert scope["twice"](21) == 42


ERRORS = """
from rankgym.kernels import kernel

def plain(x):
    return x

@kernel
def unknown_name(x, y):
    y[0] = zero

@kernel
def callee(x):
    return x[0].mean

@kernel
def in_a_callee(x, y):

    y[0] = callee(x)

@kernel
def calls_python(x, y):
    y[0] = plain(x)

@kernel
def too_many_axes(x, y):
    y[0] = x[0, 0, 0]
"""


@pytest.mark.skipif(compiling.CONFIG.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("unknown_name", "kernel unknown_name (wrong.py, line 9) cannot be compiled: name 'zero' is not defined"),
        ("in_a_callee", "kernel in_a_callee (wrong.py, line 18) cannot be compiled: Unknown attribute 'mean' of type"),
        ("calls_python", "kernel calls_python (wrong.py, line 22) cannot be compiled: Untyped global name 'plain'"),
        (
            "too_many_axes",
            "(wrong.py, line 26) cannot be compiled: No implementation of .*getitem.* signature",
        ),
    ],
)
def test_a_kernel_that_cannot_be_compiled_is_named_with_the_line(tmp_path, monkeypatch, name, said):
    (tmp_path / "wrong.py").write_text(ERRORS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wrong", raising=False)
    module = importlib.import_module("wrong")
    with pytest.raises(kernels.KernelError, match=re.sub(r"[()]", r"\\\g<0>", said)) as error:
        getattr(module, name)(np.ones(2), np.zeros(2))
    assert "\n" not in str(error.value)
    monkeypatch.delitem(sys.modules, "wrong")
