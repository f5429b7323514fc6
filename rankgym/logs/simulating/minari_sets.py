"""Minari data sets of rankgym's environments: what Minari's recorder needs, and simulated logs as data sets.

Importing this module, or ``rankgym`` after ``minari``, lets Minari store the space ``Permutation``.
"""

import contextlib
import copy
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.extras import require
from rankgym.logs.simulating.playing import Block, Simulation
from rankgym.outputs import versions
from rankgym.spaces import register_with_minari

BUFFERED = 1 << 21  # sessions times positions that are kept in memory until they are written as one episode a query
LONGEST = 100_000  # sessions of an episode: Minari reads up to 131,072 rows of a file as one
DATA = "data"  # the folder of a data set's files within its own
DESCRIPTION = (
    "A click log that rankgym simulated. An action is the displayed list, an observation the clicks on it, a reward "
    "their number. An episode has consecutive sessions of one query. Infos are those of the session that led to the "
    "observation: the number of its query; its number in the log (session); and the probabilities with which the "
    "policy showed the list (propensity), its items down to each position (prefix_propensity) and the item at each "
    "position (item_propensity), where the policy has them. The first entry of an episode is before any session: "
    "-1 and NaN."
)

with contextlib.suppress(ImportError):
    import minari  # noqa: F401

    register_with_minari()


# ---- recording by Minari's own DataCollector ----


class RecordInfos:
    """Minari's ``step_data_callback`` for ``record_infos=True``: the same keys, shapes and dtypes at every step.

    ``minari.DataCollector(env, step_data_callback=RecordInfos, record_infos=True)`` records all keys that the
    environment's ``step`` gives. The entry of a reset, before any session, has NaN under keys of floats, False under
    those of bools and -1 under those of integers, unless ``reset`` gives a value. Keys that wrappers add are left out.

    Raises:
        ValueError: by a call, if the environment is not one of rankgym's own.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.logs.simulating import RecordInfos
        >>> env, record = gym.make("rankgym/CM-Yandex-v0", query=0), RecordInfos()
        >>> entry = record(env, *env.reset(seed=0))
        >>> entry["info"]["regret"], entry["info"]["displayed"].tolist()  # no session yet
        (nan, [-1, -1, -1, -1, -1])
    """

    def __init__(self) -> None:
        self._blank: dict[str, Any] = {}

    def __call__(
        self,
        env: gym.Env[Any, Any],
        obs: Any,
        info: dict[str, Any],
        action: Any = None,
        rew: Any = None,
        terminated: bool | None = None,
        truncated: bool | None = None,
    ) -> dict[str, Any]:
        """Return the entry of a step, or of a reset, whose ``action`` is None."""
        parts = {"action": action, "observation": obs, "reward": rew, "terminated": terminated, "truncated": truncated}
        if not self._blank:
            engine = getattr(env.unwrapped, "engine", None)
            if not isinstance(engine, SessionsVectorEnv):
                raise ValueError(
                    f"env = {env} is not an environment of rankgym's own; allowed: gym.make('rankgym/...')"
                )
            self._blank = blank_info(engine)
        return {**parts, "info": {name: info.get(name, value) for name, value in self._blank.items()}}


def blank_info(engine: SessionsVectorEnv) -> dict[str, Any]:
    """Return the ``info`` of row 0 as if there had been no session; see ``RecordInfos``."""
    probe = copy.deepcopy(engine)  # only a session shows which keys there are
    probe.reset(seed=0)
    observation, _ = probe.play(probe._checked_single(probe.single_action_space.sample()))
    info = probe._session_info(observation, lambda array: array[0].copy(), lambda array: array[0])
    return {name: blank(np.asarray(value)) for name, value in info.items()}


def blank(value: NDArray[Any]) -> Any:
    """Return an array of NaN, False or -1 like ``value``; a Python number if it has no axes."""
    filler = {"f": np.nan, "b": False}.get(value.dtype.kind, -1)
    filled = np.full(value.shape, filler, value.dtype)
    return filled if filled.ndim else filled.item()


# ---- simulated logs ----


def write_minari(simulation: Simulation, name: str, overwrite: bool, bar: Any) -> None:
    """Write a simulation as the Minari data set ``name``; see ``rankgym.logs.simulating.write_log``.

    The sessions of a query follow each other in its episodes. Each episode ends with a truncation.
    """
    namespaces = require("minari.namespace", "logs")
    parse = require("minari.dataset.minari_dataset", "logs").parse_dataset_id
    try:
        namespace, _, version = parse(name)
    except (ValueError, TypeError):
        version = None
    if version is None:
        raise ValueError(f"out = {name!r} is not the id of a data set; allowed: such as 'rankgym/pbm-random-v0'")
    place = Path(require("minari.storage.datasets_root_dir", "logs").get_dataset_path(name))
    if place.exists() and not overwrite:
        raise ValueError(f"out = {name!r} exists in {place.parent}; allowed: another id or version, or overwrite")
    root = Path(require("minari.storage.datasets_root_dir", "logs").get_dataset_path())
    root.mkdir(parents=True, exist_ok=True)
    if namespace is not None and namespace not in namespaces.list_local_namespaces():
        namespaces.create_namespace(namespace)
    with tempfile.TemporaryDirectory(dir=root, prefix=".rankgym-") as folder, bar as report:
        unfinished = Path(folder) / "set"
        _write_episodes(simulation, unfinished / DATA, name, report)
        if place.exists():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished.rename(place)


def _write_episodes(simulation: Simulation, folder: Path, name: str, report: Callable[[int], None]) -> None:
    env = simulation.env
    storage = require("minari.dataset.minari_storage", "logs").MinariStorage.new(
        _made(folder),
        observation_space=env.single_observation_space,
        action_space=env.single_action_space,
        env_spec=_single_spec(simulation),
        data_format="parquet",
    )
    size = storage.get_size
    storage.get_size = lambda: 0.0  # else Minari adds up the sizes of all files after each episode
    episodes = _Episodes(simulation, storage)
    for block in simulation.blocks():
        episodes.add(block)
        report(len(block.query))
    episodes.write()
    made = json.dumps({**simulation.description, "versions": versions()}, default=str)
    storage.update_metadata(
        {
            "dataset_id": name,
            "minari_version": require("importlib.metadata").version("minari"),
            "algorithm_name": str(simulation.description["policy"]),
            "description": DESCRIPTION,
            "rankgym": made,
            "dataset_size": float(size()),
        }
    )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _single_spec(simulation: Simulation) -> Any:
    """Return the spec of the single environment, from which Minari makes the environment again."""
    spec: Any = simulation.env.spec
    single = copy.deepcopy(gym.spec(spec.id))  # the registered one is shared
    single.kwargs = {**single.kwargs, **simulation.arguments}
    return single


class _Episodes:
    """Sessions that wait to be written as episodes, one or more a query."""

    def __init__(self, simulation: Simulation, storage: Any) -> None:
        self.storage, self.cutoff = storage, simulation.env.cutoff
        self.blocks: list[Block] = []
        self.waiting = self.written = 0
        self.buffer = require("minari.data_collector.episode_buffer", "logs").EpisodeBuffer

    def add(self, block: Block) -> None:
        """Keep a block; write all if there is much."""
        self.blocks.append(block)
        self.waiting += block.displayed.size
        if self.waiting >= BUFFERED:
            self.write()

    def write(self) -> None:
        """Write the sessions that wait: sorted by query, and within a query in their order."""
        if not self.blocks:
            return
        query = np.concatenate([block.query for block in self.blocks])
        session = self.blocks[0].first + np.arange(len(query))
        order = np.argsort(query, kind="stable")
        arrays = {"query": query[order], "session": session[order]}
        for field in Block._fields[2:]:
            parts = [getattr(block, field) for block in self.blocks]
            if parts[0] is not None:
                arrays[field] = np.concatenate(parts)[order]
        starts = np.flatnonzero(np.diff(arrays["query"], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(query)], strict=True):
            for first in range(start, end, LONGEST):
                last = min(first + LONGEST, end)
                self._write_one({name: values[first:last] for name, values in arrays.items()})
        self.blocks, self.waiting = [], 0

    def _write_one(self, arrays: dict[str, NDArray[Any]]) -> None:
        displayed, clicks = arrays.pop("displayed"), arrays.pop("clicks")
        truncations = np.zeros(len(clicks), bool)
        truncations[-1] = True
        infos: dict[str, Any] = {}
        for name, values in arrays.items():
            whole = np.concatenate([[blank(values[0])], values]).astype(values.dtype)
            infos[name] = whole if values.ndim > 1 else whole.tolist()  # Minari cannot read a 1-D array again
        episode = self.buffer(
            id=self.written,
            observations=np.concatenate([np.zeros_like(clicks[:1]), clicks]),
            actions=displayed,
            rewards=clicks[:, : self.cutoff].sum(axis=1, dtype=np.float64),
            terminations=np.zeros(len(clicks), bool),
            truncations=truncations,
            infos=infos,
        )
        self.storage.update_episodes([episode])
        self.written += 1
