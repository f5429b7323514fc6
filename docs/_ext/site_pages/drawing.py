"""Small SVG pictures: lines, dots, boxes and words on white paper, with a title for screen readers."""

from collections.abc import Sequence
from html import escape

TEXT, PALE, FRAME = "#333333", "#BBBBBB", "#555555"
Point = tuple[float, float]


class Drawing:
    """A picture that grows by its methods; ``svg()`` is its text, the same for the same calls."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size, self.title = (width, height), title
        self.parts: list[str] = [f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>']

    def line(self, points: Sequence[Point], color: str = FRAME, width: float = 1, dashes: str = "") -> None:
        """Draw a line through points."""
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<polyline points="{where}" fill="none" stroke="{color}" stroke-width="{width}"{dashed}/>')

    def arrow(self, start: Point, end: Point, color: str = FRAME) -> None:
        """Draw a horizontal or vertical arrow."""
        (x, y), (across, down) = end, (end[0] - start[0], end[1] - start[1])
        if across:
            back = 8 if across > 0 else -8
            head = f"{x:.1f},{y:.1f} {x - back:.1f},{y - 5:.1f} {x - back:.1f},{y + 5:.1f}"
        else:
            back = 8 if down > 0 else -8
            head = f"{x:.1f},{y:.1f} {x - 5:.1f},{y - back:.1f} {x + 5:.1f},{y - back:.1f}"
        self.line([start, end], color, 2)
        self.parts.append(f'<polygon points="{head}" fill="{color}"/>')

    def dot(self, x: float, y: float, color: str, radius: float = 4) -> None:
        """Draw a filled circle."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}" stroke="#FFFFFF"/>')

    def box(self, x: float, y: float, width: float, height: float, fill: str = "#FFFFFF", edge: str = FRAME) -> None:
        """Draw a rectangle with round corners."""
        where = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect {where} rx="4" fill="{fill}" stroke="{edge}"/>')

    def word(self, x: float, y: float, text: str, *, at: str = "start", color: str = TEXT, size: int = 13) -> None:
        """Write a line of text; ``at`` is "start", "middle" or "end" of the line."""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{at}" fill="{color}" font-size="{size}"'
        self.parts.append(f"<text {place}>{escape(text)}</text>")

    def svg(self) -> str:
        """Return the picture as SVG."""
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        )
        body = "\n".join(self.parts)
        font = 'font-family="Helvetica, Arial, sans-serif"'
        return f'{head} {font} role="img">\n<title>{escape(self.title)}</title>\n{body}\n</svg>\n'


class Axes:
    """A rectangle of a drawing with numbers along its sides."""

    def __init__(self, drawing: Drawing, corner: Point, size: Point, most: Point, least: Point = (0.0, 0.0)) -> None:
        self.drawing, self.corner, self.size, self.most, self.least = drawing, corner, size, most, least

    def at(self, x: float, y: float) -> Point:
        """Return the place of a point."""
        (left, top), (width, height) = self.corner, self.size
        across = (x - self.least[0]) / (self.most[0] - self.least[0])
        up = (y - self.least[1]) / (self.most[1] - self.least[1])
        return left + width * across, top + height * (1 - up)

    def frame(self, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]]) -> None:
        """Draw both axes with marks at numbers and their texts."""
        left, bottom = self.at(*self.least)
        right, top = self.at(*self.most)
        for number, text in up:
            _, y = self.at(self.least[0], number)
            self.drawing.line([(left, y), (right, y)], "#E4E4E4")
            self.drawing.word(left - 6, y + 4, text, at="end", size=12)
        for number, text in across:
            x, _ = self.at(number, self.least[1])
            self.drawing.word(x, bottom + 18, text, at="middle", size=12)
        self.drawing.line([(left, top), (left, bottom), (right, bottom)])

    def curve(self, xs: Sequence[float], ys: Sequence[float], color: str, dashes: str = "") -> None:
        """Draw a curve."""
        self.drawing.line([self.at(x, y) for x, y in zip(xs, ys, strict=True)], color, 2.5, dashes)
