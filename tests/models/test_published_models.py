"""Best lists of the 60 published Yandex queries. They skip where the data is not beside the checkout."""

import itertools

import numpy as np
import pytest

from rankgym.envs.queries import Queries
from rankgym.models import MODELS
from rankgym.models.base import sorted_lists

pytestmark = pytest.mark.usefixtures("published")


def queries(model, positions):
    return Queries.load(model, source="published", num_positions=positions).parameters


@pytest.mark.parametrize("model", ["UBM", "DBN", "CCM"])
@pytest.mark.parametrize("positions", [3, 10])
def test_the_best_list_equals_brute_force(model, positions):
    """All 720 lists of the first three positions, also where seven items more are displayed below."""
    parameters = queries(model, positions)
    best = MODELS[model].rewards["clicks"].best_lists(parameters, positions, 3)
    found = MODELS[model].values(parameters, best, 3, "clicks")
    lists = np.zeros((720, positions), np.int64)
    lists[:, :3] = list(itertools.permutations(range(10), 3))
    for query in range(60):
        many = MODELS[model].parameters(*(np.repeat(a[query : query + 1], 720, axis=0) for a in parameters))
        assert found[query] == pytest.approx(MODELS[model].values(many, lists, 3, "clicks").max(), abs=1e-12)


@pytest.mark.parametrize(
    ("model", "mean", "most"),
    [("UBM", 0.0183, 0.0884), ("DBN", 0.0852, 0.4623), ("CCM", 0.0804, 0.3640), ("DBM", 0.0, 0.0)],
)
def test_what_the_sorted_list_loses(model, mean, most):
    """In expected clicks a session, at five positions: the best list's less those of the list sorted by attraction."""
    parameters = queries(model, 5)
    lists = MODELS[model].rewards["clicks"].best_lists(parameters, 5, 5), sorted_lists(parameters.attraction, 5)
    best, by_attraction = (MODELS[model].values(parameters, each, 5, "clicks") for each in lists)
    lost = best - by_attraction
    assert lost.min() >= 0
    assert lost.mean() == pytest.approx(mean, abs=5e-5)
    assert lost.max() == pytest.approx(most, abs=5e-5)
