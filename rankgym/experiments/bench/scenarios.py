"""What the bench measures, as literal data: environments, batch sizes, recordings, training, and goals."""

from __future__ import annotations

from typing import Any

from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety

MODELS = ("PBM", "CM", "DCM")  # the environments of agents and of single environments
STEPS = {  # environments whose vector steps are measured
    **{model: f"rankgym/{model}-Yandex-v0" for model in (*MODELS, "DBN", "UBM", "CCM", "DBM")},
    "PBM with breakpoints": "rankgym/PBM-Yandex-Breakpoint-v0",
}
LISTS = ("fixed list", "random lists")
RECORDINGS: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "regret": (RecordRegret,),
    "all": (RecordRanking, RecordSafety, RecordRegret),  # as simulate does
}
AGENT_ROWS = 600
POSITIONS = 5  # of 10 items
HORIZON = 1_000_000  # the agents' argument
POOL = 16  # arrays of random lists that steps cycle through
CARTPOLE = "CartPole-v1"

DUEL_ROWS = 100
MATRIX, LISTS_DUEL, RANKERS_DUEL = "MSLR's matrix", "PBM, lists in team draft", "LETOR, probabilistic"
DUELS: dict[str, tuple[str, dict[str, Any]]] = {  # environments whose duels are measured: id, arguments
    MATRIX: ("rankgym/Dueling-MSLR-v0", {}),
    LISTS_DUEL: ("rankgym/Dueling-PBM-Yandex-v0", {"query": "all"}),
    RANKERS_DUEL: ("rankgym/Dueling-LETOR-v0", {"interleaving": "probabilistic", "num_documents": 10}),
}
LETOR_SHAPE = (15, 1000, 64)  # queries, documents of each, features: those of a fold of NP2004

TRAINING_ROWS = 256
ADAPTERS = ("RankingVecEnv", "DummyVecEnv")  # ours, and that of stable-baselines3 over single environments
SHOWN = ("clicks", "item statistics")  # to a policy
EPISODE = 1_000  # sessions, while PPO learns
LEARNING = {"n_steps": 16, "n_epochs": 2, "gamma": 0.9}  # few passes: the ratio is about the environments' share
MINIBATCHES = 4  # of a rollout, in each pass over it

# -- goals ------------------------------------------------------------------------------------------------------------

SLOW_AGENTS = ("batchrank", "ranked-exp3")
FAST_DUELERS = ("mergerucb", "rucb")
TRAINING_GOALS = {("adapter", shown): 20.0 for shown in SHOWN} | {("ppo",): 1.3}  # ours over the other


def goals() -> dict[str, tuple[tuple[Any, ...], float]]:
    """Return the project's goals, for 600 rows of rankings and 100 of duels: a case's key, and sessions a second."""
    from rankgym_agents import RANKERS

    agents = {(name, model): 0.5e6 if name in SLOW_AGENTS else 1e6 for model in ("PBM", "CM") for name in RANKERS}
    agents |= {("toprank", "PBM"): 6e6, ("bubblerank", "PBM"): 6e6, ("cascade-kl-ucb", "CM"): 2.5e6}
    return {
        "PBM step, fixed list, regret recorded": (("step", "PBM", AGENT_ROWS, LISTS[0], "regret"), 15e6),
        "Duel step, MSLR's matrix, 100 rows": (("duel", MATRIX, "nothing"), 15e6),
        "Duel step, probabilistic interleaving of 10 documents, 100 rows": (("duel", RANKERS_DUEL, "nothing"), 0.5e6),
        **{f"{name} on {model}": (("agent", name, model), rate) for (name, model), rate in agents.items()},
        **{f"{name} on {MATRIX}": (("dueler", name), 1e6) for name in FAST_DUELERS},
    }
