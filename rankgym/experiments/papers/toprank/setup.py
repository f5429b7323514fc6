"""What the figures of TopRank share: agents, environments, scales."""

from rankgym.experiments.papers.figure import Scale, even_rounds
from rankgym.experiments.plan.sweep import Environment, Sweep

PAPER = "Lattimore et al., TopRank: a practical algorithm for online stochastic ranking, NeurIPS 2018"
LAST = "cascade-kl-ucb:feedback=last"
READINGS = (  # down to which click CascadeKL-UCB learns
    {"agent": LAST, "click": "last"},
    {"agent": "cascade-kl-ucb", "click": "first"},
)
AGENTS = {  # in the CM users click at most once: both readings of CascadeKL-UCB are the same
    "CM": ("toprank", "cascade-kl-ucb", "batchrank"),
    "PBM": ("toprank", LAST, "cascade-kl-ucb", "batchrank"),
}
HORIZON, MILLION, CROSSED = 5_000_000, 1_000_000, 4_000_000  # the last two are records of ``even_rounds``
VALUES = {"model": tuple(AGENTS)}  # of placeholders in the names of claims
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": HORIZON, "smoke": 1_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 1, "smoke": 1}
QUERIES: dict[Scale, int] = {"full": 60, "small": 60, "smoke": 6}

DATA = (
    "Queries: the 60 published ones with their fitted click models (or 60 of those calibrated to resemble them); 10 "
    "items at 5 positions, expected clicks; delta = 1/n. BatchRank is as its authors ran it. The paper does not say "
    "how CascadeKL-UCB reads several clicks: in the PBM it is played both ways, down to the last click and down to the "
    "first. The paper gives no horizon; it speaks of 4 M steps, and 5 M rounds are played. Scale full: 10 runs of each "
    "query; small: one; smoke: 6 queries, 1,000 rounds."
)


def comparison(scale: Scale, source: str) -> Sweep:
    """Return the sweep of both figures: three agents in two click models, ten items at five positions."""
    return Sweep(
        environments=tuple(
            Environment(model, f"rankgym/{model}-Yandex-v0", {"source": source}, agents=agents)
            for model, agents in AGENTS.items()
        ),
        agents=(),
        rounds=ROUNDS[scale],
        runs=RUNS[scale],
        query=tuple(range(QUERIES[scale])),
        record_at=even_rounds(ROUNDS[scale]),
        name="TopRank, figures 3 and 4",
    )
