"""The pictures of the pages on concepts, from the code and the benchmark's records."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rankgym.data.preferences import load
from site_pages import charts
from site_pages.drawing import FRAME, PALE, TEXT, Axes, Drawing

BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ATTRACTION = (0.5, 0.4, 0.3, 0.2, 0.1)  # of the items of one list, from the top
PBM_EXAMINATION = (0.95, 0.8, 0.6, 0.45, 0.35)
TERMINATION = 0.5
SEEN = (
    "numbers of items and positions",
    "the horizon, if it is known",
    "the production list",
    "its own lists",
    "the clicks",
)
HIDDEN = (
    "the click model",
    "attraction and examination",
    "breakpoints",
    "the best list and its reward",
    "regret, violations, NDCG",
)


def make(docs: Path) -> dict[str, str | bytes]:
    """Return all pictures."""
    drawn = {
        "step": step(),
        "click-models": click_models(),
        "regret": charts.curves(
            "learns-for-long",
            ("static", "toprank", "cascade-kl-ucb", "pb-mhb", "adaptive-index"),
            "Cumulative regret of five agents over 20,000 rounds",
        ),
        "safety": charts.curves(
            "safety", ("toprank", "cascade-ducb", "cascade-kl-ucb", "bubblerank"), "Safety violations over 3,000 rounds"
        ),
        "changing-users": changing_users(),
        "duels": duels(),
        "what-agents-see": what_agents_see(),
    }
    return {f"pictures/concept-{name}.svg": picture for name, picture in drawn.items()}


def step() -> str:
    """Draw the round trip of one session."""
    drawing = Drawing(680, 240, "One step: a list goes to a user, clicks come back")
    drawing.box(20, 60, 150, 90, "#EAF3FA")
    drawing.word(95, 100, "agent", at="middle", size=16)
    drawing.word(95, 124, "act, update", at="middle", size=12)
    drawing.box(330, 20, 330, 170, "#F6F6F6")
    drawing.word(495, 44, "environment: one user", at="middle", size=16)
    for position, (item, clicked) in enumerate(((5, 0), (1, 1), (7, 0))):
        y = 58 + 42 * position
        drawing.box(350, y, 150, 34)
        drawing.word(362, y + 22, f"position {position}: item {item}")
        text = "examined, clicked" if clicked else "examined" if position == 0 else "not examined"
        drawing.word(512, y + 22, text, color=VERMILION if clicked else TEXT)
    drawing.arrow((170, 85), (330, 85))
    drawing.word(250, 76, "list: 5, 1, 7", at="middle")
    drawing.arrow((330, 130), (170, 130), VERMILION)
    drawing.word(250, 121, "clicks: 0, 1, 0", at="middle", color=VERMILION)
    drawing.arrow((495, 190), (495, 218))
    drawing.word(495, 234, "info: regret, the best list's reward, ... for evaluation only", at="middle", size=12)
    return drawing.svg()


def examination_of(model: str) -> list[float]:
    """Return the examination probabilities of the list's positions, by the formulas that the models document."""
    left = {"CM": 1.0, "DCM": TERMINATION}.get(model)
    if left is None:
        return list(PBM_EXAMINATION) if model == "PBM" else [1.0] * len(ATTRACTION)
    onward = [1.0, *(1 - left * alpha for alpha in ATTRACTION[:-1])]
    return [float(chi) for chi in np.cumprod(onward)]


def click_models() -> str:
    """Draw how far down users look in four models."""
    drawing = Drawing(680, 310, "Examination probabilities in four click models")
    axes = Axes(drawing, (60, 20), (440, 230), (5, 1.05), (1, 0))
    axes.frame([(n, str(n)) for n in range(1, 6)], [(n / 4, f"{n / 4:g}") for n in range(5)])
    for model, color, dashes in (
        ("DBM", GREEN, "3 3"),
        ("DCM", PINK, "10 3 2 3"),
        ("PBM", BLUE, "9 4"),
        ("CM", VERMILION, ""),
    ):
        chis = examination_of(model)
        axes.curve(range(1, 6), chis, color, dashes)
        for position, chi in enumerate(chis, 1):
            drawing.dot(*axes.at(position, chi), color)
        x, y = axes.at(5, chis[-1])
        drawing.word(
            x + 12,
            y + 4,
            {"DBM": "document-based", "DCM": "dependent click", "PBM": "position-based"}.get(model, "cascade"),
            color=color,
        )
    drawing.word(280, 300, "position", at="middle", size=12)
    drawing.word(60, 13, "examined with probability", size=12)
    return drawing.svg()


def changing_users() -> str:
    """Draw the attraction of three items of which one jumps in every other epoch."""
    drawing = Drawing(680, 300, "Attraction of three items over four epochs")
    axes = Axes(drawing, (60, 20), (440, 220), (40_000, 1.0))
    axes.frame([(n, f"{n:,}") for n in range(0, 40_001, 10_000)], [(n / 4, f"{n / 4:g}") for n in range(5)])
    rounds = [0, 10_000, 10_000, 20_000, 20_000, 30_000, 30_000, 40_000]
    for mark in (10_000, 20_000, 30_000):
        drawing.line([axes.at(mark, 0), axes.at(mark, 1)], "#777777", 1, "2 4")
    for name, color, dashes, low, high in (
        ("item 0: stays", BLUE, "9 4", 0.6, 0.6),
        ("item 1: stays", GREEN, "3 3", 0.4, 0.4),
        ("item 2: jumps", VERMILION, "", 0.2, 0.9),
    ):
        axes.curve(rounds, [low, low, high, high, low, low, high, high], color, dashes)
        x, y = axes.at(40_000, high)
        drawing.word(x + 8, y + 4, name, color=color)
    drawing.word(280, 290, "rounds; dotted: breakpoints", at="middle", size=12)
    drawing.word(60, 13, "attraction", size=12)
    return drawing.svg()


def duels() -> str:
    """Draw the preference matrix of Cyclic."""
    matrix = load("cyclic")
    size = len(matrix)
    drawing = Drawing(420, 60 + 46 * size, "Preference matrix of four arms")
    for arm in range(size):
        drawing.word(143 + 64 * arm, 26, f"arm {arm}", at="middle")
        drawing.word(100, 62 + 46 * arm, f"arm {arm}", at="end")
        for other in range(size):
            chance = float(matrix[arm, other])
            fill = "#FFFFFF" if chance == 0.5 else "#CFE6F5" if chance > 0.5 else "#FBE3D3"
            drawing.box(112 + 64 * other, 36 + 46 * arm, 60, 42, fill, VERMILION if arm == 0 else PALE)
            drawing.word(142 + 64 * other, 62 + 46 * arm, f"{chance:.2f}", at="middle")
    drawing.word(20, 56 + 46 * size, "blue: wins more often than not; arm 0 beats all others", size=12)
    return drawing.svg()


def what_agents_see() -> str:
    """Draw two columns: what agents see and what they never see."""
    drawing = Drawing(680, 210, "What an agent sees, and what it never sees")
    columns: Sequence[tuple[int, str, tuple[str, ...], str]] = (
        (20, "an agent sees", SEEN, "#EAF3FA"),
        (350, "it never sees", HIDDEN, "#FBE3D3"),
    )
    for left, title, entries, fill in columns:
        drawing.box(left, 14, 310, 180, fill, FRAME)
        drawing.word(left + 16, 42, title, size=16)
        for line, entry in enumerate(entries):
            drawing.word(left + 16, 72 + 26 * line, entry)
    return drawing.svg()
