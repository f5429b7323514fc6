"""Agents whose numbers or lists are all equal, and why that is no mistake."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from rankgym.play.history import DuelingHistory, History, measures

AS_AGENTS_DO = (
    "as agents do that draw from the same seed, or begin with the same list, and have not yet used what they have "
    "learned, or whose settings have made no difference so far; more rounds may part them"
)


def equals(keys: Mapping[str, Hashable]) -> list[list[str]]:
    """Return groups of labels, two or more each, that have the same key."""
    groups: dict[Hashable, list[str]] = {}
    for label, key in keys.items():
        groups.setdefault(key, []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def equal_groups(histories: Mapping[str, History | DuelingHistory]) -> list[list[str]]:
    """Return groups of labels, two or more each, whose measures are equal in every row and record, to the last bit."""
    return equals(
        {
            label: tuple(
                np.ascontiguousarray(getattr(history, name)).tobytes() for name in ("rounds", *measures(history))
            )
            for label, history in histories.items()
        }
    )


def agreement_notes(histories: Mapping[str, History | DuelingHistory]) -> list[str]:
    """Say which of ``histories``, of agents on the same users, agree in every number, and why."""
    notes = []
    for group in equal_groups(histories):
        history = histories[group[0]]
        shown = "pairs" if isinstance(history, DuelingHistory) else "lists"
        records, rows = history.regret.shape
        where = "the one row" if rows == 1 else f"each of the {rows:,} rows"
        notes.append(
            f"{joined(group)} agree to the last bit in {where}, at all {records:,} recorded "
            f"rounds: they must have shown the same {shown} to the same users, {AS_AGENTS_DO}"
        )
    return notes


def joined(names: Sequence[str]) -> str:
    """Return names as in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
