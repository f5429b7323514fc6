"""`rankgym train`, and models among the agents of `rankgym compare`."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rankgym.cli import app
from rankgym.experiments.plan import agents as naming
from rankgym.experiments.plan.agents import parse_agent, shipped_models

ROOT = Path(__file__).resolve().parents[1]
SMALL = "--steps 256 --rows 8 --horizon 20 --query 0,1,2 --eval-query 3,4 --param n_steps=16"
TRAIN = ["train", "PBM-Synthetic-v0", *SMALL.split(), "--set", "num_items=4", "--positions", "2"]


pytestmark = pytest.mark.usefixtures("quick_figures")


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A folder with a training."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("sb3_contrib")
    with contextlib.chdir(tmp_path_factory.mktemp("training")):
        result = CliRunner().invoke(app, [*TRAIN, "--out", "runs/x"], prog_name="rankgym")
        assert result.exit_code == 0, result.output
        return Path("runs/x").absolute()


@pytest.fixture
def trained(training, run, tmp_path):
    """A copy of it, as the present folder's runs/x."""
    shutil.copytree(training, tmp_path / "runs" / "x")
    return tmp_path / "runs" / "x"


def plain(text):
    """Without colours, frames and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


def test_help_teaches(run):
    text = plain(run("train", "--help").output)
    for words in (
        "rankgym train PBM-Yandex-v0 --steps 5_000_000 --out runs/pbm",
        "rankgym train CM-Yandex-v0,PBM-Yandex-v0,DCM-Yandex-v0 --rows 384 --out runs/three",
        "--param learning_rate=linear:0.001",
        "--resume",
        "--eval-every",
        "--no-truth",
        "--tensorboard",
        'pip install "rankgym[sb3]"',
        "best.zip is chosen by its regret on the queries of --eval-query",
        "such as those of --source published",
        "a falling learning rate jumps up again",
    ):
        assert words in text
    assert "train" in run("--help").output
    assert "runs/x/best.zip:deterministic=true" in plain(run("compare", "--help").output)


def test_train_and_compare_from_end_to_end(run, trained, tmp_path):
    assert {path.name for path in trained.iterdir()} == {
        "average.pth",
        "best.zip",
        "last.zip",
        "curve.csv",
        "train.json",
    }
    said = json.loads((trained / "train.json").read_text())
    assert said["settings"]["env_kwargs"] == {"num_items": 4, "num_positions": 2}
    assert said["settings"]["query"] == [0, 1, 2]
    result = run(
        *("compare", "PBM-Synthetic-v0", "--set", "num_items=4", "--positions", "2", "--query", "3,4"),
        *("--rounds", "50", "--out", "c", "--agents", "random,runs/x/best.zip,runs/x/last.zip:deterministic=true"),
    )
    assert result.exit_code == 0, result.output
    for name in ("random", "runs/x/best.zip", "runs/x/last.zip:deterministic=true"):
        assert name in result.output
    settings = json.loads((tmp_path / "c" / "compare.json").read_text())
    assert [agent["class"] for agent in settings["agents"]][1:] == ["rankgym.sb3.agent:SB3Agent"] * 2
    assert settings["agents"][2]["knobs"] == {"model": "runs/x/last.zip", "deterministic": True}
    assert settings["agents"][2]["file"] == "runs_x_last.zip_deterministic=true.npz"


def test_the_command_that_is_printed_at_the_end_runs_as_it_is(run, tmp_path):
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("sb3_contrib")
    text = run(*TRAIN, "--out", "my runs/x").output
    assert "Written to my runs/x: best.zip, last.zip, average.pth, curve.csv, train.json\n" in text
    assert "best.zip was chosen by these evaluations" in text
    (line,) = [line for line in text.splitlines() if line.startswith("rankgym compare")]
    result = run(*shlex.split(line.removesuffix(" compares it"))[1:], "--out", "c")
    assert result.exit_code == 0, result.output
    settings = json.loads((tmp_path / "c" / "compare.json").read_text())
    assert settings["arguments"] == {"num_items": 4, "num_positions": 2, "horizon": 20}
    assert (settings["queries"], settings["rounds"]) == ([3, 4], 20)
    assert settings["agents"][1]["knobs"] == {"model": "my runs/x/best.zip"}


def test_its_own_command_makes_the_same_weights(run, trained, tmp_path):
    said = json.loads((trained / "train.json").read_text())
    words = shlex.split(said["command"].replace("runs/x", "again"))
    result = run(*words[1:])
    assert result.exit_code == 0, result.output
    assert said["last"]["weights"] in result.output
    again = json.loads((tmp_path / "again" / "train.json").read_text())
    assert again["settings"] == said["settings"]
    assert again["command"] == said["command"].replace("runs/x", "again")


def test_a_comparison_notices_another_model(run, trained, tmp_path):
    command = [
        "compare",
        "PBM-Synthetic-v0",
        "--set",
        "num_items=4",
        "--positions",
        "2",
        "--query",
        "3",
        "--rounds",
        "20",
    ]
    command += ["--agents", "m.zip", "--out", "c"]
    shutil.copy(trained / "last.zip", "m.zip")

    def played():
        return sorted((tmp_path / "c" / "results").rglob("*.parquet"))

    assert run(*command).exit_code == 0
    (before,) = played()
    assert run(*command).exit_code == 0
    assert played() == [before]
    assert run(*TRAIN, "--seed", "5", "--out", "other").exit_code == 0
    shutil.copy("other/last.zip", "m.zip")
    assert run(*command).exit_code == 0
    assert len(played()) == 2


@pytest.mark.slow
def test_processes_do_not_matter(run, trained, tmp_path):
    """Nor where they were started: the names of files are those of the folder where the command runs."""
    command = [
        "compare",
        "PBM-Synthetic-v0",
        "--set",
        "num_items=4",
        "--positions",
        "2",
        "--query",
        "3,4",
        "--rounds",
        "20",
    ]
    (tmp_path / "elsewhere").mkdir()
    with contextlib.chdir(tmp_path / "elsewhere"):
        assert run(*command, "--agents", "static,random", "--jobs", "2").exit_code == 0
    for jobs in ("1", "2"):
        result = run(*command, "--agents", "runs/x/best.zip", "--jobs", jobs, "--out", jobs)
        assert result.exit_code == 0, result.output
    file = "runs_x_best.zip.npz"
    with np.load(tmp_path / "1" / file) as one, np.load(tmp_path / "2" / file) as two:
        for name in one:
            np.testing.assert_array_equal(one[name], two[name])


def test_resume_and_fresh(run, trained):
    assert "has a training already" in run(*TRAIN, "--out", "runs/x").output
    words = ["512" if word == "256" else word for word in TRAIN]
    result = run(*words, "--out", "runs/x", "--resume")
    assert result.exit_code == 0, result.output
    assert "512 steps" in result.output
    assert run(*TRAIN, "--out", "runs/x", "--fresh").exit_code == 0
    assert json.loads((trained / "train.json").read_text())["last"]["steps"] == 256


def test_ctrl_c_is_said_in_one_line(run, trained, monkeypatch):
    from rankgym.sb3.callbacks import Watch

    monkeypatch.setattr(Watch, "_on_step", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    result = run(*TRAIN)
    assert result.exit_code == 130
    line = result.output.strip().splitlines()[-1]
    assert line.startswith(
        "interrupted; runs/PBM-Synthetic-v0-ppo/last.zip has everything learned in 0 steps; `rankgym"
    )
    assert line.endswith("--out runs/PBM-Synthetic-v0-ppo --resume` continues from there")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--algo ppoo", "algo = 'ppoo' is unknown; did you mean 'ppo'?"),
        ("--param gama=1", "gama = 1 is unknown to ppo and its policy; did you mean 'gamma'?"),
        ("--param seed=1", "--param seed=1: seed is not a hyperparameter; see rankgym train --help"),
        ("--param gamma", "--param gamma is not an assignment; allowed: key=value"),
        ("--param gamma=x", "gamma = 'x' is out of range; allowed: a number in [0, 1]"),
        ("--param n_epochs=0.5", "n_epochs = 0.5 is out of range; allowed: a whole number, at least 1"),
        ("--param gamma=5", "gamma = 5 is out of range; allowed: a number in [0, 1]"),
        ("--param learning_rate=linear:-1", "learning_rate = 'linear:-1' is out of range; allowed: a number, at least"),
        ("--param n_steps=0", "n_steps = 0 is out of range; allowed: a whole number, at least 1"),
        ("--set itmes=3", "has no argument 'itmes'"),
        ("--set query=3", "--set query=3: query cannot be set"),
        ("--set horizon=3", "env_kwargs has horizon = 3; allowed: others"),
        ("--layers ItemStatistics:discount", "--layers ItemStatistics:discount: discount is not an assignment"),
        ("--layers ItemStatistics:discount=1", "discount"),
        ("--layers Item", "layers has 'Item', which is unknown"),
        ("--query x", "--query x is not a choice of queries"),
        ("--resume", "has no training to resume"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, words, message):
    pytest.importorskip("stable_baselines3")
    result = run("train", "PBM-Synthetic-v0", "--steps", "10", *words.split())
    assert result.exit_code == 2
    assert result.output.startswith("error: ")
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_without_the_extra_one_is_told_what_to_install(tmp_path):
    (tmp_path / "m.zip").write_bytes(b"")
    script = """
import sys
sys.modules["torch"] = sys.modules["stable_baselines3"] = None
from typer.testing import CliRunner
from rankgym.cli import app
for words in (["train", "PBM-Yandex-v0"], ["compare", "PBM-Yandex-v0", "--agents", "m.zip", "--rounds", "2"]):
    result = CliRunner().invoke(app, words)
    print(result.exit_code, result.output.strip())
"""
    path = os.pathsep.join([str(ROOT), str(ROOT / "agents")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "RANKGYM_DEBUG": "0"},
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("2 error: ")
        assert line.endswith('pip install "rankgym[sb3]"')


# -- names of models --------------------------------------------------------------------------------------------------


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "good.safetensors").write_bytes(b"")
    monkeypatch.setattr(naming, "WEIGHTS", folder)
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_file_is_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=1").mkdir()
    for name in ("m.zip", "m.safetensors", "a=1/M.ZIP"):
        Path(name).write_bytes(b"")
        spec = parse_agent(f"{name}:deterministic=true")
        assert spec.label == f"{name}:deterministic=true"
        assert spec.where == "rankgym.sb3.agent:SB3Agent"
        assert spec.knobs == {"model": name, "deterministic": True}
    path = str(tmp_path / "m.zip")
    assert parse_agent(path).knobs == {"model": path}


def test_models_come_with_the_package(shipped, tmp_path):
    assert shipped_models() == ["good"]
    for name in ("good", "good.zip", "good.safetensors"):
        assert parse_agent(f"{name}:deterministic=false").knobs == {
            "model": str(shipped / "good.safetensors"),
            "deterministic": False,
        }
    (tmp_path / "good.zip").write_bytes(b"")
    assert parse_agent("good.zip").knobs == {"model": "good.zip"}  # one's own goes first


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("goof.zip", "there is no file 'goof.zip'; did you mean 'good.zip'? allowed: .*with the package: good"),
        ("weights/goood.zip", "there is no file 'weights/goood.zip'; did you mean 'weights/good.safetensors'?"),
        ("nowhere/good.zip", "there is no file 'nowhere/good.zip', nor a folder 'nowhere'; allowed: a model that"),
        ("goood", "agent = 'goood' is unknown; did you mean 'good'? `rankgym agents` lists all"),
        ("good.zip:deterministic", "the knob 'deterministic' needs a value"),
        ("good.zip:model=x.zip", "agent = 'good.zip:model=x.zip': the model is good.zip already; allowed: the knob"),
    ],
)
def test_near_names_of_models_are_suggested(name, message, shipped):
    with pytest.raises(ValueError) as refusal:
        parse_agent(name)
    for part in message.split(".*"):
        assert part in str(refusal.value)


def test_a_model_has_one_knob(run, trained):
    text = plain(run("agents", "runs/x/best.zip").output)
    assert "Knobs go after colons: --agents runs/x/best.zip:deterministic=VALUE" in text


def test_wrong_models_are_refused_in_one_line(run, trained):
    shutil.copy(trained / "curve.csv", "m.zip")
    for agent, message in (
        ("m.zip", "model = 'm.zip' is not a model of stable-baselines3"),
        ("runs/x/best.zip:knob=1", "its knobs: model, deterministic"),
        ("runs/x/best.zip", "num_positions = 3, but runs/x/best.zip was trained with 2; allowed: 2"),
        ("runs/x/bets.zip", "did you mean 'runs/x/best.zip'?"),
    ):
        result = run("compare", "PBM-Synthetic-v0", "--positions", "3", "--rounds", "5", "--agents", agent)
        assert result.exit_code == 2
        assert result.output.startswith("error: agent = ")
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1
