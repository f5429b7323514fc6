"""Which modules pytest looks at for examples in docstrings. What tests share is in ``tests/conftest.py``."""

import contextlib
import importlib
from pathlib import Path

ROOT = Path(__file__).parent
MADE = {
    ROOT / "docs" / name for name in ("agents", "api", "environments", "facts", "pictures", "tasks")
}  # by building the site


def pytest_ignore_collect(collection_path):
    """Leave out the modules without examples: pytest imports what it collects, in each of its processes.

    The others are imported here: pytest runs a module that is not imported yet a second time, after its package, and
    so puts the module ``rankgym.experiments.compare`` in the place of the function of this name.
    """
    if collection_path in MADE:
        return True
    if collection_path.suffix != ".py" or collection_path.name.startswith("test_"):
        return None
    if ">>> " not in collection_path.read_text(encoding="utf-8"):
        return True
    parts = collection_path.relative_to(ROOT).with_suffix("").parts
    if parts[0] in ("rankgym", "agents"):
        with contextlib.suppress(ImportError):  # the module's extra is not installed
            importlib.import_module(".".join(parts[parts[0] == "agents" :]).removesuffix(".__init__"))
    return None
