"""What a page says about the whole episode: agents that played alike, and restarts that are not at the breakpoints."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from rankgym.experiments.judge.agreements import AS_AGENTS_DO, equals, joined
from rankgym_agents.beat_the_mean import BeatTheMean
from rankgym_agents.restarting import Restarting

NAMED = 5  # rounds that a sentence names


class Actions(VectorWrapper):
    """Pass all actions on, and keep a digest of them: two agents have the same one if they always played alike."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._digest = hashlib.blake2b(digest_size=16)

    def step(self, actions: Any) -> Any:
        for part in actions.values() if isinstance(actions, Mapping) else (actions,):
            self._digest.update(np.asarray(part, np.int64).tobytes())
        return self.env.step(actions)

    @property
    def digest(self) -> bytes:
        """The digest of the actions so far."""
        return self._digest.digest()


def notes(
    digests: Mapping[str, bytes], agents: Mapping[str, Any], epochs: Sequence[int], rounds: int, shown: str
) -> list[str]:
    """Return the sentences about an episode, without full stops.

    Args:
        digests: of the actions, by the agents' labels.
        agents: by their labels.
        epochs: rounds, from 1, that were the first ones of new users.
        rounds: of the episode.
        shown: "lists" or "pairs".
    """
    same = [
        f"{joined(group)} showed the same {shown} to the same users in all {rounds:,} rounds, {AS_AGENTS_DO}"
        for group in equals(digests)
    ]
    return same + [text for label, agent in agents.items() if (text := note_on_restarts(label, agent, epochs, rounds))]


def explores_until(agent: Any, number: int) -> bool:
    """Whether the agent ends its exploration in this round, the horizon, whatever it has learned."""
    return isinstance(agent, BeatTheMean) and number == int(agent.state.horizon[0])


def note_on_restarts(label: str, agent: Any, epochs: Sequence[int], rounds: int) -> str:
    """Say that an agent restarts elsewhere than where users change; "" if it does not restart, or restarts there."""
    if not isinstance(agent, Restarting):
        return ""
    restarts = range(agent.every + 1, rounds + 1, agent.every)
    if list(restarts) == list(epochs):
        return ""
    mine = f"restarts in {_named(restarts)}" if restarts else f"does not restart in these {rounds:,} rounds"
    users = f"users change in {_named(epochs)}" if epochs else "users do not change"
    return f"{label} was made with every = {agent.every:,} and {mine}, but {users}"


def _named(rounds: Sequence[int]) -> str:
    first = [f"{number:,}" for number in rounds[:NAMED]]
    return f"round{'s' if len(rounds) > 1 else ''} {', '.join(first) + ', …' if len(rounds) > NAMED else joined(first)}"
