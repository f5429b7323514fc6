"""``rankgym assumptions``: which assumptions of the papers' theorems a click model satisfies."""

from typing import Annotated, Any

import typer

from rankgym.commands.options import (
    LABELS_HELP,
    Assignments,
    Environment,
    Positions,
    Source,
    env_arguments_of,
    option,
    queries_of,
)
from rankgym.commands.tables import show_table


def assumptions(
    env: Environment,
    query: Annotated[str, option("all|train|test|0,3,7", f"Queries. {LABELS_HELP}")] = "all",
    around: Annotated[
        str | None,
        option(
            "initial|3,1,2,...",
            "Check only this list and those that differ from it by one exchange of two items; `initial` is each "
            "query's production list. Default: all lists.",
        ),
    ] = None,
    source: Source = None,
    positions: Positions = None,
    exact_up_to: Annotated[
        int,
        option(
            "N",
            "Check all lists if all queries together have at most N. Otherwise check 20,000 random lists of each "
            "query: then only a violation is a proof.",
        ),
    ] = 4_000_000,
    set_: Assignments = None,
) -> None:
    """Check whether BubbleRank's and TopRank's theorems apply: which of their assumptions hold, and what breaks them.

    Agents run on any click model, but theorems about them need assumptions. The table shows for each assumption
    whether it holds for all lists, and if not, the lists that break it most. Where users change, epoch 0 alone counts.

    Examples:

    * One query, all its 10! lists: `rankgym assumptions PBM-Yandex-Rerank-v0 --query 3`
    * All original queries at 5 positions: `rankgym assumptions DCM-Yandex-v0 --source published`
    * Around a list: `rankgym assumptions PBM-Yandex-v0 --query 3 --around 3,1,0,2,4`
    """
    import numpy as np

    from rankgym.arguments import whole_number
    from rankgym.experiments.plan.environments import check_env_arguments, choice_of, env_arguments, env_id
    from rankgym.models import check_assumptions

    name = env_id(env)
    arguments = env_arguments_of(set_ or [], source, positions)
    check_env_arguments(name, arguments)
    if choice_of(name) != "query":
        raise ValueError(f"{name} has no click model; allowed: an environment with queries")
    whole_number("--exact-up-to", exact_up_to, 0)
    venv = _rows_of_queries(name, query, arguments)
    _, info = venv.reset(seed=0)
    queries, row_of = np.unique(info["query"], return_index=True)
    truth = type(venv.queries.parameters)(*(table[queries] for table in venv.queries.parameters))
    displayed: Any = None
    if around == "initial":
        displayed = venv.initial_list[row_of, : venv.num_positions]
    elif around is not None:
        displayed = _items(around, venv.num_items, venv.num_positions)
    report = check_assumptions(
        venv.model,
        truth._replace(attraction=venv.attraction[row_of]),
        num_positions=venv.num_positions,
        cutoff=venv.cutoff,
        reward={**(env_arguments(name) or {}), **arguments}.get("reward", "clicks"),
        displayed=displayed,
        exact_up_to=exact_up_to,
    )
    which = f", query {queries[0]}" if len(queries) == 1 else ""
    if "epoch" in info:  # users change
        own = np.array_equal(truth.attraction, venv.attraction[row_of])
        whose = "the query's" if len(queries) == 1 else "the queries'"
        which += f", epoch 0 alone ({f'{whose} own numbers' if own else 'drawn with seed 0'})"
    _show_report(f"{name}{which}", report, queries.tolist())


def _show_report(subject: str, report: Any, queries: list[int]) -> None:
    """Print the report: one table for each paper."""
    from rankgym.models import PAPERS

    typer.echo(f"{subject}: {report.headline()}")
    for paper, (_, names) in PAPERS.items():
        typer.echo(f"\n{report.title(paper)}")
        lines = []
        for each in names:
            *cells, words = report.row(each)
            against = report.counterexample(each, queries)
            lines.append((*cells, f"{words}\n-> {against}" if against else words))
        show_table(("", "holds", "gap", "what it says"), lines)
    for line in report.notes():
        typer.echo(line)


def _rows_of_queries(name: str, text: str, arguments: dict[str, Any]) -> Any:
    """Return the bare environment with a row for each query that --query ``text`` chooses."""
    import gymnasium as gym

    chosen = queries_of(text, arguments=arguments)
    venv: Any = gym.make_vec(name, num_envs=1, query="all", **arguments).unwrapped
    if not hasattr(venv, "queries"):
        raise ValueError(f"the click model of {name} is not known")
    count = venv.queries.num_queries
    rows = count if isinstance(chosen, str) else len(chosen)
    try:
        return gym.make_vec(name, num_envs=rows, query=chosen, **arguments).unwrapped
    except ValueError:  # with "all" it was made, so the choice is wrong
        pools = ", ".join(pool for pool in ("all", "train", "test") if pool != text)  # few queries have no test queries
        raise ValueError(
            f"--query {text} is not a choice of queries of {name}; allowed: {pools}, or numbers in 0 .. {count - 1}"
        ) from None


def _items(text: str, items: int, positions: int) -> list[int]:
    """Return the ranking of --around."""
    try:
        listed = [int(part) for part in text.split(",")]
    except ValueError:
        listed = []
    if len(set(listed)) != positions or len(listed) != positions or not 0 <= min(listed) <= max(listed) < items:
        wanted = "1 item" if positions == 1 else f"{positions} different items"
        raise ValueError(
            f"--around {text} is not a ranking; allowed: initial, or {wanted} out of 0 .. {items - 1}, with commas"
        )
    return listed
