"""The Plackett-Luce distribution against enumeration, and what a policy that plays it can and cannot see."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

pytest.importorskip("stable_baselines3")

import torch as th
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from rankgym.sb3.plackett_luce import ItemNet, PlackettLuce, PlackettLucePolicy, rankings
from rankgym.spaces import Permutation
from rankgym.wrappers.actions import BASE_COLUMN, SafeLists
from rankgym.wrappers.observations import ItemStatistics

ERROR = 1e-6  # the probability with which a test of chance may fail a right program
RULES = ["free", "allowed", "distance 1", "distance 2"]


# ---- oracles: plain Python on plain Python numbers ----


def completions(base: list[int], distance: int) -> list[tuple[int, ...]]:
    """All lists of all items in which nobody stands more than ``distance`` places from its place in ``base``."""
    return [
        full
        for full in itertools.permutations(base)
        if all(abs(base.index(item) - k) <= distance for k, item in enumerate(full))
    ]


def open_items(prefix: tuple[int, ...], items: list[int], full_lists: list[tuple[int, ...]] | None) -> list[int]:
    """What may stand next: an item of ``items``, not drawn yet, with which some full list (None: any) begins."""
    left = [item for item in items if item not in prefix]
    if full_lists is None:
        return left
    return [item for item in left if any(full[: len(prefix) + 1] == (*prefix, item) for full in full_lists)]


def probability(scores: list[float], ranking: tuple[int, ...], items: list[int], full_lists: Any = None) -> float:
    """The product over the positions of exp(score) / the sum over the open items; 0 for what is not open."""
    product = 1.0
    for k, item in enumerate(ranking):
        weights = {i: math.exp(scores[i]) for i in open_items(ranking[:k], items, full_lists)}
        product *= weights.get(item, 0.0) / sum(weights.values())
        if not product:
            break
    return product


class Case:
    """A distribution of one row of scores under one of ``RULES``, and all rankings with their exact probabilities."""

    def __init__(self, rule: str, n: int, k: int, seed: int, spread: float = 1.5) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.k = n, k
        self.scores = rng.normal(0.0, spread, n)
        base, items = rng.permutation(n).tolist(), list(range(n))
        self.kwargs: dict[str, Any] = {}
        self.distance, full_lists = None, None
        if rule == "allowed":
            items = sorted(rng.permutation(n)[: max(k, n - 2)].tolist())
            self.kwargs["allowed"] = np.isin(np.arange(n), items)[None]
        elif rule != "free":
            self.distance = int(rule.split()[1])
            full_lists = completions(base, self.distance)
            self.kwargs["base_place"] = np.argsort(base)[None]
        self.rankings = list(itertools.permutations(range(n), k))
        self.exact = np.array([probability(self.scores.tolist(), r, items, full_lists) for r in self.rankings])
        self.entropy = -sum(p * math.log(p) for p in self.exact.tolist() if p)

    def distribution(
        self, rows: int = 1, dtype: th.dtype = th.float64, logits: th.Tensor | None = None
    ) -> PlackettLuce:
        if logits is None:
            logits = th.tensor(self.scores, dtype=dtype).repeat(rows, 1)
        rule = {name: th.tensor(value).repeat(len(logits), 1) for name, value in self.kwargs.items()}
        return PlackettLuce(self.n, self.k, self.distance).proba_distribution(logits, **rule)

    def counts(self, lists: Any) -> np.ndarray:
        """How often each of ``rankings`` is among ``lists`` (draws, k)."""
        code = self.n ** np.arange(self.k)
        number = {int(np.dot(ranking, code)): place for place, ranking in enumerate(self.rankings)}
        values, times = np.unique(np.asarray(lists) @ code, return_counts=True)
        counts = np.zeros(len(self.rankings), np.int64)
        counts[[number[value] for value in values.tolist()]] = times
        return counts


def assert_law(counts: np.ndarray, exact: np.ndarray) -> None:
    """Chi-square of the counts against the exact probabilities; nothing of probability 0 was ever drawn."""
    possible = exact > 0
    assert not counts[~possible].any()
    expected = counts.sum() * exact[possible]
    small = expected < 10  # put together
    observed = np.append(counts[possible][~small], counts[possible][small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(ERROR, max(len(expected) - 1, 1))


SHAPES = [(n, k) for n in range(1, 6) for k in range(1, n + 1)]


# ---- probabilities ----


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_probabilities_of_all_rankings_are_the_plain_products_and_sum_to_1(rule: str, n: int, k: int) -> None:
    case = Case(rule, n, k, seed=10 * n + k)
    lists = th.tensor(case.rankings)
    p = case.distribution(len(lists)).log_prob(lists).exp().numpy()
    np.testing.assert_allclose(p, case.exact, rtol=1e-12)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    single = case.distribution(len(lists), th.float32).log_prob(lists.float())  # buffers return floats
    assert single.dtype == th.float32
    np.testing.assert_allclose(single.exp().numpy(), case.exact, rtol=1e-5)
    assert (single.exp()[case.exact == 0] == 0).all()  # of a forbidden ranking: log-probability -inf


@pytest.mark.parametrize("n", range(1, 8))
def test_lists_one_place_off_are_disjoint_exchanges_of_neighbours_fibonacci_many(n: int) -> None:
    """BubbleRank's lists: a full list can exchange n - 1 pairs, a shorter one also its last with the first hidden."""
    fibonacci = [1, 1]
    while len(fibonacci) < n + 2:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    for k in range(1, n + 1):
        pairs = k - 1 if k == n else k
        lists = th.tensor(list(itertools.permutations(range(n), k)))
        place = th.arange(n).repeat(len(lists), 1)
        law = PlackettLuce(n, k, max_displacement=1).proba_distribution(th.zeros(len(lists), n), base_place=place)
        allowed = {tuple(row) for row in lists[law.log_prob(lists) > -th.inf].tolist()}
        exchanged = set()
        for wish in itertools.product([False, True], repeat=pairs):
            if not any(a and b for a, b in itertools.pairwise(wish)):
                full = list(range(n))
                for pair in np.flatnonzero(wish):
                    full[pair], full[pair + 1] = full[pair + 1], full[pair]
                exchanged.add(tuple(full[:k]))
        assert allowed == exchanged
        assert len(allowed) == fibonacci[pairs + 1]


def test_displacement_0_is_the_base_list() -> None:
    place = th.tensor([[2, 0, 3, 1]])
    law = PlackettLuce(4, 3, max_displacement=0).proba_distribution(
        th.tensor([[5.0, -5.0, 2.0, 0.0]]), base_place=place
    )
    for lists in (law.sample(), law.mode()):
        assert lists.tolist() == [[1, 3, 0]]
    assert law.log_prob(th.tensor([[1, 3, 0]])).item() == 0.0
    assert law.entropy().item() == 0.0


def test_a_wide_displacement_is_no_rule_at_all() -> None:
    case = Case("free", 5, 3, seed=3)
    lists = th.tensor(case.rankings)
    logits = th.tensor(case.scores).repeat(len(lists), 1)
    place = th.arange(5).repeat(len(lists), 1)
    wide = PlackettLuce(5, 3, max_displacement=4).proba_distribution(logits, base_place=place)
    assert th.equal(wide.log_prob(lists), case.distribution(len(lists)).log_prob(lists))


@pytest.mark.parametrize("rule", RULES)
def test_relabelling_the_items_relabels_the_rankings(rule: str) -> None:
    case, rng = Case(rule, 5, 4, seed=1), np.random.default_rng(2)
    label = rng.permutation(5)  # new number of each item
    lists = th.tensor(case.rankings)
    moved = Case(rule, 5, 4, seed=1)
    moved.scores = case.scores[np.argsort(label)]
    moved.kwargs = {name: value[:, np.argsort(label)] for name, value in case.kwargs.items()}
    before = case.distribution(len(lists)).log_prob(lists)
    after = moved.distribution(len(lists)).log_prob(th.tensor(label)[lists])
    np.testing.assert_allclose(before.exp().numpy(), after.exp().numpy(), rtol=1e-12)
    assert th.equal(th.tensor(label)[case.distribution().mode()], moved.distribution().mode())


# ---- draws ----

LAWS = [("free", 4, 3), ("free", 5, 5), ("free", 5, 1), ("allowed", 5, 3), ("distance 1", 5, 4), ("distance 1", 5, 5)]
LAWS += [("distance 2", 5, 3), ("distance 2", 5, 5)]


@pytest.mark.parametrize(("rule", "n", "k"), LAWS)
def test_samples_have_the_exact_law(rule: str, n: int, k: int) -> None:
    """Chi-square with 100,000 draws of torch, and as many of the caller's noise in NumPy; error 1e-6 each."""
    case, draws = Case(rule, n, k, seed=n, spread=1.0), 100_000
    th.manual_seed(5)
    assert_law(case.counts(case.distribution(draws, th.float32).sample()), case.exact)
    shape = (n,) if case.distance is None else (k, n)
    noise = np.random.default_rng(6).gumbel(size=(draws, *shape))
    rule_rows = {name: np.repeat(value, draws, 0) for name, value in case.kwargs.items()}
    scores = np.repeat(case.scores[None], draws, 0)
    lists = rankings(scores, k, noise=noise, max_displacement=case.distance, **rule_rows)
    assert lists.dtype == np.int64
    assert lists.flags.c_contiguous
    assert_law(case.counts(lists), case.exact)


@pytest.mark.parametrize("rule", RULES)
def test_the_mode_is_greedy_and_without_displacement_most_probable(rule: str) -> None:
    for seed in range(20):
        case = Case(rule, 5, 3, seed)
        mode = tuple(case.distribution().mode()[0].tolist())
        numpys = rankings(case.scores[None], 3, max_displacement=case.distance, **case.kwargs)
        assert mode == tuple(numpys[0].tolist())
        assert case.exact[case.rankings.index(mode)] > 0
        if case.distance is None:
            assert case.rankings[int(case.exact.argmax())] == mode
    equal = rankings(np.zeros((1, 5)), 3, max_displacement=case.distance, **case.kwargs)[0]
    if rule == "free":
        assert equal.tolist() == [0, 1, 2]  # of equal scores the lower number


def test_of_equal_scores_the_lower_numbers_come_first_in_long_lists_too() -> None:
    assert PlackettLuce(500, 90).proba_distribution(th.zeros(2, 500)).mode().tolist() == [list(range(90))] * 2


def test_under_displacement_the_greedy_list_need_not_be_the_most_probable() -> None:
    """Equal scores, three items: (1, 0, 2) has probability 1/2, as 0 is forced; (0, 1, 2) and (0, 2, 1) have 1/4."""
    lists = th.tensor([[0, 1, 2], [0, 2, 1], [1, 0, 2]])
    place = th.arange(3).repeat(3, 1)
    law = PlackettLuce(3, 3, max_displacement=1).proba_distribution(th.zeros(3, 3), base_place=place)
    assert law.log_prob(lists).exp().tolist() == pytest.approx([0.25, 0.25, 0.5])
    assert law.mode()[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("rule", RULES)
def test_a_row_of_the_helper_does_not_depend_on_the_others(rule: str) -> None:
    rng = np.random.default_rng(4)
    cases = [Case(rule, 5, 4, seed) for seed in range(30)]
    shape = (5,) if cases[0].distance is None else (4, 5)
    noise = rng.gumbel(size=(30, *shape))
    rows = {name: np.concatenate([case.kwargs[name] for case in cases]) for name in cases[0].kwargs}
    scores = np.stack([case.scores for case in cases])
    together = rankings(scores, 4, noise=noise, max_displacement=cases[0].distance, **rows)
    for row, case in enumerate(cases):
        alone = rankings(
            case.scores[None], 4, noise=noise[row : row + 1], max_displacement=case.distance, **case.kwargs
        )
        assert alone.tolist() == together[row : row + 1].tolist()


def test_sampling_follows_torchs_seed() -> None:
    law = PlackettLuce(6, 3).proba_distribution(th.zeros(50, 6))
    th.manual_seed(1)
    first, second = law.sample(), law.sample()
    th.manual_seed(1)
    assert th.equal(law.get_actions(), first)
    assert not th.equal(first, second)


def test_plumbing_of_stable_baselines3() -> None:
    logits = th.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    law = PlackettLuce(3, 2)
    assert law.actions_from_params(logits, deterministic=True).tolist() == [[1, 2], [0, 2]]
    actions, log_prob = law.log_prob_from_params(logits)
    assert th.equal(law.log_prob(actions), log_prob)
    assert law.get_actions(deterministic=True).tolist() == [[1, 2], [0, 2]]
    safe = PlackettLuce(3, 2, max_displacement=1)
    place = th.tensor([[0, 1, 2], [0, 1, 2]])
    assert safe.actions_from_params(logits, True, base_place=place).tolist() == [[1, 0], [0, 2]]
    actions, log_prob = safe.log_prob_from_params(logits, base_place=place)
    assert (log_prob > -th.inf).all()
    only = th.tensor([[True, False, True]] * 2)
    assert law.actions_from_params(logits, True, allowed=only).tolist() == [[2, 0], [0, 2]]
    assert law.proba_distribution_net(7)(th.zeros(2, 7)).shape == (2, 3)


@pytest.mark.parametrize("rule", RULES)
def test_a_batch_of_nobody(rule: str) -> None:
    case = Case(rule, 4, 2, seed=0)
    logits = th.zeros(0, 4, requires_grad=True)
    law = case.distribution(logits=logits)
    for lists in (law.sample(), law.mode()):
        assert lists.shape == (0, 2)
        assert law.log_prob(lists).shape == (0,)
    (law.entropy().sum() + law.log_prob(law.sample()).sum()).backward()
    none = {name: value[:0] for name, value in case.kwargs.items()}
    assert rankings(np.zeros((0, 4)), 2, max_displacement=case.distance, **none).shape == (0, 2)


# ---- entropy ----

ENTROPIES = [("free", 4, 3), ("free", 4, 4), ("allowed", 5, 2), ("distance 1", 5, 4), ("distance 2", 5, 3)]


@pytest.mark.parametrize(("rule", "n", "k"), ENTROPIES)
def test_entropy_is_right_in_expectation(rule: str, n: int, k: int) -> None:
    """Each estimate lies between 0 and log of the number of rankings: Hoeffding's bound with error 1e-6."""
    case, draws = Case(rule, n, k, seed=8), 200_000
    th.manual_seed(1)
    estimates = case.distribution(draws).entropy().numpy()
    most = math.log(len(case.rankings))
    assert estimates.min() >= 0
    assert estimates.max() <= most + 1e-9
    assert abs(estimates.mean() - case.entropy) < most * math.sqrt(math.log(2 / ERROR) / (2 * draws))


def enumerated_entropy_gradient(case: Case) -> np.ndarray:
    lists = th.tensor(case.rankings)[th.tensor(case.exact > 0)]
    logits = th.tensor(case.scores, requires_grad=True)
    log_p = case.distribution(logits=logits.repeat(len(lists), 1)).log_prob(lists)
    (-(log_p.exp() * log_p).sum()).backward()
    assert logits.grad is not None
    return logits.grad.numpy()


@pytest.mark.parametrize(("rule", "n", "k"), ENTROPIES)
def test_entropys_gradient_is_right_in_expectation(rule: str, n: int, k: int) -> None:
    """Within 6 standard errors in each of at most 5 scores (error 1e-8 by the normal law), where the gradient of the
    value alone, that forgets who decides the items above, is more than 12 off somewhere."""
    case, draws = Case(rule, n, k, seed=8), 200_000
    exact = enumerated_entropy_gradient(case)
    logits = th.tensor(case.scores).repeat(draws, 1).requires_grad_()
    th.manual_seed(2)
    case.distribution(logits=logits).entropy().sum().backward()
    assert logits.grad is not None
    each = logits.grad.numpy()  # (draws, n): a row's own gradient
    errors = each.std(0) / math.sqrt(draws) + 1e-12
    assert (np.abs(each.mean(0) - exact) < 6 * errors).all()
    th.manual_seed(2)
    law = case.distribution(logits=logits)
    log_p, closed = law._draws(law.sample())
    (alone,) = th.autograd.grad(-(log_p.exp() * log_p.masked_fill(closed, 0.0)).sum(), logits)
    assert (np.abs(alone.numpy().mean(0) - exact) > 12 * errors).any()


def test_entropy_of_one_position_is_exact() -> None:
    case = Case("free", 5, 1, seed=2)
    estimate = case.distribution().entropy()
    assert estimate.item() == pytest.approx(case.entropy, abs=1e-12)


def test_entropy_of_equal_scores_is_the_logarithm_of_the_number_of_rankings() -> None:
    law = PlackettLuce(7, 4).proba_distribution(th.zeros(100, 7, dtype=th.float64))
    np.testing.assert_allclose(law.entropy().numpy(), math.log(7 * 6 * 5 * 4))


# ---- gradients ----


def gradients(logits: th.Tensor, k: int, distance: int | None) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
    """Log-probability of a sample, entropy, and the gradient of both together."""
    logits = logits.requires_grad_()
    place = None if distance is None else th.arange(logits.shape[1]).repeat(len(logits), 1)
    law = PlackettLuce(logits.shape[1], k, distance).proba_distribution(logits, place)
    log_prob, entropy = law.log_prob(law.sample()), law.entropy()
    (grad,) = th.autograd.grad(log_prob.sum() + entropy.sum(), logits)
    return log_prob, entropy, grad


@settings(max_examples=200)
@given(st.data(), st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=7), st.sampled_from([None, 0, 1, 3]))
def test_gradients_are_finite(data: st.DataObject, scores: list[float], distance: int | None) -> None:
    k = data.draw(st.integers(1, len(scores)))
    for values in gradients(th.tensor([scores]), k, distance):
        assert values.isfinite().all()


@pytest.mark.parametrize("distance", [None, 1])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_gradients_of_extreme_scores_are_finite(k: int, distance: int | None) -> None:
    extremes = th.tensor(list(itertools.product([-1e3, 0.0, 1e3], repeat=4)))
    for values in gradients(extremes, k, distance):
        assert values.dtype == th.float32
        assert values.isfinite().all()
    lists = th.tensor(list(itertools.permutations(range(4), k)))  # also those that are next to impossible
    logits = th.tensor([[1e3, -1e3, 0.0, 1e3]]).repeat(len(lists), 1).requires_grad_()
    place = None if distance is None else th.arange(4).repeat(len(lists), 1)
    log_prob = PlackettLuce(4, k, distance).proba_distribution(logits, place).log_prob(lists)
    assert distance is not None or log_prob.isfinite().all()
    (grad,) = th.autograd.grad(log_prob.exp().sum(), logits, retain_graph=True)
    assert grad.isfinite().all()
    (grad,) = th.autograd.grad(log_prob.sum(), logits)
    assert grad.isfinite().all()


def test_ppos_ratio_of_a_forbidden_ranking_is_0_without_a_gradient() -> None:
    logits = th.zeros(1, 4, requires_grad=True)
    law = PlackettLuce(4, 4, max_displacement=1).proba_distribution(logits, th.arange(4)[None])
    log_prob = law.log_prob(th.tensor([[2, 0, 1, 3]]))
    assert log_prob.item() == -math.inf
    ratio = (log_prob - -1.0).exp()
    ratio.sum().backward()
    assert ratio.item() == 0.0
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0.0] * 4]


# ---- the distribution's door ----


def test_bad_distributions_are_refused() -> None:
    for arguments, words in [
        ((0, 1), "num_items = 0"),
        ((3, 4), r"num_positions = 4 .* 1 \.\. 3"),
        ((3, 0), "num_positions = 0"),
        ((3, 2, -1), "max_displacement = -1"),
        ((3, 2, 1.0), r"max_displacement = 1\.0"),
    ]:
        with pytest.raises(ValueError, match=words):
            PlackettLuce(*arguments)  # type: ignore[arg-type]


FOUR, PLACE, ALL = th.zeros(2, 4), th.tensor([[0, 1, 2, 3], [3, 2, 1, 0]]), th.ones(2, 4, dtype=th.bool)
FEW = th.tensor([[True, True, True, False], [True, False, False, True]])
BAD = [
    (None, (th.zeros(2, 5),), r"action_logits has shape \(2, 5\); allowed: \(batch, 4\)"),
    (None, (th.zeros(4),), "action_logits has shape"),
    (None, (th.tensor([[0, 1, 2, 3.0], [0, th.nan, 0, 0]]),), r"action_logits\[1, 1\] = nan .* finite"),
    (None, (FOUR, PLACE), "base_place is given with max_displacement = None"),
    (1, (FOUR,), "base_place is missing with max_displacement = 1"),
    (1, (FOUR, PLACE[:1]), r"base_place has shape \(1, 4\)"),
    (1, (FOUR, PLACE.float()), r"torch.float32; allowed: whole numbers"),
    (1, (FOUR, th.tensor([[0, 1, 2, 3], [0, 1, 1, 3]])), r"base_place\[row 1\] = \[0, 1, 1, 3\] .* 0 \.\. 3 once"),
    (1, (FOUR, th.tensor([[0, 1, 2, 4], [0, 1, 2, 3]])), r"base_place\[row 0\]"),
    (1, (FOUR, th.tensor([[-1, 1, 2, 3], [0, 1, 2, 3]])), r"base_place\[row 0\]"),
    (1, (FOUR, PLACE, ALL), "one of the two"),
    (None, (FOUR, None, ALL[:1]), r"allowed has shape \(1, 4\)"),
    (None, (FOUR, None, PLACE), r"torch.int64; allowed: bool"),
    (None, (FOUR, None, FEW), r"allowed\[row 1\] has 2 items; a list needs at least 3"),
]


@pytest.mark.parametrize(("distance", "arguments", "words"), BAD)
def test_bad_scores_and_rules_are_refused_before_anything_changes(distance: Any, arguments: Any, words: str) -> None:
    law = PlackettLuce(4, 3, distance).proba_distribution(FOUR + 1, None if distance is None else PLACE)
    before = law.logits, law.base_place, law.allowed
    with pytest.raises(ValueError, match=words):
        law.proba_distribution(*arguments)
    assert (law.logits, law.base_place, law.allowed) == before


def test_bad_arguments_of_the_helper_are_refused() -> None:
    scores = np.zeros((2, 4))
    bad: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((np.zeros(4), 2), {}, r"scores has shape \(4,\)"),
        ((scores + np.inf, 2), {}, r"scores\[0, 0\] = inf"),
        ((scores, 5), {}, "num_positions = 5"),
        ((scores, 2), {"noise": np.zeros((2, 2, 4))}, r"noise has shape \(2, 2, 4\); allowed: \(2, 4\)"),
        ((scores, 2), {"noise": scores - np.inf}, r"noise\[0, 0\] = -inf"),
        ((scores, 2), {"max_displacement": 1}, "base_place is missing"),
        (
            (scores, 2),
            {"noise": scores, "max_displacement": 1, "base_place": np.argsort(scores)},
            r"noise has shape \(2, 4\); allowed: \(2, 2, 4\)",
        ),
        ((scores, 3), {"allowed": np.array([[True] * 4, [True, True, False, False]])}, r"allowed\[row 1\]"),
    ]
    for arguments, kwargs, words in bad:
        with pytest.raises(ValueError, match=words):
            rankings(*arguments, **kwargs)


def test_arrays_that_torch_does_not_take_are_copied() -> None:
    scores = np.broadcast_to(np.arange(4.0), (2, 4))  # read-only
    assert rankings(scores, 2).tolist() == [[3, 2], [3, 2]]
    assert rankings(scores[:, ::-1], 2).tolist() == [[0, 1], [0, 1]]
    assert rankings([[1, 2, 3]], 2).tolist() == [[2, 1]]  # type: ignore[arg-type]
    seen = np.broadcast_to(observations(1)["observation"], (3, ITEMS, FEATURES))
    assert policy_of().scores(seen).shape == (3, ITEMS)


# ---- the policy ----

ITEMS, FEATURES, POSITIONS = 5, 4, 3
TABLE = Box(0.0, 4.0, (ITEMS, FEATURES), np.float32)
BOTH = Dict(observation=TABLE, truth=Box(0.0, 1.0, (ITEMS,), np.float32))
LISTS = Permutation(ITEMS, POSITIONS)


def policy_of(space: Any = TABLE, seed: int = 0, **kwargs: Any) -> PlackettLucePolicy:
    th.manual_seed(seed)
    return PlackettLucePolicy(space, LISTS, lambda _: 1e-3, **kwargs)


def observations(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Tables whose last column is the place in a base list, and a truth."""
    rng = np.random.default_rng(seed)
    table = rng.random((rows, ITEMS, FEATURES), np.float32)
    table[:, :, -1] = np.argsort(rng.random((rows, ITEMS)), 1) / (ITEMS - 1)
    return {"observation": table, "truth": rng.random((rows, ITEMS), np.float32)}


SAFE = {"max_displacement": 1, "base_column": -1}
FORMS: list[tuple[Any, dict[str, Any]]] = [
    (TABLE, {}),
    (TABLE, {"separate_critic": False, "width": 7, "activation": "relu"}),
    (TABLE, SAFE),
    (BOTH, {"temperature": 2}),
    (BOTH, {**SAFE, "activation": "silu"}),
]
NAMES = ["table", "shared", "safe", "truth", "safe truth"]
each_form = pytest.mark.parametrize(("space", "kwargs"), FORMS, ids=NAMES)


def asked(space: Any, seen: dict[str, np.ndarray]) -> Any:
    """What a policy of this observation space is shown."""
    return seen if isinstance(space, Dict) else seen["observation"]


@each_form
def test_relabelling_the_items_relabels_the_policy(space: Any, kwargs: dict[str, Any]) -> None:
    policy, rng = policy_of(space, **kwargs).double(), np.random.default_rng(1)
    seen, label = observations(50), rng.permutation(ITEMS)
    moved = {name: values[:, np.argsort(label)] for name, values in seen.items()}
    lists = th.from_numpy(np.argsort(rng.random((50, ITEMS)), 1)[:, :POSITIONS])
    if policy.max_displacement is not None:
        lists = policy.get_distribution(asked(space, seen)).sample()
    renamed = th.from_numpy(label)[lists]
    np.testing.assert_allclose(
        policy.scores(moved).detach()[:, label], policy.scores(seen).detach(), rtol=0, atol=1e-12
    )
    values, log_prob, _ = policy.evaluate_actions(asked(space, seen), lists)
    values_moved, log_prob_moved, _ = policy.evaluate_actions(asked(space, moved), renamed)
    np.testing.assert_allclose(values.detach(), values_moved.detach(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(log_prob.detach(), log_prob_moved.detach(), rtol=0, atol=1e-12)
    assert values.std() > 0
    modes = (policy.predict(asked(space, s), deterministic=True)[0] for s in (seen, moved))
    assert label[next(modes)].tolist() == next(modes).tolist()


@each_form
def test_forward_evaluate_predict_and_the_parts_agree(space: Any, kwargs: dict[str, Any]) -> None:
    policy, seen = policy_of(space, **kwargs), observations(40)
    shown = asked(space, seen)
    obs, vectorized = policy.obs_to_tensor(shown)
    assert vectorized
    with th.no_grad():
        actions, values, log_prob = policy(obs)
        again, log_prob_again, entropy = policy.evaluate_actions(obs, actions.float())
        assert actions.shape == (40, POSITIONS)
        assert values.shape == (40, 1)
        assert log_prob.shape == entropy.shape == (40,)
        assert th.equal(values, again)
        assert th.equal(log_prob, log_prob_again)
        assert th.equal(values, policy.predict_values(obs))
        assert th.equal(policy.get_distribution(obs).log_prob(actions), log_prob)
        scores = policy.scores(shown)
    assert scores.dtype == th.float32
    greedy, _ = policy.predict(shown, deterministic=True)
    place = policy.base_places(shown)
    assert greedy.tolist() == policy.rankings(scores, base_place=place).tolist()
    assert greedy.tolist() == policy(obs, deterministic=True)[0].tolist()
    noise = np.random.default_rng(0).gumbel(size=(40, *policy.noise_shape(ITEMS)))
    drawn = policy.rankings(scores.double().numpy(), noise, place)
    for lists in (greedy, drawn, policy.predict(shown)[0]):
        assert all(LISTS.contains(row) for row in lists)
        if place is not None:
            assert (np.abs(np.take_along_axis(place, lists, 1) - np.arange(POSITIONS)) <= 1).all()
    one = policy.predict(asked(space, {name: values[0] for name, values in seen.items()}), deterministic=True)[0]
    assert one.tolist() == greedy[0].tolist()


def test_base_places_are_the_columns_whole_numbers() -> None:
    for items in (2, 3, 10, 100, 1000):
        place = np.random.default_rng(items).permutation(items)
        table = np.zeros((1, items, FEATURES), np.float32)
        table[0, :, -2] = place / (items - 1)
        places = policy_of(max_displacement=1, base_column=-2).base_places(table)
        assert places is not None
        assert places.dtype == np.int64
        assert places[0].tolist() == place.tolist()
    assert policy_of().base_places(table) is None


@pytest.mark.parametrize("kwargs", [{}, SAFE])
def test_the_critic_alone_sees_the_truth(kwargs: dict[str, Any]) -> None:
    policy, seen = policy_of(BOTH, **kwargs), observations(20)
    other = {"observation": seen["observation"], "truth": 1 - seen["truth"]}
    assert th.equal(policy.scores(seen), policy.scores(other))
    assert th.equal(policy.scores(seen), policy.scores(seen["observation"]))
    lists = policy.predict(seen, deterministic=True)[0]
    assert lists.tolist() == policy.predict(other, deterministic=True)[0].tolist()
    assert lists.tolist() == policy.predict(seen["observation"], deterministic=True)[0].tolist()
    assert lists[0].tolist() == policy.predict(seen["observation"][0], deterministic=True)[0].tolist()
    obs = {name: th.from_numpy(values).requires_grad_() for name, values in seen.items()}
    values, log_prob, entropy = policy.evaluate_actions(obs, th.from_numpy(lists))
    (nothing,) = th.autograd.grad(log_prob.sum() + entropy.sum(), obs["truth"], allow_unused=True, retain_graph=True)
    assert nothing is None  # no way from the truth to the lists
    (something,) = th.autograd.grad(values.sum(), obs["truth"])
    assert (something != 0).any()
    for parameter in policy.actor.parameters():
        assert not any(parameter is theirs for theirs in policy.critic.parameters())
    with pytest.raises(ValueError, match="truth is missing"):
        policy.predict_values(th.from_numpy(seen["observation"]))


def test_one_policy_serves_any_number_of_items() -> None:
    policy = policy_of(width=8)
    table = np.random.default_rng(0).random((6, 12, FEATURES))
    scores = policy.scores(table)
    assert scores.shape == (6, 12)
    assert policy.noise_shape(12) == (12,)
    assert policy_of(**SAFE).noise_shape(12) == (POSITIONS, 12)
    assert policy.rankings(scores.detach()).shape == (6, POSITIONS)
    for wrong in (np.zeros((6, 12, 3)), np.zeros((12, FEATURES))):
        with pytest.raises(ValueError, match=r"observation has shape .* allowed: \(rows, num_items, 4\)"):
            policy.scores(wrong)


def test_a_double_copy_has_double_scores() -> None:
    policy = policy_of(BOTH)
    double = deepcopy(policy).double()
    seen = observations(9)
    scores = double.scores(seen)
    assert scores.dtype == th.float64
    np.testing.assert_allclose(scores.detach(), policy.scores(seen).detach(), atol=1e-5)
    assert next(policy.parameters()).dtype == th.float32


def test_play_starts_near_uniform() -> None:
    """On random tables the first lists have over 98 % of the entropy of uniform ones."""
    policy = policy_of(seed=3)
    th.manual_seed(0)
    entropy = policy.get_distribution(th.from_numpy(observations(500)["observation"])).entropy().mean().item()
    assert 0.98 * math.log(5 * 4 * 3) < entropy <= math.log(5 * 4 * 3)


def test_temperature_and_width() -> None:
    seen = observations(9)
    cold, warm = policy_of(temperature=1), policy_of(temperature=4.0)
    np.testing.assert_allclose(4 * cold.scores(seen).detach(), warm.scores(seen).detach(), rtol=1e-6)
    assert policy_of(width=8).actor.head[0].weight.shape == (8, 8)  # type: ignore[union-attr]
    scores, value = ItemNet(FEATURES, 6)(th.rand(7, 3, FEATURES))
    assert scores.shape == (7, 3)
    assert value.shape == (7, 1)


@each_form
def test_every_weight_learns(space: Any, kwargs: dict[str, Any]) -> None:
    """No weight is carried along without a part in lists or values."""
    policy, seen = policy_of(space, **kwargs), asked(space, observations(30))
    obs, _ = policy.obs_to_tensor(seen)
    values, log_prob, entropy = policy.evaluate_actions(obs, policy(obs)[0])
    ((values**2).sum() + log_prob.sum() + entropy.sum()).backward()
    assert {id(p) for group in policy.optimizer.param_groups for p in group["params"]} == set(
        map(id, policy.parameters())
    )
    for name, parameter in policy.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad != 0).any() or name == "actor.head.2.bias", name  # a bias of all scores changes no list


@each_form
def test_save_and_load_keep_the_policy(space: Any, kwargs: dict[str, Any], tmp_path: Any) -> None:
    policy, seen = policy_of(space, **kwargs), observations(20)
    policy.save(str(tmp_path / "policy.pt"))
    loaded = PlackettLucePolicy.load(str(tmp_path / "policy.pt"), device="cpu")
    other = policy_of(space, seed=5, **kwargs)
    assert not th.equal(other.scores(seen), policy.scores(seen))
    other.load_state_dict(policy.state_dict())
    obs, _ = policy.obs_to_tensor(asked(space, seen))
    for copy in (loaded, other, deepcopy(loaded)):
        assert th.equal(copy.scores(seen), policy.scores(seen))
        assert th.equal(copy.predict_values(obs), policy.predict_values(obs))
        for name in ("width", "temperature", "activation", "separate_critic", "max_displacement", "base_column"):
            assert getattr(copy, name) == getattr(policy, name)
        assert (copy.action_space, copy.observation_space) == (policy.action_space, policy.observation_space)


WRONG: list[tuple[Any, Any, dict[str, Any], str]] = [
    (MultiBinary(POSITIONS), LISTS, {}, r"observation_space = MultiBinary\(3\) .* rankgym.wrappers.ItemStatistics"),
    (Box(0, 1, (FEATURES,)), LISTS, {}, "is not a table of items"),
    (Dict(observation=TABLE, other=TABLE), LISTS, {}, "is not a table of items"),
    (Dict(truth=TABLE), LISTS, {}, "is not a table of items"),
    (Dict(observation=TABLE, truth=Box(0, 1, (ITEMS + 1,))), LISTS, {}, r"\['truth'\] .* shape \(5,\)"),
    (TABLE, Discrete(ITEMS), {}, r"action_space = Discrete\(5\) is not a space of rankings; .* MlpPolicy"),
    (TABLE, Box(-1, 1, (ITEMS,)), {}, "is not a space of rankings"),
    (TABLE, Permutation(ITEMS + 1, 2), {}, "ranks 6 items, the observation shows 5"),
    (TABLE, LISTS, {"width": 0}, "width = 0"),
    (TABLE, LISTS, {"temperature": 0}, "temperature = 0 .* above 0"),
    (TABLE, LISTS, {"temperature": float("nan")}, "temperature = nan"),
    (TABLE, LISTS, {"temperature": "hot"}, "temperature = 'hot'"),
    (TABLE, LISTS, {"activation": "tahn"}, "activation = 'tahn' .* did you mean 'tanh'"),
    (TABLE, LISTS, {"activation": None}, "activation = None .* tanh, relu"),
    (TABLE, LISTS, {"separate_critic": 1}, "separate_critic = 1 .* True or False"),
    (BOTH, LISTS, {"separate_critic": False}, "separate_critic = False .* the critic alone may see the truth"),
    (
        TABLE,
        LISTS,
        {"max_displacement": 1},
        r"base_column = None with max_displacement = 1; allowed: .* \(rankgym.wrappers.SafeLists",
    ),
    (TABLE, LISTS, {"base_column": -1}, "base_column = -1 with max_displacement = None"),
    (TABLE, LISTS, {"max_displacement": -1, "base_column": -1}, "max_displacement = -1"),
    (TABLE, LISTS, {"max_displacement": 1, "base_column": 0}, r"base_column = 0 .* -4 \.\. -1"),
    (TABLE, LISTS, {"max_displacement": 1, "base_column": -5}, r"base_column = -5"),
    (TABLE, LISTS, {"use_sde": True}, "use_sde = True"),
]


@pytest.mark.parametrize(("space", "actions", "kwargs", "words"), WRONG)
def test_wrong_spaces_and_keywords_are_refused(space: Any, actions: Any, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PlackettLucePolicy(space, actions, lambda _: 1e-3, **kwargs)


def test_a_table_without_base_places_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"base_place\[row 0\] = \[0, 0, 0, 0, 0\] is not a list of all items"):
        policy_of(**SAFE).predict(np.zeros((2, ITEMS, FEATURES), np.float32))


@pytest.mark.parametrize("positions", [3, 6])
def test_safe_lists_accepts_whatever_a_masked_policy_plays(positions: int) -> None:
    env = gym.make_vec(
        "rankgym/PBM-Synthetic-v0", num_envs=30, num_items=6, num_positions=positions, horizon=1_000, query=None
    )
    env = SafeLists(ItemStatistics(env), delta=0.5)  # so large that base lists change
    th.manual_seed(0)
    policy = PlackettLucePolicy(
        env.single_observation_space,
        env.single_action_space,
        lambda _: 1e-3,
        max_displacement=1,
        base_column=BASE_COLUMN,
    )
    observation, _ = env.reset(seed=1)
    first, shown = policy.base_places(observation), set()
    for session in range(200):
        lists, _ = policy.predict(observation, deterministic=session % 2 == 0)
        shown |= set(map(tuple, lists.tolist()))
        observation, *_ = env.step(lists)  # refuses what is not safe
    assert len(shown) > 30
    assert not np.array_equal(policy.base_places(observation), first)


# ---- training ----


class ThreeItems(gym.Env[Any, Any]):
    """Items that are told apart by their labels alone; the top is examined for sure, the second place half the time."""

    attraction = (0.2, 0.9, 0.5)

    def __init__(self, truth: bool = False) -> None:
        table = Box(0.0, 1.0, (3, 4), np.float32)
        self.observation_space = Dict(observation=table, truth=Box(0.0, 1.0, (3,))) if truth else table
        self.action_space = Permutation(3, 2)
        self.table = np.append(np.eye(3), [[0.0], [0.5], [1.0]], axis=1).astype(np.float32)  # base list 0, 1, 2
        self.truth = truth

    def _seen(self) -> Any:
        if self.truth:
            return {"observation": self.table.copy(), "truth": np.array(self.attraction, np.float32)}
        return self.table.copy()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        top, second = self.action_space.checked(action)
        clicks = self.np_random.random(2) < np.array([self.attraction[top], self.attraction[second] / 2])
        return self._seen(), float(clicks.sum()), True, False, {}


def trained(algorithm: Any, truth: bool, steps: int, policy_kwargs: dict[str, Any], **kwargs: Any) -> Any:
    env = DummyVecEnv([lambda: ThreeItems(truth)] * 16)
    model = algorithm(
        PlackettLucePolicy, env, seed=1, device="cpu", gamma=0.0, gae_lambda=0.0, policy_kwargs=policy_kwargs, **kwargs
    )
    return model.learn(steps)


def probabilities_of(model: Any, lists: list[tuple[int, ...]]) -> np.ndarray:
    table = th.from_numpy(np.repeat(ThreeItems().table[None], len(lists), 0))
    with th.no_grad():
        return model.policy.get_distribution(table).log_prob(th.tensor(lists)).exp().numpy()


ALGORITHMS: list[tuple[Any, bool, dict[str, Any]]] = [
    (PPO, False, {"n_steps": 32, "batch_size": 128, "n_epochs": 4, "learning_rate": 3e-3}),
    (PPO, True, {"n_steps": 32, "batch_size": 128, "n_epochs": 4, "learning_rate": 3e-3, "ent_coef": 1e-3}),
    (A2C, True, {"n_steps": 4, "learning_rate": 3e-3}),
]


@pytest.mark.parametrize(("algorithm", "truth", "kwargs"), ALGORITHMS, ids=["PPO", "PPO truth", "A2C truth"])
def test_training_ends_with_the_best_list_most_probable(
    algorithm: Any, truth: bool, kwargs: Any, tmp_path: Any
) -> None:
    """One seed, the same every time: the best list is (1, 2)."""
    model = trained(algorithm, truth, 8_192, {"width": 16}, **kwargs)
    lists = list(itertools.permutations(range(3), 2))
    p = probabilities_of(model, lists)
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    assert lists[int(p.argmax())] == (1, 2)
    assert p.max() > 0.5
    assert model.predict(ThreeItems().table, deterministic=True)[0].tolist() == [1, 2]

    model.save(tmp_path / "model.zip")
    loaded = algorithm.load(tmp_path / "model.zip", device="cpu")
    assert np.array_equal(probabilities_of(loaded, lists), p)
    assert loaded.policy_kwargs["width"] == 16
    fresh = algorithm(PlackettLucePolicy, model.get_env(), policy_kwargs={"width": 16}, device="cpu")
    assert not np.array_equal(probabilities_of(fresh, lists), p)
    fresh.set_parameters(model.get_parameters())
    assert np.array_equal(probabilities_of(fresh, lists), p)
    loaded.set_env(model.get_env())
    loaded.learn(256)
    assert not np.array_equal(probabilities_of(loaded, lists), p)


def test_safe_training_ends_with_the_best_of_the_safe_lists() -> None:
    """Base list 0, 1, 2: (1, 2) would move item 2 up while 0 still waits; the safe lists are (0, 1), (0, 2), (1, 0)."""
    model = trained(
        PPO, False, 8_192, {"width": 16, **SAFE}, n_steps=32, batch_size=128, n_epochs=4, learning_rate=3e-3
    )
    lists = list(itertools.permutations(range(3), 2))
    p = probabilities_of(model, lists)
    assert [ranking for ranking, value in zip(lists, p, strict=True) if value > 0] == [(0, 1), (0, 2), (1, 0)]
    assert p[lists.index((1, 0))] > 0.5


def test_the_same_seed_trains_the_same_weights() -> None:
    kwargs = {"n_steps": 16, "batch_size": 64, "n_epochs": 2}
    first, second = (trained(PPO, True, 512, {"width": 8}, **kwargs).policy.state_dict() for _ in range(2))
    assert first.keys() == second.keys()
    assert all(th.equal(first[name], second[name]) for name in first)
