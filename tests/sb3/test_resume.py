"""Resuming a training reads tensors and numbers: files from somebody else execute nothing and lose nothing."""

import base64
import io
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import torch as th
from stable_baselines3 import PPO

from rankgym.sb3 import SB3Agent, train

GIVEN = {
    "env_ids": "PBM-Synthetic-v0",
    "rows": 8,
    "horizon": 20,
    "query": [0, 1, 2],
    "eval_query": [3, 4],
    "env_kwargs": {"num_items": 4, "num_positions": 2},
    "average": 0.3,
    "n_steps": 16,
    "eval_every": 10**6,
    "progress": False,
}


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """The folder of a training of 256 steps."""
    return train(**GIVEN, steps=256, out=tmp_path_factory.mktemp("half") / "run").out


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def spoil(folder, part, content):
    """Replace a part of last.zip."""
    with zipfile.ZipFile(folder / "last.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = content(parts[part])
    with zipfile.ZipFile(folder / "last.zip", "w") as archive:
        for name, value in parts.items():
            archive.writestr(name, value)


def pickled(data, payload):
    """The data of last.zip with a payload in each pickled entry."""
    entries = json.loads(data)
    text = base64.b64encode(pickle.dumps(payload)).decode()
    for entry in entries.values():
        if isinstance(entry, dict) and ":serialized:" in entry:
            entry[":serialized:"] = text
    return json.dumps(entries).encode()


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_pickled_entries_are_not_read(half, tmp_path):
    for name in ("clean", "hostile"):
        shutil.copytree(half, tmp_path / name)
    payload = Payload(tmp_path / "executed")
    spoil(tmp_path / "hostile", "data", lambda data: pickled(data, payload))
    SB3Agent(model=tmp_path / "hostile" / "last.zip", num_items=4, num_positions=2).act()
    clean, hostile = (train(**GIVEN, steps=512, out=tmp_path / name, resume=True) for name in ("clean", "hostile"))
    assert clean.weights == hostile.weights
    assert not payload.path.exists()
    spoil(tmp_path / "hostile", "data", lambda data: pickled(data, payload))
    with pytest.raises(Exception, match=r".*"):
        PPO.load(tmp_path / "hostile" / "last.zip")
    assert payload.path.exists()  # the payload works where somebody unpickles it


@pytest.mark.parametrize("part", ["policy.pth", "policy.optimizer.pth", "average.pth"])
def test_pickles_in_place_of_tensors_are_refused(part, half, tmp_path):
    folder, payload = tmp_path / "run", Payload(tmp_path / "executed")
    shutil.copytree(half, folder)
    content = io.BytesIO()
    th.save({"weights": payload}, content)
    if part == "average.pth":
        (folder / part).write_bytes(content.getvalue())
    else:
        spoil(folder, part, lambda _: content.getvalue())
    before = files(folder)
    with pytest.raises(ValueError, match=r"(last.zip|average.pth) cannot be read \(.*allowed: fresh \(--fresh\)"):
        train(**GIVEN, steps=512, out=folder, resume=True)
    assert not payload.path.exists()
    assert files(folder) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_timesteps", {":serialized:": "x"}),
        ("num_timesteps", -1),
        ("_n_updates", "8"),
        ("_episode_num", 0.5),
        ("rankgym_episodes", 3),
        ("rankgym_episodes", [{"r": "x"}]),
    ],
)
def test_counters_must_be_numbers(key, value, half, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(half, folder)
    spoil(folder, "data", lambda data: json.dumps(json.loads(data) | {key: value}).encode())
    with pytest.raises(ValueError, match=r"last.zip cannot be read .*; allowed: fresh"):
        train(**GIVEN, steps=512, out=folder, resume=True)


def test_files_of_earlier_versions_resume_to_the_same_weights(half, tmp_path):
    """They have the last episodes pickled only: their mean starts anew, and decides no weights."""
    for name in ("new", "old"):
        shutil.copytree(half, tmp_path / name)
    spoil(
        tmp_path / "old",
        "data",
        lambda data: json.dumps({k: v for k, v in json.loads(data).items() if k != "rankgym_episodes"}).encode(),
    )
    new, old = (train(**GIVEN, steps=512, out=tmp_path / name, resume=True) for name in ("new", "old"))
    assert new.weights == old.weights


def test_last_zip_stays_a_file_of_stable_baselines3(half):
    assert PPO.load(half / "last.zip").num_timesteps == 256
