"""``AgainstItself``: one ranking instead of two in environments where two lists duel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from rankgym.arguments import ActionKind, action_kind, env_attribute, name_keywords
from rankgym.interleaving import INTERLEAVINGS


@name_keywords
class AgainstItself(VectorWrapper[Any, Any, Any, Any, Any]):
    """Let a ranking agent play where two lists duel: its list is on both sides.

    The displayed list is then this list, and the observation is the clicks on it, as in a ranking environment. A duel,
    a dict of ``left`` and ``right``, is passed on unchanged.

    Args:
        env: a vector environment with actions ``Dict(left=Permutation, right=Permutation)``, with any interleaving
            except the probabilistic one, which reorders even two equal lists.

    Raises:
        ValueError: ``env`` is another environment.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import AgainstItself
        >>> env = AgainstItself(gym.make_vec("rankgym/Dueling-PBM-Yandex-v0", num_envs=1, query=0, num_positions=3))
        >>> env.single_action_space
        Permutation(10, 3)
        >>> observation, info = env.reset(seed=0)
        >>> *_, info = env.step(np.array([[4, 2, 0]]))
        >>> info["displayed"].tolist(), info["left"].tolist() == info["right"].tolist()
        ([[4, 2, 0]], True)
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if action_kind(env) is not ActionKind.DUEL_OF_RANKINGS:
            allowed = "a Dict of the lists left and right"
            raise ValueError(f"env = {env} has the action space {env.action_space}; allowed: {allowed}")
        methods = np.ravel(env_attribute(env, "interleaving"))  # of singles in a batch: one of each
        if any(isinstance(method, INTERLEAVINGS["probabilistic"]) for method in methods):
            raise ValueError(
                "interleaving = 'probabilistic' displays another list than the one that duels with itself; "
                "allowed for a ranking agent: team-draft, or another one"
            )
        super().__init__(env)
        sides: Any = env.single_action_space
        self.single_action_space = sides["left"]
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        return self.env.step(actions if isinstance(actions, Mapping) else {"left": actions, "right": actions})
