"""Rankings as actions: the Plackett-Luce distribution, and a policy of stable-baselines3 with it.

A ranking is drawn from the top: each position's item with probability proportional to exp(score) among the items that
are left (Luce 1959, Plackett 1975). So a policy only needs one score for each item. Rules can exclude items.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Box, Dict, Space
from numpy.typing import NDArray
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.common.utils import is_vectorized_observation
from torch import nn

from rankgym.agent import positive
from rankgym.arguments import name_keywords, near, whole_number
from rankgym.spaces import Permutation

Numbers = NDArray[Any] | th.Tensor
Observation = NDArray[Any] | PyTorchObs | Mapping[str, NDArray[Any]]
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU}
FIRST_SCORES = 0.1  # scale of a new actor's last weights: its first lists are close to uniform


@name_keywords
class PlackettLuce(CategoricalDistribution):
    """Rankings of ``num_positions`` of ``num_items`` items, drawn from the top by exp(score), without replacement.

    Two rules may exclude items (not both together). ``allowed``: only these items are shown at all.
    ``max_displacement`` = d: no item may be more than d places from its place in a base list, hidden items in base
    order included. So at position k (from 0) an item is open if its base place is at most k + d; but if the item of
    base place k - d is still left, only that item is open. Some item is always open: min(k + d + 1, num_items) items
    have a base place of at most k + d, and only k < num_items are taken. Exactly the lists that keep the rule can be
    drawn. With d = 1 they are the base list with disjoint exchanges of neighbours, the lists of BubbleRank (Li et al.,
    UAI 2019).

    Args:
        num_items, num_positions: ``num_positions`` at most ``num_items``.
        max_displacement: d, at least 0; None: no such rule.

    Raises:
        ValueError: an argument is out of range.

    Examples:
        Item 1 has twice the weight of each other item: it is first with probability 2 / 4, then 1 / 2 is left for each.

        >>> import torch as th
        >>> from rankgym.sb3 import PlackettLuce
        >>> rankings = PlackettLuce(num_items=3, num_positions=2).proba_distribution(th.tensor([[1.0, 2.0, 1.0]]).log())
        >>> rankings.log_prob(th.tensor([[1, 0]])).exp().round(decimals=4).tolist(), rankings.mode().tolist()
        ([0.25], [[1, 0]])
    """

    logits: th.Tensor  # (batch, items)

    def __init__(self, num_items: int, num_positions: int, max_displacement: int | None = None) -> None:
        super().__init__(whole_number("num_items", num_items, 1))
        self.num_items = self.action_dim
        self.num_positions = whole_number("num_positions", num_positions, 1, self.num_items)
        self.max_displacement = _displacement(max_displacement)
        self.base_place: th.Tensor | None = None
        self.allowed: th.Tensor | None = None

    def proba_distribution(
        self, action_logits: th.Tensor, base_place: th.Tensor | None = None, allowed: th.Tensor | None = None
    ) -> "PlackettLuce":
        """Set the scores, and return this distribution.

        Args:
            action_logits: (batch, num_items) the scores, finite.
            base_place: (batch, num_items) whole numbers, each item's place in its base list, 0 at the top; needed with
                ``max_displacement``, and only then.
            allowed: (batch, num_items) bool, at least ``num_positions`` of them True in each row. None: all.

        Raises:
            ValueError: a shape or value is wrong; the message names the row. Nothing was changed.
        """
        if action_logits.ndim != 2 or action_logits.shape[1] != self.num_items:
            shape = tuple(action_logits.shape)
            raise ValueError(f"action_logits has shape {shape}; allowed: (batch, {self.num_items}), a score an item")
        _check_finite("action_logits", action_logits)
        _check_rules(action_logits, self.num_positions, self.max_displacement, base_place, allowed)
        self.logits, self.base_place, self.allowed = action_logits, base_place, allowed
        return self

    def sample(self) -> th.Tensor:
        """Draw rankings (batch, num_positions) int64 from torch's generator.

        The largest scores + Gumbel noise, in their order, are a Plackett-Luce ranking (Yellott 1977; Kool et al.
        2019). Under ``max_displacement`` an item may open late, and would be favoured by noise against which
        others have already lost: so each position has noise of its own.
        """
        waiting = th.empty((len(self.logits), *self.noise_shape), dtype=self.logits.dtype, device=self.logits.device)
        return self.lists(-waiting.exponential_().clamp_min(th.finfo(waiting.dtype).tiny).log())

    def mode(self) -> th.Tensor:
        """Return the greedy rankings (batch, num_positions) int64: at each position the open item of the largest score.

        Of equal scores the lower item number comes first. Under ``max_displacement`` this need not be the single most
        probable ranking: an early exchange forces the next item, and so makes its list more probable.
        """
        return self.lists(None)

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """Shape of a row's Gumbel noise: (num_items,), or (num_positions, num_items) under ``max_displacement``."""
        return (self.num_items,) if self.max_displacement is None else (self.num_positions, self.num_items)

    @th.no_grad()
    def lists(self, noise: th.Tensor | None) -> th.Tensor:
        """Return the lists of the largest scores + noise among the open items, (batch, num_positions)."""
        if self.max_displacement is None or self.base_place is None:
            values = self.logits if noise is None else self.logits + noise
            values = values if self.allowed is None else values.masked_fill(~self.allowed, -th.inf)
            return values.sort(dim=1, descending=True, stable=True).indices[:, : self.num_positions]
        lists = th.empty((len(self.logits), self.num_positions), dtype=th.int64, device=self.logits.device)
        left = th.ones_like(self.base_place, dtype=th.bool)
        for k in range(self.num_positions):
            opened = left & (self.base_place <= k + self.max_displacement)
            due = left & (self.base_place == k - self.max_displacement)
            opened = th.where(due.any(1, keepdim=True), due, opened)
            values = self.logits if noise is None else self.logits + noise[:, k]
            lists[:, k] = values.masked_fill(~opened, -th.inf).argmax(1)
            left.scatter_(1, lists[:, k : k + 1], False)
        return lists

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        """Return each ranking's exact log-probability, (batch,); -inf, with finite gradients, if a rule forbids it.

        Args:
            actions: (batch, num_positions) rankings, of any dtype: rollout buffers return floats.
        """
        drawn = actions.reshape(len(self.logits), self.num_positions).long()
        return self._draws(drawn)[0].gather(2, drawn.unsqueeze(2)).sum((1, 2))

    def entropy(self) -> th.Tensor:
        """Return an estimate of the entropy, (batch,): its value and its gradient are unbiased.

        A ranking is drawn (from torch's generator), and the exact entropies of its draws, each given the items above,
        are added up. This is exact for one position. Their gradient alone would neglect that the scores also decide
        which items are above; the second term (the score-function term) adds this, and its value is zero.
        """
        drawn = self.sample()
        log_p, closed = self._draws(drawn)
        entropies = -(log_p.exp() * log_p.masked_fill(closed, 0.0)).sum(2)  # (batch, positions)
        taken = log_p.gather(2, drawn.unsqueeze(2)).squeeze(2)
        with th.no_grad():
            below = entropies.flip(1).cumsum(1).flip(1) - entropies
            # A baseline: as if all draws below were as uncertain as this one. It is known before the draw, so
            # subtracting it does not change the expectation, and it removes most of the noise.
            expected = entropies * th.arange(self.num_positions - 1, -1, -1, device=drawn.device)
        return entropies.sum(1) + ((below - expected) * (taken - taken.detach())).sum(1)

    def _draws(self, drawn: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Return for each draw of the rankings ``drawn`` the log-probabilities of all items, and which are closed.

        Both (batch, num_positions, num_items).
        """
        batch, positions = drawn.shape
        order = th.arange(positions, device=drawn.device)
        position = th.full((batch, self.num_items), positions, device=drawn.device)
        position.scatter_(1, drawn, order.expand(batch, positions))
        k = order[:, None]
        closed = position[:, None] < k  # drawn before
        if self.allowed is not None:
            closed = closed | ~self.allowed[:, None]
        if self.max_displacement is not None and self.base_place is not None:
            place = self.base_place[:, None]
            due = ~closed & (place <= k - self.max_displacement)
            closed = closed | (place > k + self.max_displacement) | (due.any(2, keepdim=True) & ~due)
        return th.log_softmax(self.logits[:, None].masked_fill(closed, -th.inf), 2), closed

    def actions_from_params(self, action_logits: th.Tensor, deterministic: bool = False, **rules: Any) -> th.Tensor:
        """Return ``mode`` or ``sample`` of the distribution with these scores and rules (``proba_distribution``)."""
        return self.proba_distribution(action_logits, **rules).get_actions(deterministic=deterministic)

    def log_prob_from_params(self, action_logits: th.Tensor, **rules: Any) -> tuple[th.Tensor, th.Tensor]:
        """Return a sample of the distribution with these scores and rules, and its log-probabilities."""
        actions = self.actions_from_params(action_logits, **rules)
        return actions, self.log_prob(actions)


def rankings(
    scores: Numbers,
    num_positions: int,
    *,
    noise: NDArray[Any] | None = None,
    base_place: NDArray[np.int64] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    max_displacement: int | None = None,
) -> NDArray[np.int64]:
    """Return rankings (rows, num_positions), a NumPy array, by ``scores`` (rows, num_items) and the caller's noise.

    Args:
        noise: (rows, ...) with ``PlackettLuce.noise_shape`` for each row, finite. With independent standard Gumbel
            numbers (-log(-log(u))) the rankings have the law of ``PlackettLuce``; with None they are its ``mode``.
        base_place, allowed, max_displacement: see ``PlackettLuce``.

    Raises:
        ValueError: a shape or value is wrong; the message names the row.
    """
    values = _tensor(scores)
    if values.ndim != 2:
        raise ValueError(f"scores has shape {tuple(values.shape)}; allowed: (rows, items), a score for each item")
    _check_finite("scores", values)
    law = PlackettLuce(values.shape[1], num_positions, max_displacement)
    given = (None if one is None else _tensor(one, device=values.device) for one in (base_place, allowed, noise))
    place, shown, extra = given
    law.proba_distribution(values, place, shown)
    if extra is not None:
        shape = (len(values), *law.noise_shape)
        if extra.shape != shape:
            raise ValueError(f"noise has shape {tuple(extra.shape)}; allowed: {shape}")
        _check_finite("noise", extra)
    return np.ascontiguousarray(law.lists(extra).cpu().numpy())


def _tensor(values: Any, dtype: th.dtype | None = None, device: th.device | None = None) -> th.Tensor:
    """Return a tensor, copied only if necessary: torch does not take read-only or reversed arrays."""
    if not isinstance(values, th.Tensor):
        values = np.require(values, requirements=["C", "W"])
    return th.as_tensor(values, dtype=dtype, device=device)


def _check_finite(name: str, values: th.Tensor) -> None:
    if not bool(values.isfinite().all()):
        place = (~values.isfinite()).nonzero()[0].tolist()
        raise ValueError(f"{name}{place} = {values[tuple(place)].item()} is out of range; allowed: finite numbers")


def _check_rules(
    scores: th.Tensor, positions: int, distance: int | None, base_place: th.Tensor | None, allowed: th.Tensor | None
) -> None:
    shape = tuple(scores.shape)
    if (distance is None) != (base_place is None):
        have = "is given" if base_place is not None else "is missing"
        raise ValueError(f"base_place {have} with max_displacement = {distance}; allowed: both of them, or neither")
    if base_place is not None:
        if tuple(base_place.shape) != shape or base_place.dtype.is_floating_point:
            is_now = f"shape {tuple(base_place.shape)} and dtype {base_place.dtype}"
            raise ValueError(f"base_place has {is_now}; allowed: whole numbers of shape {shape}")
        whole = (base_place.sort(1).values == th.arange(shape[1], device=base_place.device)).all(1)
        if not bool(whole.all()):
            row = int((~whole).nonzero()[0, 0])
            given = f"base_place[row {row}] = {base_place[row].tolist()}"
            raise ValueError(f"{given} is not a list of all items; allowed: each of 0 .. {shape[1] - 1} once")
    if allowed is not None:
        if distance is not None:
            raise ValueError("allowed is given with max_displacement; allowed: one of the two rules")
        if tuple(allowed.shape) != shape or allowed.dtype != th.bool:
            is_now = f"shape {tuple(allowed.shape)} and dtype {allowed.dtype}"
            raise ValueError(f"allowed has {is_now}; allowed: bool of shape {shape}")
        number = allowed.sum(1)
        if bool((number < positions).any()):
            row = int((number < positions).nonzero()[0, 0])
            raise ValueError(f"allowed[row {row}] has {int(number[row])} items; a list needs at least {positions}")


def _displacement(value: int | None) -> int | None:
    return None if value is None else whole_number("max_displacement", value, 0)


class ItemNet(nn.Module):
    """One score for each item and one value, from a table (rows, items, features); any number of items.

    Each item's features go through the same small network; the mean and the maximum over items inform every item about
    the others (Zaheer et al. 2017). So relabelling the items relabels the scores and does not change the value. A
    network that is not ``scored``, or not ``valued``, does not have that part.
    """

    def __init__(
        self, features: int, width: int, activation: type[nn.Module] = nn.Tanh, scored: bool = True, valued: bool = True
    ) -> None:
        super().__init__()
        self.item = nn.Sequential(nn.Linear(features, width), activation(), nn.Linear(width, width), activation())
        self.scored, self.valued = scored, valued
        if scored:
            self.context = nn.Linear(2 * width, width)
            self.mix = nn.Linear(width, width, bias=False)
            self.mixed = activation()
            last = nn.Linear(width, 1)
            with th.no_grad():
                last.weight.mul_(FIRST_SCORES)
                last.bias.zero_()
            self.head = nn.Sequential(nn.Linear(width, width), activation(), last)
        if valued:
            self.value = nn.Sequential(nn.Linear(2 * width, width), activation(), nn.Linear(width, 1))

    def forward(self, table: th.Tensor) -> tuple[th.Tensor | None, th.Tensor | None]:
        """Return scores (rows, items) and value (rows, 1); None for a missing part."""
        hidden = self.item(table)  # (rows, items, width)
        pooled = th.cat([hidden.mean(-2), hidden.amax(-2)], -1)
        scores = None
        if self.scored:
            scores = self.head(self.mixed(self.mix(hidden) + self.context(pooled).unsqueeze(-2))).squeeze(-1)
        return scores, self.value(pooled) if self.valued else None


@name_keywords
class PlackettLucePolicy(ActorCriticPolicy):
    """A policy for PPO and A2C whose actions are rankings with exact log-probabilities; labels of items do not matter.

    It observes a table (num_items, features), as ``rankgym.wrappers.ItemStatistics`` shows it, or a Dict of such a
    table, ``observation``, and of ``truth`` (num_items,), the attraction probabilities. Only the critic sees the
    truth, in training (an asymmetric actor-critic: Pinto et al. 2018): lists never depend on it, and ``predict`` also
    takes the table alone. All items share one score network, so ``scores`` takes tables with other numbers of items
    than in training.

    Args:
        observation_space, action_space, lr_schedule: from the algorithm. Rankings: ``Permutation``.
        width: of the hidden layers, at least 1.
        temperature: the scores are this positive number times the network's output. The larger, the fewer steps the
            optimizer needs to get from near-uniform to certain lists.
        activation: "tanh", "relu", "silu" or "gelu".
        separate_critic: whether the critic has a network of its own; required with a truth.
        max_displacement: as ``PlackettLuce`` has it; with ``base_column``. None: all rankings.
        base_column: the table's column, counted from its end (-1: the last), that holds the item's place in the base
            list / (num_items - 1), as ``rankgym.wrappers.SafeLists`` shows it.
        optimizer_class, optimizer_kwargs: as in stable-baselines3; A2C sets them.
        use_sde: from the algorithm; False.

    Raises:
        ValueError: a space is not a table or a ranking (the message says what to do), or an argument is out of range.

    Examples:
        >>> import gymnasium as gym
        >>> from rankgym.sb3 import PlackettLucePolicy
        >>> from rankgym.wrappers import ItemStatistics
        >>> where = {"num_envs": 2, "query": [0, 1], "horizon": 8, "autoreset_mode": "Disabled"}
        >>> env = ItemStatistics(gym.make_vec("rankgym/CM-Yandex-v0", **where))
        >>> table, items = env.single_observation_space, env.single_action_space
        >>> policy = PlackettLucePolicy(table, items, lambda share_left: 1e-3, width=16)
        >>> lists, _ = policy.predict(env.reset(seed=0)[0])
        >>> lists.shape, policy.scores(env.reset(seed=0)[0]).shape
        ((2, 5), torch.Size([2, 10]))
    """

    action_dist: PlackettLuce

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        width: int = 32,
        temperature: float = 5.0,
        activation: str = "tanh",
        separate_critic: bool = True,
        max_displacement: int | None = None,
        base_column: int | None = None,
        optimizer_class: type[th.optim.Optimizer] = th.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
        use_sde: bool = False,
    ) -> None:
        self.num_items, self.features, self.sees_truth = _table_of(observation_space)
        self.num_positions = _positions_of(action_space, self.num_items)
        self.width = whole_number("width", width, 1)
        self.temperature = positive("temperature", temperature)
        if activation not in ACTIVATIONS:
            hint = near(str(activation), ACTIVATIONS)
            raise ValueError(f"activation = {activation!r} is unknown; allowed: {', '.join(ACTIVATIONS)}{hint}")
        self.activation = activation
        if not isinstance(separate_critic, bool) or (self.sees_truth and not separate_critic):
            why = ", as the critic alone may see the truth" if self.sees_truth else " or False"
            raise ValueError(f"separate_critic = {separate_critic!r} is out of range; allowed: True{why}")
        self.separate_critic = separate_critic
        self.max_displacement = _displacement(max_displacement)
        self.base_column = _base_column(base_column, self.features, self.max_displacement)
        if use_sde:
            raise ValueError("use_sde = True makes noise for continuous actions; allowed: False, as rankings are drawn")
        optimizer: dict[str, Any] = {"optimizer_class": optimizer_class, "optimizer_kwargs": optimizer_kwargs}
        super().__init__(observation_space, action_space, lr_schedule, **optimizer)

    def _build(self, lr_schedule: Schedule) -> None:
        """Make networks and distribution; the base class calls it."""
        activation, alone = ACTIVATIONS[self.activation], self.separate_critic
        self.action_dist = PlackettLuce(self.num_items, self.num_positions, self.max_displacement)
        self.actor = ItemNet(self.features, self.width, activation, valued=not alone)
        if alone:
            self.critic = ItemNet(self.features + self.sees_truth, self.width, activation, scored=False)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = ("width", "temperature", "activation", "separate_critic", "max_displacement", "base_column")
        names = (*own, "observation_space", "action_space", "optimizer_class", "optimizer_kwargs")
        return {"lr_schedule": self._dummy_schedule, **{name: getattr(self, name) for name in names}}

    # ---- methods that algorithms call ----

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Return rankings (rows, num_positions), values (rows, 1) and log-probabilities (rows,)."""
        distribution, values = self._both(obs)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(self, obs: PyTorchObs, actions: th.Tensor) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Return values (rows, 1), log-probabilities (rows,) of rankings, and entropies (rows,)."""
        distribution, values = self._both(obs)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: PyTorchObs) -> PlackettLuce:
        """Return the distribution of the rankings, one object that the next call changes."""
        table, _ = self._split(obs)
        return self.action_dist.proba_distribution(self._networks(table)[0], self._places(table))

    def predict_values(self, obs: PyTorchObs) -> th.Tensor:
        """Return values (rows, 1).

        Raises:
            ValueError: the critic was trained with the truth, which is missing.
        """
        table, truth = self._split(obs)
        return self._values(table, truth) if self.separate_critic else self._networks(table)[1]

    def obs_to_tensor(self, observation: Any) -> tuple[PyTorchObs, bool]:
        """Return the observation as tensors, as the base class does; it may be a table without the truth."""
        if self.sees_truth and not isinstance(observation, Mapping):
            space = self.observation_space["observation"]  # type: ignore[index]
            table = np.asarray(observation)
            vectorized = is_vectorized_observation(table, space)
            return _tensor(table.reshape((-1, *space.shape)), device=self.device), vectorized
        return super().obs_to_tensor(observation)

    # ---- methods for an agent that makes its own noise ----

    def scores(self, observation: Observation) -> th.Tensor:
        """Return scores (rows, num_items), in the dtype of the weights.

        Args:
            observation: tables (rows, num_items, features) of NumPy or torch, or a dict of them as ``observation``.
                ``num_items`` may differ from that of the training.
        """
        table, _ = self._split(observation)
        return self._networks(table)[0]

    def noise_shape(self, num_items: int) -> tuple[int, ...]:
        """Return the shape of the noise that ``rankings`` takes for one row of ``num_items`` items."""
        return PlackettLuce(num_items, self.num_positions, self.max_displacement).noise_shape

    def base_places(self, observation: Observation) -> NDArray[np.int64] | None:
        """Return each item's place in the base list, (rows, num_items), for ``rankings``; None: not needed."""
        places = self._places(self._split(observation)[0])
        return None if places is None else places.cpu().numpy()

    def rankings(
        self, scores: Numbers, noise: NDArray[Any] | None = None, base_place: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return rankings (rows, num_positions) by ``scores`` and the caller's Gumbel noise; see ``rankings``."""
        return rankings(
            scores, self.num_positions, noise=noise, base_place=base_place, max_displacement=self.max_displacement
        )

    def _split(self, observation: Any) -> tuple[th.Tensor, th.Tensor | None]:
        """Return the tables, and the truth or None, in the dtype of the weights and on their device."""
        weight = next(self.actor.parameters())
        parts = observation if isinstance(observation, Mapping) else {"observation": observation}
        given = (parts.get("observation"), parts.get("truth"))
        table, truth = (None if part is None else _tensor(part, weight.dtype, weight.device) for part in given)
        if table is None or table.ndim != 3 or table.shape[2] != self.features:
            shape = None if table is None else tuple(table.shape)
            raise ValueError(f"observation has shape {shape}; allowed: (rows, num_items, {self.features})")
        return table, truth

    def _networks(self, table: th.Tensor) -> tuple[th.Tensor, Any]:
        scores, values = self.actor(table)
        return self.temperature * scores, values

    def _values(self, table: th.Tensor, truth: th.Tensor | None) -> Any:
        """Return the separate critic's values."""
        if self.sees_truth:
            if truth is None:
                raise ValueError("truth is missing; allowed: a Dict of observation and truth, as in training")
            table = th.cat([table, truth.unsqueeze(-1)], -1)
        return self.critic(table)[1]

    def _both(self, obs: PyTorchObs) -> tuple[PlackettLuce, th.Tensor]:
        table, truth = self._split(obs)
        scores, values = self._networks(table)
        if self.separate_critic:
            values = self._values(table, truth)
        return self.action_dist.proba_distribution(scores, self._places(table)), values

    def _places(self, table: th.Tensor) -> th.Tensor | None:
        if self.base_column is None:
            return None
        return (table[:, :, self.base_column] * (table.shape[1] - 1)).round().long()


def _table_of(space: Space[Any]) -> tuple[int, int, bool]:
    """Return the numbers of items and features of an observation space, and whether it has a truth."""
    parts = dict(space.spaces) if isinstance(space, Dict) else {"observation": space}
    table = parts.pop("observation", None)
    truth = parts.pop("truth", None)
    if parts or not isinstance(table, Box) or len(table.shape) != 2 or 0 in table.shape:
        raise ValueError(
            f"observation_space = {space} is not a table of items; allowed: a Box (num_items, features), or a Dict of "
            "it (observation) and of the truth (truth); wrap the environment in rankgym.wrappers.ItemStatistics"
        )
    items, features = table.shape
    if truth is not None and not (isinstance(truth, Box) and truth.shape == (items,)):
        raise ValueError(f"observation_space['truth'] = {truth} is out of range; allowed: a Box of shape ({items},)")
    return items, features, truth is not None


def _positions_of(space: Space[Any], items: int) -> int:
    if not isinstance(space, Permutation):
        raise ValueError(
            f"action_space = {space} is not a space of rankings; allowed: a rankgym.spaces.Permutation: remove the "
            "action wrapper, or use MlpPolicy with it"
        )
    if space.n != items:
        raise ValueError(f"action_space = {space} ranks {space.n} items, the observation shows {items}; allowed: equal")
    return space.k


def _base_column(value: Any, features: int, distance: int | None) -> int | None:
    if (value is None) != (distance is None):
        raise ValueError(
            f"base_column = {value!r} with max_displacement = {distance}; allowed: both of them, or neither "
            "(rankgym.wrappers.SafeLists shows the column)"
        )
    return None if value is None else whole_number("base_column", value, -features, -1)
