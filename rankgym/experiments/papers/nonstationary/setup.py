"""What both figures of the non-stationary paper share: the runs of section 5.

In epochs 1, 3, 5, ... three suboptimal items jump to an attraction of 0.9; in epochs 0, 2, 4, ... the items have their
own attractions. An epoch is a tenth of the horizon.
"""

from rankgym.experiments.judge.claim_measures import last_round
from rankgym.experiments.papers.figure import Scale
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Results

PAPER = "Li and de Rijke, Cascading non-stationary bandits, IJCAI 2019"
CM = "CM"  # label of the environment
HORIZON, EPOCHS = 100_000, 10
FORGETTING = ("cascade-ducb", "cascade-swucb")
BASELINES = ("ranked-exp3", "cascade-kl-ucb", "batchrank")
AGENTS = (*FORGETTING, *BASELINES)
VALUES = {"baseline": BASELINES, "forgetting": FORGETTING}  # of placeholders in the names of claims
SINGLE = 20  # queries of figure 2: the first ones
LINEAR = 0.9  # growth exponents of at least this are called linear, others sub-linear
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": HORIZON, "smoke": 1_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 2, "smoke": 1}

DATA = (
    "Published: the click models of 60 queries of the Yandex log, from which the paper drew 100 others; calibrated: "
    "100 synthetic queries. Which items jump is drawn for each row, and is the same for all agents. CascadeSWUCB "
    "counts rounds in which an item was examined (so the text; the listing says displayed); BatchRank's schedule is "
    "its authors'; CascadeKL-UCB explores with log t + 3 log log t."
)


def changing_users(scale: Scale, source: str) -> Sweep:
    """Return the sweep of both figures: five agents in the changing cascade model."""
    kwargs = {"source": source, "epoch_lengths": ROUNDS[scale] // EPOCHS}
    return Sweep(
        environments=(Environment(CM, "rankgym/CM-Yandex-Breakpoint-v0", kwargs),),
        agents=AGENTS,
        rounds=ROUNDS[scale],
        runs=RUNS[scale],
        query=tuple(range(SINGLE)) if scale == "smoke" else "all",
        name=f"non-stationary figures 1 and 2, {scale}",
    )


def breakpoints(results: Results) -> list[int]:
    end = last_round(results[CM, AGENTS[0]])
    return list(range(end // EPOCHS, end, end // EPOCHS))
