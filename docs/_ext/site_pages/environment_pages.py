"""A page for every registered environment, from the registry, the docstring of its class, and the environment."""

import inspect
import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium as gym

import rankgym  # noqa: F401  registers the environments
from rankgym.envs import RankingVectorEnv, UnknownRegret
from rankgym.estimates import with_error
from rankgym.experiments.plan.environments import choice_of, env_arguments, env_creator
from rankgym.experiments.scoring.placing import ranking
from rankgym.registry import ENVS
from site_pages import charts
from site_pages.docstrings import ORPHAN, as_markdown, in_cell, index_entries, listed_arguments, sections_of

FAMILIES = {  # by a part of the id, the first that fits: the heading, and what the family is
    "Dueling": ("Duels", "The action is a pair, and clicks or a preference matrix decide which of the two wins."),
    "Breakpoint": ("Users who change", "Attraction changes at breakpoints that the agent does not know."),
    "Rerank": ("Re-ranking", "All items are displayed, and the agent starts from a production list."),
    "Synthetic": ("Users of your own", "Parameters of the click model come from the caller, or are drawn."),
    "": ("Rankings", "The agent displays 5 of 10 items of a query."),
}
SHOWN = 5  # agents of a task
PAGES = {"RankingVectorEnv": "PBM-Yandex-v0", "DuelingVectorEnv": "Dueling-MSLR-v0"}  # where a class is described
DESCRIBED = re.compile(r"\s+\(`rankgym\s+envs\s+[\w-]+`\s+describes\s+them\)")  # said where there are no links
DEFAULT = re.compile(r"\s*\bDefault: (.+?)\.(?=\s|$)", flags=re.S)
LETOR = "".join(  # a file with two queries, for an environment that needs one
    f"{grade} qid:{query} " + " ".join(f"{f}:{(grade * f + doc * 7) % 5 / 5:.1f}" for f in range(1, 5)) + "\n"
    for query in (1, 2)
    for doc, grade in enumerate((1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0))
)


def short(name: str) -> str:
    """Return an id without its namespace."""
    return name.removeprefix("rankgym/")


def family_of(name: str) -> str:
    """Return the key of ``FAMILIES`` that an id belongs to."""
    return next(part for part in FAMILIES if part in name)


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the pages of all environments, their index, and their pictures."""
    made: dict[str, str | bytes] = {"environments/index.md": index_page()}
    with tempfile.TemporaryDirectory() as folder:
        letor = Path(folder) / "sample.txt"
        letor.write_text(LETOR, encoding="utf-8")
        for name in ENVS:
            with one_env(name, letor) as env:
                picture = rendered(env)
                if picture is not None:
                    made[f"pictures/{short(name)}.png"] = picture
                made[f"environments/{short(name)}.md"] = page(name, env, picture is not None)
    return made


@contextmanager
def one_env(name: str, letor: Path) -> Iterator[Any]:
    """Make an environment that can be drawn, if Pillow is installed."""
    needed: dict[str, Any] = {"file": str(letor)} if "LETOR" in name else {}
    try:
        import PIL  # noqa: F401

        needed["render_mode"] = "rgb_array"
    except ModuleNotFoundError:
        warnings.warn("environments are not drawn: Pillow is missing (the extra render)", stacklevel=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownRegret)  # of the file, which has no preference matrix
        env = gym.make(name, horizon=100, **needed)
    with closing(env):
        yield env


def rendered(env: Any) -> bytes | None:
    """Return a picture of an environment after one random action as PNG, or None if it cannot be drawn."""
    if env.render_mode is None:
        return None
    from PIL import Image

    env.action_space.seed(4)
    env.reset(seed=4)
    env.step(env.action_space.sample())
    file = BytesIO()
    Image.fromarray(env.render()).quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


def index_page() -> str:
    """Return the list of all environments by family."""
    parts = [
        "# Environments",
        f"All {len(ENVS)} registered ids. Each page has the spaces, every argument with its default, a picture, and "
        "the regret of agents where the [benchmark](../score.md) plays the environment.",
        f"## The horizon and other arguments\n\n{index_entries('horizon', 'horizon argument', 'change the horizon')}",
        "**`horizon=` changes the horizon**, the number of sessions of an episode. Every id has it, and its default is "
        "1,000,000. Those that display items also have `query=`, which queries the rows play, `num_items=` and "
        "`num_positions=`, how long lists are, and `source=`, where the queries come from. "
        "[What one step is](../concepts/step.md) explains the rest.",
    ]
    for part, (title, text) in FAMILIES.items():
        parts += [f"## {title}", text, "| id | what it is |\n|---|---|"]
        rows = [f"| [`{short(n)}`]({short(n)}.md) | {in_cell(ENVS[n][2])} |" for n in ENVS if family_of(n) == part]
        parts[-1] += "\n" + "\n".join(rows)
    return "\n\n".join(parts) + "\n"


def page(name: str, env: Any, drawn: bool) -> str:
    """Return the page of an environment."""
    _, given, text = ENVS[name]
    paper = re.search(r"\(([^()]*section[^()]*|[^()]*\d{4})\)", text)
    experiment = "" if paper else "It is not the experiment of one paper. "
    parts = [f"{ORPHAN}# {short(name)}", f"`{name}`: {in_cell(text)}. {experiment}[All environments](index.md)."]
    if drawn:
        alt = f"Result page of {short(name)} after one random action"
        parts += [f"![{alt}](../pictures/{short(name)}.png)", "*A random action, the user's clicks, and the truth.*"]
    parts += ["## How to make and play it", _making(name, given), "## Spaces", _spaces(env)]
    parts += ["## Arguments", *_arguments(name)]
    parts += [f"## {title}\n\n{as_markdown(body)}" for title, body in _sections(name).items()]
    return "\n\n".join([*parts, "## Agents in the benchmark", *_records(name)]) + "\n"


def _sections(name: str) -> dict[str, str]:
    """Return the sections of an id's docstring. "As in `RankingVectorEnv`." becomes that text, other mentions links."""
    found, base = docstring_of(env_creator(name)), docstring_of(RankingVectorEnv)
    for title, body in found.items():
        start, end, more = body.partition("As in `RankingVectorEnv`.")
        own = f"{base[title]}{more}" if end and not start else body
        found[title] = linked(own, title, name)
    shown = re.search(r'"rankgym/([\w-]+)"', found["Examples"])
    if shown and shown[1] != short(name):
        found["Examples"] = (
            f"Played in [`{shown[1]}`]({shown[1]}.md), with numbers that are easy to check.\n\n{found['Examples']}"
        )
    return {title: body for title, body in found.items() if title not in ("Arguments", "Version History")}


def docstring_of(creator: Any) -> dict[str, str]:
    """Return the sections of the docstring of what makes an environment."""
    return sections_of(inspect.getdoc(creator) or "")


def linked(text: str, title: str, name: str) -> str:
    """Return text in which the classes of ``PAGES`` are links to the section ``title`` of their page."""
    text = DESCRIBED.sub("", text)
    for cls, page in PAGES.items():
        if page != short(name):
            text = text.replace(f"`{cls}`", f"[`{cls}`]({page}.md#{title.lower().replace(' ', '-')})")
    return text


def _making(name: str, given: dict[str, Any]) -> str:
    choice, file = choice_of(name), ', file="letor.txt"' if "LETOR" in name else ""
    every = f', {choice}="all"' if choice else ""
    code = (
        "import gymnasium as gym\nimport rankgym\n\n"
        f'env = gym.make("{name}"{file}, horizon=10_000)\n'
        f'venv = gym.make_vec("{name}", num_envs=600{file}{every}, horizon=10_000)  # 600 rows at once\n\n'
        "observation, info = env.reset(seed=0)\n"
        "observation, reward, terminated, truncated, info = env.step(env.action_space.sample())"
    )
    fixed = ", ".join(f"`{key}={json.dumps(value)}`" for key, value in given.items() if len(json.dumps(value)) < 60)
    return f"```python\n{code}\n```" + (f"\n\nThe id sets {fixed}." if fixed else "")


def _spaces(env: Any) -> str:
    rows = [("action", env.action_space), ("observation", env.observation_space)]
    return "| space | of a single environment |\n|---|---|\n" + "\n".join(
        f"| {n} | `{in_cell(str(s))}` |" for n, s in rows
    )


def _arguments(name: str) -> list[str]:
    """Return the table of all arguments; texts that a class leaves out are those of ``RankingVectorEnv``."""
    own = listed_arguments(docstring_of(env_creator(name))["Arguments"])
    base = listed_arguments(docstring_of(RankingVectorEnv)["Arguments"])
    choice, rows = choice_of(name), []
    for key, value in {**({choice: None} if choice else {}), **(env_arguments(name) or {})}.items():
        told = own.get(key, "")
        told = base.get(key, told) if not told or told.startswith("as in `RankingVectorEnv`") else told
        default, told = with_default(value, told)
        cells = (f"`{key}`", default, linked(told, "Arguments", name))
        rows.append(f"| {' | '.join(in_cell(as_markdown(cell)) for cell in cells)} |")
    return [
        "All are keywords of `gym.make` and `gym.make_vec`, and `--set KEY=VALUE` on the command line.",
        "| argument | default here | what it does |\n|---|---|---|\n" + "\n".join(rows),
    ]


def with_default(value: Any, told: str) -> tuple[str, str]:
    """Return an argument's default in an id, and its text without the sentence "Default: ...".

    That sentence says what None stands for. It is not true of an id that sets the argument.
    """
    said = DEFAULT.search(told)
    text = json.dumps(value, default=lambda member: member.value)
    text = f"{value:_}" if type(value) is int else text.capitalize() if type(value) is bool else text
    default = "set by the id" if len(text) > 40 else f"`{text}`"
    if value is None:
        default = said[1] if said else "`None`"
    return default, DEFAULT.sub("", told)


def _records(name: str) -> list[str]:
    """Return the best agents of each benchmark task that plays an environment, or say that there is no record."""
    tasks = {task: one for task, one in charts.suite().tasks.items() if one.env_id == name}
    if not tasks:
        return ["There is no record: no task of the [benchmark](../score.md) plays this environment."]
    parts = [
        f"From the records of the [benchmark](../score.md), with the arguments of each task; the best {SHOWN} agents."
    ]
    for task, one in tasks.items():
        best = ranking(charts.suite(), task)[:SHOWN]
        rows = [f"| [`{label}`](../agents/{label}.md) | {with_error(*charts.loss(label, task))} |" for label, _ in best]
        heads = f"| agent | {one.measure} after {one.rounds:,} rounds |\n|---|---:|\n"
        parts += [f"### [{task}](../tasks/{task}.md)", one.question, heads + "\n".join(rows)]
    return parts
