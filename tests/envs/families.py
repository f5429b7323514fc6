"""The environments of all families, and plays of them, for the tests of scenes and pictures."""

import numpy as np

MODELS = ("CM", "PBM", "DCM", "DBN", "UBM", "CCM", "DBM")
LETOR = "rankgym/Dueling-LETOR-v0"
FAMILIES = {
    **{model: (f"rankgym/{model}-Yandex-v0", {}) for model in MODELS},
    "re-ranking": ("rankgym/DCM-Yandex-Rerank-v0", {"reference": "sorted"}),
    "breakpoints": ("rankgym/CM-Yandex-Breakpoint-v0", {"epoch_lengths": 2}),
    "two levels": ("rankgym/CM-TwoLevel-Breakpoint-v0", {"breakpoints": [1, 4]}),
    "arms": ("rankgym/Dueling-MSLR-v0", {"num_arms": 5}),
    "Copeland": ("rankgym/Dueling-Synthetic-v0", {"winner": "copeland", "regret": "weak"}),
    "rankings": ("rankgym/Dueling-PBM-Yandex-v0", {}),
    "balanced": ("rankgym/Dueling-CM-Yandex-v0", {"interleaving": "balanced", "regret": "strong"}),
    "rankers": (LETOR, {}),
    "rankers without a matrix": (LETOR, {"preferences": None, "interleaving": "team-draft"}),
}
FEW = ("PBM", "breakpoints", "arms", "rankings", "rankers")  # one of each family


def played(env, steps, seed=0):
    """Yield the info of each step, with random actions."""
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(steps):
        yield env.step(env.action_space.sample())[-1]


def no_nan(value):
    return None if np.isnan(value) else value
