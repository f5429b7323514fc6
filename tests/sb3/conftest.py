"""What tests of stable-baselines3 share: one thread of torch, so that small networks are fast and sums are the same."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
