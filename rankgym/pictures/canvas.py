"""The sheet that pictures are drawn on: texts that fit, bars, tags, figures in a row, charts of many bars.

Colours are told apart by the colour-blind and, as they differ in lightness, in grey. What colour says, a word or a
number says too.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.extras import require

WIDTH, MARGIN = 960, 24  # pixels; even sizes, as films need them
RIGHT_EDGE = WIDTH - MARGIN
ROW = 26  # from a line of a list to the next
PAPER, INK, FAINT, RULE, PALE = "#FFFFFF", "#222222", "#666666", "#D9D9D9", "#EEEEEE"
BLUE, SKY, VERMILION, ORANGE = "#0072B2", "#8CCBEF", "#C04A00", "#F0B030"  # near Okabe and Ito's, as in our figures
LEFT, RIGHT, OTHERS = BLUE, ORANGE, "#DCDCDC"  # the sides of a duel, and arms that are neither
SMALL, NORMAL, LARGE, TITLE = 13, 16, 20, 22  # of letters
MAX_BARS = 200  # in a chart
MAX_ROWS = 20  # of a list


@functools.cache
def font(size: int) -> Any:
    """Return Pillow's own font, which needs no file of the system."""
    return require("PIL.ImageFont", "render").load_default(size)


class Canvas:
    """A white sheet of ``WIDTH`` x ``height`` pixels."""

    def __init__(self, height: int) -> None:
        image = require("PIL.Image", "render")
        self.image = image.new("RGB", (WIDTH, height + height % 2), PAPER)
        self.draw = require("PIL.ImageDraw", "render").Draw(self.image)

    def array(self) -> NDArray[np.uint8]:
        """Return the picture, (height, width, 3)."""
        return np.array(self.image)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = NORMAL,
        color: str = INK,
        anchor: str = "lm",
        width: float | None = None,
    ) -> float:
        """Write ``text`` at (x, y), shortened to ``width`` pixels; return its width. Anchors are Pillow's."""
        fitted = shortened(text, size, width)
        self.draw.text((x, y), fitted, fill=color, font=font(size), anchor=anchor)
        return float(font(size).getlength(fitted))

    def bar(self, x: float, y: float, width: float, share: float, color: str, value: str) -> None:
        """Draw ``share`` (0 .. 1) of a bar of ``width`` pixels that is centred at y, and ``value`` to its right."""
        top, bottom = y - 7, y + 7
        self.draw.rectangle((x, top, x + width, bottom), fill=PALE)
        if share > 0:
            self.draw.rectangle((x, top, x + max(1.0, width * min(share, 1.0)), bottom), fill=color)
        self.text(x + width + 6, y, value, size=SMALL)

    def tag(self, x: float, y: float, text: str, color: str) -> None:
        """Write ``text`` on a coloured field from x on, centred at y."""
        width = font(SMALL).getlength(text) + 12
        self.draw.rounded_rectangle((x, y - 10, x + width, y + 10), radius=4, fill=color)
        self.text(x + 6, y, text, size=SMALL, color=INK if color in (ORANGE, SKY, PALE) else PAPER)

    def rule(self, y: float, left: float = MARGIN, right: float = RIGHT_EDGE, color: str = RULE) -> None:
        """Draw a horizontal line."""
        self.draw.line((left, y, right, y), fill=color)

    def heading(self, title: str, figures: Mapping[str, str]) -> float:
        """Write the title and a row of ``figures``, values under their names; return the y below them."""
        self.text(MARGIN, 28, title, size=TITLE, width=WIDTH - 2 * MARGIN)
        step = (WIDTH - 2 * MARGIN) / len(figures)
        for number, (name, value) in enumerate(figures.items()):
            x = MARGIN + number * step
            self.text(x, 60, name, size=SMALL, color=FAINT, width=step - 8)
            self.text(x, 82, value, size=LARGE, width=step - 8)
        self.rule(104)
        return 104.0

    def chart(
        self,
        y: float,
        title: str,
        values: Sequence[float],
        color: Callable[[int], str],
        marks: Mapping[str, int | None],
        scale: float | None = None,
    ) -> None:
        """Draw a bar for each of ``values``, of which many are drawn in part, in ``CHART`` pixels below y.

        ``marks`` are letters below the bars with these numbers; ``scale`` is the value of the highest bar.
        """
        shown = values[:MAX_BARS]
        part = "" if len(shown) == len(values) else f"; the first {MAX_BARS} of {len(values):,}"
        self.text(MARGIN, y + 14, title + part, size=SMALL, color=FAINT, width=WIDTH - 2 * MARGIN)
        base, tallest = y + 100, 66.0
        top = scale if scale is not None else max(max(shown), 1e-12)
        step = min((RIGHT_EDGE - MARGIN) / len(shown), 60.0)
        self.rule(base, MARGIN, MARGIN + step * len(shown), FAINT)
        for number, value in enumerate(shown):
            left = MARGIN + number * step
            high = tallest * min(max(value / top, 0.0), 1.0)
            if high > 0:
                self.draw.rectangle(
                    (left + step * 0.12, base - max(high, 1.0), left + max(step * 0.88 - 1, step * 0.12), base - 1),
                    fill=color(number),
                )
        every = next(n for n in (1, 2, 5, 10, 20, 50, 100) if n * step >= 30)
        for number in range(0, len(shown), every):
            self.text(MARGIN + (number + 0.5) * step, base + 11, str(number), size=12, color=FAINT, anchor="mm")
        for line, (letter, place) in enumerate(marks.items()):
            if place is not None and place < len(shown):
                x = min(MARGIN + (place + 0.5) * step, RIGHT_EDGE - font(SMALL).getlength(letter) / 2)
                x = max(x, MARGIN + font(SMALL).getlength(letter) / 2)
                self.text(x, base + 27 + 15 * line, letter, size=SMALL, anchor="mm")


CHART = 122  # pixels of a chart without marks
MARK = 15  # pixels of a line of marks


def shortened(text: str, size: int, width: float | None) -> str:
    """Return ``text``, or as much of it as fits into ``width`` pixels, with three dots."""
    letters = font(size)
    if width is None or letters.getlength(text) <= width:
        return text
    fitting = [end for end in range(len(text)) if letters.getlength(text[:end].rstrip() + "...") <= width]
    return text[: fitting[-1] if fitting else 0].rstrip() + "..."


def decimals(value: float | None, places: int = 2) -> str:
    """Return ``value`` with commas and decimals, or "unknown"."""
    return "unknown" if value is None else f"{value:,.{places}f}"


def sum_of(value: float | None) -> str:
    """Return a sum: with two decimals while it is small."""
    return decimals(value, 2 if value is None or abs(value) < 1_000 else 0)
