"""Compiled code: the one decorator, counter-based random numbers, and the helpers that kernels share.

Nobody else writes ``@njit``. A kernel may call kernels of its own file or of this one, of no other: numba does not
notice that a callee in another file was edited, and this file's digest names the cache folder.

Random numbers
--------------
The generator is **SplitMix64** (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
the constants are Stafford's Mix13, the authors' ``mix64variant13``). Its n-th output is a bijective mix of ``seed + n *
GOLDEN``, so any output can be computed without those before it. It was chosen over Philox4x32-10 because a session asks
for single coins at scattered indices (the coin of *this* item): SplitMix64 gives each for three multiplications that
vectorise, Philox computes four words for twenty. It has published known answers, and its sequential output passes
BigCrush; the two-step path below is tested in ``tests/test_kernels.py``.

Coins are addressed by a path of two steps, each of them a SplitMix64 sequence:

    key of a row  --round-->  seed of the session  --index-->  64 bits

Within a row the seeds of different rounds are distinct, because the first step is a bijection of the round. Two
sessions share a coin where their seeds differ by d GOLDEN (modulo 2^64) for a difference d of two indices in use. Among
n sessions that is expected n^2 D / 2^65 times, D the number of such differences: in a row of a million rounds 5e-7
times with ten attraction coins, 1.5e-6 with ten examination coins as well, 3.6e-6 with ten coins of two more kinds. It
is no generator for cryptography.
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import platformdirs
from numpy.typing import NDArray

__all__ = [
    "ABANDONMENT",
    "AGENT",
    "BETA_WORDS",
    "ENVIRONMENT",
    "EXAMINATION",
    "FEEDBACK",
    "QUERY",
    "SCHEDULE",
    "TERMINATION",
    "bernoulli",
    "beta_variate",
    "bits",
    "both_accepted",
    "cache_folder",
    "fair_coins_show",
    "first_fault",
    "first_then_shuffled",
    "join_batches",
    "kernel",
    "largest_upper_bound",
    "last_observed",
    "leave_batch",
    "place_of_largest",
    "popcount",
    "row_keys",
    "select_top",
    "session_seed",
    "shuffle",
    "size_of",
    "uniform",
    "uniform_below",
]

F = TypeVar("F", bound=Callable[..., Any])
CONFIG: Any = numba.config

# Purposes of a seed: users, rankers, the draw of queries and the schedule of changes never share a stream.
ENVIRONMENT, AGENT, QUERY, SCHEDULE = 0, 1, 2, 3

# Where in a session's sequence its coins lie: an item's attraction at the item's number, the others far behind.
EXAMINATION, TERMINATION, ABANDONMENT = 1 << 32, 2 << 32, 3 << 32  # plus the position


def cache_folder() -> Path:
    """The folder of compiled kernels: named by what changes machine code beyond a kernel's own file.

    That is this file, numba's version and numba's flags. It lies below ``NUMBA_CACHE_DIR`` where that is set,
    else in the user's cache folder. No kernel runs in parallel, so the number of threads changes nothing (pools of
    processes set it in their workers, which must not compile everything again).
    """
    indifferent = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
    flags = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_") and name not in indifferent}
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update(repr((numba.__version__, sorted(flags.items()))).encode())
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("rankgym") / "kernels"
    return Path(root) / digest.hexdigest()[:16]


def kernel(func: F) -> F:
    """Compile ``func`` with numba, cached on disk; with ``NUMBA_DISABLE_JIT=1`` the same lines run as Python.

    A kernel is a pure function on arrays that writes its results to its last arguments. It trusts its arguments:
    compiled code reads out of bounds without a word, so whoever calls it has checked them.
    """
    if CONFIG.DISABLE_JIT:
        return np.errstate(over="ignore")(func)  # the generator's arithmetic is modulo 2^64 by design
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        warnings.warn(f"compiled kernels are not kept between processes: {error}", stacklevel=2)
        uncached: Any = numba.njit(func)
        return uncached
    before, CONFIG.CACHE_DIR = CONFIG.CACHE_DIR, str(folder)
    try:
        compiled: Any = numba.njit(cache=True)(func)
    except RuntimeError:  # typed at a prompt, the function has no file that its cache could be checked against
        compiled = numba.njit(func)
    finally:
        CONFIG.CACHE_DIR = before
    return compiled


# Numba turns uint64 mixed with int64 into float64, so every constant below is a uint64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S1, S2, S4, S11, S27, S30, S31, S32, S56 = (np.uint64(n) for n in (1, 2, 4, 11, 27, 30, 31, 32, 56))
ONE = np.uint64(1)
TO_UNIT = 2.0**-53


@kernel
def bits(seed, index):
    """64 random bits: output number ``index`` (from 0) of the SplitMix64 sequence that starts at ``seed``."""
    z = seed + (np.uint64(index) + ONE) * GOLDEN
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel
def session_seed(key, number):
    """The seed of session ``number`` (from 0) of the row with this key: the first step of the path."""
    return bits(key, number)


@kernel
def uniform(word):
    """A float64 in [0, 1) from the upper 53 of 64 random bits."""
    return np.float64(word >> S11) * TO_UNIT


@kernel
def bernoulli(seed, index, probability):
    """True with the given probability: never at 0, always at 1."""
    return uniform(bits(seed, index)) < probability


@kernel
def uniform_below(word, n):
    """An integer in 0 .. n-1 from 64 random bits, n < 2^32; no value is favoured by more than n / 2^32."""
    return np.int64(((word >> S32) * np.uint64(n)) >> S32)


@kernel
def shuffle(items, start, stop, places, seed, index):
    """Shuffle ``items[start:stop]`` in place so far that its first ``places`` places are a uniform draw.

    Fisher-Yates from the front; place p takes the bits numbered ``index + p`` of ``seed``. The items that were not
    drawn stay behind them, in no random order.
    """
    for place in range(start, min(start + places, stop - 1)):
        other = place + uniform_below(bits(seed, index + place), stop - place)
        items[place], items[other] = items[other], items[place]


@kernel
def first_then_shuffled(order, first, positions, seed):
    """Item ``first`` at place 0, a uniform draw of the others below; place p takes the bits numbered p."""
    for item in range(order.shape[0]):
        order[item] = item
    order[0], order[first] = first, 0
    shuffle(order, 1, order.shape[0], positions - 1, seed, 0)


@kernel
def select_top(order, index, row, places, seed):
    """Bring the items of the largest ``index`` (items,) to the first ``places`` of ``order[row]``, the largest first.

    Equal indices are ordered by the items' random words: item i takes the bits numbered i of ``seed``. Fastest where
    the row has the last round's order. The items below the first ``places`` stand in no particular order.
    """
    for place in range(order.shape[1]):
        i, k = order[row, place], place
        while k > 0:
            above = min(k, places) - 1  # from below an item climbs to the last of the places at once
            j = order[row, above]
            if not (index[i] > index[j] or (index[i] == index[j] and bits(seed, i) > bits(seed, j))):
                break
            order[row, k] = j
            k = above
        order[row, k] = i


@kernel
def place_of_largest(values, word):
    """Where the largest of ``values`` (number,) stands; of several places ``word`` draws one."""
    most, ties = values[0], 0
    for place in range(values.shape[0]):
        most = max(most, values[place])
    for place in range(values.shape[0]):
        ties += values[place] == most
    n = uniform_below(word, ties)
    for place in range(values.shape[0]):
        if values[place] == most:
            if n == 0:
                return place
            n -= 1
    return -1  # not reached


@kernel
def largest_upper_bound(won, played, budget, seed, index, upper):
    """The arm of the largest mean + sqrt(budget / played), infinity for one that was not played.

    ``won`` and ``played`` (arms,) are counts. Ties take the bits numbered ``index`` + arm of ``seed``. ``upper``
    (arms,) is for the bounds: in a loop of their own they are computed several at a time.
    """
    for arm in range(upper.shape[0]):
        n = played[arm]
        upper[arm] = np.true_divide(won[arm] + np.sqrt(budget * n), n) if n > 0 else np.inf
    found = 0
    for arm in range(1, upper.shape[0]):
        if upper[arm] > upper[found] or (
            upper[arm] == upper[found] and bits(seed, index + arm) > bits(seed, index + found)
        ):
            found = arm
    return found


LN_2 = math.log(2.0)


@kernel
def fair_coins_show(heads, tails):
    """The probability that ``heads`` + ``tails`` fair coins show exactly so many heads and tails."""
    n = heads + tails
    return math.exp(math.lgamma(n + 1.0) - math.lgamma(heads + 1.0) - math.lgamma(tails + 1.0) - n * LN_2)


BETA_ATTEMPTS = 64  # all of them fail with probability below 1e-33
BETA_WORDS = 3 * BETA_ATTEMPTS  # of random bits that a Beta variate may take


@kernel
def beta_variate(a, b, seed, index):
    """A Beta(a, b) variate, ``a`` and ``b`` at least 1, from the bits numbered ``index`` and on of ``seed``.

    They are G(a) / (G(a) + G(b)) with Gamma variates by Marsaglia and Tsang ("A simple method for generating gamma
    variables", ACM Transactions on Mathematical Software 26, 2000): with d = a - 1/3, c = 1 / sqrt(9 d), X normal and
    V = (1 + c X)^3, d V is a Gamma(a) variate once log U < X^2 / 2 + d - d V + d log V. Both Gammas are proposed from
    the two normals of one polar step (Marsaglia and Bray, SIAM Review 6, 1964) and accepted together, by one U against
    the product of their acceptance probabilities: rejection for the pair. An attempt takes three words of random bits
    and succeeds with probability at least 0.7.

    It takes at most ``BETA_WORDS`` of them; should no attempt succeed, it is the mean.
    """
    d_a, d_b = a - 1.0 / 3.0, b - 1.0 / 3.0
    c_a, c_b = 1.0 / math.sqrt(9.0 * d_a), 1.0 / math.sqrt(9.0 * d_b)
    for first in range(index, index + BETA_WORDS, 3):
        x, y = 2.0 * uniform(bits(seed, first)) - 1.0, 2.0 * uniform(bits(seed, first + 1)) - 1.0
        square = x * x + y * y
        if square >= 1.0 or square == 0.0:  # the polar step: (x, y) must lie in the unit circle
            continue
        stretch = math.sqrt(-2.0 * math.log(square) / square)
        x, y = x * stretch, y * stretch
        root_a, root_b = 1.0 + c_a * x, 1.0 + c_b * y
        if root_a <= 0.0 or root_b <= 0.0:
            continue
        v_a, v_b = root_a * root_a * root_a, root_b * root_b * root_b
        if both_accepted(uniform(bits(seed, first + 2)), x * x, y * y, d_a, d_b, v_a, v_b):
            return d_a * v_a / (d_a * v_a + d_b * v_b)
    return a / (a + b)


@kernel
def both_accepted(u, xx, yy, d_a, d_b, v_a, v_b):
    """Whether the pair of Gammas d V from normals with squares ``xx`` and ``yy`` is accepted, ``u`` in [0, 1).

    One of them is accepted with a probability of at least 1 - 0.0331 X^4 (the paper's squeeze), both of them with at
    least 1 minus the sum: four times in five that decides without a logarithm.
    """
    if u < 1.0 - 0.0331 * (xx * xx + yy * yy):
        return True
    if u == 0.0:  # has no logarithm
        return True
    bound = 0.5 * xx + d_a * (1.0 - v_a + math.log(v_a)) + 0.5 * yy + d_b * (1.0 - v_b + math.log(v_b))
    return math.log(u) < bound


@kernel
def join_batches(order, start, count, largest):
    """Join small batches with large ones; returns how many batches there are then.

    Batch b, of ``count``, is ``order[start[b]:start[b + 1]]``. By rising size, the smallest is joined with the largest
    if together they have at most ``largest`` members, else the largest stays alone, and so on with those left. Batches
    of equal size stand in the order that they had.
    """
    by_size = np.empty(count, np.int64)
    for batch in range(count):
        place = batch
        while place > 0 and size_of(start, by_size[place - 1]) > size_of(start, batch):
            by_size[place] = by_size[place - 1]
            place -= 1
        by_size[place] = batch
    members, first = order.copy(), start.copy()
    low, high, joined, filled = 0, count - 1, 0, 0
    while low <= high:
        small, large = by_size[low], by_size[high]
        if low < high and size_of(first, small) + size_of(first, large) <= largest:
            for place in range(first[small], first[small + 1]):
                order[filled] = members[place]
                filled += 1
            low += 1
        for place in range(first[large], first[large + 1]):
            order[filled] = members[place]
            filled += 1
        high -= 1
        joined += 1
        start[joined] = filled
    return joined


@kernel
def size_of(start, batch):
    """How many members a batch has."""
    return start[batch + 1] - start[batch]


@kernel
def leave_batch(order, start, count, batch, member):
    """``member`` leaves its batch, of ``count``, and stands behind the last one; the others keep their order."""
    place = start[batch]
    while order[place] != member:
        place += 1
    for behind in range(place, start[count] - 1):
        order[behind] = order[behind + 1]
    order[start[count] - 1] = member
    for later in range(batch + 1, count + 1):
        start[later] -= 1


FIRST, LAST, ALL = range(3)
FEEDBACK = {"first": FIRST, "last": LAST, "all": ALL}  # what a user has seen: down to a click, or everything


@kernel
def last_observed(clicks, row, feedback):
    """The lowest place of the row's list that counts as observed; ``feedback`` is a value of FEEDBACK."""
    last = clicks.shape[1] - 1
    if feedback == FIRST:
        for k in range(last):
            if clicks[row, k] != 0:
                return k
    if feedback == LAST:
        for k in range(last, -1, -1):
            if clicks[row, k] != 0:
                return k
    return last


C55, C33, C0F, C01 = (np.uint64(int(byte * 8, 16)) for byte in ("55", "33", "0f", "01"))


@kernel
def popcount(word):
    """The number of one bits of a uint64 (the compiler knows this idiom as a single instruction)."""
    word = word - ((word >> S1) & C55)
    word = (word & C33) + ((word >> S2) & C33)
    word = (word + (word >> S4)) & C0F
    return np.int64((word * C01) >> S56)


def row_keys(seeds: Sequence[int], purpose: int) -> NDArray[np.uint64]:
    """One key per row, (len(seeds),) uint64, from the rows' seeds (non-negative integers of any size).

    Seeds go through ``numpy.random.SeedSequence``, so that neighbouring seeds give unrelated keys. ``purpose`` keeps
    an environment (``ENVIRONMENT``) and an agent (``AGENT``) with the same seed apart.
    """
    sequences = (np.random.SeedSequence(int(seed), spawn_key=(purpose,)) for seed in seeds)
    return np.array([s.generate_state(1, np.uint64)[0] for s in sequences], dtype=np.uint64)


@kernel
def first_fault(rankings, num_items):
    """The first row of ``rankings`` (rows, positions) that has not distinct items in 0 .. ``num_items`` - 1, or -1."""
    rows, positions = rankings.shape
    for row in range(rows):
        seen = np.uint64(0)
        for place in range(positions):
            item = rankings[row, place]
            if item < 0 or item >= num_items:
                return row
            if num_items <= 64:  # one word remembers every item seen
                mark = ONE << np.uint64(item)
                if seen & mark != np.uint64(0):
                    return row
                seen |= mark
            else:
                for earlier in range(place):
                    if rankings[row, earlier] == item:
                        return row
    return -1
