"""What tests of stable-baselines3 share: one thread of torch, for fast small networks and equal sums; its logs."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def logs_of_learning(tmp_path_factory):
    """The library's default logger makes a folder for nothing, among the temporary files unless it is told where."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SB3_LOGDIR", str(tmp_path_factory.mktemp("learning")))
        yield
