"""Print what the core alone costs: the seconds of `import rankgym`, warm, and the size of all that is installed.

To be run by the Python of an environment that has the wheel without extras.
"""

import importlib.util
import pathlib
import resource
import subprocess
import sys
import sysconfig

EXTRAS = ("torch", "stable_baselines3", "matplotlib", "pandas", "pyarrow", "scipy", "joblib", "PIL", "pygame", "sphinx")
MOST_SECONDS = 1.5  # of a processor, which other programs do not lengthen as they do a clock's

there = [name for name in EXTRAS if importlib.util.find_spec(name)]
assert not there, f"the core alone installed {there}"
seconds = []
for _ in range(4):  # the first one compiles Python's files
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import rankgym, rankgym_agents"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
place = pathlib.Path(sysconfig.get_path("purelib"))
sizes = {folder.name: sum(file.stat().st_size for file in folder.rglob("*")) / 1e6 for folder in place.iterdir()}
largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:4]
print(f"core alone: import {min(seconds[1:]):.2f} s; {sum(sizes.values()):.0f} MB, of which", end=" ")
print(", ".join(f"{name} {sizes[name]:.0f}" for name in [*largest, "rankgym"]))
assert min(seconds[1:]) < MOST_SECONDS, seconds
