"""The schedules of non-stationary environments in plain Python: integers, sets, and every epoch anew from the first.

Nothing of the environment is used but the numbers of its queries.
"""

import math
from bisect import bisect_right
from itertools import accumulate, cycle, takewhile

import numpy as np

WORD = 2**64
SCHEDULE = 3  # the purpose of a seed that schedules come from


def word(seed, index):
    """SplitMix64 in Python integers."""
    z = (int(seed) + (int(index) + 1) * 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def key_of(seed):
    return int(np.random.SeedSequence(seed, spawn_key=(SCHEDULE,)).generate_state(1, np.uint64)[0])


def epoch_seed(seed, episode, epoch):
    return word(word(key_of(seed), episode), 1 + epoch)


def shuffled(items, places, seed, index=0):
    """``items`` with a uniform draw of them at the first ``places``; place p takes the word number ``index`` + p."""
    items = list(items)
    for place in range(min(places, len(items) - 1)):
        other = place + ((word(seed, index + place) >> 32) * (len(items) - place) >> 32)
        items[place], items[other] = items[other], items[place]
    return items


def drawn_breakpoints(seed, episode, last, count):
    """Floyd's algorithm with a set."""
    start, chosen = word(word(key_of(seed), episode), 0), set()
    for n in range(count):
        top = last - count + n + 1
        pick = 1 + word(start, n) % top
        chosen.add(top if pick in chosen else pick)
    return sorted(chosen)


def cycled_breakpoints(lengths, rounds):
    """The rounds below ``rounds`` at which epochs of these lengths begin."""
    return list(takewhile(lambda start: start < rounds, accumulate(cycle(lengths))))


def epoch_at(breakpoints, round):
    return bisect_right(breakpoints, round)


def ranked(attraction):
    return sorted(range(len(attraction)), key=lambda item: (-attraction[item], item))


def jumped(seed, episode, epoch, items, own, *, jumps, kept):
    """The set of the items that have jumped."""
    if epoch % 2 == 0:
        return set()
    below = ranked(own)[kept:]
    return set(shuffled(below, jumps, epoch_seed(seed, episode, epoch), kept)[:jumps])


def labels(seed, episode, epoch, items):
    """The item whose numbers each item has."""
    return list(range(items)) if epoch == 0 else shuffled(range(items), items, epoch_seed(seed, episode, epoch))


def steps(seed, episode, epoch, items):
    """How far each item has walked."""
    ups = [[word(epoch_seed(seed, episode, e), i) >> 63 == 0 for e in range(1, epoch + 1)] for i in range(items)]
    return [sum(1 if up else -1 for up in item) for item in ups]


def best_set(seed, episode, epoch, items, count):
    """The best items of the lower-bound problem."""
    last = set()
    for e in range(epoch + 1):
        start, tried = epoch_seed(seed, episode, e), 0
        while True:
            best = set(shuffled(range(items), count, start, tried * items)[:count])
            tried += 1
            if best != last:
                break
        last = best
    return last


def moved(alpha, up):
    """``alpha`` moved by ``up`` on the logit scale."""
    return alpha if alpha in (0, 1) or up == 0 else 1 / (1 + math.exp(-(math.log(alpha / (1 - alpha)) + up)))


def parameters_of(env, own, seed, episode, epoch):
    """The parameters of one row in one epoch, as a dict of arrays, from those of its query, ``own``."""
    own, items = {name: np.array(values) for name, values in own.items()}, env.num_items
    alpha = own["attraction"].tolist()
    knobs = env.schedule.knobs
    if env.schedule.name == "jump":
        up = jumped(seed, episode, epoch, items, alpha, jumps=knobs["jumps"], kept=knobs["kept"])
        new = [knobs["jump_attraction"] if i in up else a for i, a in enumerate(alpha)]
    elif env.schedule.name == "two-level":
        best = best_set(seed, episode, epoch, items, env.num_positions)
        new = [knobs["p"] if i in best else knobs["p"] - knobs["gap"] for i in range(items)]
    elif env.schedule.name == "drift":
        new = [
            moved(a, knobs["drift_step"] * n) for a, n in zip(alpha, steps(seed, episode, epoch, items), strict=True)
        ]
    else:
        label = labels(seed, episode, epoch, items)
        return {n: v[label] if env.model.axes[n] == ("item",) else v for n, v in own.items()}
    return {**own, "attraction": np.array(new)}


def own_parameters(env, query):
    return {name: table[query] for name, table in env.queries.parameters._asdict().items()}
