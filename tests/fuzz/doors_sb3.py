"""Doors of trained models: zips, the tensors in them, and exported ones. Without stable-baselines3 there are none."""

import functools
import importlib.util
import io
import json
import zipfile
from pathlib import Path

import fuzzing

DOORS = {}

if importlib.util.find_spec("stable_baselines3") and importlib.util.find_spec("sb3_contrib"):
    import safetensors.torch
    import torch as th
    from doors_code import archive, program

    from rankgym.experiments.plan.agents import shipped_file
    from rankgym.sb3 import SB3Agent
    from rankgym.sb3.model_files import read_model
    from rankgym.sb3.tensor_files import read_tensors
    from rankgym.untrusted.archives import read_members
    from rankgym.untrusted.files import RefusedFile

    CARD, WEIGHTS = read_model("ppo-pbm")
    EXPORTED = Path(shipped_file("ppo-pbm")).read_bytes()
    SAVED = io.BytesIO()
    th.save(WEIGHTS, SAVED)
    TENSORS = read_members(SAVED.getvalue(), 1 << 24)
    SHAPE = {"num_items": CARD["num_items"], "num_positions": CARD["num_positions"], "horizon": 100, "seed": 0}

    def packed(parts):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            for name, part in parts.items():
                made.writestr(zipfile.ZipInfo(name), part)
        return file.getvalue()

    PARTS = {"data": json.dumps({"rankgym": CARD}).encode(), "policy.pth": SAVED.getvalue()}
    ZIP = packed(PARTS)

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
            return fuzzing.damaged(rng, ZIP)
        return packed(PARTS | {"data": json.dumps({"rankgym": odd_card(rng)}).encode()})

    def odd_card(rng):
        """A card with an odd value, with layers of any size, or with a policy that no file may name."""
        card = fuzzing.spoiled(rng, CARD)
        if rng.random() < 0.3:
            sizes = rng.choice(([10**9], [10**5, 10**5], [1] * 5000, [-1], ["x"]))
            card = CARD | {"policy_kwargs": {"net_arch": sizes}}
        elif rng.random() < 0.3:
            policy = rng.choice(("os:system", f"{fuzzing.TRAP}:Policy", "rankgym.__main__:x", "stable_baselines3.x:y"))
            card = CARD | {"policy": policy}
        return card

    def export(rng):
        """An exported model with an odd value in its header or card, a header of another length, or damaged bytes."""
        compile_kernels()
        chosen = rng.randrange(4)
        if chosen == 0:
            return fuzzing.damaged(rng, EXPORTED)
        if chosen == 1:
            return safetensors.torch.save(WEIGHTS, {"rankgym": json.dumps(odd_card(rng))})
        length = int.from_bytes(EXPORTED[:8], "little")
        if chosen == 2:
            return rng.choice((0, 1, length - 1, 1 << 20, 1 << 24, 1 << 63)).to_bytes(8, "little") + EXPORTED[8:]
        header = json.dumps(fuzzing.spoiled(rng, json.loads(EXPORTED[8 : 8 + length]))).encode()
        return len(header).to_bytes(8, "little") + header + EXPORTED[8 + length :]

    def play(data, name="model.zip"):
        path = Path(name)
        path.write_bytes(data)
        SB3Agent(model=path, **SHAPE).act()

    def play_export(data):
        play(data, "model.safetensors")

    @functools.cache
    def compile_kernels():
        """Play the good file once, where nobody takes the time."""
        SB3Agent(model="ppo-pbm", **SHAPE).act()

    DOORS = {
        "tensors": fuzzing.Door(tensors, read_tensors, (RefusedFile,)),
        "model's file": fuzzing.Door(model, play),
        "exported model": fuzzing.Door(export, play_export),
    }
