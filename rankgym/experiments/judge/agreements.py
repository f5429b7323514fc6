"""Agents whose numbers are all equal, and why that is no mistake."""

from collections.abc import Mapping

import numpy as np

from rankgym.play.history import DuelingHistory, History, measures


def equal_groups(histories: Mapping[str, History | DuelingHistory]) -> list[list[str]]:
    """Return groups of labels, two or more each, whose measures are equal in every row and record, to the last bit."""
    groups: dict[tuple[bytes, ...], list[str]] = {}
    for label, history in histories.items():
        bits = (np.ascontiguousarray(getattr(history, name)).tobytes() for name in ("rounds", *measures(history)))
        groups.setdefault(tuple(bits), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def agreement_notes(histories: Mapping[str, History | DuelingHistory]) -> list[str]:
    """Say which of ``histories``, of agents on the same users, agree in every number, and why."""
    notes = []
    for group in equal_groups(histories):
        history = histories[group[0]]
        shown = "pairs" if isinstance(history, DuelingHistory) else "lists"
        records, rows = history.regret.shape
        where = "the one row" if rows == 1 else f"each of the {rows:,} rows"
        notes.append(
            f"{', '.join(group[:-1])} and {group[-1]} agree to the last bit in {where}, at all {records:,} recorded "
            f"rounds: they must have shown the same {shown} to the same users, as agents do that draw from the same "
            "seed, or begin with the same list, and have not yet used what they have learned; more rounds may part them"
        )
    return notes
