"""What there is to see of a row's last session: plain values for pictures and pages.

``scene(row)`` of an environment returns one of the scenes here, ``as_plain`` turns it into what JSON can write. All of
it is the truth, which agents never see. None stands for what is not there: before an episode's first session there is
no displayed list, and some regrets are unknown. May import nothing of rankgym.
"""

from typing import Any, NamedTuple, TypeAlias

MOST_LETTERS = 24  # of a query's name in headings


class Position(NamedTuple):
    """A position of a list, from the top: what is there, and what its user does.

    Attributes:
        item: item or document, from 0.
        attraction: probability of a click if the user examines the position.
        examined: probability that the user examines the position, given the whole list and no clicks.
        clicked: whether it was clicked; None in a list that was not displayed.
        left_share: in duels, left's part of the credit for a click here, 0 .. 1; None: no credit, or unknown.
    """

    item: int
    attraction: float
    examined: float
    clicked: bool | None
    left_share: float | None


class RankingScene(NamedTuple):
    """A displayed list and its clicks.

    Attributes:
        model: the click model: a key of ``rankgym.models.MODELS``.
        query: number of the query, from 0.
        round: number of the session in the episode, from 0; None before the first.
        epoch: how often users have changed in the episode; None: they do not change.
        displayed: the displayed list; empty before the first session.
        best: the list that regret is measured against.
        best_is_sorted: whether it is the list sorted by attraction (``reference="sorted"``), not the one of largest
            reward.
        attraction: of all items.
        cutoff: positions that count in rewards.
        paid: what rewards count: "clicks" or "abandonment".
        expected_reward: of the displayed list; None before the first session.
        optimal_reward: expected reward of ``best``.
        misordered: incorrectly ordered pairs of the displayed list; None before the first session.
        regret: expected regret of this session; None before the first.
        regret_so_far: in this episode.
        query_name: in imported fits; else "".
        item_names: of all items, in imported fits; else empty.
    """

    model: str
    query: int
    round: int | None
    epoch: int | None
    displayed: list[Position]
    best: list[Position]
    best_is_sorted: bool
    attraction: list[float]
    cutoff: int
    paid: str
    expected_reward: float | None
    optimal_reward: float
    misordered: int | None
    regret: float | None
    regret_so_far: float
    query_name: str = ""
    item_names: tuple[str, ...] = ()


class DuelScene(NamedTuple):
    """A duel of two arms of a preference matrix.

    Attributes:
        problem: number of the preference matrix, from 0.
        round: number of the duel in the episode, from 0; None before the first.
        left: the arm on the left, from 0; None before the first duel.
        right: the arm on the right.
        winner: 0: left, 1: right; None before the first duel.
        left_beats_right: the probability; None before the first duel.
        arms: the arms' numbers in the named matrix.
        gaps: of all arms, to the best one.
        best_arm: the arm that regret is measured against.
        best_by: by what it is the best: "condorcet", "copeland" or "borda".
        regret_kind: what a duel's regret is of its two gaps: "average", "weak" or "strong".
        regret: of this duel; None before the first.
        regret_so_far: in this episode.
    """

    problem: int
    round: int | None
    left: int | None
    right: int | None
    winner: int | None
    left_beats_right: float | None
    arms: list[int]
    gaps: list[float]
    best_arm: int
    best_by: str
    regret_kind: str
    regret: float | None
    regret_so_far: float


class Side(NamedTuple):
    """One side of a duel by interleaving.

    Attributes:
        ranking: items or documents, best first, as many as are displayed.
        credit: of this session's clicks, by the interleaving method.
        arm: the ranker; None in duels of rankings.
        feature: the ranker's feature, from 0 (the file counts from 1); None in duels of rankings.
        gap: to the best list, or the best ranker; None: unknown.
        expected_reward: if this list were displayed; None in duels of rankers.
    """

    ranking: list[int]
    credit: float
    arm: int | None
    feature: int | None
    gap: float | None
    expected_reward: float | None


class InterleavedScene(NamedTuple):
    """A duel of two rankings by interleaving them and clicks on the one list.

    Attributes:
        what: what is ranked: "item" or "document".
        user: the click model, or the user model.
        interleaving: the method: a key of ``rankgym.interleaving.INTERLEAVINGS``.
        num_positions: of the interleaved list, at most.
        query: number of the query, from 0; None before the first session where each session draws one.
        round: number of the session in the episode, from 0; None before the first.
        left: the ranking on the left; None before the first session.
        right: the ranking on the right.
        displayed: the interleaved list.
        winner: 0: left, 1: right; None before the first session.
        tied: whether credit was equal, and a coin decided.
        best: the best list; None in duels of rankers.
        attraction: of all items; None in duels of rankers.
        best_arm: the ranker that regret is measured against; None: unknown, or a duel of rankings.
        left_beats_right: the probability; None: unknown.
        regret_kind: what a session's regret is of the two gaps: "average", "weak" or "strong".
        regret: of this session; None before the first, or unknown.
        regret_so_far: in this episode; None: unknown.
        query_name: in imported fits; else "".
        item_names: of all items, in imported fits; else empty.
    """

    what: str
    user: str
    interleaving: str
    num_positions: int
    query: int | None
    round: int | None
    left: Side | None
    right: Side | None
    displayed: list[Position]
    winner: int | None
    tied: bool
    best: list[Position] | None
    attraction: list[float] | None
    best_arm: int | None
    left_beats_right: float | None
    regret_kind: str
    regret: float | None
    regret_so_far: float | None
    query_name: str = ""
    item_names: tuple[str, ...] = ()


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
