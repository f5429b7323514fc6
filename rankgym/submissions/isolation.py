"""What a submission's process may do: it takes its own rights away before it runs the submitted file.

Imports the standard library alone. On Linux the process gets namespaces of its own: it sees no other processes, has no
network, and what it starts ends with it. Where the system refuses namespaces, the rest holds. Started by root, it
becomes a user who owns nothing. Limits of memory, processor time, processes and file sizes hold on all POSIX systems.
"""

import contextlib
import ctypes
import os
import sys
from typing import Any

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 1 << 12, 1 << 14, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
NOBODY = 61_000  # the first of the users that root's submissions become, one for each asking process
LARGEST_FILE = 50 << 20
NAMESPACES = "namespaces"


def enter(answers: int, *, memory: int, seconds: int, processes: int, hidden: list[str]) -> None:
    """Take away the rights of this process. Returns in a child of it, which has new namespaces if it may.

    Writes one line to ``answers``: the child's process number, as the asking side sees it, and ``NAMESPACES`` or
    "plain"; or 0 and a folder, if root's submission would be a user who cannot read Python's own files there.

    Args:
        answers: file descriptor.
        memory: bytes of address space of each process.
        seconds: processor time of each process.
        processes: most processes and threads at a time; counted over the user, where that is one of its own.
        hidden: folders that are empty for the submission, if namespaces can be had.
    """
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    alone = sys.platform == "linux" and unshared(root)
    closed = closed_folders() if root else {}
    if closed and not alone:
        os.write(answers, f"0 {next(iter(closed))}\n".encode())
        os._exit(1)
    if alone:
        child = os.fork()
        if child:
            os.write(answers, f"{child} {NAMESPACES}\n".encode())
            os.close(answers)
            _, status = os.waitpid(child, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        hide(hidden)
        open_up(closed)
    else:
        os.write(answers, f"{os.getpid()} plain\n".encode())
    limit(memory, seconds, processes if root or alone else None)
    if root:
        user = NOBODY + os.getppid() % 2_000 if not alone else NOBODY + answers_owner()
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    if sys.platform == "linux":
        libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc().prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)  # ends with its parent; cleared by setuid, so it comes last


def answers_owner() -> int:
    """Return a number that differs between asking processes: parents are not visible in a new namespace."""
    return int(os.environ.get("RANKGYM_ASKED_BY", "0")) % 2_000


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


def hide(folders: list[str]) -> None:
    """Mount an empty file system over ``folders``, and a new /proc, which has this namespace's processes only."""
    mount = libc().mount
    mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
    for folder in folders:
        mount(b"tmpfs", os.fsencode(folder), b"tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, b"size=4k")


def closed_folders() -> dict[str, list[str]]:
    """Return the folders that others may not enter, though Python's files are in them, and these files' folders."""
    needed = {sys.prefix, sys.base_prefix, os.path.dirname(os.path.abspath(__file__)), *sys.path}
    closed: dict[str, list[str]] = {}
    for path in sorted(os.path.realpath(path) for path in needed if os.path.isdir(path)):
        parts = path.split(os.sep)
        above = [os.sep.join(parts[:number]) for number in range(2, len(parts) + 1)]
        shut = next((folder for folder in above if not os.stat(folder).st_mode & 0o001), None)
        if shut is not None and not any(path.startswith(kept + os.sep) for kept in closed.get(shut, [])):
            closed.setdefault(shut, []).append(path)
    return closed


def open_up(closed: dict[str, list[str]]) -> None:
    """Mount an empty file system over each closed folder, with nothing in it but the folders that Python needs."""
    mount, umount = libc().mount, libc().umount2
    for number, (shut, kept) in enumerate(closed.items()):
        stashes = [os.path.abspath(f".stash-{number}-{place}") for place in range(len(kept))]
        for path, stash in zip(kept, stashes, strict=True):
            os.mkdir(stash)
            mount(os.fsencode(path), os.fsencode(stash), None, MS_BIND | MS_REC, None)
        mount(b"tmpfs", os.fsencode(shut), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=64k")
        for path, stash in zip(kept, stashes, strict=True):
            os.makedirs(path, exist_ok=True)
            mount(os.fsencode(stash), os.fsencode(path), None, MS_BIND | MS_REC, None)
            umount(os.fsencode(stash), MNT_DETACH)
            os.rmdir(stash)


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
