"""What tests of several rooms share: the 60 published queries; and no test asserts a time, not even hypothesis's."""

from pathlib import Path

import pytest
from hypothesis import settings

from rankgym import data

settings.register_profile("rankgym", deadline=None)  # the first example may have to compile a kernel
settings.load_profile("rankgym")

ORIGINAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "yandex60.pkl"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The parameters of a model's published queries, by its name, from beside the checkout or the user's data cache."""
    with pytest.MonkeyPatch.context() as patch:
        if ORIGINAL.exists():
            patch.setenv("RANKGYM_DATA_HOME", str(tmp_path_factory.mktemp("data")))
            data.import_file("yandex60", ORIGINAL)
        try:
            data.query_ids("yandex", "published")
        except data.MissingData:
            pytest.skip("no published queries here; run: rankgym data fetch yandex60")
        yield lambda model: data.parameters("yandex", model, "published")
