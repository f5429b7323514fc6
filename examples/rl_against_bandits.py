"""Policies that learned from training queries against bandits, on other queries, with the same users for all.

For each environment: regret after 100, 1,000, ... sessions, sessions with an unsafe list, and NDCG; then the difference
between each policy and the best bandit, paired over queries, with its 95 % interval.

python examples/rl_against_bandits.py --source published --rounds 10000 --runs 5     # as in docs/reinforcement.md
"""

import argparse
import sys

import numpy as np

from rankgym.experiments import compare

BANDITS = (
    "bubblerank",
    "toprank",
    "batchrank",
    "cascade-kl-ucb",
    "cascade-kl-ucb:feedback=last",
    "cascade-kl-ucb:feedback=all:exploration=log",
    "cascade-ucb1",
    "cascade-ducb",
    "cascade-swucb",
    "ranked-exp3",
    "thompson-cascade",
    "thompson-cascade:feedback=all",
    "pbm-ucb",
)
CASES = {  # the environment, its arguments, and the policies that come with the package
    "CM": ("CM-Yandex-v0", {}, ("adaptive-index", "ppo-cm", "ppo-pbm")),
    "PBM": ("PBM-Yandex-v0", {}, ("adaptive-index", "ppo-pbm")),
    "DCM": ("DCM-Yandex-v0", {}, ("adaptive-index", "ppo-dcm", "ppo-pbm")),
    "CM-changing": ("CM-Yandex-Breakpoint-v0", {"epoch_lengths": 1_000}, ("ppo-breakpoint",)),
    "PBM-changing": ("PBM-Yandex-Breakpoint-v0", {"epoch_lengths": 1_000}, ("ppo-breakpoint",)),
    "DCM-changing": ("DCM-Yandex-Breakpoint-v0", {"epoch_lengths": 1_000}, ("ppo-breakpoint",)),
    "PBM-safe": ("PBM-Yandex-Rerank-v0", {}, ("ppo-safe",)),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=["PBM"], help=f"of {', '.join(CASES)}, or all (default: PBM)")
    parser.add_argument("--rounds", type=int, default=1_000, help="user sessions (default: 1000)")
    parser.add_argument("--runs", type=int, default=2, help="runs of every query (default: 2)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", choices=("calibrated", "published"), default="calibrated")
    parser.add_argument("--model", action="append", help="a model of your own, as rankgym train writes it (repeatable)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", help="folder for tables and figures, one folder a case in it")
    given = parser.parse_args()
    given.cases = list(CASES) if given.cases == ["all"] else given.cases
    for case in given.cases:
        if case not in CASES:
            parser.error(f"{case} is not a case; allowed: {', '.join(CASES)}, all")
    return given


def by_query(comparison, agent, round):
    """Regret after ``round`` sessions of each query, the mean of its runs: (queries,)."""
    regret = comparison.histories[agent].at(round)["regret"]
    return regret.reshape(comparison.runs, -1).mean(axis=0)


def show(comparison, models):
    rounds = comparison.milestones
    width = max(len(spec.label) for spec in comparison.agents)
    print(f"{'':{width}}" + "".join(f"{f'{r:,}':>16}" for r in rounds) + f"{'unsafe':>10}{'NDCG':>8}")
    for line in comparison.table():
        cells = (f"{line[f'regret_{r}' if r != rounds[-1] else 'regret']:,.1f}" for r in rounds)
        errors = (f"{line[f'regret_{r}_se' if r != rounds[-1] else 'regret_se']:,.1f}" for r in rounds)
        regrets = "".join(f"{f'{cell} ± {error}':>16}" for cell, error in zip(cells, errors, strict=True))
        print(f"{line['agent']:{width}}{regrets}{line['violations']:>10,.1f}{line['ndcg']:>8.3f}")
    for model in models:
        for r in rounds:
            best = min(BANDITS, key=lambda bandit: by_query(comparison, bandit, r).mean())
            difference = by_query(comparison, model, r) - by_query(comparison, best, r)
            spread = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
            print(f"{model} minus {best} after {r:,}: {difference.mean():+,.1f} ± {spread:,.1f} (95 %, paired)")


def main():
    given = arguments()
    try:
        from rankgym.sb3 import SB3Agent  # noqa: F401
    except ModuleNotFoundError as error:
        sys.exit(f'There is no {error.name} here; this example needs pip install "rankgym[sb3]".')
    for case in given.cases:
        env, keywords, models = CASES[case]
        models = [*models, *(given.model or [])]
        comparison = compare(
            env,
            [*BANDITS, *models],
            rounds=given.rounds,
            runs=given.runs,
            seed=given.seed,
            jobs=given.jobs,
            source=given.source,
            query="all" if given.source == "published" else "test",  # policies were trained on the others
            out=given.out and f"{given.out}/{case}",
            **keywords,
        )
        print(f"\n{case}: regret on {len(comparison.queries)} {given.source} queries, {given.runs} runs of each, after")
        show(comparison, models)


if __name__ == "__main__":
    main()
