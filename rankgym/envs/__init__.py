"""The environments: ranking, with breakpoints, dueling and interleaved. Vector environments are the engine.

``schedule.py`` says when users change and ``scenarios.py`` how; ``SingleEnv`` makes a ``gym.Env`` of a batch of one.
May import models, pictures, data, interleaving, spaces, metrics and below.
"""

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import HumanRendering, RenderCollection

from rankgym.arguments import UnknownArgument, unknown_argument
from rankgym.envs.breakpoint import vector_breakpoint
from rankgym.envs.dueling import DuelingVectorEnv
from rankgym.envs.interleaved_rankers import InterleavedRankersVectorEnv, UnknownRegret
from rankgym.envs.interleaved_rankings import InterleavedRankingsVectorEnv
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.schedule import Schedule
from rankgym.envs.sessions import RENDER_MODES, SessionsVectorEnv, check_render_mode
from rankgym.envs.single import SingleEnv

__all__ = [
    "DuelingVectorEnv",
    "InterleavedRankersVectorEnv",
    "InterleavedRankingsVectorEnv",
    "RankingVectorEnv",
    "Schedule",
    "SingleEnv",
    "UnknownRegret",
    "single_breakpoint",
    "single_dueling",
    "single_interleaved_rankers",
    "single_interleaved_rankings",
    "single_ranking",
    "vector_breakpoint",
]


OF_BATCHES = ("num_envs", "autoreset_mode")  # arguments of gym.make_vec alone


class Window(HumanRendering):
    """Shows each picture in a window. Its spec is the environment's, whose ``render_mode`` makes the window again."""

    @property
    def spec(self) -> Any:  # type: ignore[override]
        return self.env.spec


class Frames(RenderCollection):
    """Collects what ``render`` returns. Its spec is the environment's, as that of ``Window``."""

    @property
    def spec(self) -> Any:  # type: ignore[override]
        return self.env.spec


def _single(vector: Callable[..., SessionsVectorEnv]) -> Callable[..., gym.Env[Any, Any]]:
    """Return ``gym.make``'s entry point of what ``vector`` makes.

    Gymnasium's wrappers show pictures in a window ("human") and collect frames ("rgb_array_list"). They are put on here
    and not left to ``gym.make``, which warns when it adds a window.
    """

    known = [name for name in inspect.signature(vector).parameters if name not in (*OF_BATCHES, "render_mode")]

    def single(render_mode: str | None = None, **arguments: Any) -> gym.Env[Any, Any]:
        """Make a single environment: an entry point for ``gym.make``, which users call.

        See ``SingleEnv`` for what comes back, and the vector environment for the arguments.
        """
        for name in OF_BATCHES:
            if name in arguments:
                use = f"use gym.make_vec(..., {name}={arguments[name]!r})"
                if name == "autoreset_mode":  # gym.make_vec(..., vectorization_mode="sync") comes by here
                    use += (
                        '; with vectorization_mode="sync" or "async" vector_kwargs={"autoreset_mode": AutoresetMode.X}'
                    )
                raise TypeError(f"gym.make makes one environment and has no argument {name!r}; {use}")
        wrong = next((name for name in arguments if name not in known), None)
        if wrong is not None:
            told = unknown_argument("gym.make", wrong, (*known, "render_mode"), OF_BATCHES)
            raise UnknownArgument(f"{told} (unexpected keyword argument {wrong!r})")  # TorchRL looks for these words
        check_render_mode(render_mode, ("human", *RENDER_MODES, *(f"{mode}_list" for mode in RENDER_MODES)))
        base = "rgb_array" if render_mode == "human" else render_mode and render_mode.removesuffix("_list")
        env = SingleEnv(vector(num_envs=1, autoreset_mode="Disabled", render_mode=base, **arguments))
        if base == render_mode:
            return env
        return Window(env) if render_mode == "human" else Frames(env)

    return single


single_ranking = _single(RankingVectorEnv)
single_breakpoint = _single(vector_breakpoint)
single_dueling = _single(DuelingVectorEnv)
single_interleaved_rankers = _single(InterleavedRankersVectorEnv)
single_interleaved_rankings = _single(InterleavedRankingsVectorEnv)
