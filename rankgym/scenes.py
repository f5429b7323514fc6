"""What there is to see of a row's last session: plain values for pictures and pages.

``scene(row)`` of an environment returns one of the scenes here, ``as_plain`` turns it into what JSON can write. All of
it is the truth, which agents never see. None stands for what is not there: before an episode's first session there is
no displayed list, and some regrets are unknown. May import nothing of rankgym.
"""

from typing import Any, NamedTuple, TypeAlias

MOST_LETTERS = 24  # of a query's name in headings


class Position(NamedTuple):
    """A position of a list, from the top: what is there, and what its user does."""

    item: int  # or document
    attraction: float  # probability of a click if the user examines the position
    examined: float  # probability that the user examines the position, given the whole list and no clicks
    clicked: bool | None  # None in a list that was not displayed
    left_share: float | None  # duels: left's part of the credit for a click here, 0 .. 1; None: no credit, or unknown


class RankingScene(NamedTuple):
    """A displayed list and its clicks."""

    model: str  # the click model: a key of ``rankgym.models.MODELS``
    query: int
    round: int | None  # from 0 in the episode
    epoch: int | None  # None: users do not change
    displayed: list[Position]
    best: list[Position]  # the list that regret is measured against
    best_is_sorted: bool  # it is the list sorted by attraction (``reference="sorted"``), not the one of largest reward
    attraction: list[float]  # of all items
    cutoff: int  # positions that count in rewards
    paid: str  # what rewards count: "clicks" or "abandonment"
    expected_reward: float | None
    optimal_reward: float
    misordered: int | None  # incorrectly ordered pairs
    regret: float | None
    regret_so_far: float  # in this episode
    query_name: str = ""  # in imported fits
    item_names: tuple[str, ...] = ()  # of all items, in imported fits


class DuelScene(NamedTuple):
    """A duel of two arms of a preference matrix."""

    problem: int
    round: int | None
    left: int | None  # arms, from 0
    right: int | None
    winner: int | None  # 0 left, 1 right
    left_beats_right: float | None  # the probability
    arms: list[int]  # the arms' numbers in the named matrix
    gaps: list[float]  # of all arms, to the best one
    best_arm: int  # the arm that regret is measured against
    best_by: str  # "condorcet", "copeland" or "borda"
    regret_kind: str  # "average", "weak" or "strong" of the two gaps
    regret: float | None
    regret_so_far: float


class Side(NamedTuple):
    """One side of a duel by interleaving."""

    ranking: list[int]  # items or documents, best first, as many as are displayed
    credit: float
    arm: int | None  # the ranker; None in duels of rankings
    feature: int | None  # of the ranker, numbered from 0
    gap: float | None  # to the best list, or the best ranker; None: unknown
    expected_reward: float | None  # if this list were displayed; None in duels of rankers


class InterleavedScene(NamedTuple):
    """A duel of two rankings by interleaving them and clicks on the one list."""

    what: str  # that is ranked: "item" or "document"
    user: str  # the click model, or the user model
    interleaving: str  # a key of ``rankgym.interleaving.INTERLEAVINGS``
    num_positions: int  # of the interleaved list, at most
    query: int | None
    round: int | None
    left: Side | None
    right: Side | None
    displayed: list[Position]  # the interleaved list
    winner: int | None  # 0 left, 1 right
    tied: bool  # credit was equal, and a coin decided
    best: list[Position] | None  # the best list; None in duels of rankers
    attraction: list[float] | None  # of all items; None in duels of rankers
    best_arm: int | None  # the ranker that regret is measured against; None: unknown, or a duel of rankings
    left_beats_right: float | None  # the probability; None: unknown
    regret_kind: str
    regret: float | None
    regret_so_far: float | None  # None: unknown
    query_name: str = ""  # in imported fits
    item_names: tuple[str, ...] = ()  # of all items, in imported fits


Scene: TypeAlias = RankingScene | DuelScene | InterleavedScene


def query_text(query: int, name: str = "") -> str:
    """Return a query's number, and its name if it has one."""
    short = name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
    return f"query {query} ({short})" if name else f"query {query}"


def as_plain(scene: Any) -> Any:
    """Return ``scene`` as dicts, lists, strings and numbers; a scene's dict has its class's name as "scene"."""
    if isinstance(scene, tuple) and hasattr(scene, "_asdict"):
        values = {name: as_plain(value) for name, value in scene._asdict().items()}
        return {"scene": type(scene).__name__, **values} if isinstance(scene, Scene) else values
    return [as_plain(value) for value in scene] if isinstance(scene, (list, tuple)) else scene
