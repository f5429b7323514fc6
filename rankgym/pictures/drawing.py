"""One picture for each kind of scene."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankgym.pictures.canvas import (
    BLUE,
    CHART,
    FAINT,
    INK,
    LARGE,
    LEFT,
    MARGIN,
    MARK,
    MAX_ROWS,
    NORMAL,
    OTHERS,
    RIGHT,
    RIGHT_EDGE,
    ROW,
    SKY,
    SMALL,
    VERMILION,
    WIDTH,
    Canvas,
    decimals,
    sum_of,
)
from rankgym.scenes import DuelScene, InterleavedScene, Position, RankingScene, Scene, Side, query_text

NOTHING_YET = "-"  # of a figure before the first session
PROBABILITY = "Examined: the probability that a user examines the position of this list, before any click."
WINNERS = {"condorcet": "Condorcet winner", "copeland": "Copeland winner", "borda": "Borda winner"}
SIDES = ("left", "right")


def draw(scene: Scene) -> NDArray[np.uint8]:
    """Return the picture of ``scene``, (height, width, 3) uint8. Needs Pillow, the extra ``render``.

    Args:
        scene: what ``env.scene(row)`` of a vector environment, or ``env.scene()`` of a single one, returns.

    Raises:
        RuntimeError: Pillow is missing.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.pictures import draw
        >>> env = gym.make("rankgym/PBM-Yandex-v0", query=0, render_mode="rgb_array")
        >>> observation, info = env.reset(seed=0)
        >>> frame = draw(env.unwrapped.scene())
        >>> frame.shape[2], str(frame.dtype), (frame == env.render()).all().item()
        (3, 'uint8', True)
    """
    if isinstance(scene, RankingScene):
        return draw_ranking(scene)
    return draw_duel(scene) if isinstance(scene, DuelScene) else draw_interleaved(scene)


def title(*parts: str | None) -> str:
    """Join the parts that are there."""
    return ",  ".join(part for part in parts if part is not None)


def moment(round: int | None, epoch: int | None = None) -> str:
    """Return the round, and the epoch if there are epochs."""
    when = "before the first session" if round is None else f"round {round:,}"
    return when if epoch is None else f"{when},  epoch {epoch}"


def rows_of(positions: int) -> int:
    """Return how many lines a list of so many positions takes: long ones have a line that says what is left out."""
    return positions if positions <= MAX_ROWS else MAX_ROWS + 1


# -- rankings ----------------------------------------------------------------------------------------------------------


def draw_ranking(scene: RankingScene) -> NDArray[np.uint8]:
    """Draw the result page beside the best list, with all items' attraction below."""
    positions = len(scene.best)
    lists = rows_of(positions) * ROW
    canvas = Canvas(104 + 66 + lists + 32 + CHART)
    y = canvas.heading(
        title(scene.model, query_text(scene.query, scene.query_name), moment(scene.round, scene.epoch)),
        {
            "clicks": _count_of_clicks(scene),
            "expected reward": _played(scene.round, decimals(scene.expected_reward, 3)),
            "of the best list": decimals(scene.optimal_reward, 3),
            "regret": _played(scene.round, decimals(scene.regret, 3)),
            "regret so far": sum_of(scene.regret_so_far),
            "misordered pairs": _played(scene.round, f"{scene.misordered or 0:,}"),
        },
    )
    best = "List sorted by attraction" if scene.best_is_sorted else "Best list"
    canvas.text(MARGIN, y + 22, "Displayed list")
    canvas.text(590, y + 22, best)
    _draw_displayed(canvas, y + 46, scene.displayed, scene.cutoff)
    _draw_best(canvas, y + 46, scene.best)
    if scene.round is None:
        canvas.text(MARGIN, y + 46 + ROW, "Nothing displayed yet.", color=FAINT)
    y += 66 + lists
    paid = "Rewards count clicks" if scene.paid == "clicks" else "Rewards count sessions left after a click"
    counted = "" if scene.cutoff == positions else f" {paid} down to the line, position {scene.cutoff}."
    canvas.text(MARGIN, y + 14, PROBABILITY + counted, size=SMALL, color=FAINT, width=WIDTH - 2 * MARGIN)
    _draw_attraction(canvas, y + 32, scene.attraction, scene.displayed)
    return canvas.array()


def _played(round: int | None, figure: str) -> str:
    return NOTHING_YET if round is None else figure


def _count_of_clicks(scene: RankingScene | InterleavedScene) -> str:
    return _played(scene.round, str(sum(bool(place.clicked) for place in scene.displayed)))


def _head(canvas: Canvas, y: float, columns: Sequence[tuple[float, str]]) -> None:
    for x, name in columns:
        canvas.text(x, y, name, size=SMALL, color=FAINT)


def _draw_displayed(canvas: Canvas, y: float, displayed: Sequence[Position], cutoff: int) -> None:
    _head(canvas, y, [(MARGIN, "position"), (88, "item"), (150, "attraction"), (328, "examined"), (502, "clicks")])
    for k, place in enumerate(displayed[:MAX_ROWS]):
        line = y + (k + 0.9) * ROW
        canvas.text(48, line, str(k + 1), anchor="rm")
        canvas.text(88, line, str(place.item), width=58)
        canvas.bar(150, line, 120, place.attraction, BLUE, f"{place.attraction:.2f}")
        canvas.bar(328, line, 120, place.examined, SKY, f"{place.examined:.2f}")
        if place.clicked:
            canvas.tag(502, line, "click", VERMILION)
        if k + 1 == cutoff < len(displayed):
            canvas.rule(line + ROW / 2, MARGIN, 560, INK)
    _draw_rest(canvas, MARGIN, y, displayed, displayed)


def _draw_best(canvas: Canvas, y: float, best: Sequence[Position]) -> None:
    _head(canvas, y, [(590, "position"), (654, "item"), (706, "attraction"), (832, "examined")])
    for k, place in enumerate(best[:MAX_ROWS]):
        line = y + (k + 0.9) * ROW
        canvas.text(614, line, str(k + 1), anchor="rm")
        canvas.text(654, line, str(place.item), width=48)
        canvas.bar(706, line, 76, place.attraction, BLUE, f"{place.attraction:.2f}")
        canvas.bar(832, line, 64, place.examined, SKY, f"{place.examined:.2f}")
    _draw_rest(canvas, 590, y, best, ())


def _draw_rest(canvas: Canvas, x: float, y: float, shown: Sequence[object], clicked: Sequence[Position]) -> None:
    """Say what of a long list is not drawn."""
    if len(shown) > MAX_ROWS:
        clicks = sum(bool(place.clicked) for place in clicked[MAX_ROWS:])
        found = f", {clicks} {'click' if clicks == 1 else 'clicks'} there" if clicked else ""
        text = f"{len(shown) - MAX_ROWS:,} more positions{found}"
        canvas.text(x, y + (MAX_ROWS + 0.9) * ROW, text, size=SMALL, color=FAINT)


def _draw_attraction(canvas: Canvas, y: float, attraction: Sequence[float], displayed: Sequence[Position]) -> None:
    shown = {place.item for place in displayed}
    text = "Attraction of all items, 0 to 1; dark: displayed"
    canvas.chart(y, text, attraction, lambda item: BLUE if item in shown else SKY, {}, scale=1.0)


# -- duels of arms -----------------------------------------------------------------------------------------------------


def draw_duel(scene: DuelScene) -> NDArray[np.uint8]:
    """Draw the two arms, who was likely to win and who won, and the gaps of all arms below."""
    canvas = Canvas(104 + 150 + CHART + 3 * MARK + 10)
    winner = f"{WINNERS[scene.best_by]}: arm {_arm(scene, scene.best_arm)}"
    y = canvas.heading(
        title("Duel of arms", f"problem {scene.problem}", moment(scene.round), winner),
        {
            "winner": NOTHING_YET if scene.winner is None else f"{SIDES[scene.winner]}",
            "left beats right": _played(scene.round, f"p = {decimals(scene.left_beats_right, 3)}"),
            f"regret ({scene.regret_kind} gap)": _played(scene.round, decimals(scene.regret, 3)),
            "regret so far": sum_of(scene.regret_so_far),
            "arms": f"{len(scene.gaps)}",
        },
    )
    middle = WIDTH / 2
    for side, (arm, x) in enumerate(((scene.left, MARGIN), (scene.right, middle + 8))):
        color = (LEFT, RIGHT)[side]
        canvas.draw.rectangle((x, y + 18, x + 6, y + 76), fill=color)
        name = "no duel yet" if arm is None else f"{SIDES[side]}: arm {_arm(scene, arm)}"
        end = x + 18 + canvas.text(x + 18, y + 32, name, size=LARGE, width=middle - 120)
        if arm is not None:
            best = "the best arm" if arm == scene.best_arm else f"gap to the best arm {scene.gaps[arm]:.3f}"
            canvas.text(x + 18, y + 62, best, color=FAINT)
            if scene.winner == side:
                canvas.tag(end + 14, y + 32, "won", VERMILION)
    if scene.left_beats_right is not None:
        _draw_odds(canvas, y + 110, scene.left_beats_right)
    y += 150
    places = {"best": scene.best_arm, "left": scene.left, "right": scene.right}
    colors = {scene.left: LEFT, scene.right: RIGHT}
    text = f"Gaps of all arms to the best one; highest bar: {max(scene.gaps):.3f}"
    canvas.chart(y, text, scene.gaps, lambda arm: colors.get(arm, OTHERS), places)
    return canvas.array()


def _arm(scene: DuelScene, arm: int) -> str:
    """Return the arm's number, and that in the named matrix if it is another one."""
    number = scene.arms[arm]
    return str(arm) if number == arm else f"{arm} (number {number})"


def _draw_odds(canvas: Canvas, y: float, chance: float) -> None:
    """Draw a bar that is cut where left's probability to win ends."""
    cut = MARGIN + chance * (RIGHT_EDGE - MARGIN)
    canvas.draw.rectangle((MARGIN, y - 12, cut, y + 12), fill=LEFT)
    canvas.draw.rectangle((cut, y - 12, RIGHT_EDGE, y + 12), fill=RIGHT)
    canvas.draw.line((WIDTH / 2, y - 16, WIDTH / 2, y + 16), fill=INK, width=2)
    if chance >= 0.12:
        canvas.text(MARGIN + 8, y, f"left wins {chance:.1%}", size=SMALL, color="#FFFFFF")
    if chance <= 0.88:
        canvas.text(RIGHT_EDGE - 8, y, f"right wins {1 - chance:.1%}", size=SMALL, anchor="rm")


# -- duels by interleaving ---------------------------------------------------------------------------------------------


def draw_interleaved(scene: InterleavedScene) -> NDArray[np.uint8]:
    """Draw both rankings with the interleaved list and its clicks between them, and the best list below."""
    lists = rows_of(scene.num_positions) * ROW
    chart = 0 if scene.attraction is None else CHART
    canvas = Canvas(104 + 94 + lists + 62 + chart)
    y = canvas.heading(
        title(
            f"Duel of {'rankings' if scene.best is not None else 'rankers'} by {scene.interleaving} interleaving",
            f"{scene.user} user" if scene.best is None else scene.user,
            None if scene.query is None else query_text(scene.query, scene.query_name),
            moment(scene.round),
        ),
        {
            "winner": _winner(scene),
            "credit, left : right": _credit(scene),
            "clicks": _count_of_clicks(scene),
            f"regret ({scene.regret_kind} gap)": _played(scene.round, decimals(scene.regret, 3)),
            "regret so far": sum_of(scene.regret_so_far),
        },
    )
    for side, x, color, name in ((scene.left, MARGIN, LEFT, "Left"), (scene.right, 770, RIGHT, "Right")):
        _draw_side(canvas, x, y, side, color, name, scene)
    canvas.text(216, y + 22, "Interleaved list")
    _draw_interleaved_list(canvas, y + 74, scene)
    if scene.round is None:
        canvas.text(216, y + 74 + ROW, "Nothing displayed yet.", color=FAINT)
    y += 94 + lists
    canvas.text(MARGIN, y + 14, f"{PROBABILITY} {_meaning_of_shares(scene)}", size=SMALL, color=FAINT, width=912)
    canvas.text(MARGIN, y + 40, _reference(scene), size=NORMAL, width=WIDTH - 2 * MARGIN)
    if scene.attraction is not None:
        _draw_attraction(canvas, y + 62, scene.attraction, scene.displayed)
    return canvas.array()


def _winner(scene: InterleavedScene) -> str:
    if scene.winner is None:
        return NOTHING_YET
    return f"{SIDES[scene.winner]}{', by a coin' if scene.tied else ''}"


def _credit(scene: InterleavedScene) -> str:
    if scene.left is None or scene.right is None:
        return NOTHING_YET
    return f"{scene.left.credit:.3g} : {scene.right.credit:.3g}"


def _meaning_of_shares(scene: InterleavedScene) -> str:
    if scene.interleaving == "probabilistic":
        return "Credited to: the side that contributed it, by probability."
    if scene.interleaving == "optimized":
        return "Credited to: the side that gains by a click here."
    return "" if scene.round is None or _shares(scene) else "This method credits no single positions."


def _shares(scene: InterleavedScene) -> bool:
    return any(place.left_share is not None for place in scene.displayed)


def _reference(scene: InterleavedScene) -> str:
    """Say what regret is measured against, and how probable left's victory is."""
    if scene.best is not None:
        return f"Best list: {'  '.join(str(place.item) for place in scene.best)}"
    known = "unknown (no preference matrix)" if scene.best_arm is None else f"arm {scene.best_arm}"
    chance = scene.left_beats_right
    beats = "" if chance is None else f".  Left beats right with p = {chance:.3f}"
    numbered = "" if scene.left is None or scene.left.feature is None else ".  Features are numbered as in the file."
    return f"Best ranker: {known}{beats}{numbered}"


def _draw_side(
    canvas: Canvas, x: float, y: float, side: Side | None, color: str, name: str, scene: InterleavedScene
) -> None:
    """Draw a ranking under its name and its distance to the best one."""
    canvas.draw.rectangle((x, y + 12, x + 6, y + 58), fill=color)
    arm = "" if side is None or side.arm is None else f": arm {side.arm}"
    canvas.text(x + 14, y + 22, f"{name}{arm}", width=150)
    if side is None:
        return
    gap = "gap unknown" if side.gap is None else f"gap {side.gap:.3f}"
    feature = "" if side.feature is None else f"feature {side.feature + 1}:, "  # as in the file
    canvas.text(x + 14, y + 48, feature + gap, size=SMALL, color=FAINT, width=150)
    for k, item in enumerate(side.ranking[:MAX_ROWS]):
        line = y + 74 + (k + 0.9) * ROW
        canvas.text(x + 34, line, str(k + 1), size=SMALL, color=FAINT, anchor="rm")
        canvas.text(x + 48, line, f"{scene.what} {item}", width=118)
    _draw_rest(canvas, x + 14, y + 74, side.ranking, ())


def _draw_interleaved_list(canvas: Canvas, y: float, scene: InterleavedScene) -> None:
    attraction, credited = (312, "attraction"), (630, "credited to") if _shares(scene) else (630, "")
    _head(canvas, y, [(216, scene.what), attraction, (456, "examined"), (570, "clicks"), credited])
    for k, place in enumerate(scene.displayed[:MAX_ROWS]):
        line = y + (k + 0.9) * ROW
        canvas.text(236, line, str(k + 1), size=SMALL, color=FAINT, anchor="rm")
        canvas.text(250, line, str(place.item), width=56)
        canvas.bar(312, line, 90, place.attraction, BLUE, f"{place.attraction:.2f}")
        canvas.bar(456, line, 66, place.examined, SKY, f"{place.examined:.2f}")
        if place.clicked:
            canvas.tag(570, line, "click", VERMILION)
        if place.left_share is not None:
            _draw_share(canvas, line, place.left_share)
    _draw_rest(canvas, 216, y, scene.displayed, scene.displayed)


def _draw_share(canvas: Canvas, y: float, share: float) -> None:
    if share in (0.0, 1.0):
        canvas.tag(630, y, SIDES[share == 0.0], (LEFT, RIGHT)[share == 0.0])
    else:
        cut = 630 + 50 * share
        canvas.draw.rectangle((630, y - 7, cut, y + 7), fill=LEFT)
        canvas.draw.rectangle((cut, y - 7, 680, y + 7), fill=RIGHT)
        canvas.text(686, y, f"left {share:.0%}", size=SMALL)
