"""The table of click models."""

from rankgym.models import ccm, cm, dbm, dbn, dcm, pbm, ubm
from rankgym.models.base import ClickModel

MODELS: dict[str, ClickModel] = {
    model.name: model for model in (cm.MODEL, pbm.MODEL, dcm.MODEL, dbn.MODEL, ubm.MODEL, ccm.MODEL, dbm.MODEL)
}
