"""Makes this folder's helper modules importable by its tests, and the environments of their table ``FAMILIES``."""

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from rankgym.experiments.bench.cases import write_letor

sys.path.insert(0, str(Path(__file__).parent))

from families import FAMILIES, LETOR


@pytest.fixture(scope="module")
def letor_duels(tmp_path_factory):
    """The arguments of duels on a LETOR file whose third ranker is the best of three."""
    folder = tmp_path_factory.mktemp("letor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder))
        write_letor(folder / "train.txt", 4, 7, 3)
        np.savetxt(folder / "p.txt", [[0.5, 0.4, 0.3], [0.6, 0.5, 0.4], [0.7, 0.6, 0.5]])
        yield {"file": str(folder / "train.txt"), "preferences": str(folder / "p.txt"), "num_documents": 5}


@pytest.fixture
def make_family(letor_duels):
    def made(family, mode="ansi", num_envs=None, **more):
        name, own = FAMILIES[family]
        arguments = {"horizon": 12, **(letor_duels if name == LETOR else {}), **own, **more}
        if num_envs is None:
            return gym.make(name, render_mode=mode, **arguments)
        return gym.make_vec(name, num_envs=num_envs, render_mode=mode, **arguments)

    return made
