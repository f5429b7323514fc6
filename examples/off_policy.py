"""How well can a ranking policy be evaluated from the log of another one? Four estimators beside the true value.

python examples/off_policy.py --rounds 100000 --logs 200 --out docs/off-policy.png

For position-based and for cascade users, independent logs of 10 calibrated queries are simulated with a policy that
explores, and a policy that trusts the base list more is evaluated on them. The root mean squared error is that of the
estimates around the true value, which only a simulator knows; the bias is their mean distance from it, in its standard
errors. IIPS is biased under cascade users, as a click depends on what stands above.

200 logs of up to 100,000 sessions took less than half an hour on a machine with other work to do.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.show.figures import Curve, Panel, panels, write
from rankgym.logs.evaluation import METHODS, estimate, played_log, true_value
from rankgym.logs.policies import policy_of
from rankgym.logs.simulating import Simulation
from rankgym.progress import count_bar, late_bar

LOGGING, TARGET = "plackett-luce:temperature=1", "plackett-luce:temperature=0.5"
QUERIES = list(range(10))
MODELS = {"PBM": "position-based users", "CM": "cascade users"}
UNBIASED = {"PBM": {"sips", "iips", "rips", "cascade-dr"}, "CM": {"sips", "rips", "cascade-dr"}}


def sizes_up_to(largest: int) -> list[int]:
    """Return five sizes or fewer, each about three times the one before; multiples of the number of queries."""
    steps = [round(largest / 10 ** (step / 2) / len(QUERIES)) * len(QUERIES) for step in range(4, -1, -1)]
    return sorted({max(step, 2 * len(QUERIES)) for step in steps})


def estimates(model: str, sizes: list[int], logs: int) -> tuple[float, dict[str, NDArray[np.float64]]]:
    """Return the true value, and by method the estimates (logs, sizes); smaller logs are the beginnings of larger."""
    found = {method: np.empty((logs, len(sizes))) for method in METHODS}
    with late_bar(True, logs, model, lambda: count_bar("logs")) as report:
        for number in range(logs):
            simulation = Simulation(f"rankgym/{model}-Yandex-v0", sizes[-1], LOGGING, seed=number, query=QUERIES)
            log = played_log(simulation)
            target = policy_of(TARGET, simulation.env.queries.initial_list, simulation.num_positions)
            for column, size in enumerate(sizes):
                for method in METHODS:
                    found[method][number, column] = estimate(log.of(slice(0, size)), target, method).value
            report(1)
    return true_value(simulation.env, target, log.query)[0], found


def root_mean_squared(errors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the root mean squared error over logs, (sizes,), and its standard error by the delta method."""
    squares = errors**2
    root = np.sqrt(squares.mean(axis=0))
    return root, squares.std(axis=0, ddof=1) / np.sqrt(len(errors)) / (2 * root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000, help="sessions of the largest log (default: 10000)")
    parser.add_argument("--logs", type=int, default=50, help="independent logs (default: 50)")
    parser.add_argument("--out", type=Path, default=None, help="a figure, .png (default: none)")
    arguments = parser.parse_args()
    sizes, drawn = sizes_up_to(arguments.rounds), []
    for model, users in MODELS.items():
        value, found = estimates(model, sizes, arguments.logs)
        print(f"{users}: {TARGET} has the value {value:.4f} clicks; root mean squared error of {arguments.logs} logs")
        print("method      " + "".join(f"{size:>16,}" for size in sizes) + "   largest |bias| / standard error")
        curves = []
        for method, values in found.items():
            errors = values - value
            root, spread = root_mean_squared(errors)
            pulls = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(len(errors)))
            cells = "".join(f"{one:9.4f} ±{other:.4f}" for one, other in zip(root, spread, strict=True))
            known = "unbiased" if method in UNBIASED[model] else "biased"
            print(f"{method:12}{cells}   {np.abs(pulls).max():.1f} ({known})", flush=True)
            curves.append(Curve(method, np.array(sizes), root, spread, marked=True))
        axes = {"xscale": "log", "yscale": "log"}
        drawn.append(Panel(users, curves, "sessions of the log", "root mean squared error", **axes))  # type: ignore[arg-type]
    if arguments.out is not None:
        caption = f"The log is that of {LOGGING}; {TARGET} is evaluated; {arguments.logs} logs"
        write(panels(drawn, caption=caption, share_y=True), arguments.out, "png")
        print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
