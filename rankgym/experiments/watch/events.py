"""What has changed between two beliefs, in words, and how many such changes a page lists."""

from collections.abc import Iterator, Sequence
from typing import Any

from rankgym.agent import Beliefs

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
LISTED = 30  # items named in a change; of more, their number is said
STRUCTURE, CHAMPION = "structure", "champion"  # kinds of changes


def changes(before: Beliefs | None, after: Beliefs | None, thing: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each change of structure, and a sentence about it; ``thing`` is "item" or "arm".

    An agent without beliefs believes nothing, which is no change of what it believed.
    """
    if before is None or after is None or before.structure == after.structure:
        return
    texts = [*_of_blocks(before.blocks, after.blocks), *_of_items_out(before, after, thing)]
    if before.base_list != after.base_list:
        texts.append(_of_base_list(before.base_list, after.base_list, thing))
    if texts or before.blocks != after.blocks:
        yield STRUCTURE, "; ".join(texts) or "the order of the blocks changes"
    if before.champion != after.champion:
        named = "names no best one any more" if after.champion is None else f"names {thing} {after.champion} the best"
        yield CHAMPION, named + ("" if before.champion is None else f", no longer {before.champion}")


def ordinal(place: int) -> str:
    """Return "first" for 0, and so on; "11th" for 10."""
    return ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"


def listed(items: Sequence[int]) -> str:
    """Return the items as text, or their number if they are many."""
    return ", ".join(map(str, items)) if len(items) <= LISTED else f"{len(items)} of them"


def _of_blocks(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> Iterator[str]:
    """Say which blocks split, and which join; items that leave all blocks are another matter (``out``)."""
    if len(after) == 1 and len(before) > 1:
        yield "all blocks are one again"
        return
    old = {item: place for place, block in enumerate(before) for item in block}
    new = {item: place for place, block in enumerate(after) for item in block}
    for place, block in enumerate(before):
        parts: dict[int, list[int]] = {}
        for item in block:
            if item in new:
                parts.setdefault(new[item], []).append(item)
        if len(parts) > 1:
            shown = " | ".join(listed(sorted(parts[part])) for part in sorted(parts))
            yield f"{ordinal(place)} block splits: {shown}"
    for place, block in enumerate(after):
        origins: dict[int, list[int]] = {}
        for item in block:
            if item in old:
                origins.setdefault(old[item], []).append(item)
        if len(origins) > 1:
            *new_here, mine = (sorted(origins[origin]) for origin in sorted(origins))
            joining = sorted(item for items in new_here for item in items)
            verb = "joins" if len(joining) == 1 else "join"
            yield f"{listed(joining)} {verb} {listed(mine)} in the {ordinal(place)} block"


def _of_items_out(before: Beliefs, after: Beliefs, thing: str) -> Iterator[str]:
    for verb, items in (
        ("given up", set(after.out) - set(before.out)),
        ("back", set(before.out) - set(after.out)),
    ):
        if items:
            plural, are = ("s", "are") if len(items) > 1 else ("", "is")
            yield f"{thing}{plural} {listed(sorted(items))} {are} {verb}"


def _of_base_list(before: Sequence[int], after: Sequence[int], thing: str) -> str:
    moved = [place for place, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
    if len(before) == len(after) and len(moved) == 2 and before[moved[0]] == after[moved[1]]:
        up, down = after[moved[0]], after[moved[1]]
        return f"{thing} {up} takes position {moved[0] + 1} from {thing} {down} (now at {moved[1] + 1})"
    return f"base list is now {listed(after)}"


class Selection:
    """Which changes are listed: ``limit`` of each kind in every power of ten of the rounds, from the first one on."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.counts: dict[Any, int] = {}  # by kind and power of ten
        self.left_out: dict[str, int] = {}  # by kind

    def take(self, kind: str, round_number: int) -> bool:
        """Whether the change is listed; otherwise it is counted in ``left_out``."""
        place = (kind, len(str(round_number)))
        self.counts[place] = self.counts.get(place, 0) + 1
        if self.counts[place] > self.limit:
            self.left_out[kind] = self.left_out.get(kind, 0) + 1
            return False
        return True
