"""A model of stable-baselines3 as an agent among the others: it sees clicks and its production list, nothing else.

A policy was trained on what wrappers made of an environment. ``describe`` writes down in the model which wrappers these
were, ``model.save`` keeps it, and ``SB3Agent`` makes their layers again: they see what the agent displays and is told.

Only plain data and weights are read from a file, and nothing in it is executed.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.dqn.policies import DQNPolicy
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy

import rankgym
from rankgym import wrappers
from rankgym.agent import KernelAgent
from rankgym.arguments import plain_number
from rankgym.kernels import bits, kernel, session_seed, uniform
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.spaces import Permutation
from rankgym.wrappers.layers import Layer, Setting, layers_of

__all__ = ["SB3Agent", "describe", "export_model", "model_card", "weights_digest"]

WEIGHTS = Path(__file__).parent / "weights"  # models that come with the package
CARD = "rankgym"  # the attribute of a model that says what it was trained on
NEEDED: dict[str, type] = {  # what is needed of a card, by type
    "layers": list,
    "num_items": int,
    "num_positions": int,
    "policy": str,
    "policy_kwargs": dict,
    "truth": bool,
    "deterministic": bool,
}
HOMES = ("rankgym", "stable_baselines3", "sb3_contrib")  # packages whose policies are made from a file
SAID = {list: "a list", int: "a whole number, at least 1", str: "a text", dict: "a dict", bool: "true, false"}
NOT_TO_PLAY = ("optimizer_class", "optimizer_kwargs")  # keywords of a policy that only training needs
MOST_NOISE = 1e6  # scores are drowned long before
LEAST = 2.0**-54  # stands for the uniform 0, which has no logarithm


@kernel
def gumbel_noise(key, number, noise):
    """Fill ``noise`` (rows, numbers) with standard Gumbel variates, -log(-log(u)), of session ``number`` of each key.

    Variate i of a row takes the bits numbered i: it depends neither on other rows nor on how many there are.
    """
    for row in range(noise.shape[0]):
        seed = session_seed(key[row], number)
        for i in range(noise.shape[1]):
            noise[row, i] = -np.log(-np.log(max(uniform(bits(seed, i)), LEAST)))


class State(NamedTuple):
    """What a playing model remembers."""

    policy: BasePolicy  # in float64
    layers: list[Layer]  # the innermost first
    clicks: NDArray[np.int8]  # (rows, positions) of the last session
    key: NDArray[np.uint64]  # (rows,) one random key a row
    round: NDArray[np.int64]  # (1,) sessions so far
    noise: float  # scale of the Gumbel noise on scores; 0: the greedy ranking is shown


def rank(s: State, displayed: NDArray[np.int64]) -> None:
    """Ask the policy for an action, or for as many as the layers need for one session."""
    layers = [copy.deepcopy(layer) if layer.steps > 1 else layer for layer in s.layers]  # half a list is not kept
    with one_thread(), th.no_grad():
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
    """The layers see the session."""
    everyone = np.ones(len(displayed), bool)
    for layer in s.layers:
        layer.learn(displayed, clicks, everyone)
    s.clicks[:] = clicks
    s.round[0] += 1


def decide(s: State, seen: NDArray[Any], layers: Sequence[Layer]) -> NDArray[Any]:
    """The policy's actions, (rows, ...), given what it sees.

    Its numbers are computed in float64 and rounded to float32: the last bits of a product of matrices depend on how
    many rows it has, and so would the order of equal items.
    """
    table = th.from_numpy(np.ascontiguousarray(seen)).double()
    numbers = outputs(s.policy, table).numpy().astype(np.float32)
    if isinstance(s.policy, PlackettLucePolicy):
        noise = None
        if s.noise:
            shape = s.policy.noise_shape(numbers.shape[1])
            noise = np.empty((len(numbers), int(np.prod(shape))))
            gumbel_noise(s.key, s.round[0], noise)
            noise = s.noise * noise.reshape(len(numbers), *shape)
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
    """The numbers that decide a deterministic action: scores, logits, values or means, (rows, how many they are).

    The policies' own ``predict`` would round what they see to float32, and so refuse to compute in float64.
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
def one_thread() -> Iterator[None]:
    """One thread for torch: nets of this size gain nothing from more, and comparisons have processes of their own."""
    before = th.get_num_threads()
    if before == 1:
        yield
        return
    th.set_num_threads(1)
    try:
        yield
    finally:
        th.set_num_threads(before)


class SB3Agent(KernelAgent):
    """A trained model of stable-baselines3, which plays and learns no more; what it has seen of users it remembers.

    A Plackett-Luce policy draws its lists, unless it was trained to be played otherwise; row b draws from its own seed
    alone. It ranks any number of items from ``num_positions`` on. All other policies show what they think best, and
    have the numbers of items and positions that they were trained with. The horizon may be longer than in training.

    Args:
        model: a file that ``model.save`` wrote after ``rankgym.sb3.describe(model, env)``, as ``rankgym train`` does,
            or the name of one that comes with the package, such as ``"ppo-pbm"``; or such a model itself. Files are
            data: nothing in them is executed.
        deterministic: whether to show the greedy list, at each position the item of the largest score that may stand
            there, instead of drawing one. Default: what the model says.
        noise: scale of the Gumbel noise by which a Plackett-Luce policy draws its lists, at least 0. 1 is the policy's
            own law; with more, lists are drawn by scores / ``noise``: it explores more; 0 is deterministic. Default:
            what the model says.
        num_items, num_positions, num_envs, horizon, seed, initial_list: as in ``Agent``.

    Attributes:
        card: what the model says of itself, a dict.

    Raises:
        ValueError: there is no such file, it holds no model of ours, or a model for another problem.
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
        if not isinstance(model, (str, os.PathLike, BaseAlgorithm)):
            raise ValueError(f"model = {model!r} is no model; allowed: a file, or a model of stable-baselines3")
        if isinstance(model, BaseAlgorithm):
            name, card = type(model).__name__, _card_of(model)
        else:
            name = os.fspath(model)
            card, weights = _read(model)
        self.card = copy.deepcopy(card)
        self._check_sizes(name)
        layers, observed, acted = self._layers(name)
        if isinstance(model, BaseAlgorithm):  # its policy itself may hold on to the gradients of its last action
            cls, weights = type(model.policy), model.policy.state_dict()
        else:
            cls = _policy_class(name, card["policy"])
        policy = _made(name, cls, card, weights, observed, acted)
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
        """The scale of the noise, by what was asked for and what the model says."""
        if deterministic is not None and not isinstance(deterministic, (bool, np.bool_)):
            raise ValueError(f"deterministic = {deterministic!r} is unknown; allowed: True, False, None")
        scale = _checked_noise(self.card.get("noise", 1.0) if noise is None else noise)
        greedy = self.card["deterministic"] if deterministic is None else deterministic
        if not isinstance(policy, PlackettLucePolicy):
            if noise:
                said, allowed = f"noise = {noise!r}", "0 or None"
            elif not greedy:
                said, allowed = "deterministic = False", "True" if deterministic is None else "True or None"
            else:
                return 0.0
            raise ValueError(
                f"{said}, but the policy of {name} is a {type(policy).__name__}; allowed: {allowed}, only "
                "Plackett-Luce policies draw their lists"
            )
        if greedy and noise:
            if deterministic is None:
                raise ValueError(
                    f"noise = {noise!r}, but {name} is to be played deterministically, as it says itself; allowed: 0 "
                    "or None, or deterministic = False with it"
                )
            raise ValueError(f"deterministic = True and noise = {noise!r}; allowed: one of them")
        return 0.0 if greedy else scale

    def _check_sizes(self, name: str) -> None:
        """Whether the model was trained for such lists."""
        any_items = self.card["policy"] == policy_name(PlackettLucePolicy)
        for size in ("num_positions", "num_items"):
            mine, trained = getattr(self, size), self.card[size]
            if mine != trained and not (size == "num_items" and any_items):
                raise ValueError(f"{size} = {mine}, but {name} was trained with {trained}; allowed: {trained}")

    def _layers(self, model: str) -> tuple[list[Layer], spaces.Space[Any], spaces.Space[Any]]:
        """What the wrappers of the training did, the innermost first; what a row's policy sees, and how it acts."""
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
        """A digest of what decides the lists besides the class's file: the model's file, this room, its libraries."""
        files = [*sorted(Path(__file__).parent.glob("*.py")), Path(model)]
        parts = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        return hashlib.sha256(" ".join([*parts, json.dumps(library_versions())]).encode()).hexdigest()


# -- what a model says of itself --------------------------------------------------------------------------------------


def describe(model: BaseAlgorithm, env: Any, *, deterministic: bool | None = None, **more: Any) -> dict[str, Any]:
    """Write into ``model.rankgym`` what ``SB3Agent`` has to know, plain JSON values, and return it.

    ``model.save`` keeps it. ``rankgym.sb3.train`` calls this itself.

    Args:
        model: of stable-baselines3 or sb3-contrib.
        env: what it was trained on: a ranking environment, single or vector, in the wrappers of the training; of a
            population any one.
        deterministic: whether it shall be played deterministically. Default: only if its policy is no Plackett-Luce.
        **more: whatever else is worth knowing of it, plain JSON values.

    Raises:
        ValueError: ``env`` is no ranking environment, the policy's actions are not those of ``env`` or are lists that
            it does not keep free of repetitions, or it sees the truth when it acts, or observations that
            ``VecNormalize`` has scaled.
    """
    setting, policy = Setting.of(env), model.policy
    normalized = model.get_vec_normalize_env()
    if normalized is not None and normalized.norm_obs:
        raise ValueError(
            "model sees observations that VecNormalize scales, which no file of a model holds; allowed: "
            "VecNormalize(..., norm_obs=False), or none"
        )
    draws = isinstance(policy, PlackettLucePolicy)
    space = getattr(env, "single_action_space", None) or env.action_space
    if isinstance(space, Permutation) and not draws:
        raise ValueError(
            f"model has a {type(policy).__name__}, whose lists may show an item twice; allowed: a PlackettLucePolicy, "
            "or an action wrapper such as ScoresToRanking"
        )
    if model.action_space != space:
        raise ValueError(f"model has the action space {model.action_space}; allowed: that of env, {space}")
    seen = getattr(env, "single_observation_space", None) or env.observation_space
    observed: Any = model.observation_space
    truth = isinstance(observed, spaces.Dict)
    observed = observed["observation"] if truth else observed
    if observed != seen:
        raise ValueError(
            f"model has observations of shape {observed.shape}, and env others, of shape {seen.shape}; allowed: the "
            "environment of the training, in the same wrappers"
        )
    if truth and not draws:
        raise ValueError(f"model has a {type(policy).__name__} that sees the truth when it acts; allowed: truth=False")
    spec = getattr(env, "spec", None)
    card = {
        "rankgym": rankgym.__version__,
        "algo": type(model).__name__,
        "policy": policy_name(type(policy)),
        "policy_kwargs": {key: value for key, value in model.policy_kwargs.items() if key not in NOT_TO_PLAY},
        "layers": layers_of(env),
        "num_items": setting.num_items,
        "num_positions": setting.num_positions,
        "horizon": setting.horizon,
        "envs": [] if spec is None else [spec.id],
        "truth": truth,
        "deterministic": not draws if deterministic is None else bool(deterministic),
        **more,
    }
    try:
        card = json.loads(json.dumps(card))
    except TypeError as error:
        raise ValueError(
            f"what the model was made with is no plain JSON ({error}): policy_kwargs = {model.policy_kwargs!r}, "
            f"{more}; allowed: numbers, texts, and lists of these"
        ) from None
    setattr(model, CARD, card)
    return card


def export_model(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> dict[str, Any]:
    """Write what playing needs of a model to a file of its own: its card and its policy's weights.

    Such a file is a tenth as large, holds nothing pickled and nothing of the machine, and is the same, byte for byte,
    whenever it is written. ``SB3Agent`` plays it; stable-baselines3 cannot learn on from it.

    Args:
        source: a model that ``rankgym train`` made, or one that was saved after ``describe``.
        target: the new file.

    Returns:
        The card, which also has ``weights`` then, the digest of the weights (see ``weights_digest``).

    Raises:
        ValueError: ``source`` is no such model.
    """
    card, weights = _read(source)
    card["weights"] = _digest(weights)
    content = io.BytesIO()
    th.save(weights, content)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (("data", json.dumps({CARD: card}, indent=1).encode()), ("policy.pth", content.getvalue())):
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
    return card


def policy_name(cls: type) -> str:
    """A policy's class in a card."""
    return f"{cls.__module__}:{cls.__qualname__}"


def model_card(model: str | os.PathLike[str] | BaseAlgorithm) -> dict[str, Any]:
    """What a model, or the file of one, says of itself: see ``describe``.

    Raises:
        ValueError: there is no such file, or it holds no model of ours.
    """
    return copy.deepcopy(_card_of(model) if isinstance(model, BaseAlgorithm) else _read(model)[0])


def weights_digest(model: BaseAlgorithm) -> str:
    """The sha256 of all weights of the policy: names, shapes, types and bytes."""
    return _digest(model.policy.state_dict())


def _digest(tensors: Mapping[str, th.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, weights in sorted(tensors.items()):
        values = weights.detach().cpu().contiguous().numpy()
        digest.update(f"{name} {values.shape} {values.dtype} ".encode() + values.tobytes())
    return digest.hexdigest()


def library_versions() -> dict[str, str]:
    """Of what computes with weights."""
    return {name: metadata.version(name) for name in ("torch", "stable-baselines3", "sb3-contrib")}


def _checked_card(name: str, card: Any) -> dict[str, Any]:
    """A card that has all that is needed, of the right types: files may come from anybody."""
    if not isinstance(card, dict) or any(key not in card for key in NEEDED):
        raise ValueError(
            f"model = {name} does not say what it was trained on; allowed: a model that `rankgym train` made, or one "
            "that was saved after rankgym.sb3.describe(model, env)"
        )
    for key, kind in NEEDED.items():
        if type(card[key]) is not kind or (kind is int and card[key] < 1):
            raise ValueError(f"model = {name} is damaged: it says {key} = {card[key]!r}; allowed: {SAID[kind]}")
    if "noise" in card:
        try:
            _checked_noise(card["noise"])
        except ValueError as error:
            raise ValueError(f"model = {name} is damaged: it says {error}") from None
    for layer in card["layers"]:
        pair = layer if isinstance(layer, (list, tuple)) and len(layer) == 2 else (None, None)
        if not isinstance(pair[0], str) or not isinstance(pair[1], dict):
            raise ValueError(f"model = {name} is damaged: layers has {layer!r}; allowed: a name and a dict of keywords")
    return card


def _card_of(model: BaseAlgorithm) -> dict[str, Any]:
    return _checked_card(f"a {type(model).__name__}", getattr(model, CARD, None))


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, th.Tensor]]:
    """The card and the policy's weights in a file."""
    name, file = repr(os.fspath(path)), Path(path)
    shipped = {one.stem: one for one in sorted(WEIGHTS.glob("*.zip"))}
    if not file.exists() and os.fspath(path).removesuffix(".zip") in shipped:
        file = shipped[file.stem]
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ValueError(
            f"model = {name} cannot be read: {error.strerror or error}; allowed: a file, or {', '.join(shipped)}"
        ) from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            data, weights = json.loads(archive.read("data")), archive.read("policy.pth")
        card = data.get(CARD)
        tensors = th.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
        if not all(isinstance(key, str) and isinstance(value, th.Tensor) for key, value in tensors.items()):
            raise TypeError("policy.pth has other things than weights")
    except Exception as error:
        raise ValueError(
            f"model = {name} is no model of stable-baselines3 ({type(error).__name__}: {error}); allowed: a file that "
            "model.save wrote"
        ) from None
    return _checked_card(name, card), tensors


def _checked_noise(noise: Any) -> float:
    number = plain_number(noise)
    if number is None or not 0 <= number <= MOST_NOISE:
        raise ValueError(f"noise = {noise!r} is out of range; allowed: a number in [0, {MOST_NOISE:g}]")
    return float(number)


def _policy_class(name: str, policy: Any) -> type[BasePolicy]:
    """The class that a card names."""
    module, _, cls_name = str(policy).partition(":")
    if module.partition(".")[0] not in HOMES:
        raise ValueError(
            f"model = {name!r} has the policy {policy}, which is made from no file; allowed: those of "
            f"{', '.join(HOMES)}; or load it yourself and give the model instead of its file"
        )
    try:
        cls = getattr(importlib.import_module(module), cls_name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"model = {name!r} has the policy {policy}, which is not here: {error}") from None
    if not isinstance(cls, type) or not issubclass(cls, BasePolicy):
        raise ValueError(f"model = {name!r} has the policy {policy}, which is none; allowed: a class of policies")
    return cls


def _made(
    name: str,
    cls: Any,
    card: dict[str, Any],
    weights: dict[str, th.Tensor],
    observation: spaces.Space[Any],
    action: spaces.Space[Any],
) -> BasePolicy:
    """A policy of such weights, for what is seen here, and for these actions."""
    if card["truth"]:
        truth = spaces.Box(0.0, 1.0, (observation.shape[0],), np.float32)  # type: ignore[index]
        observation = spaces.Dict({"observation": observation, "truth": truth})
    try:
        with th.random.fork_rng(devices=[]):  # its first weights are drawn, and not kept
            policy: BasePolicy = cls(observation, action, no_schedule, **card["policy_kwargs"])
        policy.load_state_dict(weights)
    except Exception as error:
        raise ValueError(
            f"model = {name!r} does not fit its policy here ({type(error).__name__}: {error}); it was saved by "
            f"rankgym {card.get('rankgym')}"
        ) from error
    return policy


def no_schedule(progress: float) -> float:
    """The learning rate of a policy that only plays."""
    return 0.0
