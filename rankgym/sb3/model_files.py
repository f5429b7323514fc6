"""Model files: the card that says what a model was trained on, and reading cards and weights without executing code.

There are two kinds: zips, which stable-baselines3 writes, and safetensors files, which ``export_model`` writes. Models
that come with the package are of the second kind.
"""

import copy
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch as th
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm

import rankgym
from rankgym.arguments import named_keywords, number_in
from rankgym.outputs import library_version
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.tensor_files import MOST_BYTES, read_safetensors, read_tensors
from rankgym.spaces import Permutation
from rankgym.untrusted.archives import open_archive, read_member
from rankgym.untrusted.files import RefusedFile, parse_json, read_file
from rankgym.wrappers.layers import Setting, layers_of

WEIGHTS = Path(__file__).parent / "weights"  # models that come with the package
EXPORTED = ".safetensors"  # ends the name of a file that ``export_model`` wrote
CARD = "rankgym"  # the attribute of a model that holds its card, and the name of the card in a file
REQUIRED: dict[str, type] = {  # entries of a card
    **{"layers": list, "num_items": int, "num_positions": int, "policy": str, "policy_kwargs": dict},
    **{"truth": bool, "deterministic": bool},
}
ALLOWED = {list: "a list", int: "a whole number, at least 1", str: "a text", dict: "a dict", bool: "true, false"}
TRAINING_ONLY = ("optimizer_class", "optimizer_kwargs")  # keywords of a policy that playing does not need
MOST_MEMBERS = 100  # of a model file; stable-baselines3 writes at most ten
LONGEST_ENTRY = 5_000  # letters of a card's layers, and of its policy's keywords
MOST_JSON = 16 << 20  # bytes of its data
MAX_NOISE = 1e6  # scores are drowned long before


def describe(model: BaseAlgorithm, env: Any, *, deterministic: bool | None = None, **more: Any) -> dict[str, Any]:
    """Write the model's card into ``model.rankgym``: plain JSON values that ``SB3Agent`` needs. Return it.

    ``model.save`` keeps the card. ``rankgym.sb3.train`` calls this function itself.

    Args:
        model: of stable-baselines3 or sb3-contrib.
        env: the environment of the training, in its wrappers, single or vector; of a population any one.
        deterministic: whether the model plays deterministically. Default: unless it is a Plackett-Luce policy.
        **more: further entries of the card, plain JSON values.

    Raises:
        ValueError: ``env`` is not a ranking environment, the policy's actions are not those of ``env`` or may repeat
            an item, or the policy sees the truth when it acts, or observations that ``VecNormalize`` has scaled.

    Examples:
        >>> import gymnasium as gym
        >>> from rankgym.sb3 import PlackettLucePolicy, RankingVecEnv, describe
        >>> from rankgym.wrappers import ItemStatistics
        >>> from stable_baselines3 import PPO
        >>> where = {"num_envs": 2, "query": [0, 1], "horizon": 8, "autoreset_mode": "Disabled"}
        >>> env = ItemStatistics(gym.make_vec("rankgym/CM-Yandex-v0", **where))
        >>> options = {"policy": PlackettLucePolicy, "n_steps": 4, "batch_size": 8, "seed": 0, "device": "cpu"}
        >>> model = PPO(env=RankingVecEnv(env, seed=0), **options)
        >>> card = describe(model, env, note="untrained")
        >>> card["layers"], card["num_items"], card["deterministic"], card["note"]
        ([['ItemStatistics', {'discounts': [1.0]}]], 10, False, 'untrained')
    """
    setting, policy = Setting.of(env), model.policy
    normalized = model.get_vec_normalize_env()
    if normalized is not None and normalized.norm_obs:
        raise ValueError(
            "model sees observations that VecNormalize scales, and a model file does not have its scales; allowed: "
            "VecNormalize(..., norm_obs=False), or no VecNormalize"
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
            f"model has observations of shape {observed.shape}, but those of env have shape {seen.shape}; allowed: the "
            "environment of the training, in the same wrappers"
        )
    if truth and not draws:
        raise ValueError(f"model has a {type(policy).__name__} that sees the truth when it acts; allowed: truth=False")
    spec = getattr(env, "spec", None)
    card = {
        "rankgym": rankgym.__version__,
        "algo": type(model).__name__,
        "policy": policy_name(type(policy)),
        "policy_kwargs": {key: value for key, value in model.policy_kwargs.items() if key not in TRAINING_ONLY},
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
            f"the card is not plain JSON ({error}): policy_kwargs = {model.policy_kwargs!r}, "
            f"{more}; allowed: numbers, texts, and lists of these"
        ) from None
    setattr(model, CARD, card)
    return card


@named_keywords
def export_model(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> dict[str, Any]:
    """Write a safetensors file for playing only: the policy's weights, and the card in the file's metadata.

    Such a file is a tenth as large, has nothing pickled and nothing of the machine, and is always the same, byte for
    byte. ``SB3Agent`` plays it, and checks its digest; stable-baselines3 cannot continue its training.

    Args:
        source: a model from ``rankgym train``, or one that was saved after ``describe``.
        target: the new file; its name ends in ``.safetensors``.

    Returns:
        The card, with the digest of the weights as ``weights`` (see ``weights_digest``).

    Raises:
        ValueError: ``source`` is not such a model, or ``target`` has another ending.

    Examples:
        >>> import gymnasium as gym
        >>> from rankgym.sb3 import PlackettLucePolicy, RankingVecEnv, describe, export_model
        >>> from rankgym.wrappers import ItemStatistics
        >>> from stable_baselines3 import PPO
        >>> where = {"num_envs": 2, "query": [0, 1], "horizon": 8, "autoreset_mode": "Disabled"}
        >>> env = ItemStatistics(gym.make_vec("rankgym/CM-Yandex-v0", **where))
        >>> options = {"policy": PlackettLucePolicy, "n_steps": 4, "batch_size": 8, "seed": 0, "device": "cpu"}
        >>> model = PPO(env=RankingVecEnv(env, seed=0), **options)
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     whole, small = pathlib.Path(folder, "model.zip"), pathlib.Path(folder, "model.safetensors")
        ...     _ = describe(model, env), model.save(whole)
        ...     card = export_model(whole, small)
        ...     small.stat().st_size < whole.stat().st_size, len(card["weights"])
        (True, 64)
    """
    if Path(target).suffix != EXPORTED:
        raise ValueError(f"target = {os.fspath(target)!r} has another ending; allowed: {EXPORTED}")
    card, weights = read_model(source)
    card["weights"] = _digest(weights)
    copies = {name: one.contiguous().clone() for name, one in weights.items()}  # the library refuses shared memory
    Path(target).write_bytes(safetensors.torch.save(copies, {CARD: json.dumps(card)}))
    return card


def policy_name(cls: type) -> str:
    """Return the name of a policy's class, as cards have it."""
    return f"{cls.__module__}:{cls.__qualname__}"


def model_card(model: str | os.PathLike[str] | BaseAlgorithm) -> dict[str, Any]:
    """Return the card of a model or of its file, see ``describe``.

    Args:
        model: a model, a file, or the name of one that comes with the package, such as ``"ppo-pbm"``.

    Raises:
        ValueError: there is no such file, or it has no card.

    Examples:
        >>> from rankgym.sb3 import model_card
        >>> card = model_card("ppo-pbm")  # it comes with the package
        >>> card["algo"], card["envs"], card["layers"]
        ('PPO', ['rankgym/PBM-Yandex-v0'], [['ItemStatistics', {'discounts': [1.0]}]])
    """
    return copy.deepcopy(card_of(model) if isinstance(model, BaseAlgorithm) else read_model(model)[0])


def weights_digest(model: BaseAlgorithm) -> str:
    """Return the sha256 of all weights of the policy: names, shapes, types and bytes.

    Examples:
        >>> import gymnasium as gym
        >>> from rankgym.sb3 import PlackettLucePolicy, RankingVecEnv, weights_digest
        >>> from rankgym.wrappers import ItemStatistics
        >>> from stable_baselines3 import PPO
        >>> where = {"num_envs": 2, "query": [0, 1], "horizon": 8, "autoreset_mode": "Disabled"}
        >>> env = ItemStatistics(gym.make_vec("rankgym/CM-Yandex-v0", **where))
        >>> options = {"policy": PlackettLucePolicy, "n_steps": 4, "batch_size": 8, "seed": 0, "device": "cpu"}
        >>> model = PPO(env=RankingVecEnv(env, seed=0), **options)
        >>> again = PPO(env=RankingVecEnv(env, seed=0), **options)
        >>> weights_digest(model) == weights_digest(again)  # the same seed, the same first weights
        True
    """
    return _digest(model.policy.state_dict())


def _digest(tensors: Mapping[str, th.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, weights in sorted(tensors.items()):
        values = weights.detach().cpu().contiguous().numpy()
        digest.update(f"{name} {values.shape} {values.dtype} ".encode() + values.tobytes())
    return digest.hexdigest()


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that compute with weights."""
    return {name: library_version(name) for name in ("torch", "stable-baselines3", "sb3-contrib")}


def _checked_card(name: str, card: Any) -> dict[str, Any]:
    """Return the card if it has all entries of the right types: files may come from anybody."""
    if not isinstance(card, dict) or any(key not in card for key in REQUIRED):
        raise ValueError(
            f"model = {name} does not say what it was trained on; allowed: a model from `rankgym train`, or one that "
            "was saved after rankgym.sb3.describe(model, env)"
        )
    for key, kind in REQUIRED.items():
        if type(card[key]) is not kind or (kind is int and card[key] < 1):
            raise ValueError(f"model = {name} is damaged: {key} = {card[key]!r}; allowed: {ALLOWED[kind]}")
    if "noise" in card:
        try:
            number_in("noise", card["noise"], 0, MAX_NOISE)
        except ValueError as error:
            raise ValueError(f"model = {name} is damaged: {error}") from None
    for entry in ("layers", "policy_kwargs"):
        if len(text := json.dumps(card[entry])) > LONGEST_ENTRY:
            raise ValueError(f"model = {name}: {entry} has {len(text):,} letters; allowed: {LONGEST_ENTRY:,}")
    for layer in card["layers"]:
        pair = layer if isinstance(layer, (list, tuple)) and len(layer) == 2 else (None, None)
        if not isinstance(pair[0], str) or not isinstance(pair[1], dict):
            raise ValueError(f"model = {name} is damaged: layers has {layer!r}; allowed: a name and a dict of keywords")
    return card


def card_of(model: BaseAlgorithm) -> dict[str, Any]:
    """Return the card of a model, checked."""
    return _checked_card(f"a {type(model).__name__}", getattr(model, CARD, None))


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, th.Tensor]]:
    """Return the card and the policy's weights of a model file, or of a model of the package by its name."""
    name, file = repr(os.fspath(path)), Path(path)
    shipped = {one.stem: one for one in sorted(WEIGHTS.glob(f"*{EXPORTED}"))}
    if not file.exists() and file.name == os.fspath(path) and file.suffix in ("", ".zip", EXPORTED):
        file = shipped.get(file.stem, file)
    exported = file.suffix.lower() == EXPORTED
    try:
        card, tensors = _read_exported(file) if exported else _read_zip(file)
    except OSError as error:
        allowed = f"a file, or {', '.join(shipped)}"
        raise ValueError(f"model = {name} cannot be read: {error.strerror or error}; allowed: {allowed}") from None
    except Exception as error:
        what = "an exported model" if exported else "a model of stable-baselines3"
        writer = "rankgym.sb3.export_model" if exported else "model.save"
        said = f"is not {what} ({type(error).__name__}: {error}); allowed: a file written by {writer}"
        raise RefusedFile(f"model = {name} {said}") from None
    return _checked_card(name, card), tensors


def _read_zip(path: Path) -> tuple[Any, dict[str, th.Tensor]]:
    """Return the card, not yet checked, and the weights of a file of stable-baselines3."""
    data, parts = read_parts(path, ["policy.pth"])
    tensors = parts["policy.pth"]
    if not all(isinstance(key, str) and isinstance(value, th.Tensor) for key, value in tensors.items()):
        raise TypeError("policy.pth has something else than weights")
    return data.get(CARD), tensors


def _read_exported(path: Path) -> tuple[Any, dict[str, th.Tensor]]:
    """Return the card, not yet checked, and the weights of a file of ``export_model``, which are those of the card."""
    metadata, tensors = read_safetensors(read_file(path, MOST_BYTES))
    card = parse_json(metadata.get(CARD, "null"))
    if isinstance(card, dict) and card.get("weights") != _digest(tensors):
        raise RefusedFile("its weights have another digest than its card says")
    return card, tensors


def read_parts(path: Path, names: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a zip of stable-baselines3: the JSON of its member ``data``, and tensors by the names of their members.

    Nothing is unpickled: entries of ``data`` that stable-baselines3 has pickled stay texts.

    Raises:
        RefusedFile: a member is missing, damaged, has something else than tensors, or exceeds a limit.
        OSError: the file cannot be read.
    """
    with open_archive(path, MOST_MEMBERS) as archive:
        data = parse_json(read_member(archive, "data", MOST_JSON))
        contents = {name: read_member(archive, name, MOST_BYTES) for name in names}
    if not isinstance(data, dict):
        raise RefusedFile("its data is not a JSON object; allowed: what model.save wrote")
    return data, {name: tensors_in(name, content) for name, content in contents.items()}


def tensors_in(name: str, content: bytes) -> Any:
    """Return the tensors of a part of a model; errors name the part."""
    try:
        return read_tensors(content)
    except RefusedFile as error:
        raise RefusedFile(f"{name} has something else than tensors and numbers, or is damaged: {error}") from None
