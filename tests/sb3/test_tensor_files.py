"""Tensors are read as libraries write them, and what is no tensor, or asks for more than it brings, is refused."""

import io
import json
import zipfile

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import safetensors.torch
import torch as th

from rankgym.experiments.plan.agents import shipped_file
from rankgym.sb3 import SB3Agent
from rankgym.sb3.model_files import read_model
from rankgym.sb3.tensor_files import read_tensors
from rankgym.untrusted.archives import read_members
from rankgym.untrusted.files import RefusedFile

CARD, WEIGHTS = read_model("ppo-pbm")
SHAPE = {"num_items": CARD["num_items"], "num_positions": CARD["num_positions"]}


def saved(value):
    file = io.BytesIO()
    th.save(value, file)
    return file.getvalue()


def exported(card, tensors):
    return safetensors.torch.save(tensors, {"rankgym": json.dumps(card)})


def same(one, other):
    if isinstance(one, th.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and th.equal(one.detach(), other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def test_tensors_are_read_as_torch_reads_them():
    module = th.nn.Sequential(th.nn.Linear(3, 4), th.nn.BatchNorm1d(4))
    optimizer = th.optim.Adam(module.parameters(), lr=0.1)
    module(th.ones(2, 3)).sum().backward()
    optimizer.step()
    kinds = [th.arange(6, dtype=kind).reshape(2, 3) for kind in (th.float64, th.bfloat16, th.int64, th.uint8)]
    views = [th.arange(12.0).reshape(3, 4)[1:, ::2], th.arange(12.0).reshape(3, 4).T, th.empty(0, 3), th.tensor(True)]
    for value in (dict(module.state_dict()), optimizer.state_dict(), [*kinds, *views], (module[0].weight, "x", None)):
        assert same(value, read_tensors(saved(value)))


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_what_is_refused(tmp_path):
    payload = saved({"x": Payload(str(tmp_path / "ran"))})
    members = read_members(saved([th.ones(3)]), 10**6)
    root = next(iter(members)).partition("/")[0]
    short = io.BytesIO()
    with zipfile.ZipFile(short, "w") as made:
        for name, part in members.items():
            made.writestr(name, part[:-4] if name == f"{root}/data/0" else part)
    for content, said in (
        (payload, "the pickle names (__builtin__|builtins|io|_io).open"),
        (short.getvalue(), "has 8 bytes of numbers; allowed: as many as it has"),
        (saved(th.nn.Linear(1, 1)), "the pickle names torch.nn.modules.linear.Linear"),
        (b"", "zip archive cannot be read"),
    ):
        with pytest.raises(RefusedFile, match=said):
            read_tensors(content)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"policy_kwargs": {"width": 10**9}}, "its card asks for layers of over"),
        ({"policy_kwargs": {"net_arch": [1] * 5000}}, "policy_kwargs has .* letters; allowed: 5,000"),
        ({"policy": "subprocess:Popen"}, "which no file may name"),
        ({"policy": "rankgym.__main__:main"}, "which no file may name"),
        ({"policy": "stable_baselines3.common.policies:np"}, "is not a policy"),
    ],
)
def test_cards_that_ask_for_more(entries, said, tmp_path):
    (tmp_path / "x.safetensors").write_bytes(exported(CARD | entries, WEIGHTS))
    with pytest.raises(ValueError, match=said):
        SB3Agent(model=tmp_path / "x.safetensors", **SHAPE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[:-1], "it is not a safetensors file, or is damaged"),
        (lambda content: content[:5], "it is not a safetensors file, or is damaged"),
        (lambda content: b"", "it is not a safetensors file, or is damaged"),
        (
            lambda content: b"\xff" * 8 + content[8:],
            "its header has 18,446,744,073,709,551,615 bytes; allowed: at most",
        ),
        (lambda content: content[:-1] + b"\x00", "its weights have another digest than its card says"),
        (lambda content: exported(CARD | {"weights": None}, WEIGHTS), "its weights have another digest"),
        (lambda content: exported(CARD, {"x": th.ones(2).to(th.float8_e4m3fn)}), "it has tensors of torch.float8"),
    ],
)
def test_damaged_exports_are_refused_by_name(change, said, tmp_path):
    (tmp_path / "x.safetensors").write_bytes(change(exported(CARD, WEIGHTS)))
    with pytest.raises(RefusedFile, match=rf"model = '.*x.safetensors' is not an exported model .*{said}"):
        read_model(tmp_path / "x.safetensors")


def test_an_export_without_a_card_is_refused(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(safetensors.torch.save(WEIGHTS))
    with pytest.raises(ValueError, match="does not say what it was trained on"):
        read_model(tmp_path / "x.safetensors")


def test_the_shipped_files_can_be_written_again():
    with open(shipped_file("ppo-pbm"), "rb") as file:
        assert file.read() == exported(CARD, WEIGHTS)
