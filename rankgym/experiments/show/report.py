"""A report in one HTML file: figures, claims and tables, and all settings, folded.

The file needs no network: images are inside it, and its policy forbids browsers to load anything.
"""

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.estimates import with_error
from rankgym.experiments.judge.agreements import agreement_notes
from rankgym.experiments.judge.claims import HEAD, Judgement, Verdict, cells, tally
from rankgym.experiments.judge.ranks import rank_table
from rankgym.experiments.judge.units import amount, means
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.tidy_tables import MEASURES
from rankgym.extras import require
from rankgym.outputs import atomic_path

MEASURE_PANELS: dict[str, tuple[str, Any]] = {  # the y axis of each measure: its label, and its scale over log rounds
    "regret": ("cumulative regret", "log"),
    "violations": ("violations", "symlog"),
    "ndcg": ("NDCG, mean so far", "linear"),
    "accuracy": ("accuracy", "linear"),
}
PHONE: Any = {"columns": 1, "width": 3.7}  # of a figure on a screen 390 pixels wide; inches
CAPTION = "Mean over rows, with its standard error"

MARKS: dict[Verdict, tuple[str, str]] = {  # CSS class and sign: verdicts differ in colour, in sign and in words
    "holds": ("holds", "✓"),
    "does not hold": ("fails", "✗"),
    "cannot be decided at this scale": ("open", "?"),
}

CSS = """\
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 4rem; max-width: 72rem; background: #fff; color: #1c1c1c;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .4rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .5rem; border-top: 1px solid #ddd; }
p { max-width: 46rem; margin: .6rem 0; }
figure { margin: 1rem 0; overflow-x: auto; }
figure img { display: block; max-width: 100%; height: auto; }
figcaption, .note { color: #555; font-size: .88rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem; border-bottom: 1px solid #e2e2e2; }
th { font-weight: 600; border-bottom: 2px solid #999; }
td.number, th.number { text-align: right; white-space: nowrap; }
.claims td:first-child { min-width: 14rem; }
.claims .note { display: block; margin-top: .25rem; }
.verdict { display: inline-block; padding: .1rem .5rem; border-radius: .3rem; font-weight: 600; border: 1px solid; }
.holds { background: #e2f3ea; color: #00583f; }
.fails { background: #fbe5da; color: #8a3200; border-style: double; border-width: 3px; }
.open { background: #f3f3f3; color: #4a4a4a; border-style: dashed; }
details { margin: .6rem 0; }
summary { cursor: pointer; font-weight: 600; padding: .3rem 0; }
pre { overflow-x: auto; background: #f6f6f6; padding: .8rem; font-size: .82rem; line-height: 1.4; }
.group th { padding-top: 1rem; border-bottom: 1px solid #999; overflow-wrap: anywhere; }
@media (max-width: 44rem) {
  figure > img { max-width: 44rem; }
  th, td { padding: .4rem .35rem; }
  th.number { white-space: normal; overflow-wrap: anywhere; }
  .claims thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .claims, .claims tbody, .claims tr, .claims td { display: block; width: auto; }
  .claims tr { border-bottom: 2px solid #bbb; padding: .7rem 0; }
  .claims td { border: 0; padding: .15rem 0; }
  .claims td[data-head]::before { content: attr(data-head) ": "; color: #555; }
}
@media print { details { display: none; } body { max-width: none; } }
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{css}</style>
</head>
<body>
{body}
</body>
</html>
"""


class Picture(NamedTuple):
    """An image with its caption."""

    svg: str  # the text of an SVG file
    caption: str
    alt: str  # what it shows, for readers who cannot see it
    narrow: str = ""  # the text of an SVG file for the screen of a phone; "": the other one, which scrolls there


class Table(NamedTuple):
    """A table of text; columns of numbers alone are aligned to the right."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""  # below it
    grouped: bool = False  # the first column names groups of rows, each above its rows
    folded: bool = False  # a click on the title shows it


def sweep_report(
    path: Path, results: Results, title: str = "", note: str = "", labels: Mapping[str, str] | None = None, **rest: Any
) -> None:
    """Write a report of a sweep: all measures in all environments, tables of means, ranks over queries.

    A ``note``, such as a warning about the results, stands at its top; ``rest`` is of ``report``: settings, versions.
    ``labels`` are shown instead of agents' names.

    Raises:
        ValueError: ``results`` is empty.
        RuntimeError: matplotlib or scipy is not installed.
    """
    if not len(results):
        raise ValueError("results is empty; allowed: results of at least one job")
    require("matplotlib")
    named = results.labelled(labels or {})
    tables = [_means(named), *_ranks(named)]
    title, pictures = title or "Results of a sweep", list(_pictures(results, labels or {}))
    write_report(path, title, summary=note, pictures=pictures, tables=tables, **rest)


def write_report(path: Path, title: str, **rest: Any) -> None:
    """Write ``report(title, **rest)`` to ``path``, whole or not at all."""
    text = report(title, **rest)
    with atomic_path(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def report(
    title: str,
    *,
    summary: str = "",
    pictures: Sequence[Picture] = (),
    judgements: Sequence[Judgement] = (),
    tables: Sequence[Table] = (),
    settings: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """Return the text of an HTML file. The same arguments give the same text.

    ``summary`` has paragraphs of plain text, separated by empty lines. ``settings`` (plain JSON values) and
    ``versions`` of the packages that made the numbers are folded.
    """
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f"<p>{escape(' '.join(part.split()))}</p>" for part in summary.split("\n\n") if part.strip()]
    body += map(figure, pictures)
    if judgements:
        body += ["<h2>Claims</h2>", f"<p>{escape(tally(judgements))}</p>", _claims(judgements)]
    for table in tables:
        if table.folded:
            body.append(f"<details>\n<summary>{escape(table.title)}</summary>\n{_table(table)}\n</details>")
        else:
            body += [f"<h2>{escape(table.title)}</h2>", _table(table)]
    if settings is not None:
        body.append(_folded("Settings", json.dumps(settings, indent=2, ensure_ascii=False, default=str)))
    if versions is not None:
        body.append(_folded("Versions", "\n".join(f"{name} {version}" for name, version in versions.items())))
    return page(title, body)


def page(title: str, body: Sequence[str], more_css: str = "") -> str:
    """Return an HTML file with a body of HTML; it may load nothing, and images must be in its text."""
    return PAGE.format(title=escape(title), css=CSS + more_css, body="\n".join(body))


# -- a sweep's figures and tables -------------------------------------------------------------------------------------


def _pictures(results: Results, labels: Mapping[str, str]) -> Iterator[Picture]:
    """Draw a figure a measure, with a panel for each environment that has it, and one of the regret per epoch.

    The legends of all figures have the order of the first one, by which a reader finds an agent again.
    """
    from rankgym.experiments.show import figures

    played = {name: [results[name, agent] for agent in results.agents(name)] for name in results.environments}
    order: list[str] = []

    def drawn(panels: list[Any], alt: str) -> Picture:
        order.extend(label for label in figures.by_last_value(panels) if label not in order)
        return _drawn(panels, alt, order, labels)

    for measure, (label, scale) in MEASURE_PANELS.items():
        panels = []
        for environment, agents in played.items():
            curves = [figures.curve(one, measure) for one in agents if measure in one.measures]
            curves = [curve for curve in curves if np.isfinite(curve.mean).any()]
            changing = any(len(one.epoch_regret) for one in agents)
            axes: Any = {"ylabel": label, "from_zero": measure != "ndcg"}
            axes |= {} if changing else {"xscale": "log", "yscale": scale}
            panels += [figures.Panel(environment, curves, **axes)] if curves else []
        if panels:
            yield drawn(panels, f"{label} over rounds")
    panels = []
    for environment, agents in played.items():
        curves = [figures.per_epoch(one) for one in agents if len(one.epoch_regret)]
        if curves:
            panels.append(figures.Panel(environment, curves, xlabel="epoch", ylabel="regret in the epoch"))
    if panels:
        yield drawn(panels, "regret of each epoch")


def _drawn(panels: Sequence[Any], alt: str, order: Sequence[str], labels: Mapping[str, str]) -> Picture:
    from rankgym.experiments.show import figures

    texts = []
    given: Any = {"caption": CAPTION, "order": order, "names": labels}
    for drawn in (figures.panels(panels, **given), figures.panels(panels, **given, **PHONE)):
        file = io.BytesIO()
        figures.write(drawn, file, "svg")
        texts.append(file.getvalue().decode())
    return Picture(texts[0], "", alt, texts[1])


def _means(results: Results) -> Table:
    """Return means and standard errors of all measures after the last round."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for measure in MEASURES:
        for line in means(results, measure):
            cells = found.setdefault((line["environment"], line["agent"]), {})
            cells |= {"rounds": f"{line['rounds']:,}", "rows": f"{line['rows']:,}"}
            cells[measure] = with_error(line["mean"], line["error"])
    # The main result comes first: on a phone it is beside the agent's name.
    head = [name for name in (*MEASURES, "rounds", "rows") if any(name in cells for cells in found.values())]
    rows = [[*labels, *(cells.get(name, "") for name in head)] for labels, cells in found.items()]
    title = "Means after the last round, and their standard errors"
    notes = [
        f"{environment}: {note}."
        for environment in results.environments
        for note in agreement_notes(
            {name: results[environment, name].history() for name in results.agents(environment)}
        )
    ]
    heads = [{"ndcg": "NDCG"}.get(name, name) for name in head]
    return Table(title, ["environment", "agent", *heads], rows, " ".join(notes), grouped=True)


def _ranks(results: Results) -> Iterator[Table]:
    """Return a table of ranks for each environment where several agents of known regret played the same queries."""
    for environment in results.environments:
        played = [results[environment, agent] for agent in results.agents(environment)]
        units = {one.agent: amount(one) for one in played}
        known = all(np.isfinite(sample.values).all() for sample in units.values())
        alike = all(np.array_equal(sample.names, units[played[0].agent].names) for sample in units.values())
        if len(units) > 1 and known and alike and len(units[played[0].agent].names) > 1:
            ranks = rank_table(units)
            yield Table(f"Ranks by regret: {environment}", ranks.head(), ranks.lines(), ranks.caption())


# -- in HTML ----------------------------------------------------------------------------------------------------------


def figure(picture: Picture) -> str:
    """Return a picture as HTML."""
    wide, narrow = (  # images of their own: ids of two images cannot clash
        f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" for svg in (picture.svg, picture.narrow)
    )
    image = f'<img src="{wide}" alt="{escape(picture.alt)}">'
    if picture.narrow:
        image = f'<picture><source media="(max-width: 44rem)" srcset="{narrow}">{image}</picture>'
    caption = f"\n<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
    return f"<figure>\n{image}{caption}\n</figure>"


def _claims(judgements: Sequence[Judgement]) -> str:
    """Return the table of claims; on a narrow screen each of its rows becomes a block."""
    rows = []
    for judgement in judgements:
        claim, measured, verdict, why = judgement
        said, quantity, found, claimed, words = map(escape, cells(judgement))
        look, sign = MARKS[verdict]
        notes = [_sentence(note) for note in (why, measured.method, measured.note) if note]
        rows.append(
            "<tr>"
            f'<td>{said}<span class="note">{escape(claim.where)}; {escape(claim.name)}</span></td>'
            f'<td data-head="{HEAD[1]}">{quantity}</td>'
            f'<td data-head="{HEAD[2]}">{found}<span class="note">{escape(" ".join(notes))}</span></td>'
            f'<td data-head="{HEAD[3]}">{claimed}</td>'
            f'<td><span class="verdict {look}">{sign} {words}</span></td>'
            "</tr>"
        )
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in HEAD)
    lines = ['<table class="claims">', f"<thead><tr>{head}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>"]
    return "\n".join(lines)


def _table(table: Table) -> str:
    first = 1 if table.grouped else 0
    columns = [[row[column] for row in table.rows] for column in range(first, len(table.head))]
    sides = [' class="number"' if any(cells) and all(map(_is_number, filter(None, cells))) else "" for cells in columns]
    heads = zip(table.head[first:], sides, strict=True)
    head = "".join(f'<th scope="col"{side}>{escape(name)}</th>' for name, side in heads)
    lines = ['<div class="wide">', "<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    group = None
    for row in table.rows:
        if table.grouped and row[0] != group:
            group = row[0]
            lines.append(f'<tr class="group"><th colspan="{len(sides)}" scope="rowgroup">{escape(group)}</th></tr>')
        pairs = zip(row[first:], sides, strict=True)
        cells = "".join(f"<td{side}>{escape(_with_minus(cell) if side else cell)}</td>" for cell, side in pairs)
        lines.append(f"<tr>{cells}</tr>")
    note = [f'<p class="note">{escape(table.note)}</p>'] if table.note else []
    return "\n".join([*lines, "</tbody>", "</table>", "</div>", *note])


def _is_number(cell: str) -> bool:
    return cell.lstrip("-<>~ ")[:1].isdigit()


def _with_minus(number: str) -> str:
    """Return the text of a number with the sign that typesetters use in place of a hyphen."""
    return f"\N{MINUS SIGN}{number[1:]}" if number.startswith("-") else number


def _folded(title: str, text: str) -> str:
    return f"<details>\n<summary>{escape(title)}</summary>\n<pre>{escape(text)}</pre>\n</details>"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
