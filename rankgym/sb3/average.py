"""The weights of a training run: their running average, and those after the last whole update."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch as th
from stable_baselines3.common.base_class import BaseAlgorithm


class Average:
    """Running average of a model's weights (Polyak averaging); with rate 0, the weights themselves.

    It also saves the model as it was after its last whole update: an interruption may come in the middle of the next.

    Attributes:
        state: ``moves``, the number of averaged weights, and ``weights``, their average by name.
    """

    def __init__(self, model: BaseAlgorithm, rate: float) -> None:
        self.model, self.rate = model, rate
        self.state: dict[str, Any] = {"moves": 0, "weights": {name: w.clone() for name, w in self._present()}}

    def _present(self) -> Iterator[tuple[str, th.Tensor]]:
        return ((name, weights.detach()) for name, weights in self.model.policy.state_dict().items())

    def move(self) -> None:
        """Move the average to the present weights by ``rate``; the first 1 / rate moves give the plain mean."""
        if self.rate:
            self.state["moves"] += 1
            rate = max(self.rate, 1.0 / self.state["moves"])
            for name, weights in self._present():
                self.state["weights"][name].lerp_(weights, rate)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Context manager: the model has the averaged weights."""
        if not self.rate:
            yield
            return
        kept = {name: weights.clone() for name, weights in self._present()}
        self.model.policy.load_state_dict(self.state["weights"])
        try:
            yield
        finally:
            self.model.policy.load_state_dict(kept)

    def save(self) -> None:
        """Copy what was learned so far: steps, weights, the optimizers' states, the average."""
        model: Any = self.model
        entropy = getattr(model, "log_ent_coef", None)  # of SAC, which is no weight of its policy
        now = (model.num_timesteps, model._n_updates, model.get_parameters(), self.state)
        self._saved = copy.deepcopy((*now, None if entropy is None else entropy.detach()))

    def restore(self) -> None:
        """Give the model and the average the saved state."""
        model: Any = self.model
        model.num_timesteps, model._n_updates, parameters, self.state, entropy = self._saved
        model.set_parameters(parameters)
        if entropy is not None:
            model.log_ent_coef.data.copy_(entropy)
