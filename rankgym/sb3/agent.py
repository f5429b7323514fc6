"""A trained model of stable-baselines3 as an agent: it sees clicks and its production list, nothing else.

A policy was trained on observations that wrappers made. The model's card names these wrappers (``describe`` writes it),
and ``SB3Agent`` applies the same layers to the lists that it displays and the clicks that it sees.

Reading a model file executes nothing: a card is JSON, weights are tensors.
"""

import contextlib
import copy
import hashlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import ConstantSchedule
from stable_baselines3.dqn.policies import DQNPolicy
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy
from torch.overrides import TorchFunctionMode

from rankgym import wrappers
from rankgym.agent import KernelAgent
from rankgym.arguments import number_in
from rankgym.kernels import bits, kernel, session_seed, uniform
from rankgym.named_code import NameNotFound, find_named
from rankgym.sb3 import model_files, plackett_luce
from rankgym.sb3.model_files import MAX_NOISE, card_of, library_versions, policy_name, read_model
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.tensor_files import MOST_BYTES
from rankgym.source import source_digest
from rankgym.spaces import Permutation
from rankgym.untrusted.files import read_file
from rankgym.wrappers.layers import Layer, Setting

POLICY_PACKAGES = ("rankgym", "stable_baselines3", "sb3_contrib")  # packages whose policies a file may name
POLICY_MODULES = re.compile(r"rankgym\.sb3\.plackett_luce|(stable_baselines3|sb3_contrib)(\.\w+)+\.policies")
SPARE_NUMBERS = 1_000_000  # that a policy may have besides twice its weights
SMALLEST_UNIFORM = 2.0**-54  # in place of 0, which has no logarithm


@kernel
def gumbel_noise(key, number, noise):
    """Fill ``noise`` (rows, numbers) with standard Gumbel variates, -log(-log(u)), of session ``number`` of each key.

    Variate i of a row takes the bits numbered i: it depends neither on other rows nor on their number.
    """
    for row in range(noise.shape[0]):
        seed = session_seed(key[row], number)
        for i in range(noise.shape[1]):
            noise[row, i] = -np.log(-np.log(max(uniform(bits(seed, i)), SMALLEST_UNIFORM)))


class State(NamedTuple):
    """What a playing model remembers. The leading axis is always the row."""

    policy: BasePolicy  # in float64
    layers: list[Layer]  # the innermost first
    clicks: NDArray[np.int8]  # (rows, positions) of the last session
    key: NDArray[np.uint64]  # (rows,) one random key a row
    round: NDArray[np.int64]  # (1,) sessions so far
    noise: float  # scale of the Gumbel noise on scores; 0: the greedy ranking is shown


def rank(s: State, displayed: NDArray[np.int64]) -> None:
    """Ask the policy for the actions of one session: one, or several if a layer needs them."""
    # copies, as an unfinished list is not kept
    layers = [copy.deepcopy(layer) if layer.steps > 1 else layer for layer in s.layers]
    with torch_threads(1), th.no_grad():
        lists = None
        while lists is None:
            seen: Any = s.clicks
            for layer in layers:
                seen = layer.observe(seen)
            lists = decide(s, seen, layers)
            for layer in reversed(layers):
                lists = layer.action(lists)
                if lists is None:
                    break
    displayed[:] = lists


def learn(s: State, displayed: NDArray[np.int64], clicks: NDArray[np.int8]) -> None:
    """Show the session to the layers."""
    everyone = np.ones(len(displayed), bool)
    for layer in s.layers:
        layer.learn(displayed, clicks, everyone)
    s.clicks[:] = clicks
    s.round[0] += 1


def decide(s: State, seen: NDArray[Any], layers: Sequence[Layer]) -> NDArray[Any]:
    """Return the policy's actions, (rows, ...), for its observations ``seen``.

    Outputs are computed in float64 and rounded to float32: the last bits of a product of matrices depend on the number
    of its rows, and so would the order of equal items.
    """
    table = th.from_numpy(np.ascontiguousarray(seen)).double()
    numbers = outputs(s.policy, table).numpy().astype(np.float32)
    if isinstance(s.policy, PlackettLucePolicy):
        noise = None
        if s.noise:
            noise = np.empty((len(numbers), *s.policy.noise_shape(numbers.shape[1])))
            gumbel_noise(s.key, s.round[0], noise.reshape(len(numbers), -1))
            noise *= s.noise
        base = None if s.policy.max_displacement is None else s.policy.base_places(seen)
        return s.policy.rankings(numbers.astype(np.float64), noise=noise, base_place=base)
    space = layers[-1].action_space if layers else None
    if isinstance(space, spaces.Discrete):
        masks = next((m for m in (layer.action_masks() for layer in reversed(layers)) if m is not None), None)
        return np.argmax(numbers if masks is None else np.where(masks, numbers, -np.inf), axis=1)
    if isinstance(space, spaces.MultiBinary):
        return (numbers > 0).astype(np.int8).reshape(len(numbers), *space.shape)
    assert isinstance(space, spaces.Box)
    if s.policy.squash_output:
        return s.policy.unscale_action(numbers)
    return np.clip(numbers, space.low, space.high)


def outputs(policy: BasePolicy, seen: th.Tensor) -> th.Tensor:
    """Return the numbers that decide a deterministic action: scores, logits, values or means, (rows, outputs).

    The policies' own ``predict`` would round observations to float32, and so could not compute in float64.
    """
    if isinstance(policy, PlackettLucePolicy):
        return policy.scores(seen)
    nets: Any = policy
    if isinstance(policy, DQNPolicy):
        return nets.q_net.q_net(nets.q_net.features_extractor(seen))
    if isinstance(policy, SACPolicy):
        return th.tanh(nets.actor.mu(nets.actor.latent_pi(nets.actor.features_extractor(seen))))
    if isinstance(policy, TD3Policy):
        return nets.actor.mu(nets.actor.features_extractor(seen))
    return nets.action_net(nets.mlp_extractor.forward_actor(nets.pi_features_extractor(seen)))


@contextlib.contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Context manager: torch uses ``number`` threads. Networks of this size gain nothing from more than one."""
    before = th.get_num_threads()
    if before != number:
        th.set_num_threads(number)
    try:
        yield
    finally:
        if before != number:
            th.set_num_threads(before)


class SB3Agent(KernelAgent):
    """A trained model of stable-baselines3 that plays and does not learn on; it remembers the sessions that it saw.

    A Plackett-Luce policy draws its lists, unless its card says otherwise; row b draws from its own seed alone. It
    ranks any number of items, at least ``num_positions``. All other policies show their best action, and need the
    numbers of items and positions of their training. The horizon may be longer than in training.

    Args:
        model: a file that ``model.save`` wrote after ``rankgym.sb3.describe(model, env)``, as ``rankgym train`` does,
            or that ``rankgym.sb3.export_model`` wrote; a model of the package by its name, as ``"ppo-pbm"``; or a model
            of stable-baselines3 itself. No file's code is executed.
        deterministic: whether to show the greedy list, which has at each position the allowed item with the largest
            score, instead of drawing one. Default: as the card says.
        noise: scale of the Gumbel noise with which a Plackett-Luce policy draws its lists, at least 0. 1 is the
            policy's own law; with more it explores more, by scores / ``noise``; 0: greedy. Default: as the card says.
        num_items, num_positions, num_envs, horizon, seed, initial_list: as in ``Agent``.

    Attributes:
        card: the model's description of itself, a dict.

    Raises:
        ValueError: the file cannot be read, is not such a model, or was trained for another problem.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.sb3 import SB3Agent
        >>> env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, query=[0, 1], horizon=100)
        >>> agent = SB3Agent.for_env(env, seed=0, model="ppo-pbm")
        >>> observation, info = env.reset(seed=0)
        >>> displayed = agent.act(observation)
        >>> agent.update(displayed, env.step(displayed)[0])
        >>> displayed.shape, agent.card["num_items"]
        ((2, 5), 10)
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(
        self,
        *,
        num_items: int,
        num_positions: int,
        num_envs: int = 1,
        horizon: int | None = None,
        seed: int | Sequence[int] | None = None,
        initial_list: ArrayLike | None = None,
        model: str | os.PathLike[str] | BaseAlgorithm,
        deterministic: bool | None = None,
        noise: float | None = None,
    ) -> None:
        super().__init__(
            num_items=num_items,
            num_positions=num_positions,
            num_envs=num_envs,
            horizon=horizon,
            seed=seed,
            initial_list=initial_list,
        )
        if isinstance(model, BaseAlgorithm):
            name, card = type(model).__name__, card_of(model)
            cls, weights = type(model.policy), model.policy.state_dict()
        elif isinstance(model, (str, os.PathLike)):
            name = os.fspath(model)
            card, weights = read_model(model)
            cls = _policy_class(name, card["policy"])
        else:
            raise ValueError(f"model = {model!r} is not a model; allowed: a file, or a model of stable-baselines3")
        self.card = copy.deepcopy(card)
        self._check_sizes(name)
        layers, observed, acted = self._layers(name)
        policy = _loaded_policy(name, cls, card, weights, observed, acted)  # a copy: a model's own may keep gradients
        policy.set_training_mode(False)
        self.state = State(
            policy=policy.cpu().double(),
            layers=layers,
            clicks=np.zeros((self.num_envs, self.num_positions), np.int8),
            key=self.keys(),
            round=np.zeros(1, np.int64),
            noise=self._scale(name, policy, deterministic, noise),
        )

    def _scale(self, name: str, policy: BasePolicy, deterministic: bool | None, noise: float | None) -> float:
        """Return the scale of the noise, by the arguments and the card."""
        if deterministic is not None and not isinstance(deterministic, (bool, np.bool_)):
            raise ValueError(f"deterministic = {deterministic!r} is unknown; allowed: True, False, None")
        scale = number_in("noise", self.card.get("noise", 1.0) if noise is None else noise, 0, MAX_NOISE)
        greedy = self.card["deterministic"] if deterministic is None else deterministic
        draws = isinstance(policy, PlackettLucePolicy)
        if not draws and (noise or not greedy):
            given = f"noise = {noise!r}" if noise else "deterministic = False"
            allowed = "0 or None" if noise else "True" if deterministic is None else "True or None"
            raise ValueError(
                f"{given}, but the policy of {name} is a {type(policy).__name__}; allowed: {allowed}, only "
                "Plackett-Luce policies draw their lists"
            )
        if greedy and noise and deterministic is None:
            raise ValueError(
                f"noise = {noise!r}, but {name} is to be played deterministically, by its card; allowed: 0 or "
                "None, or deterministic = False with it"
            )
        if greedy and noise:
            raise ValueError(f"deterministic = True and noise = {noise!r}; allowed: one of them")
        return 0.0 if greedy else scale

    def _check_sizes(self, name: str) -> None:
        """Refuse other numbers of items and positions than the model can play."""
        any_items = self.card["policy"] == policy_name(PlackettLucePolicy)
        for size in ("num_positions", "num_items"):
            mine, trained = getattr(self, size), self.card[size]
            if mine != trained and not (size == "num_items" and any_items):
                raise ValueError(f"{size} = {mine}, but {name} was trained with {trained}; allowed: {trained}")

    def _layers(self, model: str) -> tuple[list[Layer], spaces.Space[Any], spaces.Space[Any]]:
        """Return the layers of the training, the innermost first, and the spaces of a row inside them."""
        setting = Setting(self.num_envs, self.num_items, self.num_positions, self.horizon, self.initial_list)
        observation: spaces.Space[Any] = spaces.MultiBinary(self.num_positions)
        action: spaces.Space[Any] = Permutation(self.num_items, self.num_positions)
        made: list[Layer] = []
        for name, keywords in self.card["layers"]:
            if name not in wrappers.LAYERS:
                raise ValueError(f"the model's wrapper {name!r} is unknown; allowed: {', '.join(wrappers.LAYERS)}")
            try:
                made.append(wrappers.LAYERS[name](setting, observation, action, **keywords))
            except Exception as error:
                raise ValueError(f"model = {model!r} has the wrapper {name} with {keywords}: {error}") from error
            observation, action = made[-1].observation_space, made[-1].action_space
        return made, observation, action

    @staticmethod
    def decided_by(*, model: str, **knobs: Any) -> str:
        """Return a digest of everything besides this file that decides the lists: the model, code, libraries."""
        code = [str(module.__file__) for module in (model_files, plackett_luce)]
        parts = [hashlib.sha256(read_file(model, MOST_BYTES)).hexdigest(), *map(source_digest, code)]
        parts += [f"{name} {version}" for name, version in library_versions().items()]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _policy_class(name: str, policy: Any) -> type[BasePolicy]:
    """Return the class that a card names."""
    module, _, cls_name = str(policy).partition(":")
    if not POLICY_MODULES.fullmatch(module) or not cls_name.isidentifier():
        raise ValueError(
            f"model = {name!r} has the policy {policy}, which no file may name; allowed: those of "
            f"{', '.join(POLICY_PACKAGES)}; or load the model yourself and give it instead of its file"
        )
    try:
        cls = find_named(f"{module}:{cls_name}")
    except (ImportError, NameNotFound) as error:
        raise ValueError(f"model = {name!r} has the policy {policy}, which is not installed: {error}") from None
    if not isinstance(cls, type) or not issubclass(cls, BasePolicy):
        raise ValueError(f"model = {name!r} has the policy {policy}, which is not a policy; allowed: a policy's class")
    return cls


class _LimitedTensors(TorchFunctionMode):
    """While it is entered, new tensors have at most ``most`` entries together: a card may ask for any layers."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.left = most, most

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (th.empty, th.zeros, th.ones) and args:
            self.left -= math.prod(args[0] if isinstance(args[0], (tuple, list)) else args)
            if self.left < 0:
                raise ValueError(f"its card asks for layers of over {self.most:,} numbers, and its weights have fewer")
        return func(*args, **(kwargs or {}))


def _loaded_policy(
    name: str, cls: Any, card: dict[str, Any], weights: Any, observation: spaces.Space[Any], action: spaces.Space[Any]
) -> BasePolicy:
    """Make a policy with these weights, for these observations and actions of a row."""
    if card["truth"]:
        truth = spaces.Box(0.0, 1.0, (observation.shape[0],), np.float32)  # type: ignore[index]
        observation = spaces.Dict({"observation": observation, "truth": truth})
    try:
        most = 2 * sum(one.numel() for one in weights.values()) + SPARE_NUMBERS
        with th.random.fork_rng(devices=[]), _LimitedTensors(most):  # its first weights are drawn, then replaced
            policy: BasePolicy = cls(observation, action, ConstantSchedule(0.0), **card["policy_kwargs"])
        policy.load_state_dict(weights)
    except Exception as error:
        raise ValueError(
            f"model = {name!r} does not fit its policy here ({type(error).__name__}: {error}); it was saved by "
            f"rankgym {card.get('rankgym')}"
        ) from error
    return policy
