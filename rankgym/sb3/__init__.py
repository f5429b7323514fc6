"""Reinforcement learning with stable-baselines3 (the extra ``sb3``): rankings as actions, and trained models as agents.

``RankingVecEnv`` feeds any algorithm from the native environments, ``PlackettLucePolicy`` is a policy of rankings,
``train`` is what ``rankgym train`` does, and ``SB3Agent`` plays a trained model beside the bandits.
"""

from rankgym.sb3.agent import SB3Agent, describe, export_model, model_card, weights_digest
from rankgym.sb3.plackett_luce import PlackettLuce, PlackettLucePolicy
from rankgym.sb3.train import Training, train
from rankgym.sb3.vec_env import RankingVecEnv

__all__ = [
    "PlackettLuce",
    "PlackettLucePolicy",
    "RankingVecEnv",
    "SB3Agent",
    "Training",
    "describe",
    "export_model",
    "model_card",
    "train",
    "weights_digest",
]
