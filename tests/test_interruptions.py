"""Ctrl-C: one line says what is kept, and how to go on."""

import sys

import gymnasium as gym
import pytest

import rankgym
from rankgym import experiments
from rankgym.experiments.run.driver import Driver
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
    [(True, "nothing was played yet; to start again: the same command"), (False, "nothing is kept, as no folder was")],
)
def test_compare_says_that_nothing_was_played_yet(tmp_path, monkeypatch, with_folder, said):
    monkeypatch.setattr(Driver, "rehearse", press)
    (note,) = notes(lambda: play(tmp_path / "out" if with_folder else None))
    assert note.startswith(said)


def test_compare_says_that_results_are_kept_when_tables_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["rankgym.experiments.compare"], "save", press)
    assert notes(lambda: play(tmp_path)) == [f"all results are kept in {tmp_path}; to resume: the same command"]
    monkeypatch.undo()
    assert "kept from an earlier run" in " ".join(play(tmp_path).notes)


def test_commands_without_a_note_say_how_to_go_on(run, monkeypatch):
    monkeypatch.setattr("rankgym.commands.assumptions.queries_of", press)
    result = run("assumptions", "PBM-Yandex-v0")
    assert result.exit_code == 130
    assert result.output.strip().endswith("interrupted; nothing new is kept; to start again: the same command")
