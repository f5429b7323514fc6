"""`rankgym sweep`: what it says, what it writes, how it fails."""

import csv
import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("filelock")
pytest.importorskip("joblib")

from rankgym import __version__
from rankgym.commands.tables import show_table
from rankgym.experiments import load, run_sweep
from rankgym.experiments.plan.digests import DIGEST, code_digest, with_digest
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run import store
from rankgym.experiments.run.lock import locked
from rankgym.experiments.run.plan_file import plan_of, write_plan
from rankgym.experiments.run.tidy_tables import OtherCode
from rankgym.outputs import versions

ROOT = Path(__file__).resolve().parents[1]
TOML = """
name = "A small one"
rounds = 60
query = [0, 3]
runs = 2
rows_per_job = 2
agents = ["toprank", "static"]

[[environments]]
id = "CM-Yandex-v0"

[[environments]]
label = "five positions, of six"
id = "PBM-Synthetic-v0"
num_items = 6
agents = ["static"]
"""


def plain(text):
    """Without colours, frames and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


LONG = """
rounds = 1_000_000_000
runs = 2
rows_per_job = 1
agents = ["random"]

[[environments]]
id = "CM-Yandex-v0"
query = 0
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "small.toml").write_text(TOML)
    return "small.toml"


@pytest.fixture
def played(run, file, tmp_path):
    result = run("sweep", "run", file, "--jobs", "1")
    assert result.exit_code == 0, result.output
    return tmp_path / "results" / "small"


def test_help_teaches(run):
    text = run("sweep", "--help").output
    for command in ("run", "status", "resume", "export"):
        assert command in text
    text = plain(run("sweep", "run", "--help").output)
    for words in (
        'agents = ["toprank", "cascade-kl-ucb", "toprank:delta=1e-6"]',
        "[[environments]]",
        'source = "published"',
        "rankgym sweep resume FOLDER",
        "--backend dask --address tcp://HOST:8786",
        "--nthreads 1",
        "--backend ray",
        "--checkpoint-every",
        "--replace",
    ):
        assert words in text


def test_the_help_s_example_is_a_sweep(run, tmp_path):
    """As it stands on the screen, without the indent."""
    text = run("sweep", "run", "--help").output
    lines = text[text.index("rounds = 100_000") : text.index("is cut into jobs")].splitlines()
    (tmp_path / "x.toml").write_text("\n".join(line.strip() for line in lines))
    sweep = Sweep.from_toml(tmp_path / "x.toml")
    assert [environment.label for environment in sweep.environments] == [
        "CM-Yandex-v0, source=published",
        "PBM, five queries",
    ]
    assert sweep.environments[1].agents == ("toprank", "bubblerank")


def test_from_end_to_end(run, played, tmp_path):
    assert {path.name for path in played.iterdir()} == {"lock", "log.jsonl", "plan.json", "results", "sweep.json"}
    assert len(list((played / "results").iterdir())) == 6
    again = run("sweep", "run", "small.toml", "--jobs", "1")
    assert "All 6 jobs are finished, after" in again.output
    assert "rankgym sweep export results/small" in plain(again.output)
    status = plain(run("sweep", "status", "results/small").output)
    assert "A small one" in status
    assert "6 of 6 jobs are finished, 100.0 % of 720 sessions" in status
    assert "its table: rankgym sweep export results/small" in status
    assert "running" not in status
    exported = run("sweep", "export", "results/small")
    assert exported.exit_code == 0, exported.output
    table = load(played)
    assert load(played / "table.parquet").equals(table)
    pytest.importorskip("matplotlib")
    assert plain(run("sweep", "report", "results/small").output) == "Written to results/small/report.html"
    assert "<h1>" in (tmp_path / "results" / "small" / "report.html").read_text(encoding="utf-8")
    assert "allowed: FILE.html" in run("sweep", "report", "results/small", "--to", "x.pdf").stderr
    run("sweep", "export", "results/small", "--to", "x.csv")
    lines = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    assert [float(line["regret"]) for line in lines] == table["regret"].to_pylist()
    assert {line["environment"] for line in lines} == {"CM-Yandex-v0", "five positions, of six"}
    assert {(line["query"], line["run"]) for line in lines} == {(q, r) for q in ("0", "3") for r in ("0", "1")}


def test_what_is_not_finished(run, played):
    jobs = Sweep.from_json((played / "sweep.json").read_text()).jobs()
    store.place(played, jobs[0]).unlink()
    store.place(played, jobs[1]).write_bytes(b"x")
    (played / "work-1").mkdir()
    (played / "work-1" / f"{jobs[0].key}.progress").write_text('{"played": 70, "kept": 60}')
    (played / "work-1" / f"{jobs[0].key}.npz").touch()
    status = plain(run("sweep", "status", "results/small").output)
    assert "4 of 6 jobs are finished, 75.0 % of 720 sessions" in status
    heads = re.sub(r"[┃\s]+", " ", status)
    assert "environment agent jobs finished begun to do damaged sessions" in heads
    assert "10 sessions that toprank played in CM-Yandex-v0 are not in a checkpoint, and will be played again" in status
    assert f"{store.place(played, jobs[1]).name} is damaged: " in status
    assert "its job will be played again" in status
    assert "resume with: rankgym sweep resume results/small" in status
    failed = run("sweep", "export", "results/small")
    assert failed.exit_code == 2
    assert "has 5 of the sweep's 6 results; allowed: a sweep that is finished, or --partial" in plain(failed.output)
    store.place(played, jobs[1]).unlink()
    assert run("sweep", "resume", "results/small", "--jobs", "1").exit_code == 0
    assert "6 of 6 jobs" in run("sweep", "status", "results/small").output


UNEVEN = "in CM-Yandex-v0 the agents' means are over different rows: toprank 2, static 4"


def test_agents_of_different_rows(run, played):
    """Of an unfinished sweep: their means cannot be compared."""
    store.place(played, Sweep.from_folder(played).jobs()[0]).unlink()
    for to in ("table.tex", "report.html"):
        made = run("sweep", to.partition(".")[0].replace("table", "export"), "results/small", "--partial", "--to", to)
        assert made.exit_code == 0, made.output
        assert UNEVEN in plain(made.stderr)
        assert UNEVEN in plain(html.unescape(Path(to).read_text(encoding="utf-8")))


def test_while_it_is_running(run, played):
    with locked(played):
        (played / "work-1").mkdir()
        (played / "work-1" / "driver").write_text('{"pid": 77, "host": "here", "since": "noon"}')
        assert "it is running (process 77 on here, since noon)" in plain(run("sweep", "status", "results/small").output)
        jobs = Sweep.from_json((played / "sweep.json").read_text()).jobs()
        store.place(played, jobs[0]).unlink()
        failed = run("sweep", "resume", "results/small")
    assert failed.exit_code == 2
    assert "another run is using results/small (process 77 on here, since noon)" in plain(failed.output)


@pytest.mark.skipif(os.name != "posix", reason="no signals here that a process can hear")
def test_sigterm_is_heard_like_ctrl_c(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    words = ["sweep", "run", "long.toml", "--out", "here", "--jobs", "2"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "agents")])
    driver = subprocess.Popen(
        [sys.executable, "-m", "rankgym", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 120
        while (
            len(list(tmp_path.glob("here/work-*/*.progress"))) < 2 and driver.poll() is None and time.monotonic() < end
        ):
            time.sleep(0.05)
        os.killpg(driver.pid, signal.SIGTERM)  # the workers get it too, as from a batch system
        _, said = driver.communicate(timeout=120)
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.communicate()
    assert driver.returncode == 130, said
    assert plain(said).endswith(
        "interrupted; finished jobs (0 of 2) and checkpoints are kept in here; to resume: `rankgym sweep resume "
        "here`, or the same call"
    )
    (folder,) = tmp_path.glob("here/work-*")
    assert len(list(folder.glob("*.npz"))) == 2  # where both jobs go on
    assert not list(folder.glob("*.part"))


def test_another_sweep_in_the_folder(run, played, tmp_path):
    (tmp_path / "small.toml").write_text(TOML.replace("rounds = 60", "rounds = 50"))
    failed = run("sweep", "run", "small.toml", "--jobs", "1")
    assert failed.exit_code == 2
    assert (
        "results/small has the results of another sweep, which differs in rounds; allowed: another folder (--out); a "
        "sweep that only adds agents, environments or runs; or --replace, which deletes no result and uses those that "
        "both sweeps have"
    ) in plain(failed.output)
    assert run("sweep", "run", "small.toml", "--jobs", "1", "--replace").exit_code == 0
    assert "6 results are of other sweeps" in run("sweep", "status", "results/small").output


@pytest.mark.parametrize("name", ["sweep.json", "plan.json", "log.jsonl", "lock"])
def test_files_that_no_sweep_wrote_are_not_replaced(run, file, tmp_path, name):
    (tmp_path / "notes.txt").touch()
    mine = tmp_path / name
    mine.write_text('{"rounds": "mine"}')
    failed = run("sweep", "run", file, "--out", ".", "--jobs", "1")
    assert failed.exit_code == 2
    assert (
        f"error: . has files that no sweep wrote, and that this one would replace ({name}); allowed: another"
        in plain(failed.stderr)
    )
    with pytest.raises(ValueError, match="files that no sweep wrote"):
        run_sweep(Sweep.from_toml(tmp_path / file), tmp_path, jobs=1)
    assert mine.read_text() == '{"rounds": "mine"}'
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", "small.toml", name}
    assert run("sweep", "run", file, "--out", ".", "--jobs", "1", "--replace").exit_code == 0
    (tmp_path / "sweep.json").write_text("damaged")  # the results tell whose folder it is
    assert run("sweep", "run", file, "--out", ".", "--jobs", "1", "--replace").exit_code == 0


def test_results_of_another_version(run, played, monkeypatch):
    """They count for tables; the jobs of the next run are new ones."""
    monkeypatch.setattr("rankgym.experiments.plan.jobs.versions", lambda: {**versions(), "rankgym": "9.9"})
    for _ in range(2):
        status = plain(run("sweep", "status", "results/small").output)
        assert "0 of 6 jobs are finished" in status
        assert (
            f"6 older results in this folder were made by rankgym {__version__}; until their jobs are played" in status
        )
        write_plan(played, plan_of("", Sweep.from_folder(played).jobs()))
    for command in ("export", "report", "figure"):
        found = run("sweep", command, "results/small")
        assert found.exit_code == 0, found.output
        said = plain(found.stderr)
        assert f"warning: 6 of 6 results were made by rankgym {__version__}: toprank-rows-0-1-" in said
        assert "`rankgym sweep resume results/small` plays them again" in said
        assert "--strict refuses them" in said
        refused = run("sweep", command, "results/small", "--strict", "--to", f"refused.{SUFFIXES[command]}")
        assert refused.exit_code == 2
        assert "allowed by strict" in refused.stderr
    assert not list(played.parent.parent.glob("refused.*"))
    text = (played / "report.html").read_text(encoding="utf-8")
    assert f"6 of 6 results were made by rankgym {__version__}" in text
    assert f"\nrankgym {__version__}</pre>" in text  # the versions that made them
    for words in ("&quot;seed&quot;: 0", "&quot;num_items&quot;: 6"):
        assert words in text
    assert run("sweep", "export", "results/small", "--to", "table.tex").exit_code == 0
    assert Path("table.tex").read_text().startswith(f"% 6 of 6 results were made by rankgym {__version__}")
    with pytest.warns(OtherCode, match="6 of 6 results"):
        table = load(played)
    assert table.num_rows
    with pytest.raises(ValueError, match="6 of 6 results were made by rankgym"):
        load(played, strict=True)


SUFFIXES = {"export": "csv", "report": "html", "figure": "pdf"}


def test_results_of_other_code(run, played, monkeypatch):
    """The digests of both are said; the present code's results pass with --strict and without a word."""
    quiet = run("sweep", "export", "results/small", "--strict")
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    monkeypatch.setattr("rankgym.experiments.plan.jobs.code_digest", lambda: "0123456789abcdef")
    said = plain(run("sweep", "export", "results/small").stderr)
    assert f"6 of 6 results were made by other code of rankgym ({code_digest()[:8]}, now 01234567)" in said
    (one, *_) = sorted((played / "results").iterdir())
    with pytest.raises(ValueError, match="1 of 1 results were made by other code"):
        load(one, strict=True)


def test_a_table_and_a_figure_for_a_paper(run, played, tmp_path):
    made = run("sweep", "export", "results/small", "--to", "table.tex")
    assert made.exit_code == 0, made.output
    text = (tmp_path / "table.tex").read_text()
    assert text.count(r"\\") == 1 + 3
    assert "booktabs" in made.output
    made_by = rf"% rankgym {re.escape(__version__)}, sweep [0-9a-f]{{20}}, 2 runs of each query or problem\n"
    assert re.match(made_by, text)
    tidy = run("sweep", "export", "results/small", "--to", "a.parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    origin = parquet.read_schema(tmp_path / "a.parquet").metadata[b"origin"].decode()
    assert text.startswith(f"% {origin}\n")
    assert f"Made by {origin}" in tidy.output
    for name, start in (("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("a.png", b"\x89PNG")):
        drawn = run("sweep", "figure", "results/small", "--to", name, "--measure", "ndcg", "--x", "linear")
        assert drawn.exit_code == 0, drawn.output
        assert (tmp_path / name).read_bytes().startswith(start)
        assert plain(drawn.output).startswith(f"Written to {name}: ndcg over rounds, 3.3 x ")
    for options, said in (
        (["--to", "a.gif"], "allowed: FILE.pdf or FILE.svg or FILE.png"),
        (["--measure", "loss"], "measure = 'loss' is unknown"),
        (["--measure", "accuracy"], "measure = 'accuracy' is known in no result; allowed: 'regret'"),
        (["--y", "cubic"], "--y = 'cubic' is unknown; allowed: 'log', 'linear', 'symlog'"),
        (["--width", "0"], "width = 0.0 is out of range"),
    ):
        wrong = run("sweep", "figure", "results/small", *options)
        assert wrong.exit_code == 2
        assert said in plain(wrong.stderr)
    assert not (played / "figure.pdf").exists()


def test_reading_imports_nobodys_code(run, played, tmp_path, monkeypatch):
    """A foreign folder names an agent and an environment in a module; only ``resume`` would import it."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'was_imported')!r}, 'w').close()")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("sweep.json", "plan.json"):
        text = (played / name).read_text().replace("toprank", "evil:Agent").replace("PBM-Synthetic-v0", "evil:Id")
        document = {key: value for key, value in json.loads(text).items() if key != DIGEST}
        (played / name).write_text(json.dumps(with_digest(document)))
    for words in (["status"], ["export", "--partial"], ["report", "--partial"]):
        assert run("sweep", words[0], "results/small", *words[1:]).exit_code == 0
    load(played, partial=True)
    assert not (tmp_path / "was_imported").exists()
    (played / "plan.json").unlink()
    for words in (["status"], ["export"], ["report"]):
        assert run("sweep", *words, "results/small").exit_code == 0
    load(played)
    assert not (tmp_path / "was_imported").exists()
    resumed = run("sweep", "resume", "results/small")
    assert resumed.exit_code == 2
    assert f"importing evil, which runs it: {tmp_path / 'evil.py'}" in resumed.stderr
    assert (tmp_path / "was_imported").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: plan["jobs"][0].update(key="../../x"), "key = '../../x'"),
        (lambda plan: plan["jobs"][0].update(start="0"), "start = '0'; allowed: int"),
        (lambda plan: plan["jobs"][0].update(stop=0), "has rows 0 .. -1"),
        (lambda plan: plan["jobs"][0].pop("agent"), "no 'agent'"),
        (lambda plan: plan.update(format=3), "format 3; allowed: 2"),
        (lambda plan: plan.update(jobs=3), "plan.json is damaged"),
        (lambda plan: plan["jobs"][0].update(environment="other"), "it was changed since it was written"),
        (lambda plan: plan["jobs"][0].update(rows=1), "it was changed since it was written"),
    ],
)
def test_a_plan_is_checked(run, played, change, message):
    document = json.loads((played / "plan.json").read_text())
    change(document)
    (played / "plan.json").write_text(json.dumps(document))
    for words in (["status"], ["export"], ["report"]):
        result = run("sweep", *words, "results/small")
        assert result.exit_code == 2
        assert message in plain(result.output)


def test_a_changed_sweep_is_not_resumed(run, played):
    """A flipped bit may make another sweep, which would be played silently; the file of the sweep mends it."""
    file, before = played / "sweep.json", {path.name: path.read_bytes() for path in played.glob("results/*")}
    file.write_text(file.read_text().replace('"runs": 2', '"runs": 3'))
    wrong = run("sweep", "resume", "results/small")
    assert wrong.exit_code == 2
    assert "sweep.json is damaged: it was changed since it was written; allowed: " in plain(wrong.stderr)
    assert "`rankgym sweep run FILE.toml --out results/small --replace`, which keeps its results" in plain(wrong.stderr)
    assert run("sweep", "run", "small.toml", "--out", "results/small", "--jobs", "1").exit_code == 2
    assert run("sweep", "run", "small.toml", "--out", "results/small", "--jobs", "1", "--replace").exit_code == 0
    assert {path.name: path.read_bytes() for path in played.glob("results/*")} == before
    assert run("sweep", "resume", "results/small").exit_code == 0


def test_a_result_copied_over_another_job_s(run, played):
    """It is in the right environment, and counts for neither job."""
    first, second = [job for job in Sweep.from_folder(played).jobs() if job.block.agent.label == "static"][:2]
    store.place(played, second).write_bytes(store.place(played, first).read_bytes())
    assert "it is the result of another job" in plain(run("sweep", "status", "results/small").output)
    for command in ("export", "report"):
        result = run("sweep", command, "results/small")
        assert result.exit_code == 2
        assert "it is the result of another job" in plain(result.output)
    (played / "plan.json").unlink()
    assert run("sweep", "export", "results/small").exit_code == 2


def test_agents_of_ones_own(run, tmp_path):
    (tmp_path / "mine_for_sweeps.py").write_text(
        "import numpy as np\n"
        "class Mine:\n"
        "    def __init__(self, num_envs, num_positions):\n"
        "        self.lists = np.tile(np.arange(num_positions), (num_envs, 1))\n"
        "    def act(self, observation):\n"
        "        return self.lists\n"
        "    def update(self, displayed, clicks):\n"
        "        pass\n"
    )
    (tmp_path / "mine.toml").write_text(
        'rounds = 30\nquery = 0\nagents = ["mine_for_sweeps:Mine"]\n[[environments]]\nid = "CM-Yandex-v0"\n'
    )
    result = run("sweep", "run", "mine.toml", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "mine_for_sweeps:Mine" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "none.toml"], "error: none.toml cannot be read: No such file or directory"),
        (["run", "small.toml", "--jobs", "0"], "error: jobs = 0 is out of range; allowed: a whole number, at least 1"),
        (["run", "small.toml", "--backend", "x"], "error: backend = 'x' is unknown; allowed: "),
        (["run", "small.toml", "--backend", "dask"], "error: backend = 'dask' needs an address; allowed: "),
        (["run", "small.toml", "--address", "tcp://x:1"], "error: address = 'tcp://x:1' goes with backend = 'dask'"),
        (["status", "nowhere"], "error: nowhere is not the folder of a sweep: it has neither a plan.json nor results;"),
        (["resume", "nowhere"], "error: nowhere is not the folder of a sweep: it has no sweep.json; allowed: what"),
        (["export", "nowhere"], "error: path = 'nowhere' has no results; allowed: the folder of a sweep"),
        (
            ["export", "x", "--to", "y.txt"],
            "error: --to y.txt is not the name of a table; allowed: FILE.parquet or FILE",
        ),
    ],
)
def test_what_goes_wrong(run, file, words, message):
    if "dask" in words:
        pytest.importorskip("distributed")
    result = run("sweep", *words)
    assert result.exit_code == 2
    assert plain(result.output).startswith(message)


def test_agents_names_are_not_broken_within_numbers(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    agent = "pbm-ucb:examination=[0.95,0.8,0.5,0.3,0.2]"
    show_table(("environment", "agent", "rows"), [("PBM-Synthetic-v0", agent, "1,000")], labels=2)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 50
    assert all(number in printed for number in ("0.95", "0.8", "0.5", "0.3", "0.2"))


def test_a_sweep_grows_and_its_agents_have_labels_for_papers(run, tmp_path):
    few = 'rounds = 30\nquery = [0, 3]\nruns = 1\n[[environments]]\nid = "PBM-Yandex-v0"\nnum_positions = 2\n'
    knob = "pbm-ucb:examination=[0.9,0.5]"
    (tmp_path / "s.toml").write_text(f'agents = ["{knob}", "static"]\n{few}')
    assert run("sweep", "run", "s.toml", "--jobs", "1").exit_code == 0
    folder = tmp_path / "results" / "s"
    before = {path.name: path.read_bytes() for path in (folder / "results").iterdir()}
    assert '"labels"' not in (folder / "sweep.json").read_text()
    (tmp_path / "s.toml").write_text(
        few.replace("runs = 1", "runs = 2")
        + '[[environments]]\nid = "CM-Yandex-v0"\n'
        + '[[agents]]\nname = "pbm-ucb"\nexamination = [0.9, 0.5]\nlabel = "PBM-UCB, $5"\n'
        + '[[agents]]\nname = "static"\n[[agents]]\nname = "toprank"\nlabel = "TopRank"\n'
    )
    (tmp_path / "s.toml").write_text(
        (tmp_path / "s.toml").read_text().replace('id = "CM', 'num_positions = 2\nid = "CM')
    )
    grown = run("sweep", "run", "s.toml", "--jobs", "1")
    assert grown.exit_code == 0, grown.output
    assert before.items() <= {path.name: path.read_bytes() for path in (folder / "results").iterdir()}.items()
    assert set(load(folder)["agent"].to_pylist()) == {knob, "static", "toprank"}
    for to in ("figure.svg", "table.tex", "report.html"):
        kind = to.partition(".")[0].replace("table", "export")
        made = run("sweep", kind, "results/s", "--to", to)
        assert made.exit_code == 0, made.output
    assert "PBM-UCB, \\$5 & " in (tmp_path / "table.tex").read_text()
    assert "<td>PBM-UCB, $5</td>" in (tmp_path / "report.html").read_text()
    for to in ("figure.svg", "table.tex", "report.html"):
        text = (tmp_path / to).read_text().partition("<summary>Settings")[0]
        assert "PBM-UCB" in text
        assert "TopRank" in text
        assert "examination" not in text
    (tmp_path / "s.toml").write_text(f'agents = ["static"]\n{few}')
    assert run("sweep", "run", "s.toml", "--jobs", "1").exit_code != 0


def test_labels_that_do_not_fit_are_broken_after_their_commas(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    label = "PBM-Synthetic-v0, model=my_models:MODEL"
    show_table(("environment", "agent", "rows"), [(label, "my_agents:MyAgent", "1,000")], labels=2)
    first, second = [line.split() for line in capsys.readouterr().out.splitlines()[3:5]]
    assert first == ["PBM-Synthetic-v0,", "my_agents:MyAgent", "1,000"]
    assert second == ["model=my_models:MODEL"]
    monkeypatch.setenv("COLUMNS", "100")
    show_table(("environment", "agent", "rows"), [(label, "my_agents:MyAgent", "1,000")], labels=2)
    assert label in capsys.readouterr().out
