"""Doors of trained models: files of stable-baselines3, and the tensors in them. Without that library there are none."""

import functools
import importlib.util
import io
import json
import zipfile
from pathlib import Path

import fuzzing

DOORS = {}

if importlib.util.find_spec("stable_baselines3") and importlib.util.find_spec("sb3_contrib"):
    from doors_code import archive, program

    from rankgym.sb3 import SB3Agent
    from rankgym.sb3.model_files import WEIGHTS
    from rankgym.sb3.tensor_files import read_tensors
    from rankgym.untrusted.archives import read_members
    from rankgym.untrusted.files import RefusedFile

    SHIPPED = (WEIGHTS / "ppo-pbm.zip").read_bytes()
    PARTS = read_members(SHIPPED, 1 << 24)
    CARD = json.loads(PARTS["data"])["rankgym"]
    TENSORS = read_members(PARTS["policy.pth"], 1 << 24)
    SHAPE = {"num_items": CARD["num_items"], "num_positions": CARD["num_positions"], "horizon": 100, "seed": 0}

    def packed(parts):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            for name, part in parts.items():
                made.writestr(zipfile.ZipInfo(name), part)
        return file.getvalue()

    def tensors(rng):
        """What torch.save wrote, with a damaged part, or another pickle in its place."""
        name = rng.choice(list(TENSORS))
        hostile = name.endswith("data.pkl") and rng.random() < 0.3
        part = program(rng) if hostile else fuzzing.damaged(rng, TENSORS[name])
        data = packed(TENSORS | {name: part})
        return fuzzing.damaged(rng, data) if rng.random() < 0.2 else data

    def model(rng):
        """A model's file with an odd value in its card, damaged tensors, or another archive."""
        compile_kernels()
        chosen = rng.randrange(5)
        if chosen == 0:
            return archive(rng)
        if chosen == 1:
            return packed(PARTS | {"policy.pth": tensors(rng)})
        if chosen == 2:
            return fuzzing.damaged(rng, SHIPPED)
        card = fuzzing.spoiled(rng, CARD)
        if rng.random() < 0.3:
            sizes = rng.choice(([10**9], [10**5, 10**5], [1] * 5000, [-1], ["x"]))
            card = CARD | {"policy_kwargs": {"net_arch": sizes}}
        elif rng.random() < 0.3:
            policy = rng.choice(("os:system", f"{fuzzing.TRAP}:Policy", "rankgym.__main__:x", "stable_baselines3.x:y"))
            card = CARD | {"policy": policy}
        return packed(PARTS | {"data": json.dumps({"rankgym": card}).encode()})

    def play(data):
        path = Path("model.zip")
        path.write_bytes(data)
        SB3Agent(model=path, **SHAPE).act()

    @functools.cache
    def compile_kernels():
        """Play the good file once, where nobody takes the time."""
        SB3Agent(model=WEIGHTS / "ppo-pbm.zip", **SHAPE).act()

    DOORS = {
        "tensors": fuzzing.Door(tensors, read_tensors, (RefusedFile,)),
        "model's file": fuzzing.Door(model, play),
    }
