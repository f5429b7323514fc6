"""Import every module of both packages; those of the extra sb3 only where it is installed."""

import importlib
import importlib.util
import pkgutil

import rankgym
import rankgym_agents

there = importlib.util.find_spec("stable_baselines3") is not None
for package in (rankgym, rankgym_agents):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__") and (there or not module.name.startswith("rankgym.sb3")):
            importlib.import_module(module.name)
