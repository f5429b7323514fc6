"""The page of an episode: its data as JSON, between the parts of the page, which are files beside this one.

The page needs no network: its policy forbids browsers to load anything, and to run any script but its own. All text
comes in as JSON, which the script writes as text, never as markup.
"""

import base64
import hashlib
import json
import math
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from matplotlib.markers import MarkerStyle

from rankgym.agent import Beliefs
from rankgym.experiments.plan.environments import env_arguments
from rankgym.experiments.watch.episode import Episode, Watched
from rankgym.outputs import atomic_path
from rankgym.scenes import DuelScene, InterleavedScene, Position
from rankgym.style import OVER, SMALL_MARKERS, SOLID, Look, looks

CREDIT = {  # of probabilistic interleaving, by its knob
    "marginalized": "the probability that the side contributed more of the clicked documents than the other one, given "
    "the list alone",
    "expected": "the expected number of clicked documents that the side contributed, given the list alone",
    "assigned": "the number of clicked documents that the side contributed",
}
MANY = 24  # items or arms of a table of scores
DIGITS = 4  # significant ones of numbers on the page
DASH_UNIT = 2.2  # line widths of matplotlib's dashes, in pixels
MARKER_SIZE = 8.0  # pixels across


def write_page(episode: Episode, path: Path) -> int:
    """Write the page to ``path``, whole or not at all, and return its size in bytes.

    Args:
        episode: what ``watch`` returned.
        path: of the HTML file; missing folders are made, and an older file is replaced.

    Raises:
        OSError: the file cannot be written.

    Examples:
        >>> import pathlib, tempfile
        >>> from rankgym.experiments.watch import watch, write_page
        >>> episode = watch("CM-Yandex-v0", ["static"], rounds=5, seed=0, query=0, num_positions=3, progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "episode.html")
        ...     size = write_page(episode, path)
        ...     size == path.stat().st_size, path.read_text("utf-8")[:15]
        (True, '<!DOCTYPE html>')
    """
    text = page(episode).encode(errors="replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as unfinished:
        unfinished.write_bytes(text)
    return len(text)


def page(episode: Episode) -> str:
    """Return the page as one HTML text."""
    content = page_data(episode)
    html, css, script = (
        files(__package__).joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return html.format(title=escape(content["title"]), digest=digest, css=css, data=embedded(content), script=script)


def embedded(content: Any) -> str:
    """Return ``content`` as JSON that cannot end the script element around it."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def page_data(episode: Episode) -> dict[str, Any]:
    """Return all that the page shows, as plain values.

    ``scenes`` and ``beliefs`` have an entry for each shown round, with those parts alone that differ from the entry
    before.
    """
    found = episode.environment
    kind = {DuelScene: "duel", InterleavedScene: "interleaved"}.get(type(episode.agents[0].scenes[0]), "ranking")
    given = {**episode.arguments, **({} if found.choice is None else {found.choice: episode.problem})}
    scene = episode.agents[0].scenes[0]
    if name := getattr(scene, "query_name", ""):
        given["query"] = f"{episode.problem} ({name})"
    names = [agent.label for agent in episode.agents]
    return {
        "title": f"{found.env_id.removeprefix('rankgym/')}: {', '.join(names)}",
        "environment": found.env_id.removeprefix("rankgym/"),
        "arguments": {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()},
        "seed": str(episode.seed),  # which may be larger than JavaScript's whole numbers
        "rounds": found.rounds,
        "shown": episode.shown,
        "epochs": episode.epochs,
        "notes": episode.notes,
        "kind": kind,
        "thing": episode.thing,
        "credit": credit_text(episode, scene),
        "query_name": getattr(scene, "query_name", ""),
        "names": list(getattr(scene, "item_names", ())),
        "agents": [
            _of_agent(agent, look, number)
            for agent, look, number in zip(episode.agents, looks(names).values(), _coinciding(episode), strict=True)
        ],
    }


def credit_text(episode: Episode, scene: Any) -> str:
    """Return what the credit of probabilistic interleaving is; "" for other methods, whose credit counts clicks."""
    if getattr(scene, "interleaving", "") != "probabilistic":
        return ""
    found = episode.environment
    knobs = ((env_arguments(found.env_id) or {}) | found.env_kwargs).get("interleaving_knobs") or {}
    words = f"Credit: {CREDIT[knobs.get('credit', 'marginalized')]}. "
    return f"{words}“Credit left” in the list: the probability that left contributed what stands there."


def _coinciding(episode: Episode) -> list[int]:
    """Return for each agent how many of those before it have the same curve of regret."""
    curves = [[scene.regret_so_far for scene in agent.scenes] for agent in episode.agents]
    return [curves[:place].count(curve) for place, curve in enumerate(curves)]


def _of_agent(agent: Watched, look: Look, before: int) -> dict[str, Any]:
    """Return what the page shows of an agent; ``before``: how many curves its own is drawn over."""
    dashes = OVER[min(before, len(OVER)) - 1] if before else look.dashes
    return {
        "label": agent.label,
        "color": look.color,
        "dashes": [] if dashes == SOLID else [round(DASH_UNIT * length, 1) for length in dashes[1]],
        "dash_offset": 0 if dashes == SOLID else round(DASH_UNIT * dashes[0], 1),
        "marker": marker_path(look.marker),
        "scenes": _differences([_plain_scene(one) for one in agent.scenes]),
        "beliefs": _differences([_plain_beliefs(one) for one in agent.beliefs]),
        "changes": [list(change) for change in agent.changes],
        "left_out": agent.left_out,
    }


def marker_path(marker: str) -> str:
    """Return one of matplotlib's markers as a path of SVG around (0, 0); "" for none."""
    if not marker:
        return ""
    shape = MarkerStyle(marker)
    polygons: Any = shape.get_path().transformed(shape.get_transform()).to_polygons(closed_only=False)
    size = MARKER_SIZE * (1.4 if marker in SMALL_MARKERS else 1.0)
    corners = [[f"{size * x:.1f} {-size * y:.1f}" for x, y in polygon] for polygon in polygons]
    return "".join(f"M{'L'.join(polygon)}Z" for polygon in corners)


def _plain_scene(scene: Any) -> dict[str, Any]:
    """Return a scene for JSON, without names, which are the same in all rounds."""
    return {name: _plain(value) for name, value in scene._asdict().items() if name not in ("query_name", "item_names")}


def _plain_beliefs(beliefs: Beliefs | None) -> dict[str, Any]:
    """Return beliefs for JSON; ``scored`` names the items that ``scores`` has numbers of, and ``total`` counts all.

    Of more than ``MANY`` items these are the ones with the largest numbers of the first score.
    """
    if beliefs is None:
        return {}
    first = next(iter(beliefs.scores.values()), ())
    scored = list(range(len(first)))
    if len(first) > MANY:
        scored = sorted(scored, key=lambda item: (-first[item], item))[:MANY]
    scores = {name: [_plain(float(values[item])) for item in scored] for name, values in beliefs.scores.items()}
    parts = {name: _plain(value) for name, value in vars(beliefs).items()}
    return {**parts, "scores": scores, "scored": scored, "total": len(first)}


def _plain(value: Any) -> Any:
    """Return ``value`` for JSON: short numbers, "Infinity" as text, a ``Position`` as a list."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        short = float(f"{value:.{DIGITS}g}") if abs(value) < 1e4 else round(value, 1)
        return int(short) if short == int(short) else short
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict") and not isinstance(value, Position):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _differences(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    before: dict[str, Any] = {}
    found = []
    for entry in entries:
        found.append({name: value for name, value in entry.items() if name not in before or before[name] != value})
        before = entry
    return found
