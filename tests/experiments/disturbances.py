"""What disturbs a sweep: to its processes while it is played, and to its files while it is not.

A disturbance takes a ``Ground``, the folder of a half-played sweep, and returns what it did, in words. It leaves no
process behind.
"""

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
import time

WITHOUT_LOCKS = "RANKGYM_WITHOUT_LOCKS"
ENTRIES = ("results/*.parquet", "work-*/*.npz", "plan.json", "sweep.json", "log.jsonl")


class Ground:
    """The folder of a half-played sweep, and how commands are started on it.

    Attributes:
        folder: of the sweep.
        chance: a ``random.Random``.
        longest: seconds that the rest of the sweep takes, about.
    """

    def __init__(self, folder, chance, longest, start, patience):
        self.folder, self.chance, self.longest, self.start, self.patience = folder, chance, longest, start, patience
        self.workers = set()  # process ids, to be looked for in the end
        self.foreign = set()  # names of files that no sweep wrote, which are left alone
        self.freed = []  # called when the ground is left

    def resume(self, jobs=1, prepare=None):
        """Start to play the rest."""
        words = ["sweep", "resume", self.folder, "--jobs", jobs, "--checkpoint-every", 0.2]
        return self.start(words, prepare)

    def resumed_for_a_while(self, jobs=1, prepare=None):
        """Start to play the rest, and return at a random moment."""
        command = self.resume(jobs, prepare)
        command.wait(self.chance.uniform(0, self.longest))
        return command

    def one_of(self, *patterns):
        """One of the files that there are."""
        return self.chance.choice([path for pattern in patterns for path in sorted(self.folder.glob(pattern))])

    def name(self, path):
        return path.relative_to(self.folder).as_posix()


# -- processes --------------------------------------------------------------------------------------------------------


def _signalled(number):
    def way(ground):
        command = ground.resumed_for_a_while()
        command.send(number)
        code = command.end(ground.patience)
        assert code in (0, 130, -number), f"{number!r} gave the code {code}: {command.said()}"
        return f"{number!r}, code {code}"

    return way


def _killed_worker(ground):
    command = ground.resume(jobs=2)
    killed = 0
    due = time.monotonic() + ground.chance.uniform(0, ground.longest)
    while command.poll() is None:
        mine = command.workers()
        ground.workers.update(mine)
        if mine and not killed and time.monotonic() > due:
            with contextlib.suppress(ProcessLookupError):
                os.kill(ground.chance.choice(mine), signal.SIGKILL)
                killed += 1
        time.sleep(0.05)
        if time.monotonic() > due + ground.patience:
            command.end(2 * ground.patience)
    assert command.code == 0, f"after a worker's death: {command.said()}"
    return f"killed {killed} workers"


def _stopped(ground):
    command = ground.resumed_for_a_while()
    command.send(signal.SIGSTOP)
    time.sleep(ground.chance.uniform(0, 0.5))
    if ground.chance.random() < 0.5:
        other = ground.resume()
        code = other.end(ground.patience)
        assert code in (0, 2), f"beside a stopped run: {other.said()}"
    command.send(signal.SIGCONT)
    assert command.end(ground.patience) == 0, f"after SIGCONT: {command.said()}"
    return "stopped and continued"


def _two_at_once(ground):
    one, other = ground.resumed_for_a_while(), ground.resume()
    codes = sorted([one.end(ground.patience), other.end(ground.patience)])
    assert codes in ([0, 0], [0, 2]), f"two at once: {one.said()} {other.said()}"
    assert codes == [0, 0] or "another run is using" in one.said() + other.said()
    return f"two at once, codes {codes}"


def _without_locks(ground):
    def prepare():
        import fcntl

        number = ground.chance.choice([errno.ENOLCK, errno.EOPNOTSUPP])

        def flock(*_):
            raise OSError(number, os.strerror(number))

        fcntl.flock = flock

    def allowed():
        prepare()
        os.environ[WITHOUT_LOCKS] = "1"

    refused = ground.resume(prepare=prepare)
    code = refused.end(ground.patience)
    assert (code, str(ground.folder) in refused.said(), WITHOUT_LOCKS in refused.said()) == (2, True, True), (
        f"without locks: {refused.said()}"
    )
    played = ground.resumed_for_a_while(prepare=allowed)
    played.send(ground.chance.choice([signal.SIGKILL, signal.SIGINT]))
    played.end(ground.patience)
    return "no locks"


def _clock(ground):
    years = 365 * 86400
    for path in ground.folder.rglob("*"):
        moment = time.time() + ground.chance.uniform(-40, 40) * years
        os.utime(path, (moment, moment))

    def prepare():
        now = time.time
        time.time = lambda: now() + ground.chance.choice([-10, 0, 10]) * years

    command = ground.resumed_for_a_while(prepare=prepare)
    command.send(signal.SIGINT)
    assert command.end(ground.patience) in (0, 130), f"the clock jumped: {command.said()}"
    return "the clock jumped"


def _mounted(ground, options):
    """Put the folder on a file system of its own; False if that is not allowed here."""
    kept = ground.folder.with_name("kept")
    ground.folder.rename(kept)
    ground.folder.mkdir()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(ground.folder)], capture_output=True)
        mounted = done.returncode == 0
    except FileNotFoundError:
        mounted = False
    if mounted:
        ground.freed.append(lambda: subprocess.run(["umount", "-l", str(ground.folder)], check=True))
    shutil.copytree(kept, ground.folder, dirs_exist_ok=True)
    shutil.rmtree(kept)
    return mounted


def _remounted(ground, options):
    subprocess.run(["mount", "-o", f"remount,{options}", str(ground.folder)], check=True)


def _full_disk(ground):
    taken = sum(-(-path.stat().st_size // 4096) * 4 + 4 for path in ground.folder.rglob("*")) + 8
    room = ground.chance.choice([0, 4, 8, 16, 24, 32])
    mounted = _mounted(ground, f"size={taken + 64}k")
    limit = ground.chance.randrange(2_000, 12_000)
    if mounted:
        _remounted(ground, f"size={taken + room}k")
        command = ground.resume()
    else:
        command = ground.resume(prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    code = command.end(ground.patience)
    full = any(os.strerror(number) in command.said() for number in (errno.ENOSPC, errno.EFBIG))
    assert code == 0 or (code == 2 and full and str(ground.folder) in command.said()), f"full: {command.said()}"
    if mounted:
        _remounted(ground, "size=64m")
    return f"{room} kB were free, code {code}" if mounted else f"files of at most {limit} bytes, code {code}"


def _read_only(ground):
    mounted = _mounted(ground, "size=64m")
    paths = [ground.folder, *(path for path in ground.folder.rglob("*") if path.is_dir())]
    if mounted:
        _remounted(ground, "ro")
    else:
        for path in paths:
            path.chmod(0o555)
    command = ground.resume()
    code = command.end(ground.patience)
    if mounted:
        _remounted(ground, "rw")
    else:
        for path in paths:
            path.chmod(0o755)
    said = str(ground.folder) in command.said() and "cannot be written" in command.said()
    assert (code == 2 and said) or (code == 0 and not mounted and os.geteuid() == 0), f"read-only: {command.said()}"
    return f"read-only, code {code}"


# -- files ------------------------------------------------------------------------------------------------------------


def _flipped(*patterns):
    def way(ground):
        path = ground.one_of(*patterns)
        data = bytearray(path.read_bytes())
        place, bit = ground.chance.randrange(len(data)), ground.chance.randrange(8)
        data[place] ^= 1 << bit
        path.write_bytes(data)
        return f"bit {bit} of byte {place} of {ground.name(path)}"

    return way


def _cut(ground):
    path = ground.one_of(*ENTRIES)
    length = ground.chance.randrange(path.stat().st_size)
    os.truncate(path, length)
    return f"{ground.name(path)} cut to {length} bytes"


def _emptied(ground):
    path = ground.one_of(*ENTRIES, "work-*/*", "lock")
    path.write_bytes(b"")
    return f"{ground.name(path)} emptied"


def _swapped(ground):
    """A result or a checkpoint under another job's name, or two files exchanged."""
    pattern = ground.chance.choice(["results/*.parquet", "results/*.parquet", "work-*/*.npz", "*.json"])
    source = ground.one_of(pattern)
    others = [path for path in sorted(ground.folder.glob(pattern)) if path != source]
    target = ground.chance.choice(others or [source.with_name(f"{'0' * 20}{source.suffix}")])
    if not target.exists():
        ground.foreign.add(target.name)
    elif ground.chance.random() < 0.5:
        data = target.read_bytes()
        target.write_bytes(source.read_bytes())
        source.write_bytes(data)
        return f"{ground.name(source)} and {ground.name(target)} exchanged"
    shutil.copy(source, target)
    return f"{ground.name(source)} as {ground.name(target)}"


def _instead(make):
    def way(ground):
        path = ground.one_of(*ENTRIES, "work-*/*", "lock", "work-*", "results")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        return f"{make(ground, path)} for {ground.name(path)}"

    return way


def _folder(ground, path):
    path.mkdir()
    (path / "file").write_text("not the sweep's")
    ground.foreign |= {"file"} if path.name == "results" else set()
    return "a folder"


def _fifo(ground, path):
    os.mkfifo(path)
    return "a FIFO"


def _link(ground, path):
    foreign = ground.folder.with_name("foreign")
    foreign.write_text("not the sweep's")
    to = ground.chance.choice(["nowhere", path.name, foreign, "/dev/zero", "/dev/null"])
    path.symlink_to(to)
    return f"a link to {to}"


def _removed(ground):
    if ground.chance.random() < 0.5:
        path = ground.chance.choice([ground.folder, ground.one_of("results", "work-*", "work-*/driver")])
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return f"{path.name} removed"
    command = ground.resumed_for_a_while()
    path = ground.one_of("results", "work-*", "results", "plan.json", "lock") if ground.folder.exists() else None
    if path is not None:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    code = command.end(2 * ground.patience)
    assert code in (0, 2), f"removed while it ran: {command.said()}"
    return f"{path and path.name} removed while it ran, code {code}"


WAYS = {
    "SIGKILL to the driver": _signalled(signal.SIGKILL),
    "SIGKILL to a worker": _killed_worker,
    "SIGTERM": _signalled(signal.SIGTERM),
    "SIGINT": _signalled(signal.SIGINT),
    "SIGSTOP and SIGCONT": _stopped,
    "two drivers": _two_at_once,
    "no locks": _without_locks,
    "clock": _clock,
    "full disk": _full_disk,
    "read-only": _read_only,
    "bit of a checkpoint": _flipped("work-*/*.npz"),
    "bit of a result": _flipped("results/*.parquet"),
    "bit of a record": _flipped("plan.json", "sweep.json", "log.jsonl"),
    "cut": _cut,
    "emptied": _emptied,
    "swapped": _swapped,
    "folder": _instead(_folder),
    "FIFO": _instead(_fifo),
    "link": _instead(_link),
    "removed": _removed,
}
