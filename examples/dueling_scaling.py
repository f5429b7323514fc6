"""How does an agent's regret grow with the number of arms? Figure 3 of the mergeRUCB paper, on the calibrated rankers.

python examples/dueling_scaling.py --rounds 1000000

For each number of arms, that many of MSLR's 136 rankers are drawn for each row, repeatedly until one of them beats all
others (section 5 of the paper). Results are kept in --out: the same command resumes from there, and more runs or other
numbers of arms play only what is missing. A million duels of all thirteen took two minutes on two cores.

With few arms, agents that compare all pairs are ahead; mergeRUCB, which does not, is level with RUCB at 60 and 70 arms
after a million duels, and ahead of it from 80 on.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankgym.experiments.compare import compare
from rankgym.experiments.show.figures import Curve, Panel, panels, write

AGENTS = ["mergerucb", "rucb", "btm:radius_factor=1", "mergedts"]


def figure(arms: list[int], regret: dict[str, NDArray[np.float64]], rounds: int) -> Figure:
    """Mean regret by number of arms, with standard errors; ``regret`` has (numbers of arms, runs) for each agent."""
    curves = []
    for label, values in regret.items():
        runs = values.shape[1]
        error = values.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else None
        curves.append(Curve(label, np.array(arms), values.mean(axis=1), error, marked=True))
    return panels([Panel("", curves, "arms", f"regret after {rounds:,} duels", bottom=0.0)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000, help="duels in each row (default: 100000)")
    parser.add_argument("--runs", type=int, default=20, help="sets of arms (default: 20)")
    parser.add_argument("--arms", default="10,20,30,40,50,60,70,80,90,100,110,120,130", help="numbers of arms")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument(
        "--out", type=Path, default=None, help="a folder for results and figure (default: nothing is kept)"
    )
    arguments = parser.parse_args()
    arms = [int(number) for number in arguments.arms.split(",")]

    regret: dict[str, list[NDArray[np.float64]]] = {name: [] for name in AGENTS}
    print("arms  " + "  ".join(f"{name:>20}" for name in AGENTS))
    for number in arms:
        found = compare(
            "rankgym/Dueling-MSLR-v0",
            AGENTS,
            rounds=arguments.rounds,
            runs=arguments.runs,
            jobs=arguments.jobs,
            out=None if arguments.out is None else arguments.out / str(number),
            num_arms=number,
            keep_winner=False,
        )
        for name, history in found.histories.items():
            regret[name].append(history.at(arguments.rounds)["regret"])
        print(f"{number:4}  " + "  ".join(f"{values[-1].mean():20,.0f}" for values in regret.values()), flush=True)
    if arguments.out is not None:
        path = arguments.out / "scaling.png"
        drawn = figure(arms, {name: np.array(values) for name, values in regret.items()}, arguments.rounds)
        write(drawn, path, "png")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
