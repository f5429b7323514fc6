"""``rankgym data simulate`` and ``rankgym data evaluate``: make a click log, and evaluate policies on one."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands import completion, options
from rankgym.commands.options import option

if TYPE_CHECKING:
    from rankgym.logs.simulating import Simulation

Query = Annotated[
    str,
    option("all|train|test|0,3,7", f"Queries. Session n has query number n modulo their count. {options.LABELS_HELP}"),
]
LogPolicy = Annotated[
    str,
    option(
        "NAME",
        "random, static, plackett-luce or epsilon, with knobs after colons; or an agent, which learns while it makes "
        "the log.",
        names=completion.policies,
    ),
]
Target = Annotated[
    list[str],
    option("NAME", "The policy to evaluate. May be given several times.", "--policy", names=completion.plain_policies),
]


def simulate(
    env: options.Environment,
    out: Annotated[str, option("FILE", "The log; with `--format minari`, the id of a data set, such as `made-v0`.")],
    sessions: Annotated[int, options.count("N", "User sessions.")] = 100_000,
    policy: LogPolicy = "random",
    format_: Annotated[
        str, option("plain|relevance|personalised|minari", "The log's format; see below.", "--format")
    ] = "plain",
    seed: Annotated[int, options.number("S", "Logs of different seeds are independent.", low=0)] = 0,
    query: Query = "all",
    source: options.Source = None,
    positions: options.Positions = None,
    set_: options.Assignments = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the log that is there.")] = False,
) -> None:
    """Simulate a click log: lists of a policy, clicks of an environment's users, and the lists' probabilities.

    Policies, by the environment's base list:

    * `random`: all lists are equally probable;
    * `static`: the first items of the base list;
    * `plackett-luce:temperature=1`: position by position an item is drawn among those left, the item at rank r of the
      base list with a weight of r ** (-1 / temperature);
    * `epsilon:epsilon=0.1`: with probability epsilon a list like those of `random`, else that of `static`.

    Every other name is an agent as in `rankgym compare`; it learns from the clicks of its log, separately for each
    query, and the probabilities are left empty.

    Formats:

    * `plain`: a table with a line for each session and the columns `session`, `query`, `item_1` ... `item_K`, `click_1`
      ... `click_K`, `propensity` (the probability of the list), `propensity_1` ... (of the item at this position, for
      up to 16 items) and `prefix_propensity_1` ... (of the items down to this position). FILE ends in .csv, .tsv or
      .parquet, or in .csv.gz or .tsv.gz.
    * `relevance`, `personalised`: the text formats of the Yandex logs of 2011 and 2013, compressed if FILE ends in
      .gz. They have no probabilities.
    * `minari`: a data set for `minari.load_dataset`, with the probabilities among the infos.

    The log depends on the environment, the policy and the seed alone; a shorter log is the beginning of a longer one.

    Examples:

    * `rankgym data simulate PBM-Yandex-v0 --sessions 1e6 --policy plackett-luce:temperature=0.5 --out log.parquet`
    * A log to fit click models to: `rankgym data simulate DBN-Yandex-v0 --format relevance --out log.txt.gz`
    * The log of an agent that learns: `rankgym data simulate CM-Yandex-v0 --policy toprank --query 3 --out toprank.csv`
    """
    from rankgym.experiments.plan.agents import parse_agent
    from rankgym.experiments.plan.environments import env_id
    from rankgym.logs.policies import POLICIES, is_policy_name
    from rankgym.logs.simulating import write_log

    made_by: Any = policy
    if not is_policy_name(policy):
        options.search_agents_here([policy])
        try:
            made_by = parse_agent(policy).make
        except ValueError as error:
            raise ValueError(f"{error}; policies: {', '.join(POLICIES)}") from None
    arguments = options.env_arguments_of(set_ or [], source, positions)
    chosen = options.queries_of(query, arguments=arguments)
    simulation = _simulation(env_id(env), sessions, made_by, policy, {"seed": seed, "query": chosen, **arguments})
    write_log(simulation, out, format_, overwrite=overwrite)
    known = "".join(
        f", with the probabilities of {what}"
        for what, there in zip(("lists", "items at positions"), simulation.propensities(), strict=True)
        if there and format_ in ("plain", "minari")
    ).replace(", with the probabilities of items", " and items")
    typer.echo(f"{out}: {simulation.sessions:,} sessions of {simulation.description['policy']}{known}")


def _simulation(env: str, sessions: int, made_by: Any, name: str, arguments: dict[str, Any]) -> "Simulation":
    from rankgym.logs.simulating import Simulation

    simulation = Simulation(env, sessions, made_by, **arguments)
    if simulation.policy is None:
        simulation.description["policy"] = name
    return simulation


def evaluate(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log in the plain format, with probabilities.")],
    env: options.Environment,
    policy: Target,
    logging: Annotated[
        str | None,
        option(
            "NAME",
            "The policy that made LOG; its probabilities replace those in LOG.",
            names=completion.plain_policies,
        ),
    ] = None,
    cutoff: Annotated[
        int | None, options.number("K", "Positions whose clicks count. Default: those of ENV.", low=1)
    ] = None,
    level: Annotated[float, option("SHARE", "Coverage of the intervals.")] = 0.95,
    bootstrap: Annotated[
        int, options.number("R", "Resamples for bootstrap intervals; 0: normal intervals.", low=0)
    ] = 0,
    seed: Annotated[int, options.number("S", "Seed of bootstrap and cross-fitting.", low=0)] = 0,
    source: options.Source = None,
    positions: options.Positions = None,
    set_: options.Assignments = None,
) -> None:
    """Estimate what a policy is worth from the log of another one: expected clicks a session, with intervals.

    LOG's queries and items are those of ENV, which also has the base lists that policies follow. Policies are those of
    `rankgym data simulate`, without agents.

    All four methods weigh sessions by how much more probable the policy makes what was displayed, and are unbiased if a
    click depends on nothing but: the whole list (`sips`), its item and position (`iips`), or the items down to it
    (`rips`, `cascade-dr`). The less a method weighs, the smaller is its error. The last line, `true`, is the value in
    ENV, which counts only if its users made LOG.

    *Effective* is how many sessions of the policy itself would be about as good. Weights have the mean 1 if the log's
    policy can display all that the policy displays. If it cannot, methods are refused where this is known: by
    --logging, or by the policy that a Parquet log names. Else a mean more than 4 of its standard errors away from 1
    gets a warning, and `-` for *effective*: something is never displayed, or the log is too short.

    Example:

        rankgym data simulate CM-Yandex-v0 --policy plackett-luce --out log.parquet
        rankgym data evaluate log.parquet CM-Yandex-v0 --policy static --policy plackett-luce:temperature=0.3
    """
    from rankgym.commands.tables import show_table
    from rankgym.experiments.plan.environments import env_id

    arguments = options.env_arguments_of(set_ or [], source, positions)
    knobs = {"level": level, "bootstrap": bootstrap, "seed": seed}
    rows, lacking, doubts, said = _evaluated(log, env_id(env), arguments, policy, logging, cutoff, knobs)
    if len(lacking) == 4 * len(policy):
        raise ValueError(lacking[0])
    heads = ["policy", "method", "clicks", "error", f"{100 * level:.4g} % interval"]
    show_table([*heads, "effective", "mean weight", "largest"], rows, labels=2)
    for line in (said, *lacking, *doubts):
        typer.echo(line)


def _evaluated(
    log: Path,
    env: str,
    arguments: dict[str, Any],
    policies: list[str],
    logging: str | None,
    cutoff: int | None,
    knobs: dict[str, Any],
) -> tuple[list[list[str]], list[str], list[str], str]:
    """Return the table's rows, why methods are missing in it, why some are in doubt, and what was counted."""
    import gymnasium as gym

    from rankgym.logs.evaluation import (
        METHODS,
        NoSupport,
        check_support,
        estimate,
        named_policy,
        read_plain,
        true_value,
    )
    from rankgym.logs.policies import policy_of
    from rankgym.logs.simulating.playing import labels

    made: Any = gym.make_vec(env, num_envs=1, **{"query": 0, **arguments})
    base, rows, lacking, doubts = made.queries.initial_list, [], [], []
    query_labels, item_labels = labels(made)
    with warnings.catch_warnings(record=True) as broken:
        warnings.simplefilter("always")
        sessions = read_plain(log, query_labels, item_labels)
    shown = sessions.displayed.shape[1]
    if shown != made.num_positions:
        had = f"{log} has {shown} positions, the environment {made.num_positions}"
        raise ValueError(f"{had}; allowed: the same, with --positions {shown}")
    other = None if logging is None else policy_of(logging, base, made.num_positions)
    named = named_policy(log, sessions, base, made.num_positions) if other is None else None
    first = made.cutoff if cutoff is None else cutoff
    for target in (policy_of(name, base, made.num_positions) for name in policies):
        for method in METHODS:
            try:
                if named is not None:
                    check_support(sessions, target, named, method, first)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # it is said below the table
                    found = estimate(sessions, target, method, logging=other, cutoff=first, **knobs)
            except ValueError as error:
                why = error.told(repr(str(query_labels[error.query]))) if isinstance(error, NoSupport) else error
                lacking.append(f"{target.name}, {method}: {why}")
                continue
            rows.append([target.name, method, *_cells(found)])
            if found.doubt:
                doubts.append(f"warning: {target.name}, {method}: {found.doubt}")
        if made.schedule is None:
            value, spread = true_value(made, target, sessions.query, cutoff=first)
            rows.append([target.name, "true", f"{value:.4f}", f"{spread:.4f}" if spread else "0", "", "", "", ""])
    said = f"{log}: {len(sessions.query):,} sessions; clicks a session at the first {first} positions"
    return rows, lacking, doubts, "\n".join([said, *(str(one.message) for one in broken)])


def _cells(found: Any) -> list[str]:
    from rankgym.estimates import rounded

    interval = f"{found.low:.4f} .. {found.high:.4f}"
    effective = "-" if found.doubt else f"{found.effective:,.0f}"
    numbers = [effective, f"{found.mean_weight:.3f}", f"{found.largest_weight:,.1f}"]
    return [*rounded(found.value, found.error), interval, *numbers]
