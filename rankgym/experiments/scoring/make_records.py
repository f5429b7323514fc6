"""Play the package's agents in a suite and write their records: ``python -m rankgym.experiments.scoring.make_records``.

A record that was made by the present code and versions is kept, so that an interrupted call can be repeated.
"""

import argparse
import sys
import time

from rankgym.experiments.plan.agents import AgentSpec, shipped_models
from rankgym.experiments.plan.digests import code_digest
from rankgym.experiments.scoring.playing import one_agent, play
from rankgym.experiments.scoring.records import HOME, load_record, record_path, save_record
from rankgym.experiments.scoring.suite import LATEST, PUBLISHED, Suite, find_suite
from rankgym.outputs import versions


def shipped_agents() -> list[str]:
    """Return the names of the package's agents: those of the table, and trained models."""
    from rankgym_agents import AGENTS

    return [*AGENTS, *shipped_models()]


def is_current(agent: AgentSpec, suite: Suite) -> bool:
    """Return whether there is a record of the agent that the present code and versions made."""
    try:
        there = load_record(record_path(suite.name, agent.label))
    except ValueError:
        return False
    return (there.code, there.package, there.versions) == (agent.code(), code_digest(), versions())


def main(arguments: list[str] | None = None) -> None:
    """Play the package's agents in a suite and write their records. Call it again after an interruption."""
    parser = argparse.ArgumentParser(
        prog="python -m rankgym.experiments.scoring.make_records", description=main.__doc__
    )
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="default: all of the package")
    parser.add_argument("--suite", default=LATEST, help=f"default: {LATEST}")
    parser.add_argument("--fresh", action="store_true", help="play those again whose record is current")
    asked = parser.parse_args(arguments)
    suite, names = find_suite(asked.suite), shipped_agents()
    if PUBLISHED[suite.name] != suite.digest:
        sys.exit(f"the tasks of {suite.name} differ from the published ones; allowed: a suite of a new name")
    if unknown := [name for name in asked.agents if name not in names]:
        sys.exit(f"{unknown[0]} does not come with the package; allowed: {', '.join(names)}")
    for old in HOME.joinpath(suite.name).glob("*.npz"):
        if old.stem not in names:
            old.unlink()
            print(f"{old.stem}: removed, as there is no such agent", flush=True)
    for name in asked.agents or names:
        agent, began = one_agent(name), time.perf_counter()
        if not asked.fresh and is_current(agent, suite):
            print(f"{name}: current", flush=True)
            continue
        save_record(play(agent, suite), record_path(suite.name, name))
        print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
    size = sum(path.stat().st_size for path in HOME.joinpath(suite.name).glob("*.npz"))
    print(f"{size / 1e6:.2f} MB in all", flush=True)


if __name__ == "__main__":
    main()
