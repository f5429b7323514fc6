"""Simulated duels beside exact ones: the law of the lists times the law of the clicks, in plain Python."""

import math

import numpy as np
import plain_interleavings as plain
import pytest

from rankgym.data import letor
from rankgym.envs import InterleavedRankersVectorEnv
from rankgym.models.users import click_vectors, user

ROWS, ROUNDS = 500, 100
LAWS = {
    "balanced": (lambda *duel: plain.law_of(plain.balanced, *duel), plain.balanced_credit),
    "document-constraints": (lambda *duel: plain.law_of(plain.balanced, *duel), plain.constraints_credit),
    "team-draft": (lambda *duel: plain.law_of(plain.team_draft, *duel), plain.positional_credit),
    "probabilistic": (plain.probabilistic_law, plain.marginal_credit),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Three queries with 5, 4 and 2 documents, the first two features against each other."""
    folder = tmp_path_factory.mktemp("data")
    documents = [
        *((2, 1, 9, 1), (0, 1, 8, 5), (4, 1, 3, 7), (0, 1, 2, 9), (1, 1, 1, 2)),
        *((0, 2, 4, 1), (3, 2, 3, 6), (0, 2, 2, 5), (1, 2, 1, 8)),
        *((0, 3, 2, 1), (1, 3, 1, 2)),
    ]
    path = folder / "three.txt"
    path.write_text("".join(f"{label} qid:{qid} 1:{one} 2:{two}\n" for label, qid, one, two in documents))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKGYM_DATA_HOME", str(folder))
        yield str(path)


def exact(data, name, reader, length):
    """P(left has more credit) + P(equal) / 2 on a query drawn at random."""
    law, credit = LAWS[name]
    total = 0.0
    for query in range(len(data.query_ids)):
        labels = data.labels[data.start[query] : data.start[query + 1]]
        full = letor.feature_rankings(data, len(labels))[query, :, : len(labels)]
        left, right = (tuple(ranking.tolist()) for ranking in full)

        def clicker(displayed, labels=labels):
            (vectors,) = click_vectors(reader, labels[list(displayed)][None].astype(np.int64))
            return [(p, [k for k in range(len(displayed)) if n >> k & 1]) for n, p in enumerate(vectors)]

        total += plain.expected(law(left, right, length), credit, left, right, clicker)[1]
    return 0.5 + total / len(data.query_ids) / 2


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("user_model", ["perfect", "navigational"])
def test_the_frequency_of_winning_is_exact(name, user_model, file):
    """50,000 duels on queries of 5, 4 and 2 documents: within 6 standard errors."""
    env = InterleavedRankersVectorEnv(ROWS, file=file, interleaving=name, user_model=user_model, num_documents=4)
    env.reset(seed=1)
    duel = {"left": np.zeros(ROWS, int), "right": np.ones(ROWS, int)}
    lost = np.mean([env.step(duel)[4]["winner"].mean() for _ in range(ROUNDS)])
    expected = exact(letor.load(file), name, user(user_model, 5), 4)
    assert 1 - lost == pytest.approx(expected, abs=6 * 0.5 / math.sqrt(ROWS * ROUNDS))
