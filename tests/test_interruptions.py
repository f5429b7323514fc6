"""Ctrl-C: one line says what is kept, and how to go on."""

import importlib
import os
import signal
import sys
import threading

import gymnasium as gym
import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

import rankgym
from rankgym import experiments
from rankgym.experiments.run.driver import Driver
from rankgym.kernels import kernel
from rankgym.kernels.interruptions import interruptions_held
from rankgym.outputs import when_interrupted
from rankgym_agents import StaticRanker


class Tired(StaticRanker):
    """Presses Ctrl-C after 40 rounds."""

    def update(self, displayed, clicks):
        self.rounds = getattr(self, "rounds", 0) + 1
        if self.rounds > 40:
            raise KeyboardInterrupt
        super().update(displayed, clicks)


def press(*_, **__):
    raise KeyboardInterrupt


def notes(call):
    with pytest.raises(KeyboardInterrupt) as pressed:
        call()
    return getattr(pressed.value, "__notes__", [])


def play(out):
    return experiments.compare("CM-Yandex-v0", ["static"], rounds=10, query=0, out=out, progress=False)


def test_a_note_is_added_once_and_the_inner_one_wins():
    def outer():
        with when_interrupted(lambda: "outer"), when_interrupted(lambda: "inner"):
            raise KeyboardInterrupt

    assert notes(outer) == ["inner"]
    with pytest.raises(ValueError, match=r"^other$") as other, when_interrupted(lambda: "note"):
        raise ValueError("other")
    assert not hasattr(other.value, "__notes__")


def test_simulate_says_what_the_agent_has_learned_from():
    env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, horizon=1_000)
    (note,) = notes(lambda: rankgym.simulate(Tired.for_env(env), env, 1_000, progress=False))
    assert "of 1,000 rounds were played and agent keeps what it learned; their records are lost" in note
    assert int(note.split()[0]) <= 40


@pytest.mark.parametrize(
    ("with_folder", "said"),
    [(True, "nothing was played yet; to start again: the same call"), (False, "nothing is kept, as no folder was")],
)
def test_compare_says_that_nothing_was_played_yet(tmp_path, monkeypatch, with_folder, said):
    monkeypatch.setattr(Driver, "rehearse", press)
    (note,) = notes(lambda: play(tmp_path / "out" if with_folder else None))
    assert note.startswith(said)


def test_compare_says_that_results_are_kept_when_tables_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["rankgym.experiments.compare"], "save", press)
    assert notes(lambda: play(tmp_path)) == [f"all results are kept in {tmp_path}; to resume: the same call"]
    monkeypatch.undo()
    assert "kept from an earlier run" in " ".join(play(tmp_path).notes)


def test_commands_without_a_note_say_how_to_go_on(run, monkeypatch):
    monkeypatch.setattr("rankgym.commands.assumptions.queries_of", press)
    result = run("assumptions", "PBM-Yandex-v0")
    assert result.exit_code == 130
    assert result.output.strip().endswith("interrupted; nothing new is kept; to start again: the same command")


ADD = """
def add(total, amount):
    total[0] += amount[0]
"""


def fresh_kernel(folder, monkeypatch):
    """A kernel with a cache of its own."""
    (folder / "fresh_add.py").write_text(ADD)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "cache"))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "fresh_add", raising=False)
    return kernel(importlib.import_module("fresh_add").add)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_within_the_compiler_is_no_error_and_leaves_a_whole_kernel(tmp_path, monkeypatch, number):
    """LLVM calls numba back from C, where a KeyboardInterrupt would be lost: "no compiled object yet"."""
    before = signal.signal(number, signal.default_int_handler)

    def interrupted(library, name, value):
        if name == "_compiled" and value:  # set in the callback that takes the object code
            signal.raise_signal(number)
        object.__setattr__(library, name, value)

    monkeypatch.setattr(JITCodeLibrary, "__setattr__", interrupted)
    add, total = fresh_kernel(tmp_path, monkeypatch), np.zeros(1)
    try:
        with pytest.raises(KeyboardInterrupt):
            add(total, np.ones(1))
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    monkeypatch.undo()
    add(total, np.ones(1))
    again = fresh_kernel(tmp_path, monkeypatch)
    again(total, np.ones(1))
    assert total[0] == 2
    assert sum(again.stats.cache_hits.values()) == 1  # what was kept is whole


def test_a_second_interruption_is_heard_at_once_and_wins_over_the_error_that_it_causes():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by jobs in a shell's background
    passed = []

    @interruptions_held()
    def pressed_twice():
        signal.raise_signal(signal.SIGINT)
        passed.append("first")
        try:
            signal.raise_signal(signal.SIGINT)
            passed.append("second")
        except KeyboardInterrupt:
            raise RuntimeError("no compiled object yet") from None

    try:
        with pytest.raises(KeyboardInterrupt) as pressed:
            pressed_twice()
    finally:
        signal.signal(signal.SIGINT, before)
    assert passed == ["first"]
    assert isinstance(pressed.value.__context__, RuntimeError)


def test_handlers_that_ignore_interruptions_are_left_alone():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptions_held():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_signals_to_the_main_one():
    found = []

    def compile_there():
        with interruptions_held():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=compile_there)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]
