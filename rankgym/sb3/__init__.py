"""Reinforcement learning with stable-baselines3 (the extra ``sb3``): rankings as actions, and trained models as agents.

``RankingVecEnv`` connects algorithms to the native environments, ``PlackettLucePolicy`` is a policy over rankings,
``train`` is the function behind ``rankgym train`` (``settings.py``, ``training.py``; ``defaults.py``: each algorithm's
hyperparameters; ``run_files.py`` resumes), and ``SB3Agent`` plays a trained model beside the bandits. This room may
import everything below ``experiments``; torch is imported when a name is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgym.sb3.agent import SB3Agent
    from rankgym.sb3.model_files import describe, export_model, model_card, weights_digest
    from rankgym.sb3.plackett_luce import PlackettLuce, PlackettLucePolicy
    from rankgym.sb3.settings import TrainingSettings
    from rankgym.sb3.training import Training, train
    from rankgym.sb3.vec_env import RankingVecEnv

__all__ = ["PlackettLuce", "PlackettLucePolicy", "RankingVecEnv", "SB3Agent", "Training", "TrainingSettings"]
__all__ += ["describe", "export_model", "model_card", "train", "weights_digest"]

MODULES = {
    "agent": ("SB3Agent",),
    "model_files": ("describe", "export_model", "model_card", "weights_digest"),
    "plackett_luce": ("PlackettLuce", "PlackettLucePolicy"),
    "settings": ("TrainingSettings",),
    "training": ("Training", "train"),
    "vec_env": ("RankingVecEnv",),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next(module for module, names in MODULES.items() if name in names)
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
