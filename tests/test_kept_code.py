"""The files of compiled kernels: damaged, missing or unwritable ones cost time, and nothing else."""

import importlib
import pickle
import shutil
import sys

import pytest

from rankgym.kernels import kept_code
from rankgym.kernels.compiling import CONFIG

pytestmark = pytest.mark.skipif(bool(CONFIG.DISABLE_JIT), reason="needs the compiler")
KEPT = "from rankgym.kernels import kernel\n@kernel\ndef thrice(x):\n    return 3 * x\n"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Makes a kernel of a small module as another process would find it; counts what the compiler compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(kept_code, "_told", set())
    (tmp_path / "small_kernel.py").write_text(KEPT)

    def run():
        sys.modules.pop("small_kernel", None)
        small = importlib.import_module("small_kernel")
        assert (small.thrice(4), small.thrice(0.5)) == (12, 1.5)
        return sum(small.thrice.stats.cache_misses.values())

    run.folder = tmp_path / "kernels"
    return run


DAMAGE = {
    "emptied": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flipped": lambda path: path.write_bytes(bytes([*path.read_bytes()[:-90], 7, *path.read_bytes()[-89:]])),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_of_kernels_are_compiled_again(kept, damage):
    assert (kept(), kept()) == (2, 0)
    for suffix in ("nbi", "nbc"):
        (first, *_) = sorted(kept.folder.rglob(f"*thrice*.{suffix}"))
        DAMAGE[damage](first)
        assert kept() == (2 if suffix == "nbi" else 1)
        assert kept() == 0


def test_the_code_of_another_type_or_kernel_is_not_taken(kept):
    """As if two processes had compiled for different types at the same time, or a file had been copied."""
    assert kept() == 2
    (index,) = kept.folder.rglob("*thrice*.nbi")
    one, two = sorted(kept.folder.rglob("*thrice*.nbc"))
    files = kept_code.CheckedFiles(str(index.parent), index.stem, None)
    files._save_data(two.name, pickle.loads(one.read_bytes()))  # sound, and of the wrong type
    assert (kept(), kept()) == (1, 0)
    shutil.copy(one, two)
    assert not kept_code.is_sound(str(two))
    assert (kept(), kept()) == (1, 0)


def test_a_folder_of_kernels_that_goes_while_they_run_comes_again(kept):
    assert kept() == 2
    shutil.rmtree(kept.folder)
    assert (kept(), kept()) == (2, 0)


def test_a_folder_that_can_only_be_read_is_read(kept, monkeypatch):
    def refuse(self, *given):
        raise PermissionError(13, "Permission denied", self._cache_path)

    kept()
    monkeypatch.setattr("numba.core.caching._CacheLocator.ensure_cache_path", refuse)
    assert kept() == 0
    next(kept.folder.rglob("*thrice*.nbi")).unlink()
    with pytest.warns(
        UserWarning, match=r"not kept between processes: .*denied.*; make .* writable or delete it"
    ) as told:
        assert kept() == 2
    assert len(told) == 1
