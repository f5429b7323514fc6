"""Click models, one per file: parameters, click kernel, expected reward of a list, exact best list.

Your own model is a module with a ``MODEL`` (``cm.py`` is a short one), named ``"package.module:MODEL"``; to add it to
the package, list it in ``table.py``. May import arguments, data, kernels, progress and source.
"""

from rankgym.models.assumptions import ASSUMPTIONS, PAPERS, check_assumptions
from rankgym.models.base import Axes, ClickModel, Reward, matched_lists, most_attractive, scanned_lists, sorted_lists
from rankgym.models.coins import coins
from rankgym.models.exhaustive import best_of_all
from rankgym.models.named import find_model
from rankgym.models.table import MODELS

__all__ = [
    "ASSUMPTIONS",
    "MODELS",
    "PAPERS",
    "Axes",
    "ClickModel",
    "Reward",
    "best_of_all",
    "check_assumptions",
    "coins",
    "find_model",
    "matched_lists",
    "most_attractive",
    "scanned_lists",
    "sorted_lists",
]
