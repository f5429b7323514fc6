"""Assert what is in the wheel and in the sdist: a wheel has both packages with their data, an sdist all tests, too."""

import sys
import tarfile
import zipfile

wheel, sdist = sys.argv[1:]
names = zipfile.ZipFile(wheel).namelist()
tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
assert tops == {"rankgym", "rankgym_agents"}, tops
assert {"rankgym/py.typed", "rankgym_agents/py.typed"} <= set(names)
for made in ("yandex_calibrated.npz", "mslr_calibrated.npz"):
    assert f"rankgym/data/{made}" in names, f"{made} is missing"
handouts = [name for name in names if name.startswith("rankgym/exercises/handout_files/") and name.endswith(".py")]
handouts = [name for name in handouts if "/pictures/" not in name]
assert len(handouts) == 9, f"handouts in the wheel: {handouts}"
assert not [name for name in names if "solution" in name], "solutions are in the wheel"
assert sum(name.startswith("rankgym/sb3/weights/ppo-") for name in names) == 5, "trained policies are missing"
size = sum(one.file_size for one in zipfile.ZipFile(wheel).infolist()) / 1e6
print(f"wheel: {len(names)} files, {size:.1f} MB unpacked")

with tarfile.open(sdist) as opened:
    inside = {name.partition("/")[2] for name in opened.getnames()}
wanted = {"tests/conftest.py", "conftest.py", "docs/conf.py", "examples/first_steps.py", "CITATION.cff", "SECURITY.md"}
assert wanted <= inside, f"{sorted(wanted - inside)} are not in the sdist"
print("sdist:", len(inside), "files")
