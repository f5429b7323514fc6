"""Addressed random numbers: every coin is computed from its address, not drawn from a stream.

The generator is **SplitMix64** (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
the constants are Stafford's Mix13, the authors' ``mix64variant13``). Its n-th output is a bijective mix of ``seed + n *
GOLDEN``, so any output can be computed without those before it. It was chosen over Philox4x32-10 because a session
needs single coins at scattered indices, such as the coin of one item: SplitMix64 computes each with three
multiplications that vectorise, Philox computes four words with twenty. It has published known answers, and its
sequential output passes BigCrush; ``tests/test_kernels.py`` tests the two-step path below.

An address is a path of two steps, each of them a SplitMix64 sequence:

    key of a row  --round-->  seed of the session  --index-->  64 bits

Within a row the seeds of different rounds are distinct, because the first step is a bijection of the round. Two
sessions share a coin if their seeds differ by d GOLDEN (modulo 2^64) for a difference d of two indices in use. Among n
sessions the expected number of such pairs is n^2 D / 2^65, D the number of such differences. In a row of a million
rounds that is 5e-7 with ten attraction coins, 1.5e-6 with ten examination coins as well, 3.6e-6 with ten coins of two
more kinds. The generator is not fit for cryptography.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels.compiling import kernel

#: Purposes of a seed: users, agents, the draw of queries and the schedule of changes never share random numbers.
ENVIRONMENT, AGENT, QUERY, SCHEDULE = 0, 1, 2, 3

#: Index of a coin in its session's sequence: attraction coins at the item's number, the other kinds at these offsets
#: plus the position.
EXAMINATION, TERMINATION, ABANDONMENT = 1 << 32, 2 << 32, 3 << 32

# Numba turns uint64 mixed with int64 into float64, so every constant below is a uint64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
#: ``ONE`` is 1 as uint64.
ONE, S11, S27, S30, S31, S32 = (np.uint64(n) for n in (1, 11, 27, 30, 31, 32))
TO_UNIT = 2.0**-53


@kernel
def bits(seed, index):
    """Return 64 random bits: output ``index`` (from 0) of the SplitMix64 sequence that starts at ``seed``.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import bits
        >>> seed = np.uint64(7)
        >>> [hex(int(bits(seed, index))) for index in (0, 1, 0)]  # an index always has the same bits
        ['0x63cbe1e459320dd7', '0x44c3cd7f43c661c', '0x63cbe1e459320dd7']
    """
    z = seed + (np.uint64(index) + ONE) * GOLDEN
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel
def session_seed(key, number):
    """The seed of session ``number`` (from 0) of the row with this key: the first step of the path.

    Examples:
        >>> from rankgym.kernels import AGENT, row_keys, session_seed
        >>> key = row_keys([0], AGENT)[0]
        >>> bool(session_seed(key, 0) != session_seed(key, 1))  # the coins of two rounds are unrelated
        True
    """
    return bits(key, number)


@kernel
def uniform(word):
    """A float64 in [0, 1) from the upper 53 of 64 random bits.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import uniform
        >>> [float(uniform(np.uint64(word))) for word in (0, 1 << 62, 1 << 63)]
        [0.0, 0.25, 0.5]
    """
    return np.float64(word >> S11) * TO_UNIT


@kernel
def bernoulli(seed, index, probability):
    """True with the given probability: never at 0, always at 1.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import bernoulli
        >>> coins = [bernoulli(np.uint64(7), index, 0.25) for index in range(1000)]
        >>> int(sum(coins))  # about a quarter
        252
    """
    return uniform(bits(seed, index)) < probability


@kernel
def uniform_below(word, n):
    """An integer in 0 .. n-1 from 64 random bits, n < 2^32; no value is favoured by more than n / 2^32.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import bits, uniform_below
        >>> words = [np.uint64(bits(np.uint64(7), index)) for index in range(8)]
        >>> [int(uniform_below(word, 3)) for word in words]
        [1, 0, 2, 1, 1, 0, 1, 0]
    """
    return np.int64(((word >> S32) * np.uint64(n)) >> S32)


@kernel
def shuffle(items, start, stop, places, seed, index):
    """Move a uniform draw of ``places`` items to the front of ``items[start:stop]``, in place and in random order.

    Fisher-Yates from the front; place p takes the bits numbered ``index + p`` of ``seed``. The items that were not
    drawn follow, in an order that is not random.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import shuffle
        >>> items = np.arange(6)
        >>> shuffle(items, 1, 6, 5, np.uint64(7), 0)
        >>> int(items[0]), sorted(items.tolist())  # place 0 is not touched
        (0, [0, 1, 2, 3, 4, 5])
    """
    for place in range(start, min(start + places, stop - 1)):
        other = place + uniform_below(bits(seed, index + place), stop - place)
        items[place], items[other] = items[other], items[place]


@kernel
def draw_item(items, place, stop, seed):
    """Draw one of ``items[place:stop]`` by the bits numbered ``place`` of ``seed``; the first of them takes its place.

    Places that are drawn one after another get the items that ``shuffle`` moves there.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import draw_item, shuffle
        >>> items, shuffled, seed = np.arange(5), np.arange(5), np.uint64(7)
        >>> drawn = [int(draw_item(items, place, 5, seed)) for place in range(3)]
        >>> shuffle(shuffled, 0, 5, 3, seed, 0)
        >>> drawn == shuffled[:3].tolist()
        True
    """
    drawn = place + uniform_below(bits(seed, place), stop - place)
    item = items[drawn]
    items[drawn] = items[place]
    return item


LN_2 = math.log(2.0)


@kernel
def fair_coins_show(heads, tails):
    """The probability of exactly ``heads`` heads in ``heads`` + ``tails`` tosses of a fair coin.

    Examples:
        >>> from rankgym.kernels import fair_coins_show
        >>> round(fair_coins_show(1, 1), 9), round(fair_coins_show(0, 10) * 1024, 9)
        (0.5, 1.0)
    """
    n = heads + tails
    return math.exp(math.lgamma(n + 1.0) - math.lgamma(heads + 1.0) - math.lgamma(tails + 1.0) - n * LN_2)


BETA_ATTEMPTS = 64  # all of them fail with probability below 1e-33
#: Random words that a Beta variate takes at most: the next one's index is at least this much higher.
BETA_WORDS = 3 * BETA_ATTEMPTS


@kernel
def beta_variate(a, b, seed, index):
    """Draw a Beta(a, b) variate, ``a`` and ``b`` at least 1, from the bits numbered ``index`` and on of ``seed``.

    It is G(a) / (G(a) + G(b)) with Gamma variates by Marsaglia and Tsang ("A simple method for generating gamma
    variables", ACM Transactions on Mathematical Software 26, 2000): with d = a - 1/3, c = 1 / sqrt(9 d), X normal and
    V = (1 + c X)^3, d V is a Gamma(a) variate once log U < X^2 / 2 + d - d V + d log V. Both Gammas are proposed from
    the two normals of one polar step (Marsaglia and Bray, SIAM Review 6, 1964) and accepted together, by one U against
    the product of their acceptance probabilities: rejection for the pair. An attempt takes three words of random bits
    and succeeds with probability at least 0.7.

    It takes at most ``BETA_WORDS`` words; if no attempt succeeds, the mean is returned.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import BETA_WORDS, beta_variate
        >>> draws = [beta_variate(8.0, 2.0, np.uint64(7), number * BETA_WORDS) for number in range(1000)]
        >>> bool(abs(sum(draws) / 1000 - 0.8) < 0.02)  # the mean is a / (a + b)
        True
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

    One Gamma is accepted with probability at least 1 - 0.0331 X^4 (the paper's squeeze), so both are with probability
    at least 1 minus the sum. Four times in five that bound decides without a logarithm.

    Examples:
        >>> from rankgym.kernels import both_accepted
        >>> both_accepted(0.5, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0)  # at the mode, where nothing is refused
        True
    """
    if u < 1.0 - 0.0331 * (xx * xx + yy * yy):
        return True
    if u == 0.0:  # zero has no logarithm
        return True
    bound = 0.5 * xx + d_a * (1.0 - v_a + math.log(v_a)) + 0.5 * yy + d_b * (1.0 - v_b + math.log(v_b))
    return math.log(u) < bound


def row_keys(seeds: Sequence[int], purpose: int) -> NDArray[np.uint64]:
    """Derive one key per row, (len(seeds),) uint64, from the rows' seeds (non-negative integers of any size).

    Seeds go through ``numpy.random.SeedSequence``, so that neighbouring seeds give unrelated keys. ``purpose``
    separates an environment (``ENVIRONMENT``) from an agent (``AGENT``) with the same seed.

    Examples:
        >>> from rankgym.kernels import AGENT, ENVIRONMENT, row_keys
        >>> agent, users = row_keys([3, 4], AGENT), row_keys([3, 4], ENVIRONMENT)
        >>> agent.dtype.name, bool((agent != users).all()), bool(agent[1] == row_keys([4], AGENT)[0])
        ('uint64', True, True)
    """
    return np.array([_row_key(int(seed), purpose) for seed in seeds], dtype=np.uint64)


@functools.lru_cache(100_000)  # agents and users have the same seeds again and again
def _row_key(seed: int, purpose: int) -> np.uint64:
    return np.random.SeedSequence(seed, spawn_key=(purpose,)).generate_state(1, np.uint64)[0]
