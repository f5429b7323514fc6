"""Click models, one per file: parameters, click kernel, expected reward of a list, exact best list."""

from rankgym.models import cm, dcm, pbm
from rankgym.models.base import ClickModel, Reward

__all__ = ["MODELS", "ClickModel", "Reward"]

MODELS: dict[str, ClickModel] = {model.name: model for model in (cm.MODEL, pbm.MODEL, dcm.MODEL)}
