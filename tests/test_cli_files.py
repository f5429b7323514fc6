"""What `rankgym compare` does with files that are there already, and with settings of other environments."""

import contextlib
import os
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("filelock")
pytest.importorskip("joblib")

WORDS = ("compare", "PBM-Synthetic-v0", "--agents", "static", "--rounds", "20", "--query", "0", "--out", "out")
QUESTION = "out has files that no comparison wrote (table.csv). Write into it, and replace those of the same names?"


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "table.csv").write_text("mine")
    return folder


def test_files_of_others_are_an_error_where_nobody_can_be_asked(run, out):
    refused = run(*WORDS)
    assert refused.exit_code == 2
    assert "out = 'out' has files that no comparison wrote (table.csv)" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert [path.name for path in out.iterdir()] == ["table.csv"]
    assert run(*WORDS, "--overwrite").exit_code == 0
    assert run(*WORDS).exit_code == 0  # it is a comparison's folder now
    assert (out / "table.csv").read_text().startswith("agent,")


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "replaced"), [(b"n\n", False), (b"\n", False), (b"y\n", True)])
def test_in_a_terminal_it_asks(out, answer, replaced):
    import pty

    mine, its = pty.openpty()
    command = [sys.executable, "-m", "rankgym", *WORDS]
    process = subprocess.Popen(command, cwd=out.parent, stdin=its, stdout=its, stderr=its)
    os.close(its)
    os.write(mine, answer)
    said = b""
    with contextlib.suppress(OSError):  # at its end
        while part := os.read(mine, 4096):
            said += part
    os.close(mine)
    assert (process.wait() == 0) == replaced
    assert QUESTION in said.decode()
    assert ((out / "table.csv").read_text() != "mine") == replaced
    assert (len(list(out.iterdir())) > 1) == replaced


@pytest.mark.parametrize("backend", ["module://no_such_module.backend_inline", "no such backend"])
def test_the_backend_of_another_environment_does_no_harm(tmp_path, backend):
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "rankgym", *WORDS]
    environment = {**os.environ, "MPLBACKEND": backend}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "regret.png").exists()
