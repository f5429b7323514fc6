"""Doors where a name or a file could run code: names of agents and models, archives, arrays, pickles, model files."""

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import fuzzing
import numpy as np

from rankgym import History
from rankgym.data import pickles, yandex
from rankgym.data.errors import RefusedPickle
from rankgym.experiments.plan.agents import literal, own_code, parse_agent
from rankgym.experiments.scoring.records import HOME, load_record, read_submission, submission
from rankgym.experiments.scoring.scoring import verify
from rankgym.models.named import find_model
from rankgym.source import module_digest
from rankgym.untrusted.archives import read_array, read_arrays, read_members
from rankgym.untrusted.files import RefusedFile, parse_json
from rankgym_agents import Restarting

MEGABYTE = 1 << 20
NAMES = ("toprank", "mergerucb", "restarting", "x.zip", "ppo-pbm", "subprocess:Popen", "os:system", "builtins:exec")
TRAPS = (fuzzing.TRAP, f"{fuzzing.TRAP}:Agent", f"{fuzzing.TRAP}.sub:Agent", f"{fuzzing.TRAP}.zip")
KNOBS = ("delta", "agent", "every", "args", "model", "noise", "")


# -- names ------------------------------------------------------------------------------------------------------------


def agent_name(rng):
    """A name with knobs: both from lists of likely ones, or odd texts."""
    parts = [rng.choice((*NAMES, *TRAPS, fuzzing.odd_text(rng)))]
    for _ in range(rng.randrange(4)):
        value = rng.choice(("0.1", "1e5", "[1,2]", "[" * rng.choice((3, 3000)), fuzzing.odd_text(rng), *NAMES, *TRAPS))
        parts.append(rng.choice((f"{rng.choice(KNOBS)}={value}", value)))
    return ":".join(parts)


def parse_name(name):
    own_code(name)
    parse_agent(name)


def installed_name(rng):
    """A place in the standard library, which importing and looking up must not call."""
    module = rng.choice(("subprocess", "os", "builtins", "sys", "shutil", "pathlib", fuzzing.odd_text(rng), ""))
    name = rng.choice(("Popen", "system", "exec", "eval", "Path", "rmtree", "Popen.__init__", "__builtins__", ""))
    return f"{module}:{name}"


def load_name(name):
    parse_agent(f"{name}:args={fuzzing.TRAP}").load()


def restart(name):
    Restarting(agent=name, args=fuzzing.TRAP, num_items=3, num_positions=2, seed=0)


# -- archives and arrays ----------------------------------------------------------------------------------------------


def npy(rng):
    """An ``.npy`` file, some with a header that says something else than there is."""
    kind = rng.choice(("<f8", "<i8", "|b1", "<U3", "|S2", "<c16", ">f4", "|V0", "<U0"))
    array = np.zeros(rng.choice(((), (0,), (3,), (2, 3), (1, 1, 2))), kind)
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array, order=rng.choice("CF")), allow_pickle=False)
    if rng.random() < 0.4:
        shape = rng.choice(
            ("(3,)", "(10**9,)", "(-1,)", "(9999999999999,)", "(0, 10000000000)", "(2,)*40", "((", "None")
        )
        dtype = rng.choice(("'<f8'", "'|O'", "'|V0'", "[('a', '|O')]", "('<f8', (9, 9))", f"'{fuzzing.TRAP}'", "'<U1'"))
        head = f"{{'descr': {dtype}, 'fortran_order': {rng.choice(('False', 'True', '1'))}, 'shape': {shape}, }}\n"
        head = fuzzing.odd_text(rng) + head if rng.random() < 0.1 else head
        encoded = head.encode("latin1", "replace")
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(encoded)) + encoded + rng.randbytes(rng.randrange(64))
    return fuzzing.damaged(rng, file.getvalue()) if rng.random() < 0.7 else file.getvalue()


def archive(rng, make_part=lambda rng: rng.randbytes(20)):
    """A zip archive, also of the kinds that expand without end, repeat names, or lie about sizes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for number in range(rng.choice((0, 1, 2, 5))):
            content = make_part(rng)
            if rng.random() < 0.05:
                content = bytes(3 * MEGABYTE)  # thrice what is allowed
            name = rng.choice((f"{number}.npy", "a.npy", "data", "../x", fuzzing.odd_text(rng)))
            method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
            made.writestr(zipfile.ZipInfo(name.encode("utf-8", "replace").decode()), content, method)
    data = bytearray(file.getvalue())
    if rng.random() < 0.4:  # sizes and counts in the directories
        signs = [at for sign in (b"PK\x01\x02", b"PK\x05\x06", b"PK\x03\x04") if (at := data.find(sign)) >= 0]
        at = rng.choice(signs) + rng.randrange(4, 30)
        data[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, rng.randrange(1 << 32))))
    return fuzzing.damaged(rng, bytes(data)) if rng.random() < 0.4 else bytes(data)


def written(name, data):
    """A file of these bytes in the present folder."""
    path = Path(name)
    path.write_bytes(data)
    return path


def load_history(data):
    History.load(written("history.npz", data))


# -- pickles ----------------------------------------------------------------------------------------------------------

TRAP_CALL = b"c" + fuzzing.TRAP.encode() + b"\nrun\n(tR"
PIECES = [
    *(
        b"\x80\x02",
        b"\x80\x04",
        b".",
        b"(",
        b")",
        b"]",
        b"}",
        b"\x8f",
        b"N",
        b"\x88",
        b"0",
        b"1",
        b"2",
        b"a",
        b"e",
        b"s",
    ),
    *(b"u", b"t", b"\x85", b"\x86", b"\x87", b"l", b"d", b"R", b"b", b"\x81", b"\x90", b"\x91", b"\x93", b"\x94"),
    *(b"q\x00", b"h\x00", b"q\x01", b"h\x01", b"K\x01", b"J\xff\xff\xff\xff", b"U\x01a", b"X\x01\x00\x00\x00b"),
    *(b"G?\xf0\x00\x00\x00\x00\x00\x00", b"\x8a\x01\x05", b"Q", b"\x82\x01", b"cnumpy\nndarray\n", TRAP_CALL),
    *(b"(dp0\n", b"r\xff\xff\xff\x7f", b"\x8b\xff\xff\xff\x7f", b"I9999999\n", b"S'x'\n", b"2\x86" * 12, b"2\x87" * 40),
]
GOOD = [pickle.dumps({"a": [1, 2.5, (3, "x")], "b": {"c": None}}, protocol) for protocol in range(5)] + [
    pickle.dumps({f"k{n}": [n] * 3 for n in range(40)}, 2)
]


def program(rng):
    """A pickle: a good one that is damaged, or operations one after the other."""
    if rng.random() < 0.3:
        return fuzzing.damaged(rng, rng.choice(GOOD))
    parts = rng.choices(PIECES, k=rng.choice((3, 10, 40, 200)))
    return rng.choice((b"\x80\x02", b"\x80\x04", b"")) + b"".join(parts) + b"."


def load_pickle(data):
    """Load and print: neither may take long."""
    repr(pickles.load(data, yandex.ALLOWED_NAMES))


# -- scores -----------------------------------------------------------------------------------------------------------

RECORD = HOME / "ltr-1" / "rucb.npz"
SUBMISSION = submission(load_record(RECORD))


def score_file(rng):
    """A submission with an odd value somewhere; its digest is right, or it is damaged text."""
    from rankgym.experiments.scoring.records import _document_digest

    document = {key: value for key, value in SUBMISSION.items() if key != "digest"}
    if rng.random() < 0.3:
        document |= {"class": rng.choice(TRAPS), "agent": rng.choice(TRAPS), "knobs": {"agent": rng.choice(TRAPS)}}
    else:
        document = fuzzing.spoiled(rng, document)
    if isinstance(document, dict):
        document = {**document, "digest": _document_digest(document)}
    data = json.dumps(document).encode()
    return fuzzing.damaged(rng, data) if rng.random() < 0.2 else data


def verify_trap(data):
    """Read a score; one of an agent that is not the package's is refused before anything is played."""
    path = written("submission.json", data)
    if read_submission(path).agent.where.startswith(fuzzing.TRAP):
        verify(path, progress=False)


def deep_json(rng):
    return rng.choice(("[", '{"a":', "1", "é")) * rng.choice((1, 10, 6000)) + fuzzing.odd_text(rng)


def score_record(rng):
    return fuzzing.damaged(rng, RECORD.read_bytes())


DOORS = {
    "agent's name": fuzzing.Door(agent_name, parse_name),
    "knob's value": fuzzing.Door(lambda rng: fuzzing.odd_text(rng) + "[" * rng.choice((0, 2, 5000)), literal),
    "agent's name, loaded": fuzzing.Door(installed_name, load_name),
    "restarting's agent": fuzzing.Door(installed_name, restart),
    "click model's name": fuzzing.Door(installed_name, find_model),
    "digest of a module": fuzzing.Door(lambda rng: rng.choice((*TRAPS, fuzzing.odd_text(rng))), module_digest),
    "zip": fuzzing.Door(archive, lambda data: read_members(data, MEGABYTE, 100), (RefusedFile,)),
    "npz": fuzzing.Door(lambda rng: archive(rng, npy), lambda data: read_arrays(data, MEGABYTE), (RefusedFile,)),
    "npy": fuzzing.Door(npy, lambda data: read_array(data, MEGABYTE), (RefusedFile,)),
    "history": fuzzing.Door(lambda rng: archive(rng, npy), load_history),
    "pickle": fuzzing.Door(program, load_pickle, (RefusedPickle,)),
    "JSON": fuzzing.Door(
        lambda rng: rng.choice(("[", '{"a":', "1")) * rng.choice((1, 10, 6000)), parse_json, (RefusedFile,)
    ),
    "score's file": fuzzing.Door(score_file, verify_trap),
    "score's record": fuzzing.Door(score_record, lambda data: load_record(written("record.npz", data))),
}
