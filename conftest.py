"""Which modules pytest looks at for examples in docstrings. What tests share is in ``tests/conftest.py``."""


def pytest_ignore_collect(collection_path):
    """Leave out the modules without examples: pytest imports what it collects, in each of its processes."""
    if collection_path.suffix == ".py" and not collection_path.name.startswith("test_"):
        return None if ">>> " in collection_path.read_text(encoding="utf-8") else True
    return None
