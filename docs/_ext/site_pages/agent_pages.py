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

USERS_CHANGE = ("cascade-ducb", "cascade-swucb", "glrt-cascade", "restarting")  # agents that were made for that


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the pages of all agents and trained policies, their index, and their pictures."""
    assumed = assumptions((docs / "agents.md").read_text(encoding="utf-8"))
    speeds = table_by_agent((docs / "performance.md").read_text(encoding="utf-8"))
    made: dict[str, str | bytes] = {"agents/index.md": index_page(assumed)}
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


def index_page(assumed: dict[str, str]) -> str:
    """Return the list of all agents: names, classes, what they do and their papers."""
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
    rows = [f"| [`{name}`]({name}.md) | {_policy_text(name)} |" for name in shipped_models()]
    parts += [
        "## Trained policies",
        "They need the extra `sb3`; [model cards](../models/index.md), [how to train one](../reinforcement.md).",
        "| name | what it does |\n|---|---|\n" + "\n".join(rows),
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
    rows = []
    for key, value in defaults.items():
        told = texts.get(key, "")
        default = "see right" if value is None and "default" in told.lower() else f"`{in_cell(_default(value))}`"
        rows.append(f"| `{key}` | {default} | {in_cell(_with_links(as_markdown(told)))} |")
    table = "| knob | default | meaning and range |\n|---|---|---|\n" + "\n".join(rows)
    card = f" [Model card](../models/{name}.md)." if name == "adaptive-index" else ""
    return [
        f"Class `rankgym_agents.{cls.__name__}`. {source}[All agents](index.md).{card}",
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
        as_markdown(_without(paper, inspect.getdoc(sys.modules[cls.__module__]) or "")),
        "## Speed",
        _speed(speeds.get(name, [])),
    ]


def _without(paper: str, text: str) -> str:
    """Return a module's docstring without its first citation of the paper, which stands at the top of the page."""
    words = r"\s+".join(map(re.escape, paper.split()))
    return re.sub(rf"\s+\({words}\)", "", text, count=1) if paper else text


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    return "None" if value is None else as_typed(value)


def _listed(title: str, sections: dict[str, str]) -> list[str]:
    """Return a section whose entries have names as a list, or nothing if a docstring does not have it."""
    entries = entries_of(sections.get(title, ""))
    lines = [f"* `{key}`: {as_markdown(text)}" for key, text in entries.items()]
    return [f"{title}:\n\n" + "\n".join(lines)] if lines else []


def _with_links(text: str) -> str:
    """Return Markdown in which names of agents' classes are links to their pages."""
    for name, cls in AGENTS.items():
        text = text.replace(f"`{cls.__name__}`", f"[`{cls.__name__}`]({name}.md)")
    return text


def _using(name: str) -> str:
    cls = AGENTS[name].__name__
    env, rounds, rows = "PBM-Yandex", "10_000", 'query="all"'
    if name in DUELERS:
        env, rows = "Dueling-MSLR", "num_arms=64"
    elif name == "bubblerank":  # which is safe with as many positions as items
        env = "PBM-Yandex-Rerank"
    elif name in USERS_CHANGE:
        env, rounds = "CM-Yandex-Breakpoint", "100_000"  # ten epochs
    given = ', agent="thompson-cascade", every=10_000' if name == "restarting" else ""
    code = (
        f"import gymnasium as gym\nimport rankgym\nfrom rankgym_agents import {cls}\n\n"
        f'venv = gym.make_vec("rankgym/{env}-v0", num_envs=100, {rows}, horizon={rounds})\n'
        f"agent = {cls}.for_env(venv{given}, seed=0)\n"
        f"history = rankgym.simulate(agent, venv, rounds={rounds}, seed=0)"
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


def _card(name: str) -> dict[str, Any]:
    from rankgym.sb3 import model_card  # here: it needs the extra sb3

    return model_card(name)


def _trained_on(name: str) -> str:
    """Return the environment that a shipped policy was trained for, by its card."""
    return str(_card(name)["envs"][0]).removeprefix("rankgym/")


def _policy_text(name: str) -> str:
    """Say what a shipped policy does, by its card."""
    card, env = _card(name), _trained_on(name)
    sizes = f"ranks {card['num_positions']} of {card['num_items']} items"
    return f"{sizes}; {card['algo']}, trained on [{env}](../environments/{env}.md)"


def _benchmark(name: str) -> list[str]:
    rows = []
    for task in charts.records()[name].values:
        scores = charts.scores(task)
        place = f"{charts.place(name, task)} of {len(scores)}"
        measured = f"{with_error(*charts.loss(name, task))} {charts.suite().tasks[task].measure}"
        rows.append(f"| [{task}](../tasks/{task}.md) | {scores[name]:z.1f} | {place} | {measured} |")
    alt = f"Scores of {name} in each task, beside those of all other agents; the table below has its numbers"
    reasons: dict[str, list[str]] = {}
    for task, reason in charts.records()[name].declined.items():
        reasons.setdefault(reason, []).append(f"`{task}`")
    told = [f"It does not play {', '.join(tasks)}: {reason}." for reason, tasks in reasons.items()]
    return [
        "Its records in the suite [`ltr-1`](../score.md): 100 loses nothing, 0 as much as random play. "
        "In the picture, scores below -50 lie at the left end.",
        f"![{alt}](../pictures/profile-{name}.svg)",
        "| task | score | place | loss |\n|---|---:|---:|---:|\n" + "\n".join(rows),
        *told,
    ]
