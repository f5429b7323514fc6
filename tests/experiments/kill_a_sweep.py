"""Kill a sweep at random moments, again and again, and compare what it finds in the end with an undisturbed run.

    python tests/experiments/kill_a_sweep.py --kills 100

plays a sweep once without being disturbed, and once with SIGKILL to the driver or to one of its workers at random
moments, starting it anew after each death of the driver; then compares every byte of the results, and looks for files
and processes that nobody wants. POSIX only: processes are found in /proc, or by ps.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEFT = {"lock", "log.jsonl", "plan.json", "results", "sweep.json"}  # what a finished sweep's folder has
WORKER = "loky.backend.popen_loky_posix"  # in the command line of a worker

SWEEP = """
rounds = 2_000_000
runs = 2
rows_per_job = 8
query = [0, 1, 2, 3, 4, 5, 6, 7]
agents = ["toprank", "bubblerank", "cascade-kl-ucb"]

[[environments]]
id = "PBM-Yandex-v0"

[[environments]]
id = "CM-Yandex-Breakpoint-v0"
agents = ["cascade-kl-ucb", "toprank"]

[[environments]]
id = "Dueling-Arxiv-v0"
agents = ["rucb", "mergerucb"]
runs = 8
query = "all"
"""


def command(*words):
    return [sys.executable, "-c", "from rankgym.cli import main; main()", "sweep", *map(str, words)]


def environment():
    paths = [str(ROOT), str(ROOT / "agents"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths[2:] + paths[:2] if len(paths) > 2 else paths)}


def children(pid):
    """Process ids and command lines of the children of ``pid``."""
    text = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    lines = (line.split(None, 2) for line in text.splitlines())
    return [(int(line[0]), line[2]) for line in lines if len(line) == 3 and int(line[1]) == pid]


def workers(pid):
    return [child for child, line in children(pid) if WORKER in line]


def left_behind(drivers):
    """What joblib has left in the places for what is temporary: its names have the driver's process id."""
    places = [place for place in (Path(tempfile.gettempdir()), Path("/dev/shm")) if place.is_dir()]
    found = [path for place in places for pattern in ("*loky-*", "joblib_*") for path in place.glob(pattern)]
    return sorted({str(path) for path in found if any(re.search(rf"[-_]{pid}[-_]", path.name) for pid in drivers)})


def results(folder):
    return {path.name: path.read_bytes() for path in (folder / "results").iterdir()}


def start(file, folder, jobs, every, log):
    words = ["run", file, "--out", folder, "--jobs", jobs, "--checkpoint-every", every]
    return subprocess.Popen(command(*words), stdout=log, stderr=log, env=environment())


def play(file, folder, jobs, every, log):
    process = start(file, folder, jobs, every, log)
    if process.wait():
        raise RuntimeError(f"the undisturbed run failed; see {log.name}")


def gone(pid, patience=20.0):
    """Whether a process ends, or has ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        time.sleep(0.1)
    return False


def kill_a_sweep(
    place, *, kills, sweep=SWEEP, wanted=None, jobs=2, every=0.3, longest=8.0, parents=0.5, seed=0, tell=print
):
    """The report: a dict of numbers, and of lists that should be empty.

    Args:
        place: an empty folder to work in.
        kills: how many. Where the sweep is finished before so many, another one begins.
        sweep: the text of a TOML file.
        wanted: its results, name -> bytes. Default: it is played once undisturbed.
        jobs: worker processes.
        every: seconds between checkpoints.
        longest: seconds between two kills are drawn from 0 to so many.
        parents: share of the kills that are of the driver.
        seed: of the moments.
        tell: is told how it goes.
    """
    chance = random.Random(seed)
    file = place / "sweep.toml"
    file.write_text(sweep)
    log = (place / "log.txt").open("w")
    begin = time.monotonic()
    if wanted is None:
        play(file, place / "undisturbed", jobs, every, log)
        wanted = results(place / "undisturbed")
    alone = time.monotonic() - begin
    report = {
        "kills of the driver": 0,
        "kills of workers": 0,
        "kills while jobs were played": 0,
        "starts": 0,
        "sweeps finished": 0,
        "jobs": len(wanted),
        "seconds undisturbed": round(alone, 1),
        "differing files": [],
        "stray files": [],
        "stray processes": [],
    }
    seen, drivers = set(), set()
    done = 0
    while done < kills or report["sweeps finished"] == 0:
        folder = place / f"killed-{report['sweeps finished']}"
        finished = False
        while not finished:
            process = start(file, folder, jobs, every, log)
            drivers.add(process.pid)
            report["starts"] += 1
            due = time.monotonic() + chance.uniform(0, longest)
            of_driver = chance.random() < parents
            while process.poll() is None:
                time.sleep(0.02)
                if done >= kills or time.monotonic() < due:
                    continue
                mine = workers(process.pid)
                playing = any(folder.glob("work-*/*.progress"))
                seen.update(mine)
                if of_driver:
                    process.kill()
                    process.wait()
                    report["kills of the driver"] += 1
                elif mine:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(chance.choice(mine), signal.SIGKILL)
                        report["kills of workers"] += 1
                else:
                    continue  # there is none yet
                done += 1
                report["kills while jobs were played"] += playing
                due = time.monotonic() + chance.uniform(0, longest)
                of_driver = chance.random() < parents
            if process.returncode == 0:
                finished = True
            elif process.returncode not in (-signal.SIGKILL, 2):  # killed, or given up after many deaths in a row
                raise RuntimeError(f"the sweep ended with {process.returncode}; see {log.name}")
            if report["starts"] % 10 == 0:
                tell(f"{done} kills, {len(list(folder.glob('results/*')))} of {len(wanted)} jobs")
        report["sweeps finished"] += 1
        found = results(folder)
        names = sorted({*found, *wanted})
        report["differing files"] += [name for name in names if found.get(name) != wanted.get(name)]
        report["stray files"] += [str(path) for path in folder.iterdir() if path.name not in LEFT]
    report["stray processes"] = [pid for pid in sorted(seen) if not gone(pid)]
    report["stray files"] += left_behind(drivers)
    report["seconds"] = round(time.monotonic() - begin, 1)
    log.close()
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--longest", type=float, default=8.0, help="seconds between two kills, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary one, removed afterwards")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temp:
        place = given.folder or Path(temp)
        place.mkdir(parents=True, exist_ok=True)
        report = kill_a_sweep(
            place,
            kills=given.kills,
            sweep=SWEEP.replace("100_000", str(given.rounds)),
            jobs=given.jobs,
            longest=given.longest,
            seed=given.seed,
        )
    for name, value in report.items():
        print(f"{name}: {value}")
    bad = [name for name, value in report.items() if isinstance(value, list) and value]
    print("everything is as in the undisturbed run" if not bad else f"WRONG: {', '.join(bad)}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
