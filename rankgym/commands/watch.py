"""``rankgym watch``: play agents on the same users; a page to go through the episode."""

from pathlib import Path
from typing import Annotated

import typer

from rankgym.commands import completion, options
from rankgym.commands.options import option
from rankgym.extras import require


def watch(
    env: options.Environment,
    agents: Annotated[
        str,
        option(
            "A,B,...",
            "Agents, separated by commas: names from `rankgym agents`, or your own.",
            names=completion.listed(completion.agents),
        ),
    ],
    out: Annotated[Path, option("PAGE.html", "The page; a file of this name is replaced.")],
    rounds: Annotated[int, options.count("N", "User sessions, or duels.")] = 1_000,
    seed: Annotated[int, options.number("S", "Seed of the users and of each agent.", low=0)] = 0,
    query: Annotated[
        str | None, option("Q", "The query, or the problem of duels. Default: the first one.", "--query", "--problem")
    ] = None,
    source: options.Source = None,
    positions: options.Positions = None,
    set_: options.Assignments = None,
) -> None:
    """Watch agents learn: a page in one file to go through an episode, round by round.

    Each agent plays N rounds with the same users. The page shows, for each agent and round, the list, its clicks, the
    probability that each position is examined, attraction beside that of the best list, and what the agent believes:
    TopRank's blocks, BubbleRank's base list, indices, the arms of a duel that are still in. Above are the curves of
    regret. Below each agent is a list of changes, such as `round 604: first block splits`; a click goes there.

    Open the page in any browser: it loads nothing, and works without a network and on a phone. Keys: arrows, Page Up,
    Page Down, Home, End, space to play, n and p for the next change and the one before. `PAGE.html#round=604` opens
    the page at a round.

    All rounds are shown if N is at most 500. Of more, the page shows the first 100, then 50 in every power of ten and
    100 evenly spaced ones, 38 within the 10,000 rounds after users change (the first 12 times), and every round in
    which a listed change happens: its round is exact. Up to 120 changes of a
    kind are listed in every power of ten, divided among the agents. So 100,000 rounds of four ranking agents make a
    page of 0.5 MB, and those of eight agents with 136 arms one of 2 MB. They take about 5 s for each agent.

    Agents are told the horizon N, as in `rankgym compare`, and some depend on it: a shorter episode is not the
    beginning of a longer one. After Ctrl-C no page is written, and one of that name stays as it was.

    Examples:

    * At which round does TopRank's first block split?
      `rankgym watch PBM-Yandex-v0 --agents toprank,cascade-kl-ucb --query 3 --rounds 20_000 --out watch.html`
    * Users who change after 2,000 and 4,000 sessions:
      `rankgym watch CM-Yandex-Breakpoint-v0 --agents cascade-swucb,restarting:every=2000 --rounds 6_000
      --set breakpoints=[2000,4000] --out watch.html`
    * Duels of arms: `rankgym watch Dueling-Arxiv-v0 --agents rucb,mergerucb --rounds 50_000 --out watch.html`
    * The class Mine in mine.py in this folder:
      `rankgym watch PBM-Yandex-v0 --agents toprank,mine:Mine --out watch.html`

    A class of your own shows what it believes if it has a method `beliefs(row)` that returns a
    `rankgym.agent.Beliefs`; see docs/watching.md.
    """
    from rankgym.experiments.plan.agents import split_names

    chosen = split_names(agents)
    options.search_agents_here(chosen)
    arguments = options.env_arguments_of(set_ or [], source, positions)
    if out.is_dir():
        raise ValueError(f"--out {out} is a folder; allowed: a file, such as {out / 'watch.html'}")
    require("matplotlib")
    from rankgym.experiments.watch.episode import watch as play
    from rankgym.experiments.watch.events import STRUCTURE
    from rankgym.experiments.watch.page import write_page

    queries = options.queries_of(query or "all", arguments=arguments)
    episode = play(env, chosen, rounds=rounds, seed=seed, query=queries, **arguments)
    size = write_page(episode, out)
    for agent in episode.agents:
        first = next((change for change in agent.changes if change.kind == STRUCTURE), None)
        if first is not None:
            typer.echo(f"{agent.label}: round {first.round:,}: {first.text}")
    for note in episode.notes:
        typer.echo(f"{note}.")
    typer.echo(
        f"Written to {out}: {len(episode.shown):,} of {rounds:,} rounds, {size / 1e6:.2g} MB. Open it in a browser."
    )
