"""A page for every agent, from its docstrings, its assumptions in docs/agents.md, and the benchmark's records."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from rankgym.commands.agents import agent_texts
from rankgym.commands.options import as_typed
from rankgym.estimates import with_error
from rankgym.experiments.plan.agents import knobs, shipped_models
from rankgym_agents import AGENTS, DUELERS, RANKERS
from site_pages import charts
from site_pages.docstrings import ORPHAN, as_markdown, entries_of, in_cell, index_entries, split_docstring

ENV = {True: "rankgym/Dueling-MSLR-v0", False: "rankgym/PBM-Yandex-v0"}  # by whether the agent duels


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the pages of all agents and trained policies, their index, and their pictures."""
    assumed = assumptions((docs / "agents.md").read_text(encoding="utf-8"))
    speeds = table_by_agent((docs / "performance.md").read_text(encoding="utf-8"))
    made: dict[str, str | bytes] = {"agents/index.md": index_page((docs / "models" / "index.md").read_text("utf-8"))}
    for name in (*AGENTS, *shipped_models()):
        recorded = name in charts.records()
        if recorded:
            made[f"pictures/profile-{name}.svg"] = charts.profile(name)
        made[f"agents/{name}.md"] = page(name, assumed, speeds, recorded)
    return made


def assumptions(text: str) -> dict[str, str]:
    """Return what agents assume: the paragraphs of docs/agents.md that begin with ``**`name`**``, by name."""
    parts = re.split(r"^\*\*`([\w-]+)`\*\* ", text, flags=re.M)
    return {name: part.split("\n\n")[0].strip() for name, part in zip(parts[1::2], parts[2::2], strict=True)}


def table_by_agent(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return, by agent, the (head, cell) pairs of the table rows of a page that begin with an agent's name."""
    found: dict[str, list[tuple[str, str]]] = {}
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "agent":
            heads = cells
        elif heads and cells and cells[0].strip("`") in AGENTS:
            found.setdefault(cells[0].strip("`"), []).extend(zip(heads[1:], cells[1:], strict=True))
    return found


def index_page(cards: str) -> str:
    """Return the list of all agents: names, what they do and their papers; of policies the table of ``cards``."""
    parts = [
        "# Agents",
        "Each page says what the agent assumes, which paper it follows and how, its knobs, and its scores. "
        "[All of them side by side](../agents.md), on the same users.",
    ]
    for title, some in (("Agents that rank", RANKERS), ("Agents that duel", DUELERS)):
        rows = []
        for name, cls in some.items():
            what, paper = agent_texts(cls)
            cells = (f"[`{name}`]({name}.md)", what.partition(": ")[2] or what, paper)
            rows.append(f"| {' | '.join(in_cell(as_markdown(cell)) for cell in cells)} |")
        parts += [f"## {title}", "| name | what it does | paper |\n|---|---|---|\n" + "\n".join(rows)]
    head, rule, *rows = re.findall(r"^\|.*\|$", cards.partition("\n\n## ")[0], flags=re.M)
    policies = [row for row in rows if not any(f"]({name}.md)" in row for name in AGENTS)]
    parts += [
        "## Trained policies",
        "They need the extra `sb3`; [model cards](../models/index.md), [how to train one](../reinforcement.md).",
        "\n".join([head, rule, *policies]),
    ]
    return "\n\n".join(parts) + "\n"


def page(name: str, assumed: dict[str, str], speeds: dict[str, list[tuple[str, str]]], recorded: bool) -> str:
    """Return the page of an agent or a trained policy."""
    parts = [f"{ORPHAN}# {name}"]
    parts += _class_parts(name, assumed, speeds) if name in AGENTS else _policy_parts(name)
    return (
        "\n\n".join([*parts, "## In the benchmark", *(_benchmark(name) if recorded else ["There is no record."])])
        + "\n"
    )


def _class_parts(name: str, assumed: dict[str, str], speeds: dict[str, list[tuple[str, str]]]) -> list[str]:
    cls = AGENTS[name]
    paper = agent_texts(cls)[1]
    before, sections = split_docstring(inspect.getdoc(cls) or "")
    texts = entries_of(sections.get("Args", ""))
    source = f"Paper: {as_markdown(paper)}. " if paper else "Not from a paper, or from several. "
    defaults = knobs(cls)
    knob = next(iter(defaults), None)
    choice = f" Knobs follow the name: `--agents {name}:{knob}=VALUE`." if knob else ""
    rows = [
        f"| `{key}` | `{in_cell(_default(default))}` | {in_cell(_with_links(as_markdown(texts.get(key, ''))))} |"
        for key, default in defaults.items()
    ]
    table = "| knob | default | meaning and range |\n|---|---|---|\n" + "\n".join(rows)
    kind = "duels" if name in DUELERS else "ranks items"
    card = f" [Model card](../models/{name}.md)." if name == "adaptive-index" else ""
    return [
        f"`rankgym_agents.{cls.__name__}` {kind}. {source}[All agents](index.md).{card}",
        as_markdown(before),
        f"## What it assumes\n\n{index_entries(f'{name} assumptions', f'{name} assumes')}",
        f"`{name}` {assumed[name]}" if name in assumed else "Nothing: it does not learn.",
        "## How to use it",
        _using(name),
        "## Example",
        as_markdown(sections["Examples"]),
        "## Knobs",
        f"{table}\n\nShape and seed come from `for_env`.{choice}" if rows else "None.",
        *_listed("Raises", sections),
        *_listed("Attributes", sections),
        "## How it follows the paper" if paper else "## How it works",
        as_markdown(inspect.getdoc(sys.modules[cls.__module__]) or ""),
        "## Speed",
        _speed(speeds.get(name, [])),
    ]


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    return "None" if value is None else as_typed(value)


def _listed(title: str, sections: dict[str, str]) -> list[str]:
    """Return a section whose entries have names as a list, or nothing if a docstring does not have it."""
    entries = entries_of(sections.get(title, ""))
    return ["\n".join([f"{title}:\n", *(f"* `{key}`: {as_markdown(text)}" for key, text in entries.items())])][
        : len(entries)
    ]


def _with_links(text: str) -> str:
    """Return Markdown in which names of agents' classes are links to their pages."""
    for name, cls in AGENTS.items():
        text = text.replace(f"`{cls.__name__}`", f"[`{cls.__name__}`]({name}.md)")
    return text


def _using(name: str) -> str:
    cls, duels = AGENTS[name].__name__, name in DUELERS
    given = ', agent="toprank"' if name == "restarting" else ""
    code = (
        f"import gymnasium as gym\nimport rankgym\nfrom rankgym_agents import {cls}\n\n"
        f'venv = gym.make_vec("{ENV[duels]}", num_envs=100, horizon=10_000)\n'
        f"agent = {cls}.for_env(venv{given}, seed=0)\n"
        "history = rankgym.simulate(agent, venv, rounds=10_000, seed=0)"
    )
    return f"```python\n{code}\n```"


def _speed(found: list[tuple[str, str]]) -> str:
    if not found:
        return "It was not measured; `rankgym bench` measures it on your machine."
    told = ", ".join(f"{cell} ({head})" for head, cell in found if cell)
    return f"Million sessions or duels a second, one core of a slow machine: {told}. [Measured so](../performance.md)."


def _policy_parts(name: str) -> list[str]:
    return [
        "A trained policy that comes with the package. It plays wherever an agent does, and needs the extra `sb3`. "
        "[All agents](index.md).",
        f"```sh\nrankgym agents {name}        # how it was trained\n"
        f"rankgym compare {_trained_on(name)} --agents {name},toprank --rounds 1000\n```",
        f"How it was trained, where it wins and loses, what it is not for: [model card](../models/{name}.md).",
    ]


def _trained_on(name: str) -> str:
    """Return the environment that a shipped policy was trained for, by its card."""
    from rankgym.sb3 import model_card  # here: it needs the extra sb3

    return str(model_card(name)["envs"][0]).removeprefix("rankgym/")


def _benchmark(name: str) -> list[str]:
    rows = []
    for task in charts.records()[name].values:
        scores = charts.scores(task)
        place = f"{[*scores].index(name) + 1} of {len(scores)}"
        measured = with_error(*charts.loss(name, task))
        rows.append(f"| [{task}](../tasks/{task}.md) | {scores[name]:z.1f} | {place} | {measured} |")
    alt = f"Scores of {name} in each task, beside those of all other agents; the table below has the numbers"
    declined = charts.records()[name].declined
    told = (
        [f"It does not play {', '.join(f'`{task}`' for task in declined)}: {next(iter(declined.values()))}."]
        if declined
        else []
    )
    return [
        "Its records in the suite [`ltr-1`](../score.md): 100 loses nothing, 0 as much as random play. "
        "Scores below -50 lie at the left end.",
        f"![{alt}](../pictures/profile-{name}.svg)",
        "| task | score | place | loss |\n|---|---:|---:|---:|\n" + "\n".join(rows),
        *told,
    ]
