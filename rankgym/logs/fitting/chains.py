"""Fits of DCM, DBN and CCM, whose users read from the top and stop somewhere: chains of coins.

The user who examines an item clicks on it with its attraction alpha. After a click the user goes on with a probability
``onward`` that depends on the item (DBN, CCM) or on the position (DCM), without a click with the probability ``skip``.
All down to the last click was examined, so it is counted once (``Counts``). Below it, where the user left is unknown:
an E-step walks each session's unclicked tail from the end, for the probability q(k) that an examiner of position k
clicks no more, and then from the top. What the three models make of going on and leaving is in ``stops.py``.

Whether a user goes on behind the last item of a list cannot be seen, and is not counted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import ONE, kernel


class Counts(NamedTuple):
    """What is known for certain, down to the last clicks."""

    clicked: NDArray[np.float64]  # (items,)
    skipped: NDArray[np.float64]  # (items,) examined without a click
    onward: NDArray[np.float64]  # (contexts,) clicks behind which the user went on; context: item or position
    passed: NDArray[np.float64]  # (1,) positions without a click behind which the user went on
    ended: NDArray[np.float64]  # (contexts,) last clicks with something below


@kernel
def count(item, clicks, repeats, length, last, by_item, clicked, skipped, onward, passed, ended):
    """Add the sessions to ``Counts``."""
    for g in range(item.shape[0]):
        weight = repeats[g]
        for k in range(last[g] + 1):
            i = item[g, k]
            context = i if by_item else k
            if clicks[g] >> np.uint64(k) & ONE:
                clicked[i] += weight
                if k < last[g]:
                    onward[context] += weight
                elif k < length[g] - 1:
                    ended[context] += weight
            else:
                skipped[i] += weight
                passed[0] += weight


@kernel
def expect(item, repeats, length, last, by_item, alpha, onward, skip, q, examined, stayed, left, passed, quit):
    """E-step of all unclicked tails; returns their log-likelihood.

    Adds the expected numbers of examined items ``examined`` (items,), of last clicks behind which the user went on or
    not, ``stayed`` and ``left`` (contexts,), and of items without a click behind which the user went on or not,
    ``passed`` and ``quit`` (1,). ``q`` (positions + 1,) is work space.
    """
    total, on, off = 0.0, 0.0, 0.0
    for g in range(item.shape[0]):
        n, top, weight = length[g], last[g] + 1, float(repeats[g])
        if top == n:
            continue
        q[n - 1] = 1.0 - alpha[item[g, n - 1]]
        for k in range(n - 2, top - 1, -1):
            q[k] = (1.0 - alpha[item[g, k]]) * (1.0 - skip + skip * q[k + 1])
        reads, found = weight, q[top]  # reads: expected sessions in which the position is examined
        if top > 0:
            context = item[g, top - 1] if by_item else top - 1
            stays = onward[context] * q[top]
            found = 1.0 - onward[context] + stays
            reads = weight * stays / found if found > 0.0 else 0.0
            stayed[context] += reads
            left[context] += weight - reads
        total += weight * np.log(found)
        for k in range(top, n - 1):
            examined[item[g, k]] += reads
            below = skip * q[k + 1]
            share = below / (1.0 - skip + below) if below > 0.0 else 0.0
            on += reads * share
            off += reads * (1.0 - share)
            reads *= share
        examined[item[g, n - 1]] += reads
    passed[0] += on
    quit[0] += off
    return total


@kernel
def differentiate(item, g, top, n, alpha, skip, work):
    """Fill the rows of ``work`` (7, positions + 1) for a tail from position ``top`` on; see ``inform``.

    They are q and its first two derivatives by skip, A and its derivative, A R and its derivative.
    """
    q, by_skip, by_skip_twice, ahead, ahead_by_skip, slope, turn = work
    q[n], by_skip[n], by_skip_twice[n] = 1.0, 0.0, 0.0
    q[n - 1], by_skip[n - 1], by_skip_twice[n - 1] = 1.0 - alpha[item[g, n - 1]], 0.0, 0.0
    for k in range(n - 2, top - 1, -1):
        u = 1.0 - alpha[item[g, k]]
        q[k] = u * (1.0 - skip + skip * q[k + 1])
        by_skip[k] = u * (q[k + 1] - 1.0 + skip * by_skip[k + 1])
        by_skip_twice[k] = u * (2.0 * by_skip[k + 1] + skip * by_skip_twice[k + 1])
    ahead[top], ahead_by_skip[top] = 1.0, 0.0
    for k in range(top, n):
        u, rest, rest_by_skip = 1.0 - alpha[item[g, k]], 1.0, 0.0
        if k < n - 1:
            rest = 1.0 - skip + skip * q[k + 1]
            rest_by_skip = q[k + 1] - 1.0 + skip * by_skip[k + 1]
        slope[k] = ahead[k] * rest
        turn[k] = ahead_by_skip[k] * rest + ahead[k] * rest_by_skip
        ahead[k + 1] = ahead[k] * u * skip
        ahead_by_skip[k + 1] = u * (ahead[k] + skip * ahead_by_skip[k])


@kernel
def inform(
    item, repeats, length, last, by_item, alpha, onward, skip, block, place, first, size,
    work, inner, border, shared,
):  # fmt: skip
    """Add the tails' observed information about alpha, onward and skip: minus the second derivatives of log f.

    With u(k) = 1 - alpha(k), R(k) = 1 - skip + skip q(k + 1) (1 at the end) and q(k) = u(k) R(k), the probability of a
    tail is f = 1 - onward + onward q(top); without any click, onward is 1. A(k) = product of skip u(j) over the tail's
    positions j above k gives df / du(k) = onward A(k) R(k), of which every u(j) above is a factor. Derivatives by skip
    have their own recursions (``differentiate``).

    Items are in blocks: ``block`` and ``place`` (items,) say where. Block b has a matrix in ``inner`` from
    ``first[b]`` on, with ``size[b]`` rows: the alphas of its items, then their onward if ``by_item``. Entries between
    blocks are left out, and blocks with ``first[b] < 0``. ``border`` (items, 1 or 2, shared) is beside them. ``shared``
    comes last: onward by position, if not ``by_item``, and skip.
    """
    q, by_skip, by_skip_twice, _, _, slope, turn = work
    s = shared.shape[0] - 1  # the place of skip
    for g in range(item.shape[0]):
        n, top, weight = length[g], last[g] + 1, float(repeats[g])
        if top == n:
            continue
        differentiate(item, g, top, n, alpha, skip, work)
        stay, context, own = 1.0, -1, -1
        if top > 0:
            context = item[g, top - 1] if by_item else top - 1
            stay = onward[context]
            own = block[context] if by_item else -1
        f = 1.0 - stay + stay * q[top]
        by_stay, d_skip = (q[top] - 1.0) / f, stay * by_skip[top] / f  # derivatives of log f
        shared[s, s] -= weight * (stay * by_skip_twice[top] / f - d_skip * d_skip)
        across = weight * (by_skip[top] / f - by_stay * d_skip)
        if own >= 0 and first[own] >= 0:
            row = place[context] + size[own] // 2
            inner[first[own] + row * size[own] + row] += weight * by_stay * by_stay
            border[context, 1, s] -= across
        elif top > 0 and not by_item:
            shared[context, context] += weight * by_stay * by_stay
            shared[context, s] -= across
            shared[s, context] -= across
        for k in range(top, n):
            i = item[g, k]
            b = block[i]
            if first[b] < 0:
                continue
            start, width, d = first[b] + place[i] * size[b], size[b], -stay * slope[k] / f  # d: by alpha
            border[i, 0, s] -= weight * (-stay * turn[k] / f - d * d_skip)
            inner[start + place[i]] += weight * d * d
            mixed = weight * (-slope[k] / f - d * by_stay)
            if top > 0 and not by_item:
                border[i, 0, context] -= mixed
            elif own == b:
                column = place[context] + width // 2
                inner[start + column] -= mixed
                inner[first[b] + column * width + place[i]] -= mixed
            for j in range(top, k):
                other = item[g, j]
                if block[other] == b and alpha[other] < 1.0:
                    both = weight * stay * slope[k] / (1.0 - alpha[other]) / f + weight * d * stay * slope[j] / f
                    inner[start + place[other]] -= both
                    inner[first[b] + place[other] * width + place[i]] -= both
