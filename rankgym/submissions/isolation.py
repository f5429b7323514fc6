"""What a submission's process may do: it takes its own rights away before it runs the submitted file.

Imports the standard library alone. On Linux the process gets namespaces of its own: it sees no other processes, has no
network, can write into its own folder only, and what it starts ends with it. Where the system refuses namespaces, the
rest holds. Started by root, it becomes a user who owns nothing. Limits of memory, processor time, processes and file
sizes hold on all POSIX systems.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
from collections.abc import Iterable
from typing import Any

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 18
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
CAPABILITIES_V3 = 0x20080522
MOUNT_SETATTR, HERE, RECURSIVE, RDONLY = 442, -100, 0x8000, 1  # the call has this number on all architectures
NOBODY = 61_000  # the first of the users that root's submissions become, one for each asking process
LARGEST_FILE = 50 << 20
OWN_FOLDER = b"mode=777,size=256m,nr_inodes=10k"  # of a submission's folder, which is in memory
PRIVATE = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/home", "/mnt", "/media")  # people's files, programs' sockets
NAMESPACES, PLAIN, REFUSED, SHUT = "namespaces", "plain", "refused", "shut"


def enter(
    answers: int, requests: int, *, memory: int, seconds: int, processes: int, hidden: list[str], namespaces: bool
) -> None:
    """Take away the rights of this process. Returns in a child of it, which has new namespaces if it may.

    Writes one line to ``answers``: the child's process number, as the asking side sees it, and ``NAMESPACES`` or
    ``PLAIN``. The number is 0 if nothing was started: then comes ``REFUSED`` (ask again without ``namespaces``), or
    ``SHUT`` and a folder, if root's submission would be a user who cannot read Python's own files there.

    Args:
        answers: file descriptor.
        requests: file descriptor; the child ends when its other end is closed.
        memory: bytes of address space of each process.
        seconds: processor time of each process.
        processes: most processes and threads at a time; counted over the user, where that is one of its own.
        hidden: folders that are empty for the submission, if namespaces can be had.
        namespaces: whether to try to get them.
    """
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    alone = namespaces and sys.platform == "linux" and unshared(root)
    shut = {path: closed(path) for path in needed() if root and closed(path)}
    if shut and (not alone or any(folder == path for path, folder in shut.items())):
        os.write(answers, f"0 {SHUT} {next(iter(shut.values()))}\n".encode())
        os._exit(1)
    if sys.platform == "linux":
        ready = keep_a_child(answers, requests, NAMESPACES if alone else PLAIN)
    else:
        os.write(answers, f"{os.getpid()} {PLAIN}\n".encode())
    if alone:
        try:
            be_alone([*hidden, *shut.values()])
        except OSError:
            os._exit(1)  # the keeper says that it was refused
    limit(memory, seconds, processes if root or alone else None)
    if root:
        user = NOBODY + int(os.environ.get("RANKGYM_ASKED_BY", "0")) % 2_000  # parents are not visible here
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    if sys.platform == "linux":
        drop_capabilities()
        libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # ends with its keeper; cleared by setuid
        os.write(ready, b".")
        os.close(ready)


def protect_asker() -> None:
    """Close this process's memory and environment to other processes of the same user, where no namespace does."""
    if sys.platform == "linux":
        libc().prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def unshared(root: bool) -> bool:
    """Enter new namespaces; return whether it could be done."""
    flags = NEWNS | NEWIPC | NEWPID | NEWNET
    if not root:
        flags |= NEWUSER
    user, group = os.geteuid(), os.getegid()
    if libc().unshare(flags) != 0:
        return False
    if not root:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with contextlib.suppress(OSError), open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    return True


def keep_a_child(answers: int, requests: int, how: str) -> int:
    """Fork; return in the child a descriptor to write to once it is ready. This process stays, as the child's keeper.

    The keeper tells ``answers`` how the child started, takes over what the child's children leave behind, so that they
    can be found, and kills the child when the asking side has gone.
    """
    told, ready = os.pipe()
    libc().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if not child:
        os.close(told)
        return ready
    os.close(ready)
    os.write(answers, (f"{child} {how}\n" if os.read(told, 1) else f"0 {REFUSED}\n").encode())
    os.close(answers)
    os.closerange(1, 3)  # the asking side reads to the end of the submission's output
    events = select.poll()
    events.register(requests, 0)  # hangs up when nobody can ask any more
    with contextlib.suppress(OSError, AttributeError):
        events.register(os.pidfd_open(child), select.POLLIN)
    while True:
        gone = any(event & select.POLLHUP for number, event in events.poll(500) if number == requests)
        if gone:
            os.kill(child, signal.SIGKILL)
        ended, status = os.waitpid(child, 0 if gone else os.WNOHANG)
        if ended:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


# -- what it sees -----------------------------------------------------------------------------------------------------


def be_alone(hidden: list[str]) -> None:
    """Hide processes, other people's folders and ``hidden``; make all but this folder read-only."""
    os.umask(0o022)
    own = os.path.realpath(os.getcwd())
    mount(b"none", "/", None, MS_REC | MS_PRIVATE)
    mount(b"tmpfs", own, b"tmpfs", MS_NOSUID | MS_NODEV, OWN_FOLDER)
    for folder, kept in covers([*PRIVATE, home(), *hidden], [*needed(), own]).items():
        if os.path.isdir(folder):  # it may be inside one that is covered by now
            cover(folder, kept)
    os.chdir(own)
    try:
        mount(b"proc", "/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError:  # in some containers; without it processes are not visible either
        mount(b"tmpfs", "/proc", b"tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, b"mode=755,size=4k")
    if protect("/", RDONLY, 0, RECURSIVE):
        for folder in (own, "/dev/shm"):
            protect(folder, 0, RDONLY)


def mount(source: bytes, target: str, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
    if libc().mount(source, os.fsencode(target), kind, ctypes.c_ulong(flags), data) != 0:
        raise OSError(ctypes.get_errno(), "mount", target)


def protect(folder: str, forbid: int, allow: int, flags: int = 0) -> bool:
    """Set and clear attributes of a mount; return whether the system can do that (Linux 5.12)."""
    wanted = (ctypes.c_uint64 * 4)(forbid, allow, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    return bool(libc().syscall(MOUNT_SETATTR, HERE, os.fsencode(folder), flags, ctypes.byref(wanted), size) == 0)


def needed() -> list[str]:
    """Return the folders of Python and its packages. rankgym's own part that runs here has been read."""
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path}
    return sorted({os.path.realpath(path) for path in paths if path and os.path.isdir(path)})


def home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def closed(path: str) -> str:
    """Return the first folder on the way to ``path`` that others may not enter; "" if there is none."""
    parts = path.split(os.sep)
    above = (os.sep.join(parts[:number]) for number in range(2, len(parts) + 1))
    return next((folder for folder in above if not os.stat(folder).st_mode & 0o001), "")


def covers(folders: Iterable[str], needed: Iterable[str]) -> dict[str, list[str]]:
    """Return the folders to cover, outer ones first, and what must still be seen in each of them."""
    found = {}
    for folder in sorted({os.path.realpath(folder) for folder in folders if folder and os.path.isdir(folder)}):
        kept: list[str] = []
        for path in sorted(needed):
            if (path + os.sep).startswith(folder + os.sep) and not any(path.startswith(k + os.sep) for k in kept):
                kept.append(path)
        if folder not in ("/", *kept):
            found[folder] = kept
    return found


def cover(folder: str, kept: list[str]) -> None:
    """Mount an empty file system over ``folder``, with nothing in it but the folders ``kept``."""
    held = [os.open(path, os.O_PATH) for path in kept]
    data = b"mode=1777,size=64m" if folder == "/dev/shm" else b"mode=755,size=256k"
    mount(b"tmpfs", folder, b"tmpfs", MS_NOSUID | MS_NODEV, data)
    for path, number in zip(kept, held, strict=True):
        os.makedirs(path, exist_ok=True)
        mount(f"/proc/self/fd/{number}".encode(), path, None, MS_BIND | MS_REC)
        os.close(number)


# -- what it may use --------------------------------------------------------------------------------------------------


def limit(memory: int, seconds: int, processes: int | None) -> None:
    """Set this process's limits, which its children inherit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_AS": memory, "RLIMIT_CPU": seconds, "RLIMIT_FSIZE": LARGEST_FILE, "RLIMIT_CORE": 0}
    if processes is not None:
        wanted["RLIMIT_NPROC"] = processes
    for name, value in wanted.items():
        if hasattr(resource, name):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, name), (value, value))


def drop_capabilities() -> None:
    """Give up the rights that come with a user namespace: its mounts could be undone with them."""
    number = 0
    while number < 64 and libc().prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    header, nothing = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    libc().capset(header, nothing)
