"""Small logs for the tests of fitting, and their users in plain Python, with every coin at hand."""

import itertools
import math

import numpy as np

from rankgym.logs.sessions import Sessions, click_bits, merged
from rankgym.models import MODELS

NAMES = list(MODELS)
CASCADES = ["DCM", "DBN", "CCM"]


def random_log(seed, *, queries=2, items=4, positions=3, groups=30, most_clicks=99):
    """A log of random lists of random lengths, with random clicks."""
    generator = np.random.default_rng(seed)
    query = generator.integers(0, queries, groups)
    item = np.argsort(generator.random((groups, items)), axis=1)[:, :positions] + items * query[:, None]
    item[np.arange(positions) >= generator.integers(1, positions + 1, groups)[:, None]] = -1
    clicked = (generator.random((groups, positions)) < 0.4) & (item >= 0)
    clicked &= np.cumsum(clicked, axis=1) <= most_clicks
    return made_log(query, item, clicked, generator.integers(1, 5, groups), queries, items)


def made_log(query, item, clicked, repeats, queries, items):
    parts = merged(query.astype(np.int32), item.astype(np.int32), click_bits(clicked), np.asarray(repeats, np.int64))
    labels = np.arange(queries * items).astype(str)
    return Sessions(*parts, labels[:queries], labels, np.repeat(np.arange(queries), items).astype(np.int32))


def random_parameters(name, log, seed):
    generator = np.random.default_rng(seed)
    sizes = {"item": len(log.item_query), "position": log.num_positions, "previous": log.num_positions}
    return {
        key: generator.uniform(0.05, 0.95, tuple(sizes[axis] for axis in axes))
        for key, axes in MODELS[name].axes.items()
    }


def simulated_log(name, parameters, sessions, seed, *, queries=3, items=6, positions=5):
    """Sessions of the model's own kernel on random lists."""
    generator = np.random.default_rng(seed)
    query = generator.integers(0, queries, sessions)
    place = np.argsort(generator.random((sessions, items)), axis=1)[:, :positions]
    tables = []
    for key in MODELS[name].parameters._fields:
        by_item = MODELS[name].axes[key] == ("item",)
        table = parameters[key].reshape(queries, items)[query] if by_item else parameters[key]
        tables.append(np.ascontiguousarray(table if by_item else np.broadcast_to(table, (sessions, *table.shape))))
    clicks, reward = np.empty((sessions, positions), np.int8), np.empty(sessions)
    key = generator.integers(0, 2**63, sessions).astype(np.uint64)
    MODELS[name].rewards["clicks"].click(*tables, key, np.arange(sessions), place, positions, clicks, reward)
    return made_log(query, place + items * query[:, None], clicks, np.ones(sessions), queries, items)


def play(name, p, items, toss):
    """One user of a model on a list: the clicks. ``toss(parameter, index, probability)`` tosses a coin.

    A coin of going on is not tossed behind the last item.
    """
    clicks, previous, reading = [], -1, True
    for k, item in enumerate(items):
        end = k == len(items) - 1
        if name in ("PBM", "UBM"):
            place = k if name == "PBM" else (k, previous)
            attracted = toss("attraction", item, p["attraction"][item])
            clicked = toss("examination", place, p["examination"][place]) and attracted
        else:
            clicked = reading and toss("attraction", item, p["attraction"][item])
        clicks.append(clicked)
        previous = k if clicked else previous
        if not reading or end or name in ("PBM", "UBM", "DBM"):
            continue
        if name == "CM":
            reading = not clicked
        elif name == "DCM" and clicked:
            reading = not toss("termination", k, p["termination"][k])
        elif name == "DBN":
            satisfied = clicked and toss("satisfaction", item, p["satisfaction"][item])
            reading = not satisfied and not toss("abandonment", (), p["abandonment"])
        elif name == "CCM":
            kind = "continue_noclick"
            if clicked:
                relevant = toss("attraction", item, p["attraction"][item])
                kind = f"continue_click_{'' if relevant else 'ir'}relevant"
            reading = toss(kind, (), p[kind])
    return tuple(clicks)


class Undecided(Exception):
    """The next coin has not been decided."""


def users(name, parameters, items):
    """All users of a list: (probability, clicks, tosses), tosses a list of (parameter, index, head, probability)."""
    done, waiting = [], [()]
    while waiting:
        decided = waiting.pop()
        tosses = []

        def toss(parameter, index, probability, decided=decided, tosses=tosses):
            if len(tosses) == len(decided):
                raise Undecided
            tosses.append((parameter, index, decided[len(tosses)], probability))
            return tosses[-1][2]

        try:
            clicks = play(name, parameters, items, toss)
        except Undecided:
            waiting += [(*decided, False), (*decided, True)]
            continue
        done.append((math.prod(p if head else 1.0 - p for *_, head, p in tosses), clicks, tosses))
    return done


def e_step(name, parameters, log):
    """Expected heads and tosses and the log-likelihood, by enumeration of all users."""
    heads = {key: np.zeros(np.shape(table)) for key, table in parameters.items()}
    tosses = {key: np.zeros(np.shape(table)) for key, table in parameters.items()}
    total = 0.0
    for items, bits, repeats in zip(log.item.tolist(), log.clicks.tolist(), log.repeats.tolist(), strict=True):
        items = [item for item in items if item >= 0]
        clicks = tuple(bool(bits >> k & 1) for k in range(len(items)))
        those = [(chance, made) for chance, seen, made in users(name, parameters, items) if seen == clicks]
        likelihood = sum(chance for chance, _ in those)
        total += repeats * math.log(likelihood)
        for chance, made in those:
            for key, index, head, _ in made:
                tosses[key][index] += repeats * chance / likelihood
                heads[key][index] += repeats * chance / likelihood * head
    return heads, tosses, total


def all_clicks(log):
    """A log of every click vector on each list, once."""
    lists = {tuple(items): query for items, query in zip(log.item.tolist(), log.query.tolist(), strict=True)}
    query, item, clicked = [], [], []
    for items, number in lists.items():
        length = sum(one >= 0 for one in items)
        for vector in itertools.product([False, True], repeat=length):
            query.append(number)
            item.append(items)
            clicked.append([*vector, *[False] * (len(items) - length)])
    queries = len(log.query_id)
    return made_log(
        np.array(query), np.array(item), np.array(clicked), np.ones(len(query)), queries, len(log.item_id) // queries
    )
