"""AdaptiveIndex: against a plain reading of its description, what it finds out, what it knows, what it refuses."""

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, played, word
from test_bayes import NODES, exceeded, tails

from rankgym import data
from rankgym.conformance.agents import check_agent
from rankgym_agents import AdaptiveIndex
from rankgym_agents import query_classes as known

ROUNDS = 500  # it was equal for 2,000, too, but they take the plain reading ten seconds


EVERY_MODEL = ("UBM", "DBN", "CCM", "DBM")  # besides those of whose users it has a kind


def log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


class Kind:
    """A kind of users, with what it has learned from the clicks."""

    def __init__(self, oracle, support, look, leave):
        self.support, self.look, self.leave = support, look, leave
        self.kappa = [1.0] + [a / (a + b) for a, b in look[1:]]
        self.v = [a / (a + b) for a, b in leave]
        self.missed = [[0.0] * oracle.K for _ in range(oracle.L)]
        self.left = [0.0] * oracle.K


class AdaptiveOracle(Oracle):
    """One row of AdaptiveIndex."""

    def __init__(self, num_items, num_positions, seed, horizon, initial_list=None, order="clicks"):
        super().__init__(num_items, num_positions, seed)
        self.horizon, self.order, self.next = horizon, order, 1
        logs, by_rank = known.query_classes(num_items)
        rank = {item: r for r, item in enumerate(range(num_items) if initial_list is None else initial_list)}
        self.logs, self.priors = logs, [[tuple(p) for p in by_rank[rank[i]]] for i in range(num_items)]
        users = known.kinds_of_users(num_positions)
        self.kinds = [
            Kind(self, float(s), look.tolist(), leave.tolist()) for s, look, leave in zip(*users, strict=True)
        ]
        self.clicked, self.at, self.clicks = [0] * self.L, [0] * self.K, [0] * self.K
        for kind in self.kinds:
            self.weigh(kind)
            self.look(kind, range(self.L))
        self.believe()

    def posterior(self, kind, item, prior):
        return tails(self.clicked[item], tuple(kind.missed[item]), tuple(kind.kappa), *prior)

    def look(self, kind, items):
        if not hasattr(kind, "posteriors"):
            kind.posteriors, kind.means = [None] * self.L, [None] * self.L
        for i in items:
            kind.posteriors[i] = self.posterior(kind, i, kind.prior[i])
            kind.means[i] = kind.posteriors[i][2]

    def weigh(self, kind):
        evidence = []
        for i in range(self.L):
            x = self.posterior(kind, i, (1.0, 1.0))[0]
            mean, deviation = moments(x, self.clicked[i], kind.missed[i], kind.kappa)
            size = mean * (1 - mean) / deviation**2 - 1
            c, m = max(0, mean * size - 1), max(0, (1 - mean) * size - 1)
            evidence.append(np.array([log_beta(a + c, b + m) - log_beta(a, b) for a, b in self.priors[i]]))
        total = self.logs + sum(evidence)
        kind.prior = []
        for i in range(self.L):
            w = np.exp(total - evidence[i] - (total - evidence[i]).max())
            w, (a, b) = w / w.sum(), np.array(self.priors[i]).T
            first, second = w @ (a / (a + b)), w @ (a * (a + 1) / (a + b) / (a + b + 1))
            size = (first - second) / (second - first**2)
            kind.prior.append((max(0.1, first * size), max(0.1, (1 - first) * size)))

    def believe(self):
        self.best = max(self.kinds, key=lambda kind: kind.support)  # the first of several
        self.kinds = [kind for kind in self.kinds if kind.support >= self.best.support - 8]

    def some_kind(self):
        chances = [math.exp(kind.support - self.best.support) for kind in self.kinds]
        left = (word(self.seed(), self.L) >> 11) / 2**53 * sum(chances)
        return next(kind for kind, upto in zip(self.kinds, itertools.accumulate(chances), strict=True) if left < upto)

    def expected(self, displayed, kind):
        here, total = 1.0, 0.0
        for k, item in enumerate(displayed):
            click = here * kind.kappa[k] * kind.means[item]
            total, here = total + click, here - click * kind.v[k]
        return total

    def act(self):
        kind = self.some_kind()
        share = 1 / (1 + 0.1 * max(1, self.horizon - (self.t - 1)))
        values = [(exceeded(*kind.posteriors[i][:2], share), word(self.seed(), i)) for i in range(self.L)]
        best = sorted(range(self.L), key=lambda i: values[i], reverse=True)
        displayed = [0] * self.K
        for item, k in zip(best, sorted(range(self.K), key=lambda k: -kind.kappa[k]), strict=False):
            displayed[k] = item
        if self.order == "clicks" and len(set(kind.v)) > 1:
            for _ in range(3):
                for j, k in itertools.combinations(range(self.K), 2):
                    other = list(displayed)
                    other[j], other[k] = displayed[k], displayed[j]
                    if self.expected(other, kind) > self.expected(displayed, kind) * (1 + 1e-9):
                        displayed = other
        return displayed

    def update(self, displayed, clicks):
        places = [k for k in range(self.K) if clicks[k]]
        last = places[-1] if places else -1
        for k in places:
            self.clicked[displayed[k]] += 1
            self.at[k] += 1
            self.clicks[k] += k < self.K - 1
        self.t += 1
        due = self.t - 1 >= self.next
        self.next += (1 + (self.t - 1) // 10) * due
        for kind in self.kinds:
            self.read(kind, displayed, clicks, last)
            if due:
                for k in range(1, self.K):
                    if kind.look[k][1]:
                        missed = tuple(kind.missed[i][k] for i in range(self.L))
                        kind.kappa[k] = tails(self.at[k], missed, tuple(kind.means), *kind.look[k])[2]
                self.weigh(kind)
            self.look(kind, range(self.L) if due else displayed)
        self.believe()

    def read(self, kind, displayed, clicks, last):
        seen = [kind.kappa[k] * kind.means[displayed[k]] for k in range(self.K)]
        likelihood = math.prod(seen[k] if clicks[k] else 1 - seen[k] for k in range(last + 1))
        likelihood *= math.prod(1 - kind.v[k] for k in range(max(last, 0)) if clicks[k])
        stayed = math.prod(1 - seen[k] for k in range(last + 1, self.K))
        if 0 <= last < self.K - 1:
            stayed *= 1 - kind.v[last]
            likelihood *= kind.v[last] + stayed
            stayed /= kind.v[last] + stayed
            kind.left[last] += 1 - stayed
        else:
            likelihood, stayed = likelihood * stayed, 1
        kind.support += math.log(likelihood) if likelihood else -1000
        for k in range(self.K):
            if not clicks[k]:
                kind.missed[displayed[k]][k] += 1 if k < last else stayed
        for k in range(min(last + 1, self.K - 1)):
            a, b = kind.leave[k]
            if a and b:
                kind.v[k] = (a + kind.left[k]) / (a + b + self.clicks[k])

    def remembers(self, state):
        kind = int(state.believed[0])
        found = [state.missed[0, kind], state.examination[0, kind], state.termination[0, kind], state.mean[0, kind]]
        wanted = [self.best.missed, self.best.kappa, self.best.v, self.best.means]
        same = all(np.allclose(one, other, rtol=1e-6, atol=1e-9) for one, other in zip(found, wanted, strict=True))
        left = state.support[0, state.support[0] > -np.inf]
        return same and np.allclose(left, [kind.support for kind in self.kinds], rtol=1e-6)


def moments(x, clicked, missed, kappa):
    """Mean and standard deviation of the posterior under a uniform prior, on its nodes ``x``."""
    x = np.array(x)
    theta = 1 / (1 + np.exp(-x))
    certain = sum(m for m, k in zip(missed, kappa, strict=True) if k == 1)
    logs = (1 + clicked) * np.log(theta) - (1 + certain) * np.logaddexp(0, x)
    logs += sum(m * np.log1p(-k * theta) for m, k in zip(missed, kappa, strict=True) if k < 1)
    u = np.linspace(-5.5, 5.5, NODES)
    density = np.exp(logs - logs.max()) * np.cosh(u / 2)
    density /= density.sum()
    mean = density @ theta
    return mean, math.sqrt(density @ (theta - mean) ** 2)


@pytest.mark.parametrize(
    ("model", "order"), [("pbm", "clicks"), ("cm", "clicks"), ("dcm", "clicks"), ("dcm", "attraction")]
)
def test_the_lists_are_those_of_the_description(model, order):
    shape = {"num_items": 10, "num_positions": 5, "seed": 11, "horizon": ROUNDS}
    agent, oracle = AdaptiveIndex(order=order, **shape), AdaptiveOracle(**shape, order=order)
    users = Users(model, 10, 5, seed=(4, 10, 5))
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_they_are_with_other_users_too(model):
    env = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=1, query=[3], horizon=None)
    env.reset(seed=1)
    shape = {"num_items": 10, "num_positions": 5, "seed": 11, "horizon": 200}
    initial = [3, 1, 0, 2, 7, 5, 4, 6, 9, 8]
    agent, oracle = AdaptiveIndex(**shape, initial_list=initial), AdaptiveOracle(**shape, initial_list=initial)
    for t in range(70):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = env.step(displayed)[0]
        agent.update(displayed, clicks)
        oracle.update(displayed[0].tolist(), clicks[0].tolist())


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1)], ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    agent = AdaptiveIndex(num_items=L, num_positions=K, seed=3, horizon=40)
    for _ in beside_foreign_lists(agent, oracle := AdaptiveOracle(L, K, 3, 40), 40):
        assert oracle.remembers(agent.state)


def test_it_keeps_the_contract():
    check_agent(AdaptiveIndex, num_items=12, num_positions=9, rounds=40)
    check_agent(AdaptiveIndex, num_items=2, num_positions=1, rounds=40, seed=2**40)


def test_the_classes_of_queries_are_those_of_the_training_queries():
    models = ("CM", "PBM", "DCM", "UBM", "DBN", "CCM")
    x = [data.parameters("yandex", model, "calibrated")["attraction"] for model in models]
    x = np.concatenate([one[np.arange(len(one)) % 5 != 4] for one in x]).clip(0.001, 0.999)
    assert x.shape == (480, 10)
    members = np.eye(4)[np.argsort(np.argsort(x.mean(1))) * 4 // len(x)] * 0.8 + 0.05
    for _ in range(60):
        shares = members.sum(0)
        mean, square = (members.T @ x / shares[:, None], members.T @ x**2 / shares[:, None])
        size = np.clip(mean * (1 - mean) / np.maximum(square - mean**2, 1e-5) - 1, 1, 60)
        a, b = mean * size, (1 - mean) * size
        constants = [sum(log_beta(*pair) for pair in zip(*one, strict=True)) for one in zip(a, b, strict=True)]
        logs = np.log(x) @ (a - 1).T + np.log(1 - x) @ (b - 1).T - constants + np.log(shares)
        members = np.exp(logs - logs.max(1, keepdims=True))
        members /= members.sum(1, keepdims=True)
    order = np.argsort(-mean.mean(1))
    assert np.allclose(np.array(known.SHARES), (shares / 480)[order], atol=0.0006)
    assert np.allclose(np.array(known.CLASSES), np.stack([a, b], 2)[order], atol=0.0006)
    shares = members.sum(0)[order]
    mean, square = ((members.T @ (x**p)).mean(1)[order] / shares for p in (1, 2))
    size = mean * (1 - mean) / (square - mean**2) - 1
    assert np.allclose(np.array(known.REGARDLESS), np.stack([mean * size, (1 - mean) * size], 1), atol=0.0006)


def test_the_kinds_of_users_are_those_of_the_training_queries():
    for model, name, table in (("PBM", "examination", known.EXAMINATION), ("DCM", "termination", known.TERMINATION)):
        mean = data.parameters("yandex", model, "calibrated")[name][0, :9]
        assert np.allclose(mean, table[:9], atol=0.0006)  # everybody leaves at the tenth position of ten


def test_the_probabilities_of_the_hypotheses_add_up_to_one():
    chances, priors = known.query_classes(13)
    assert np.exp(chances).sum() == pytest.approx(1)
    assert np.exp(known.kinds_of_users(5).log_chance).sum() == pytest.approx(1)
    assert priors.shape == (13, len(chances), 2)
    assert priors.min() >= 0.1
    assert (priors[9] == priors[12]).all()
    assert (priors[:, 4:] == priors[:1, 4:]).all()  # regardless of ranks


def after(model, attraction, rounds=400, **knobs):
    """The state after sessions of ten rows with users of ``model`` whose attraction is as given."""
    items, shape = len(attraction), {"num_positions": 5, "horizon": rounds, "seed": 4}
    agent = AdaptiveIndex(num_items=items, num_envs=10, **shape, **knobs)
    chance = np.random.default_rng(2)
    for _ in range(rounds):
        displayed = agent.act()
        clicks = chance.random(displayed.shape) < np.array(attraction)[displayed]
        coins = chance.random(displayed.shape)
        leaves = np.full(5, {"pbm": 0.0, "dcm": 0.6, "cm": 1.0}[model])
        if model == "pbm":
            clicks &= coins < 1 / np.arange(1, 6)
        gone = clicks & (coins < leaves)
        agent.update(displayed, (clicks & (np.cumsum(gone, 1) - gone == 0)).astype(np.int8))
    return agent.state


@pytest.mark.parametrize(("model", "kinds"), [("pbm", {0, 1, 2}), ("dcm", {3, 4}), ("cm", {5})])
def test_it_finds_the_kind_of_its_users(model, kinds):
    """In all ten rows. All is seeded: nothing is left to chance."""
    assert set(after(model, [0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2]).believed.tolist()) <= kinds


def test_a_list_upside_down_is_not_leant_on():
    """An item is expected to be as good at the top as at the bottom, when nine others were upside down."""
    attraction = [0.04, 0.05, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.2, 0.4]
    state = after("cm", attraction)
    untold = AdaptiveIndex(num_items=10, num_positions=5, horizon=400).state
    first, last = (untold.prior[0, 5, item, 0] / untold.prior[0, 5, item].sum() for item in (0, 9))
    assert first > last + 0.1
    first, last = (state.prior[:, 5, item, 0] / state.prior[:, 5, item].sum(1) for item in (0, 9))
    assert np.abs(first - last).mean() < 0.06


def test_rare_clicks_are_expected_after_few():
    state = after("cm", [0.01] * 8)
    a, b = state.prior[:, 5].mean(0).T
    assert (a / (a + b)).max() < 0.05


def test_where_users_leave_at_the_top_the_best_items_stand_below():
    """With equal examination: the best item goes where fewest leave, but for the bottom, where it does not matter."""
    agent = AdaptiveIndex(num_items=4, num_positions=4, horizon=100, initial_list=[2, 0, 3, 1])
    state = agent.state
    state.support[:] = [-np.inf] * 4 + [0, -np.inf]
    state.believed[:] = 4
    state.termination[0, 4] = [0.9, 0.5, 0.1, 0.7]
    mean, displayed = state.mean[0, 4], agent.act()[0].tolist()
    assert displayed[2] == int(np.argmax(mean))
    best = max(itertools.permutations(range(4)), key=lambda d: promised(d, mean, state.termination[0, 4]))
    assert promised(displayed, mean, state.termination[0, 4]) == pytest.approx(
        promised(best, mean, state.termination[0, 4])
    )


def promised(displayed, mean, v):
    here, total = 1.0, 0.0
    for item, leaves in zip(displayed, v, strict=True):
        total, here = total + here * mean[item], here * (1 - mean[item] * leaves)
    return total


def test_beliefs_are_the_quantiles_that_sort_the_list():
    agent = AdaptiveIndex(num_items=6, num_positions=6, horizon=50, seed=2, order="attraction")
    played(agent, 30, 5)
    agent.state.support[0, np.arange(6) != agent.state.believed[0]] = -np.inf  # no other kind is drawn
    scores = agent.beliefs().scores["posterior quantile"]
    kappa = agent.state.examination[0, agent.state.believed[0]]
    displayed, best = agent.act()[0].tolist(), sorted(range(6), key=lambda i: -scores[i])
    assert [displayed[k] for k in np.argsort(-kappa, kind="stable")] == best


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"order": "rank"}, r"order = 'rank' is unknown; allowed: 'clicks', 'attraction'"),
        ({"exploration": 0}, r"exploration = 0 is out of range"),
        ({"exploration": math.inf}, r"exploration = inf is out of range"),
        ({"horizon": None}, r"horizon = None; allowed: a horizon"),
    ],
)
def test_bad_keywords_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveIndex(**{"num_items": 3, "num_positions": 2, "horizon": 9, **knobs})
