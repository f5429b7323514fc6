"""Click models, one per file: parameters, click kernel, expected reward of a list, exact best list."""

from rankgym.models import ccm, cm, dbm, dbn, dcm, pbm, ubm
from rankgym.models.assumptions import ASSUMPTIONS, PAPERS, check_assumptions
from rankgym.models.base import ClickModel, Reward

__all__ = ["ASSUMPTIONS", "MODELS", "PAPERS", "ClickModel", "Reward", "check_assumptions"]

MODELS: dict[str, ClickModel] = {
    model.name: model for model in (cm.MODEL, pbm.MODEL, dcm.MODEL, dbn.MODEL, ubm.MODEL, ccm.MODEL, dbm.MODEL)
}
