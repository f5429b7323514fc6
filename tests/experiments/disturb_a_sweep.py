"""Disturb a sweep in 20 ways, again and again, and compare what it ends with to an undisturbed run.

    python tests/experiments/disturb_a_sweep.py --number 300 --seed 1
    python tests/experiments/disturb_a_sweep.py --ways "SIGKILL to the driver" "full disk" --number 20

A sweep is played half, and its folder copied. Each disturbance has a copy: signals to the driver or a worker at a
random moment, damage of a file, something else in a file's place, two drivers, a clock that jumps, no locks, no room.
Then ``status`` or ``export --partial``, and ``resume`` must end within 20 seconds, without a traceback (where other
programs compute, they have longer). An exported
line is one of the undisturbed run. The resumed sweep has the same results to the byte, or an error in one line says
what is damaged and what to do; that is done, and then it has. A bit of a result file that decides no number may stay
flipped. Nothing else may be left: no file, no process. POSIX only.
"""

import argparse
import collections
import contextlib
import csv
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from disturbances import WAYS, Ground
from forked_commands import Command, gone, left_behind, warm_up

from rankgym.experiments.run.result_file import read_result

PATIENCE = 20.0  # seconds that a command may take; the sweep takes a few
LEFT = {"lock", "log.jsonl", "plan.json", "results", "sweep.json", "damaged"}  # what a finished sweep's folder has
MOST_TRIES = 50  # to play half of the sweep
MOST_ERRORS = 4  # that are followed before the sweep is resumed

SWEEP = """
rounds = 4_000
query = [0, 3]
agents = ["slow_agent:Slow", "slow_agent:Slow:tau=300"]
[[environments]]
id = "CM-Yandex-v0"
[[environments]]
id = "Dueling-Arxiv-v0"
rounds = 500
query = "all"
agents = ["rucb"]
"""


class Wrong(AssertionError):
    """A sweep did not stand a disturbance."""


class Grounds:
    """An undisturbed run of the sweep, and copies of a half-played one."""

    def __init__(self, place, sweep, chance, patience):
        self.place, self.chance, self.patience = place, chance, patience
        self.drivers, self.commands = set(), 0
        self.file = place / "sweep.toml"
        self.file.write_text(sweep)
        whole, self.half = place / "whole", place / "half"
        again = ["sweep", "run", self.file, "--out", whole, "--jobs", 1]
        warm_up(again, ["sweep", "status", whole], ["sweep", "export", whole, "--to", place / "whole.csv"])
        shutil.rmtree(whole)
        begin = time.monotonic()
        self.play(*again)
        self.seconds = time.monotonic() - begin
        self.wanted = results(whole)
        self.play("sweep", "export", whole, "--to", place / "whole.csv")
        self.lines = lines(place / "whole.csv")
        for _ in range(MOST_TRIES):
            if self.is_half_played():
                return
        raise Wrong("the sweep is too short: no job was interrupted after another had ended")

    def is_half_played(self):
        """Play and interrupt the sweep; returns whether it has a result, and a checkpoint of another job.

        An interrupted job writes a checkpoint, so it is enough that one is played: some time after the first result.
        """
        shutil.rmtree(self.half, ignore_errors=True)
        words = ["sweep", "run", self.file, "--out", self.half, "--jobs", 1, "--checkpoint-every", 0.1]
        command = self.start(words)
        while command.poll() is None and not results(self.half):
            time.sleep(0.01)
        command.wait(self.chance.uniform(0.0, 0.5 * self.seconds))
        command.send(signal.SIGINT)
        command.end(self.patience)
        return bool(results(self.half)) and any(self.half.glob("work-*/*.npz"))

    def start(self, words, prepare=None):
        """Start a command with a log of its own."""
        self.commands += 1
        command = Command(words, self.place / f"log-{self.commands % 50}.txt", prepare)
        self.drivers.add(command.pid)
        return command

    def play(self, *words):
        """Run a command that must succeed."""
        command = self.start(words)
        if command.end(self.patience):
            raise Wrong(f"`rankgym {' '.join(command.words)}` failed: {command.said()}")

    def ask(self, words, prepare=None):
        """Run a command; its exit code is 0, or it says in one line what is wrong. Returns both."""
        command = self.start(words, prepare)
        code, said = command.end(self.patience), command.said()
        if code not in (0, 2) or "Traceback" in said or (code == 2 and "error: " not in said):
            raise Wrong(f"`rankgym {' '.join(command.words)}` gave {code}: {said}")
        return code, said.rpartition("error: ")[2] if code else said

    def disturb(self, name):
        """Disturb a copy in the way of that name; returns what was done and how it ended, in words."""
        folder = self.place / "disturbed" / "sweep"
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir()
        shutil.copytree(self.half, folder)
        ground = Ground(folder, self.chance, 1.2 * self.seconds, self.start, self.patience)
        done = name
        try:
            done = WAYS[name](ground)
            return done, self.finish(ground)
        except (AssertionError, OSError, IndexError) as error:
            trace = "" if isinstance(error, AssertionError) else traceback.format_exc()
            raise Wrong(f"{name}: {done}: {error}{trace}") from None
        finally:
            for free in ground.freed:
                free()

    def finish(self, ground):
        """Look at a disturbed sweep and play its rest; how often an error said what to do, in words."""
        folder, table = ground.folder, ground.folder.with_name("table.csv")
        look = self.chance.choice([["status", folder], ["export", folder, "--partial", "--to", table]])
        code, _ = self.ask(["sweep", *look])
        if table.exists() and (wrong := lines(table) - self.lines):
            raise Wrong(f"{len(wrong)} exported lines are not of the undisturbed run, as {sorted(wrong.pop())}")
        words, prepare, errors = ["sweep", "resume", folder, "--jobs", 1], None, []
        while True:
            code, said = self.ask(words, prepare)
            if code == 0:
                break
            errors.append(said)
            if len(errors) > MOST_ERRORS or str(folder) not in said:
                raise Wrong(f"errors that lead nowhere: {errors}")
            words = self.advised(words, said, folder)
        found = {name: data for name, data in results(folder).items() if name not in ground.foreign}
        changed = [name for name in sorted({*found, *self.wanted}) if found.get(name) != self.wanted.get(name)]
        stray = [path.name for path in folder.iterdir() if path.name not in LEFT]
        alive = [pid for pid in sorted(ground.workers) if not gone(pid)]
        foreign = folder.with_name("foreign")
        if foreign.exists() and foreign.read_text() != "not the sweep's":
            raise Wrong("a foreign file was written to through a link")
        different = [name for name in changed if not self.has_the_same_numbers(folder, name)]
        if different or stray or alive:
            raise Wrong(f"different: {different}; stray files: {stray}; processes that live: {alive}")
        if changed:
            return "the same numbers"
        return "said and mended" if errors else "the same at once"

    def has_the_same_numbers(self, folder, name):
        """Whether a result file that has other bytes holds the same: a bit of its layout may be flipped."""
        if name not in self.wanted or not (folder / "results" / name).is_file():
            return False
        one, other = (read_result(place / "results" / name) for place in (folder, self.place / "whole"))
        return one.settings == other.settings and all(
            values.tobytes() == other.columns[column].tobytes() for column, values in one.columns.items()
        )

    def advised(self, words, said, folder):
        """Do what an error advises, and return the words of the next command."""
        if "--replace" in said or "rankgym sweep run FILE.toml" in said:
            return ["sweep", "run", self.file, "--out", folder, "--jobs", 1, *["--replace"] * ("--replace" in said)]
        if "move it away" in said or "move the folder away" in said or "remove it" in said:
            path = Path(re.search(re.escape(str(folder)) + r"[^\s:;,]*", said)[0])
            with contextlib.suppress(FileNotFoundError):
                path.rename(folder.with_name("moved-away"))
        elif "to resume: " not in said and "to start again: " not in said:
            raise Wrong(f"an error without a way out: {said}")
        return words


def results(folder):
    """The result files of a sweep's folder: name -> bytes."""
    return {path.name: path.read_bytes() for path in folder.glob("results/*")}


def lines(table):
    """The lines of an exported table; a part of a sweep may lack measures, and so columns that are empty elsewhere."""
    with table.open(newline="") as file:
        return {frozenset(pair for pair in line.items() if pair[1]) for line in csv.DictReader(file)}


def disturb_a_sweep(place, *, number, ways=tuple(WAYS), sweep=SWEEP, seed=0, patience=PATIENCE, tell=print):
    """The report: a dict of the undisturbed seconds, a count for each way and end, and what went wrong.

    Args:
        place: an empty folder to work in.
        number: of disturbances, in all ways in turn.
        ways: names of ``WAYS``.
        sweep: the text of a TOML file whose first job takes long enough to be disturbed.
        seed: of the moments and places.
        patience: seconds that a command may take.
        tell: is told how it goes.
    """
    chance = random.Random(seed)
    grounds = Grounds(place, sweep, chance, patience)
    counts, wrong = collections.Counter(), []
    for turn in range(number):
        name = ways[turn % len(ways)]
        try:
            _, end = grounds.disturb(name)
        except Wrong as error:
            end = "WRONG"
            wrong.append(str(error))
            tell(f"WRONG: {error}")
        counts[name, end] += 1
        if turn % 50 == 49:
            tell(f"{turn + 1} disturbances, {len(wrong)} wrong: {dict(counts)}")
    stray = left_behind(grounds.drivers)
    return {"seconds undisturbed": round(grounds.seconds, 2), "counts": counts, "wrong": wrong, "stray files": stray}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100, help="of disturbances, in all ways in turn")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=tuple(WAYS), metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that a command may take")
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary one, removed afterwards")
    given = parser.parse_args()
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what was mounted goes
    with tempfile.TemporaryDirectory() as temp:
        place = given.folder or Path(temp)
        place.mkdir(parents=True, exist_ok=True)
        report = disturb_a_sweep(place, number=given.number, ways=given.ways, seed=given.seed, patience=given.patience)
    for way in given.ways:
        ends = ", ".join(f"{end}: {count}" for (name, end), count in sorted(report["counts"].items()) if name == way)
        print(f"{way:24}{ends}")
    print(f"{given.number} disturbances, seed {given.seed}, {time.monotonic() - begin:.0f} s")
    print(f"wrong: {len(report['wrong'])}; stray files: {report['stray files']}")
    sys.exit(bool(report["wrong"] or report["stray files"]))


if __name__ == "__main__":
    main()
