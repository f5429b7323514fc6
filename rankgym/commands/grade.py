"""``rankgym grade``: which rules of the contract a submitted agent keeps, its regret against another's, its speed."""

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands import completion, options
from rankgym.commands.options import option
from rankgym.extras import require
from rankgym.outputs import atomic_path
from rankgym.progress import working

if TYPE_CHECKING:
    from rankgym.grading import Grade

RESULTS = {"passed": "kept", "broken": "broken", "skipped": "not tried"}
LONGEST_CALL = 10.0  # seconds: nobody waits for an endless loop for longer
SHOWN_LINES, SHOWN_CHARACTERS = 10, 600  # of what the file printed

Seed = Annotated[int, options.number("S", "Seed of row 0; row b has S + b, for its users and its agent.", low=0)]
Query = Annotated[
    str,
    option("all|train|test|0,3,7", f"Queries, or problems of duels. {options.LABELS_HELP}", "--query", "--problem"),
]


def grade(
    submitted: Annotated[
        str,
        typer.Argument(
            metavar="FILE:CLASS",
            help="A script or notebook, and a class in it; its knobs go after further colons: FILE:CLASS:KNOB=VALUE.",
        ),
    ],
    env: options.Environment,
    against: Annotated[
        str, option("AGENT", "The agent to compare with, such as `cascade-ucb1`.", names=completion.agents)
    ],
    rounds: Annotated[int, options.count("N", "User sessions, or duels, in each row.")] = 10_000,
    runs: Annotated[int, options.count("R", "Runs of every query or problem.")] = 1,
    seed: Seed = 0,
    query: Query = "all",
    level: Annotated[float, option("P", "Level of the confidence interval.")] = 0.99,
    source: options.Source = None,
    positions: options.Positions = None,
    set_: options.Assignments = None,
    json_file: Annotated[
        Path | None, option("JSON", "Write the grade as JSON, too; - for standard output.", "--json")
    ] = None,
    time_limit: Annotated[
        float, option("SECONDS", "Time for all of the file's work; a call may take a tenth of it, at most 10 s.")
    ] = 300.0,
    memory: Annotated[float, option("GB", "Memory of the file's process.")] = 2.0,
) -> None:
    """Grade an agent that somebody else wrote: which rules of the contract it keeps, its regret, its speed.

    The class is one for one user at a time, with `act()` and `update(displayed, clicks)`; its constructor gets those of
    `num_items`, `num_positions`, `horizon`, `seed` and `initial_list` that it has. In duels it has `act()`, which
    returns two arms, `update(left, right, left_won)` and an attribute `candidate`, and gets `num_arms`. A batch agent,
    as in `rankgym compare`, may be graded, too.

    The rules of `rankgym.check_agent` are tried, and the broken ones are shown with what was seen and expected. Then
    the agent plays in ENV, on the same users as AGENT: the difference of their regret has a confidence interval, and is
    given in standard errors. A regret that is lower than that of the right algorithm may be a mistake, too.

    The file runs in a process of its own, whose time and memory are limited. All of it runs, of a notebook every cell:
    what plays belongs under `if __name__ == "__main__":`, which is False there.

    Exit code: 0 if all rules are kept, 1 if one is broken or the class cannot be tried, 2 if the command is wrong.

    Examples:

    * Ann's CascadeUCB1: `rankgym grade ann.py:CascadeUCB1 CM-Yandex-v0 --against cascade-ucb1`
    * Duels: `rankgym grade ann.py:RUCB Dueling-Arxiv-v0 --against rucb --runs 20 --rounds 10_000`
    * All that is known, for a program: `rankgym grade ann.py:Mine PBM-Yandex-v0 --against toprank --json -`
    """
    from rankgym.commands.exercise import limits_of
    from rankgym.experiments.plan.environments import env_id
    from rankgym.grading import grade_agent

    file, class_name, knobs = parts_of(submitted)
    if re.match(r".+\.(?:py|ipynb):", against):
        raise ValueError(
            f"--against {against} is a file; allowed: a name from `rankgym agents`, or MODULE:CLASS of a batch agent "
            "that Python can import"
        )
    limits = limits_of(time_limit, memory)
    limits = limits._replace(call_seconds=min(limits.call_seconds, LONGEST_CALL))
    require("psutil", "teaching")
    name = env_id(env)
    arguments = options.env_arguments_of(set_ or [], source, positions)
    arguments |= {"query": options.queries_of(query, arguments=arguments), "rounds": rounds, "runs": runs, "seed": seed}
    with working(f"grading {submitted}"):
        found = grade_agent(
            file, class_name, name, against=against, knobs=knobs, level=level, limits=limits, **arguments
        )
    text = json.dumps(found.as_json(), indent=1)
    if json_file is not None and str(json_file) != "-":
        with atomic_path(json_file) as path:
            path.write_text(text, encoding="utf-8")
    if str(json_file) == "-":
        typer.echo(text)
    else:
        show_grade(found)
    if not found.passed:
        raise typer.Exit(1)


def parts_of(text: str) -> tuple[Path, str, dict[str, Any]]:
    """Return file, class and knobs of FILE:CLASS:KNOB=VALUE."""
    found = re.fullmatch(r"(.+?\.(?:py|ipynb)):([^\W\d]\w*)((?::.*)?)", text)
    if found is None:
        name, _, rest = text.partition(":")
        there = next((f"{name}{end}" for end in (".py", ".ipynb") if rest and Path(f"{name}{end}").is_file()), "")
        hint = f"; did you mean {there}:{rest}? Allowed:" if there else "; allowed:"
        raise ValueError(f"{text} is not FILE:CLASS{hint} a script or notebook and a class, as in ann.py:UCB1")
    _, knobs = options.with_keywords(f"{found[1]}:{found[2]}", found[3]) if found[3] else ("", {})
    return Path(found[1]), found[2], knobs


def show_grade(grade: "Grade") -> None:
    """Print a grade: a line for each rule, how rules were broken, what is missing, the regret and the speed."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    where = grade.environment.env_id.removeprefix("rankgym/")
    users = {True: " (one user at a time)", False: " (a batch agent)", None: ""}[grade.one_user]
    console.print(Text(f"{grade.file}:{grade.class_name}{users} in {where}, against {grade.against}", "bold"))
    skipped: dict[str, list[str]] = {}  # by the reason
    for rule in grade.rules:
        if rule.result == "skipped":
            reason = (
                "the agent has no such method" if rule.reason.startswith("the agent has no method") else rule.reason
            )
            skipped.setdefault(reason, []).append(rule.name)
            continue
        _show_head(console, rule.result == "passed", rule.name, f"  ({rule.case})" if rule.case else "")
        if rule.result == "broken":
            _show_inside(console, rule.statement)
            _show_inside(console, f"seen      {rule.seen}", "red")
            _show_inside(console, f"expected  {rule.expected}")
    for reason, names in skipped.items():
        console.print(Text(f"- not tried: {', '.join(names)}", "dim"))
        _show_inside(console, reason, "dim")
    for finding in grade.findings:
        _show_head(console, False, finding.part)
        _show_inside(console, finding.message)
        if finding.line is not None:
            code = f": {finding.code}" if finding.code else ""
            _show_inside(console, f"{grade.file}, line {finding.line}{code}", "dim")
    _show_play(grade, console)
    if grade.output:
        shown = "\n".join(grade.output[:SHOWN_CHARACTERS].splitlines()[:SHOWN_LINES])
        cut = (
            ""
            if len(shown) >= grade.output_length - 1
            else f", in {grade.output_length:,} bytes, of which these are the first"
        )
        console.print(Text(f"It printed{cut}:", "dim"))
        console.print(Text(shown))


def _show_head(console: Any, kept: bool, name: str, more: str = "") -> None:
    from rich.text import Text

    sign = ("✓ ", "green") if kept else ("✗ ", "red")
    console.print(Text.assemble(sign, (name, "bold"), more))


def _show_inside(console: Any, text: str, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(text, style), (0, 0, 0, 4), expand=False))


def _show_play(grade: "Grade", console: Any) -> None:
    """Print regret and speed, or why they are unknown, and how many rules are kept."""
    from rich.text import Text

    from rankgym.experiments.judge.units import counted_units
    from rankgym.grading import counted_rows

    if grade.regret is not None:
        regret = grade.regret
        over = f"{grade.environment.rounds:,} rounds, {counted_rows(grade)}, seed {grade.seed}"
        console.print(Text.assemble(("Regret", "bold"), f" after {over}"))
        _show_inside(console, f"{regret.mean:.4g}; of {grade.against} {regret.against:.4g}")
        errors = "" if math.isnan(regret.z) else f" ({regret.z:+.1f} standard errors)"
        _show_inside(console, f"difference {regret.difference:+.4g}{errors}")
        interval = f"interval {regret.low:+.4g} .. {regret.high:+.4g} " if math.isfinite(regret.high) else ""
        _show_inside(console, f"{interval}({regret.method})")
        _show_inside(console, regret.verdict(grade.against), "bold")
    elif grade.rules:
        console.print(Text.assemble(("Regret", "bold"), f" was not measured: {grade.no_regret}"))
    if grade.speed is not None:
        speed, one = grade.speed, grade.speed.seconds_per_round
        console.print(Text.assemble(("Speed", "bold"), " of the agent alone"))
        _show_inside(console, f"{1 / one:,.0f} rounds a second for one user, {1e6 * one:,.0f} µs a round")
        _show_inside(
            console, f"{speed.sessions_per_second:,.0f} sessions a second with {counted_units(speed.rows, 'users')}"
        )
    if grade.rules:
        results = [rule.result for rule in grade.rules]
        numbers = ((results.count(result), word) for result, word in RESULTS.items())
        console.print(Text(f"Rules: {', '.join(f'{number} {word}' for number, word in numbers)}.", "bold"))
