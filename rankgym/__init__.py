"""rankgym: online learning to rank, and dueling rankers, as Gymnasium environments.

Importing the package registers every id of ``rankgym.ENVS`` with Gymnasium. The papers' algorithms are in the package
``rankgym_agents``. Two agents, the same users, the regret of both:

>>> import gymnasium as gym
>>> import rankgym
>>> from rankgym_agents import RandomRanker, TopRank
>>> regret = {}
>>> for cls in (RandomRanker, TopRank):
...     env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=4, query=[0, 1, 2, 3], horizon=2_000)
...     history = rankgym.simulate(cls.for_env(env, seed=0), env, rounds=2_000, seed=0, progress=False)
...     regret[cls.__name__] = history.regret[-1].mean()
>>> bool(regret["TopRank"] < regret["RandomRanker"])
True

``rankgym.experiments`` compares agents at scale, ``rankgym.wrappers`` records and adapts environments, ``rankgym.sb3``
trains policies with stable-baselines3, and ``check_agent``, ``check_model`` and ``check_vector_env`` check your own
code.
"""

import os as _os
import pathlib as _pathlib
import sys as _sys
import typing as _typing
from importlib import util as _util

if "_RANKGYM_COMPLETE" not in _os.environ:  # else a shell completes names, which need no compiler: see commands
    from rankgym.agent import Agent, DuelingAgent, KernelAgent
    from rankgym.conformance import check_agent, check_model, check_vector_env
    from rankgym.one_user import per_row
    from rankgym.play.history import DuelingHistory, History
    from rankgym.play.simulate import simulate
    from rankgym.registry import ENVS, register_all
    from rankgym.spaces import Permutation
    from rankgym.version import __version__
    from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety

    register_all()

__all__ = [
    "ENVS",
    "Agent",
    "DuelingAgent",
    "DuelingHistory",
    "History",
    "KernelAgent",
    "Permutation",
    "RecordRanking",
    "RecordRegret",
    "RecordSafety",
    "__version__",
    "check_agent",
    "check_model",
    "check_vector_env",
    "per_row",
    "simulate",
]

_HOMES = ("rankgym_agents", "rankgym.experiments", "rankgym.wrappers", "rankgym.models", "rankgym.conformance")


def _names_in(module: str) -> str:
    """Return the text of a module's ``__all__``; the module, which may need extras, is not imported."""
    found = _util.find_spec(module)
    text = _pathlib.Path(found.origin).read_text(encoding="utf-8") if found and found.origin else ""
    return text.partition("__all__ = [")[2].partition("]")[0]


if not _typing.TYPE_CHECKING:  # it would hide misspelled names from type checkers

    def __getattr__(name: str) -> object:
        text = f"module {__name__!r} has no attribute {name!r}"
        if not name.startswith("_") and _util.find_spec(f"{__name__}.{name}"):
            text += f"; it is a module of its own: import {__name__}.{name}"
        elif homes := [home for home in _HOMES if f'"{name}"' in _names_in(home)]:
            text += f"; it is in {homes[0]}: from {homes[0]} import {name}"
        raise AttributeError(text, name=name, obj=_sys.modules[__name__])
