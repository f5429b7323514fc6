"""What all readers hand on: result lists of a chunk of a log, as places in its bytes; and the broken lines."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError

EXAMPLES = 5  # broken lines that are shown
HOPELESS = 10_000  # lines after which a file that is mostly broken is given up
LONGEST_LABEL = 1_000  # bytes of a query or a document
LONGEST_LINE = 100_000  # bytes


class Lists(NamedTuple):
    """Result lists with their clicks. Labels are stretches of ``text``: the first byte, and the one behind the last."""

    text: NDArray[np.uint8]
    query: NDArray[np.int32]  # (lists, 2) places in ``text``
    first: NDArray[np.int64]  # (lists + 1,): list i has the items first[i] .. first[i + 1] - 1
    item: NDArray[np.int32]  # (items, 2) places in ``text``
    clicks: NDArray[np.uint64]  # (lists,) bit k is set if position k was clicked
    counted: NDArray[np.bool_]  # (lists,) whether it is a session; else its clicks were withheld


class Faults:
    """The broken lines of a log: their number, the first few of them, and the number of all lines."""

    def __init__(self, max_broken: float) -> None:
        self.max_broken = max_broken
        self.broken = self.lines = 0
        self.examples: list[str] = []

    def add(self, path: Path, line: int, why: str, what: str = "line") -> None:
        """Count a broken line."""
        self.broken += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{path}, {what} {line}: {why}")

    def wanted(self) -> bool:
        """Return whether the next one will be shown: what is wrong need not be said in words otherwise."""
        return len(self.examples) < EXAMPLES

    def check(self, *, finished: bool) -> None:
        """Raise a DataError if too many lines are broken; before the end, only if more than half of many are."""
        too_many = self.broken > self.max_broken * self.lines
        if too_many and (finished or (self.lines >= HOPELESS and 2 * self.broken > self.lines)):
            so_far = "" if finished else " so far"
            number = f"{self.broken:,} of {self.lines:,} lines{so_far} {'is' if self.broken == 1 else 'are'} broken"
            first = "The first: " if self.broken > len(self.examples) else ""
            allowed = f"allowed: a share of max_broken = {self.max_broken:g}"
            raise DataError(f"{number}; {allowed}. {first}{'; '.join(self.examples)}")


def shown(word: bytes) -> str:
    """A word of a log for a message: one line, shortened."""
    text = ascii(word.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 60 else f"{text[:56]}...'"
