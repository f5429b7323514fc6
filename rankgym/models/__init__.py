"""Click models, one per file: parameters, click kernel, expected reward of a list, exact best list.

To add a model, write a file with a ``MODEL`` (``cm.py`` is a short one) and list it in ``table.py``. May import
arguments, kernels and progress.
"""

from rankgym.models.assumptions import ASSUMPTIONS, PAPERS, check_assumptions
from rankgym.models.base import ClickModel, Reward
from rankgym.models.table import MODELS

__all__ = ["ASSUMPTIONS", "MODELS", "PAPERS", "ClickModel", "Reward", "check_assumptions"]
