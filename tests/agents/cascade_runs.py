"""What the tests of the cascade agents share: shapes, click models, and the same run in both compiler modes."""

import hashlib
import os
import subprocess
import sys
from itertools import product

from agent_oracles import played

SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10)]
MODELS = ["pbm", "cm", "dcm"]


def down_to(clicks, feedback):
    """How many places, from the top, count as observed."""
    places = [k + 1 for k, click in enumerate(clicks) if click]
    if not places or feedback == "all":
        return len(clicks)
    return {"first": min, "last": max}[feedback](places)


def digest(agent, rounds=300, **knobs):
    """A digest of what two rows display in each shape."""
    numbers = hashlib.sha256()
    for (L, K), horizon in product(SHAPES, (None, rounds)):
        made = agent(num_items=L, num_positions=K, num_envs=2, horizon=horizon, seed=8, **knobs)
        numbers.update(played(made, rounds, 9).tobytes())
    return numbers.hexdigest()


def both_digests(script):
    """What ``script`` prints when run with the compiler and without it."""
    path = os.pathsep.join([os.path.dirname(os.path.abspath(script)), *map(os.path.abspath, sys.path)])
    return [
        subprocess.run(
            [sys.executable, script],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for flag in ("0", "1")
    ]
