"""What a submission does costs that call only, and what it can reach is nobody's: each attack of these tests fails.

``kind`` is the usual process, in namespaces where they can be had, and the one of systems that refuse them.
"""

import functools
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rankgym

psutil = pytest.importorskip("psutil")

from rankgym.submissions import Limits, NoAnswer, Submission  # noqa: E402  # after the skip
from rankgym.submissions.isolation import needed  # noqa: E402

pytestmark = pytest.mark.skipif(os.name != "posix", reason="submissions need a POSIX system")
ROOT = os.name == "posix" and os.geteuid() == 0
QUICK = Limits(seconds=60.0, call_seconds=5.0, memory_gb=1.0)


class Plain(Submission):
    """A submission on a system that has no namespaces."""

    def _begin(self, namespaces):
        return super()._begin(namespaces=False)


@functools.cache
def namespaces():
    with Submission("") as student:
        student.load()
        return student.isolated


@functools.cache
def refusal():
    """Why there are no plain submissions here; "" if there are."""
    with Plain("") as student:
        try:
            student.load()
        except RuntimeError as error:
            return str(error)
    return ""


@pytest.fixture(params=[Submission, Plain], ids=["usual", "plain"])
def kind(request):
    if request.param is Plain and refusal():
        pytest.skip(refusal())
    return request.param


@pytest.fixture
def alone():
    if not namespaces():
        pytest.skip("this system gives no namespaces")
    return Submission


def answer_of(kind, source, *args, limits=QUICK, **keywords):
    """What ``f(*args)`` of a submission gives."""
    with kind(source, limits=limits, **keywords) as student:
        return student.call("f", *args)


def no_answer(kind, source, limits=QUICK):
    """Why ``f()`` gives nothing; ``g()`` answers after it."""
    with kind(source + "\ndef g():\n    return 'well'\n", limits=limits) as student:
        with pytest.raises(NoAnswer) as caught:
            student.call("f")
        assert student.call("g") == "well"
        return caught.value


# -- accidents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "why", "said"),
    [
        ("while True: pass", "time", "an endless loop, or too slow"),
        ("import time; time.sleep(1e6)", "time", "an endless loop, or too slow"),
        ("x = bytearray(10 << 30)", "memory", "memory"),
        ("import os; os._exit(3)", "ended", "exit code 3"),
        ("import ctypes; ctypes.string_at(0)", "ended", "exit code"),
        ("import sys; sys.exit()", "raised", "SystemExit"),
        ("return input('Your name? ')", "raised", "it asked for input"),
        ("raise NotImplementedError('1.2')", "unfinished", "1.2"),
        ("return {1, 2}", "answer", "returned a set"),
        ("return f", "answer", "returned a function"),
        ("import os; os.close(int(__import__('sys').argv[2])); return 1", "", ""),
        ("import sys; sys.setrecursionlimit(10**9); g = lambda n: g(n + 1); g(0)", "", ""),
    ],
)
def test_an_accident_costs_one_call(kind, body, why, said):
    limits = QUICK._replace(call_seconds=2.0)
    error = no_answer(kind, f"def f():\n    {body}\n", limits)
    assert error.kind == why or not why
    assert said in str(error)


def test_processes_share_the_memory(kind):
    source = """
import os, time
def f():
    for _ in range(10):
        if os.fork() == 0:
            used = bytearray(300 << 20)
            for place in range(0, len(used), 4096):
                used[place] = 1
            time.sleep(60)
    time.sleep(60)
"""
    error = no_answer(kind, source, QUICK._replace(call_seconds=30.0))
    assert error.kind == "memory"


def test_a_gigabyte_of_output_is_read_and_cut(kind):
    source = "def f():\n    text = 'x' * (1 << 20)\n    for _ in range(1024): print(text)\n    return 1\n"
    with kind(source, limits=QUICK._replace(call_seconds=60.0)) as student:
        assert student.call("f") == 1
        student.close()
        assert student.output_length >= 1 << 30
        assert student.output == "x" * 4_000


def test_all_its_time_can_be_used_up_once(kind):
    with kind("def f():\n    while True: pass\n", limits=Limits(seconds=2.0, call_seconds=1.5)) as student:
        for _ in range(3):
            with pytest.raises(NoAnswer) as caught:
                student.call("f")
        assert "all 2 s of this file are used up" in str(caught.value)
        assert student.seconds_left < 0


def test_what_it_starts_ends_with_it(kind, tmp_path):
    """Two hundred processes, each a session of its own whose parents have ended."""
    source = """
import os, time
def f():
    for _ in range(200):
        try:
            first = os.fork()
        except OSError:
            break
        if first == 0:
            try:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(600)
            finally:
                os._exit(0)
        os.waitpid(first, 0)
"""
    with kind(source, limits=QUICK._replace(call_seconds=30.0), hidden=[tmp_path]) as student:
        student.call("f")
        most = 66 if student.isolated or ROOT else 202  # with its keeper, and the starting process
        assert 20 < len(processes_of(tmp_path)) <= most
    assert gone(tmp_path)


def processes_of(folder):
    """The living processes of submissions from which ``folder`` is hidden."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if any(str(folder) in word for word in words if "namespaces" in word):
            found += [process] if process.info["status"] != psutil.STATUS_ZOMBIE else []
    return found


def gone(folder):
    """Whether all processes of submissions from which ``folder`` is hidden end, within ten seconds."""
    end = time.monotonic() + 10
    while processes_of(folder) and time.monotonic() < end:
        time.sleep(0.1)
    return not processes_of(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its asker has gone")
def test_it_ends_with_the_process_that_asks(tmp_path):
    script = f"""
from rankgym.submissions import Submission
student = Submission("def f():\\n    while True: pass", hidden=[{str(tmp_path)!r}])
student.load()
print("started", flush=True)
student.call("f")
"""
    asker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert asker.stdout.readline() == "started\n"
    assert processes_of(tmp_path)
    asker.send_signal(signal.SIGKILL)
    asker.communicate()
    assert gone(tmp_path)


# -- what it can reach ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("file", ["mem", "environ", "maps", "fd", "cwd/."])
def test_the_asking_process_cannot_be_read(kind, file):
    source = f"""
import os
def f(number):
    path = f"/proc/{{number}}/{file}"
    try:
        return len(os.listdir(path)) if os.path.isdir(path) else len(open(path, "rb").read(1))
    except OSError as error:
        return type(error).__name__
"""
    assert answer_of(kind, source, os.getpid()) in ("FileNotFoundError", "PermissionError")


def test_only_its_own_processes_are_there(alone):
    source = "import os\ndef f():\n    return [name for name in os.listdir('/proc') if name.isdigit()]\n"
    assert answer_of(alone, source) == ["1"]


def test_the_asking_process_cannot_be_signalled(kind):
    if kind is Plain and not ROOT:
        pytest.skip("without namespaces a user's processes may signal each other")
    if kind is Submission and not (namespaces() or ROOT):
        pytest.skip("this system gives no namespaces")
    source = """
import os, signal
def f(number):
    for victim in (number, os.getppid(), -1):
        try:
            os.kill(victim, signal.SIGUSR1)
            if victim > 1:
                return "sent"
        except OSError:
            pass
    return "refused"
"""
    came = []
    before = signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
    try:
        assert answer_of(kind, source, os.getpid()) == "refused"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not came


def test_the_environment_is_not_passed_on(kind, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "secret")
    assert "SOME_TOKEN" not in answer_of(kind, "import os\ndef f():\n    return dict(os.environ)\n")


LOOK = "import os\ndef f(path):\n    return os.listdir(path) if os.path.isdir(path) else None\n"


def test_hidden_folders_and_those_of_people_are_not_there(alone, tmp_path):
    (tmp_path / "grades").mkdir()
    (tmp_path / "grades" / "secret.json").write_text("{}")
    assert not answer_of(alone, LOOK, str(tmp_path / "grades"), hidden=[tmp_path / "grades"])
    home = Path.home().resolve()
    pythons = {Path(path).relative_to(home).parts[:1] for path in needed() if Path(path).is_relative_to(home)}
    assert {(name,) for name in answer_of(alone, LOOK, str(home)) or []} <= pythons
    assert not answer_of(alone, LOOK, "/run")
    assert not answer_of(alone, LOOK, str(Path(rankgym.__file__).parent), refused=["rankgym"])


def test_hidden_folders_cannot_be_uncovered(alone, tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    source = f"""
import ctypes, os, subprocess
libc = ctypes.CDLL(None)
def f(path):
    libc.umount2(os.fsencode(path), 2)
    libc.unshare(0x10000000 | 0x00020000)  # rights in a user namespace of its own
    libc.umount2(os.fsencode(path), 2)
    for above in ("/tmp", "/proc"):
        libc.umount2(os.fsencode(above), 2)
    {LOOK.splitlines()[-1].strip()}
"""
    assert not answer_of(alone, source, str(tmp_path), hidden=[tmp_path])


def test_it_writes_into_its_own_folder_only(alone, tmp_path):
    os.chmod(tmp_path, 0o777)
    source = """
import os
def f(folders):
    written = []
    for folder in folders:
        try:
            open(os.path.join(folder, "probe"), "w").write("x")
            written.append(folder)
        except OSError:
            pass
    return written
"""
    folders = [".", str(tmp_path), "/tmp", "/var/tmp", "/", str(Path(__file__).parent), sys.prefix]
    assert answer_of(alone, source, folders) == ["."]
    assert not list(tmp_path.iterdir())


def test_its_own_folder_is_small_and_goes_with_it(alone):
    source = """
import os
def f():
    written = 0
    try:
        for number in range(100):
            with open(f"file{number}", "wb", buffering=0) as file:
                for _ in range(10):
                    written += file.write(bytes(1 << 20))
    except OSError:
        return [written, os.getcwd()]
"""
    written, folder = answer_of(alone, source)
    assert written <= 300 << 20
    assert not Path(folder).exists()


def test_there_is_no_network(alone):
    source = """
import socket
def f(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=3).close()
    except OSError as error:
        return type(error).__name__
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert answer_of(alone, source, server.getsockname()[1]) is not None


def test_root_becomes_another_user(kind):
    user, *rights = answer_of(
        kind,
        "import os\ndef f():\n    lines = dict(line.split(':') for line in open('/proc/self/status'))\n"
        "    return [os.getuid(), lines['CapEff'].strip(), lines['NoNewPrivs'].strip()]\n",
    )
    assert user >= 61_000 if ROOT else user == os.getuid()
    assert rights == ["0" * 16, "1"]


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("eval('[' * 90 + ']' * 90)", "nested more than 50 deep"),
        ("10 ** 301", "more than 300 digits"),
        ("10 ** 5000", ""),
        ("deep()", ""),
        ("Liar()", ""),
        ("Endless()", ""),
        ("'x' * (17 << 20)", "not an answer"),
    ],
)
def test_an_odd_value_is_no_answer(kind, value, said):
    source = f"""
class Liar:
    def tolist(self):
        return self
class Endless:
    def tolist(self):
        return [Endless()]
def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value
def f():
    return {value}
"""
    error = no_answer(kind, source)
    assert error.kind in ("answer", "raised", "ended", "memory")
    assert said in str(error)


def test_values_that_can_be_written_and_shown(kind):
    nan, infinite, large, text = answer_of(
        kind, "def f():\n    return [float('nan'), float('inf'), 10**299, '\\ud800']\n"
    )
    assert (nan != nan, infinite, large, text) == (True, float("inf"), 10**299, "?")


@pytest.mark.parametrize(
    "line",
    ["{}", "[]", "null", "x", '{"error": 3}', '{"value": 1, "more": 2}', "[" * 100_000, '{"error": {"line": [[]]}}'],
)
def test_a_forged_answer_costs_that_call(kind, line):
    source = f"import os, sys\ndef f():\n    os.write(int(sys.argv[2]), {line!r}.encode() + b'\\n')\n    return 2\n"
    with kind(source, limits=QUICK) as student, pytest.raises(NoAnswer):
        student.call("f")


@pytest.mark.parametrize("forged", [[], [[0, 1]], 3, {}, [3], [[0, 1]] * 4, None])
def test_a_play_of_forged_length_is_no_answer(kind, forged):
    source = f"""
import sys
sys.modules["__main__"].Answerer.play = lambda *args, **kwargs: {forged!r}
sys.modules["__main__"].Answerer.play_duels = lambda *args, **kwargs: {forged!r}
class Agent:
    pass
"""
    with kind(source, limits=QUICK) as student:
        agent = student.make("Agent")
        with pytest.raises(NoAnswer):
            student.play(agent, [[True] * 2] * 3, [[True] * 2] * 3)
        with pytest.raises(NoAnswer):
            student.play_duels(agent, [[[True] * 2] * 2] * 3)


@pytest.mark.parametrize("method", ["make", "signature", "load"])
def test_forged_answers_to_other_requests(kind, method):
    source = f'import sys\nsys.modules["__main__"].Answerer.{method} = lambda *a, **k: [[]]\nclass Agent: pass\n'
    with kind(source, limits=QUICK) as student:
        student.load()
        if method != "load":
            with pytest.raises(NoAnswer):
                getattr(student, method)("Agent")


def test_a_play_ends_at_a_list_that_cannot_be_displayed(kind):
    source = """
class Agent:
    def __init__(self):
        self.round = 0
    def act(self):
        self.round += 1
        return [0, 1] if self.round < 3 else [1, 1]
    def update(self, displayed, clicks):
        pass
"""
    with kind(source, limits=QUICK) as student:
        agent = student.make("Agent")
        assert student.play(agent, [[True] * 2] * 9, [[True] * 2] * 9) == [[0, 1], [0, 1], [1, 1]]
