"""Read tensors without torch's unpickler: files of ``torch.save``, and safetensors files.

What ``torch.save`` wrote is a zip archive: ``data.pkl`` has the structure, and ``data/0``, ``data/1``, ... are the
numbers. The pickle is interpreted by ``rankgym.untrusted``, which calls nothing, and tensors are made here of the
recorded calls. A safetensors file has no pickle: a header of JSON, then the numbers.
"""

import sys
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch as th

from rankgym.untrusted import pickles
from rankgym.untrusted.archives import read_members
from rankgym.untrusted.files import RefusedFile, parse_json

MOST_BYTES = 1 << 30  # of a model's file, and of all that is in it, expanded
MOST_HEADER = 16 << 20  # bytes of a safetensors file's header
MOST_OPERATIONS = 200_000  # of a pickle: some 5,000 tensors
MOST_DIMENSIONS = 16
DTYPES = {
    "torch.DoubleStorage": th.float64,
    "torch.FloatStorage": th.float32,
    "torch.HalfStorage": th.float16,
    "torch.BFloat16Storage": th.bfloat16,
    "torch.LongStorage": th.int64,
    "torch.IntStorage": th.int32,
    "torch.ShortStorage": th.int16,
    "torch.CharStorage": th.int8,
    "torch.ByteStorage": th.uint8,
    "torch.BoolStorage": th.bool,
}
TENSOR, PARAMETER = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter"
ORDERED = "collections.OrderedDict"
ALLOWED_NAMES = frozenset({TENSOR, PARAMETER, ORDERED, *DTYPES})


def read_tensors(content: bytes) -> Any:
    """Return what ``torch.save`` wrote: tensors on the CPU, numbers and texts, in dicts, lists and tuples.

    Raises:
        RefusedFile: the file has something else, exceeds a limit, or is damaged.
    """
    members = read_members(content, MOST_BYTES)
    roots = [name.removesuffix("data.pkl") for name in members if name.endswith("/data.pkl")]
    if len(roots) != 1:
        raise RefusedFile("it is not a file of torch.save; allowed: a zip archive with one data.pkl")
    root = roots[0]
    if members.get(f"{root}byteorder", b"little") != sys.byteorder.encode():
        raise RefusedFile("its numbers are in another machine's order of bytes; allowed: this machine's")
    parts = pickles.load(members[f"{root}data.pkl"], ALLOWED_NAMES, operations=MOST_OPERATIONS, outside=True)
    return _value(parts, {name.removeprefix(root): data for name, data in members.items()})


def read_safetensors(content: bytes) -> tuple[dict[str, str], dict[str, th.Tensor]]:
    """Return the metadata and the tensors of a safetensors file.

    The header's length is checked here, its entries by the library: every byte belongs to one tensor.

    Raises:
        RefusedFile: the file is damaged, has tensors of other types than ``DTYPES``, or its header is too long.
    """
    length = int.from_bytes(content[:8], "little")
    if length > MOST_HEADER:
        raise RefusedFile(f"its header has {length:,} bytes; allowed: at most {MOST_HEADER:,}")
    try:
        tensors = safetensors.torch.load(content)
        metadata = parse_json(content[8 : 8 + length]).get("__metadata__", {})
    except Exception as error:
        raise RefusedFile(f"it is not a safetensors file, or is damaged: {type(error).__name__}: {error}") from None
    other = {str(one.dtype) for one in tensors.values()} - set(map(str, DTYPES.values()))
    if other:
        raise RefusedFile(
            f"it has tensors of {', '.join(sorted(other))}; allowed: {', '.join(map(str, DTYPES.values()))}"
        )
    return metadata, tensors


def _value(part: Any, members: Mapping[str, bytes]) -> Any:
    """Return a value with tensors in place of the recorded calls; the depth of ``part`` is limited already."""
    if isinstance(part, pickles.Call):
        if part.name == TENSOR:
            return _tensor(part.arguments, members)
        if part.name == PARAMETER and part.arguments:
            return _value(part.arguments[0], members)
        if part.name == ORDERED and not part.arguments:
            return {key: _value(one, members) for key, one in part.items.items()}
        raise RefusedFile(f"it calls {part.name} with other arguments than torch.save writes")
    if isinstance(part, dict):
        return {key: _value(one, members) for key, one in part.items()}
    if isinstance(part, (list, tuple)):
        return type(part)(_value(one, members) for one in part)
    if isinstance(part, (pickles.Name, pickles.Outside)):
        raise RefusedFile("it has something else than tensors, numbers and texts")
    return part


def _tensor(arguments: tuple[Any, ...], members: Mapping[str, bytes]) -> th.Tensor:
    """Return the tensor of a recorded call: storage, offset, size, stride, and what is of training only."""
    storage, offset, size, stride = arguments[:4] if len(arguments) >= 4 else (None, 0, (), ())
    key: Any = storage.key if isinstance(storage, pickles.Outside) else None
    if not isinstance(key, tuple) or len(key) != 5 or key[0] != "storage" or not isinstance(key[1], pickles.Name):
        raise RefusedFile("a tensor has no storage of numbers")
    dtype, data = DTYPES.get(key[1].name), members.get(f"data/{key[2]}")
    if dtype is None or data is None:
        raise RefusedFile(f"a tensor has no numbers data/{str(key[2])[:40]} of {key[1].name}")
    sizes = isinstance(size, tuple) and isinstance(stride, tuple) and len(size) == len(stride) <= MOST_DIMENSIONS
    numbers = (offset, *size, *stride) if sizes else (None,)
    if not all(type(number) is int and 0 <= number <= MOST_BYTES for number in numbers):
        raise RefusedFile("a tensor has a size or a stride that is not a row of whole numbers")
    item = th.empty((), dtype=dtype).element_size()
    entries = 1
    for length in size:
        entries *= length
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True)) if entries else -1
    if entries * item > len(data) or (last + 1) * item > len(data) or len(data) % item:
        raise RefusedFile(
            f"a tensor of size {list(size)} has {len(data):,} bytes of numbers; allowed: as many as it has"
        )
    if not entries:
        return th.empty(size, dtype=dtype)
    whole = th.frombuffer(bytearray(data), dtype=dtype)
    return th.as_strided(whole, size, stride, offset).clone(memory_format=th.contiguous_format)
