"""Run the doors of ``doors_*.py`` for many inputs, and print counts by category.

    python tests/fuzz/fuzz.py --inputs 40000 --seed 1               # over all doors, evenly
    python tests/fuzz/fuzz.py --door zip --inputs 2000 --seed 1
    python tests/fuzz/fuzz.py --door zip --seed 1 --only 17          # one input again, with its traceback

The exit code is 1 if an input was wrong, see ``fuzzing.py``.
"""

import argparse
import collections
import os
import resource
import sys
from pathlib import Path

import fuzzing  # beside this file

SHOWN = 3  # wrong inputs of a door and kind that are shown


def megabytes() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def run_door(name: str, door: fuzzing.Door, seed: int, numbers: range, folder: Path) -> bool:
    """Run a door for the inputs of these ``numbers``; print a line, and wrong inputs. Return whether all were right."""
    kinds: collections.Counter[str] = collections.Counter()
    before, slowest = megabytes(), (0.0, -1)
    for number in numbers:
        given = fuzzing.input_of(door, name, seed, number)
        found = fuzzing.try_input(door, given, folder)
        kind = " ".join(found.kind.split()[:2])
        kinds[kind] += 1
        slowest = max(slowest, (found.seconds, number))
        if found.wrong and kinds[kind] <= SHOWN:
            last = (found.text.strip().splitlines() or [""])[-1]
            print(f"  WRONG {name} --only {number}: {found.kind:.200}: {last:.200}")
            if len(numbers) == 1:
                print(repr(given)[:2000], found.text, sep="\n")
    counts = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    slow = f"slowest {slowest[0]:.2f} s (--only {slowest[1]}), memory +{megabytes() - before} MB"
    print(f"{name}: {len(numbers):,} inputs: {counts}; {slow}", flush=True)
    return not any(fuzzing.Outcome(kind, 0).wrong for kind in kinds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000, help="in all; the same number for each door")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", action="append", help="only this one; may be repeated")
    parser.add_argument("--only", type=int, help="the number of one input, which is shown with its traceback")
    given = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "agg")
    known = fuzzing.all_doors()
    chosen = {name: known[name] for name in given.door} if given.door else known
    each = range(-(-given.inputs // len(chosen))) if given.only is None else range(given.only, given.only + 1)
    with fuzzing.own_folder() as folder:
        right = [run_door(name, door, given.seed, each, folder) for name, door in chosen.items()]
    print(
        f"{len(each) * len(chosen):,} inputs with seed {given.seed}: {right.count(False)} of {len(right)} doors wrong"
    )
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
