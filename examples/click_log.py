"""From a click log to an environment, and how near its users are to the true ones.

python examples/click_log.py --sessions 1e6 --rounds 100000 --out docs/own-data.png

The log is simulated, so that the truth is known: sessions of 20 calibrated queries, with lists in random order. A
position-based model is fitted to it and stored under the name example-clicks. Then the papers' agents play against the
fitted users and against the true ones. With your own log, begin at `read_parts`; docs/own_data.md has the commands.
"""

import argparse
import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np

import rankgym
from rankgym.data import store
from rankgym.experiments.show.figures import Curve, Panel, panels, write
from rankgym.logs.fitting import evaluate, fit
from rankgym.logs.instances import displays, to_fits
from rankgym.logs.readers import read_parts
from rankgym.logs.simulating import Simulation, write_log
from rankgym_agents import AGENTS

ENV, NAME, QUERIES, RUNS = "rankgym/PBM-Yandex-v0", "example-clicks", 20, 5
PLAYED = ("toprank", "cascade-kl-ucb")


def played(agent: str, rounds: int, **users: str) -> rankgym.History:
    """Play an agent on all queries, several runs each."""
    queries = [query for query in range(QUERIES) for _ in range(RUNS)]
    venv = gym.make_vec(ENV, num_envs=len(queries), query=queries, horizon=rounds, **users)
    return rankgym.simulate(AGENTS[agent].for_env(venv, seed=0), venv, rounds=rounds, seed=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=float, default=100_000, help="of the log (default: 100000)")
    parser.add_argument("--rounds", type=int, default=20_000, help="of each agent (default: 20000)")
    parser.add_argument("--out", type=Path, default=None, help="a figure, .png (default: none)")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "clicks.csv")
        shown = {"query": list(range(QUERIES)), "num_positions": 10}
        simulation = Simulation(ENV, int(arguments.sessions), "random", seed=1, **shown)
        write_log(simulation, log)
        sessions, held_out, report = read_parts(log, "plain", held_out=0.1)
    fitted = fit(sessions, "PBM")
    fits = to_fits(fitted, sessions, displays([sessions, held_out]), items=10)
    store(NAME, fits)
    print(f"{fitted!r}\nheld out: {evaluate(fitted, held_out)!r}")

    chi, positions = fitted.parameters["examination"], np.arange(1, 11)
    low, high = fitted.interval("examination")
    truth = simulation.env.queries.parameters
    true_chi = truth.examination[0]
    inside = np.nanmean(np.where(np.isnan(low), np.nan, (low <= true_chi) & (true_chi <= high)))
    print(f"examination: {inside:.0%} of the true values are in their 95 % intervals")
    half = fitted.errors["examination"]
    drawn = [
        Panel(
            "Examination by position",
            [Curve("true", positions, true_chi), Curve("fitted", positions, chi, half, marked=True, joined=False)],
            "position",
            "probability",
        )
    ]
    curves = []
    for agent in PLAYED:
        for users, source in (("true users", {}), ("fitted users", {"source": NAME})):
            history = played(agent, arguments.rounds, **source)
            by_query = history.regret.reshape(len(history.rounds), QUERIES, RUNS).mean(axis=2)
            mean, error = history.regret.mean(axis=1), by_query.std(axis=1, ddof=1) / np.sqrt(QUERIES)
            curves.append(Curve(f"{agent}, {users}", history.rounds, mean, error))
            print(f"{agent:15} {users:13} regret after {arguments.rounds:,} rounds: {mean[-1]:8.1f} ± {error[-1]:.1f}")
    drawn.append(Panel("Regret", curves, "rounds", "expected clicks lost", xscale="log"))
    if arguments.out is not None:
        caption = f"A log of {report.sessions:,} sessions of {QUERIES} queries; {QUERIES * RUNS} rows are played"
        write(panels(drawn, caption=caption), arguments.out, "png")
        print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
