"""Bayesian agents: against a plain reading of their description, reductions, what they estimate, what they refuse."""

import bisect
import functools
import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, played, word
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym import data
from rankgym.conformance.agents import check_agent
from rankgym_agents import BayesIndex, BayesThompson
from rankgym_agents.production_prior import MOMENTS, production_prior

ROUNDS = 2000
NODES = 48
U = np.linspace(-5.5, 5.5, NODES)
Z, STRETCH = 2 * np.sinh(U / 2), np.log(np.cosh(U / 2))
AGENTS = {"bayes-index": BayesIndex, "bayes-thompson": BayesThompson}
unhurried = settings(deadline=None)  # the first example may wait for the compiler


@functools.lru_cache(maxsize=100_000)
def tails(clicked, missed, kappa, a, b):
    """Logits of the nodes, the probability to be above each, and the mean."""
    a += clicked
    b += sum(m for m, k in zip(missed, kappa, strict=True) if k == 1)
    seen = [(m, k) for m, k in zip(missed, kappa, strict=True) if m and k < 1]
    mode, bend = top(a, b, seen)
    x = mode + Z / math.sqrt(bend)
    beyond = np.logaddexp(0, x)
    logs = a * (x - beyond) - b * beyond + STRETCH
    if seen:
        m, k = np.array(seen).T
        logs += m @ np.log1p(-np.multiply.outer(k, 1 / (1 + np.exp(-x))))
    density, rise = np.exp(logs - logs.max()), logs[1:] - logs[:-1]
    straight = np.abs(rise) >= 0.01
    mass = np.where(
        straight, (density[1:] - density[:-1]) / np.where(straight, rise, 1), (density[1:] + density[:-1]) / 2
    )
    mass[1:-1] *= 1 - np.maximum((rise[2:] - rise[:-2]) / 2, -2) / 12
    above = np.append(np.cumsum(mass[::-1])[::-1], 0)
    return x.tolist(), (above / above[0]).tolist(), float(density @ (1 / (1 + np.exp(-x))) / density.sum())


def top(a, b, seen):
    """The logit at which its density is largest, and minus the second derivative of the log density there.

    theta (a + b + sum of m k (1 - theta) / (1 - k theta)) = a, by Newton's method, until a step is below 1e-4 of theta;
    the derivative is that before the last step. Another end would move the nodes, by 1e-5 of their distance, and with
    them what is interpolated: two indices that are closer than 1e-6 could change places.
    """
    theta, step = a / (a + b + sum([m * k for m, k in seen])), 1
    while step > 1e-4 * theta:
        left, slope = (a + b) * theta, a + b
        for m, k in seen:
            left += m * k * theta * (1 - theta) / (1 - k * theta)
            slope += m * k * (1 - 2 * theta + k * theta**2) / (1 - k * theta) ** 2
        step = (a - left) / slope
        theta += step
    return math.log(theta / (1 - theta)), theta * (1 - theta) * slope


def exceeded(x, above, share):
    """The logit that is exceeded with probability ``share``."""
    high = bisect.bisect_right(above, -share, 1, NODES - 1, key=lambda probability: -probability)
    now, before, wanted = above[high], above[high - 1], share
    if wanted > 0.5:
        now, before, wanted = 1 - now, 1 - before, 1 - wanted
    if not now or not before:
        return rounded(x[high - 1] if not now else x[high])
    return rounded(x[high - 1] + (x[high] - x[high - 1]) * math.log(wanted / before) / math.log(now / before))


def rounded(x):
    """What is equal but for rounding errors is a tie."""
    return math.floor(x * 2**30 + 0.5) / 2**30


class BayesOracle(Oracle):
    """The module's description, for one row. ``horizon`` None: Thompson sampling. kappa, v None: estimated."""

    def __init__(self, *place, users="pbm", horizon=None, a=0.1, prior=None, kappa=None, v=None, order="attraction"):
        super().__init__(*place)
        self.users, self.horizon, self.a, self.order = users, horizon, a, order
        self.prior = [(1.0, 1.0)] * self.L if prior is None else [tuple(map(float, ab)) for ab in prior]
        kinds = self.K if users == "pbm" else 1
        self.estimates, self.next = users == "pbm" and kappa is None, 1
        self.kappa = [1.0] + [0.5] * (kinds - 1) if kappa is None else list(map(float, kappa))
        self.learns, self.v = v is None, [0.5] * self.K if v is None else list(v)
        self.clicked, self.missed = ([[0.0] * kinds for _ in range(self.L)] for _ in range(2))
        self.clicks, self.stayed = [0.0] * self.K, [0.0] * self.K
        self.posteriors, self.means = [None] * self.L, [None] * self.L
        self.look(range(self.L))

    def look(self, items):
        """The items' posteriors from their counts."""
        for i in items:
            counts = sum(self.clicked[i]), tuple(self.missed[i])
            self.posteriors[i] = tails(*counts, tuple(self.kappa), *self.prior[i])
            self.means[i] = self.posteriors[i][2]

    def value(self, item):
        if self.horizon:
            share = 1 / (1 + self.a * max(1, self.horizon - (self.t - 1)))
        else:
            share = (word(self.seed(), self.L + item) >> 11) / 2**53
        return exceeded(*self.posteriors[item][:2], share)

    def act(self):
        values = [(self.value(i), word(self.seed(), i)) for i in range(self.L)]
        best = sorted(range(self.L), key=lambda i: values[i], reverse=True)
        worth = [-v for v in self.v] if self.order == "clicks" else self.kappa if self.users == "pbm" else [1] * self.K
        displayed = [0] * self.K
        for item, k in zip(best, sorted(range(self.K), key=lambda k: -worth[k]), strict=False):
            displayed[k] = item
        return displayed

    def update(self, displayed, clicks):
        places = [k for k in range(self.K) if clicks[k]] or [self.K - 1]
        last = {"pbm": self.K - 1, "cascade": places[0], "dcm": places[-1]}[self.users]
        for k in range(last + 1):
            kind = k if self.users == "pbm" else 0
            self.clicked[displayed[k]][kind] += clicks[k]
            self.missed[displayed[k]][kind] += 1 - clicks[k]
        if self.users == "dcm":
            self.read_on(displayed, clicks, last)
        self.t += 1
        if not self.estimates or self.t - 1 < self.next:
            self.look(displayed)
        else:
            self.next += 1 + (self.t - 1) // 10
            for k in range(1, self.K):
                clicked, missed = (tuple(counts[k] for counts in one) for one in (self.clicked, self.missed))
                self.kappa[k] = rounded(tails(sum(clicked), missed, tuple(self.means), 1.0, 1.0)[2])
            self.look(range(self.L))

    def read_on(self, displayed, clicks, last):
        for k in range(last):
            self.clicks[k] += clicks[k]
            self.stayed[k] += clicks[k]
        below = displayed[last + 1 :]
        if below:
            ignored = (1 - self.v[last]) * math.prod(1 - self.means[item] for item in below)
            stayed = ignored / (self.v[last] + ignored)
            for item in below:
                self.missed[item][0] += stayed
            self.clicks[last] += 1
            self.stayed[last] += stayed
        if self.learns:
            for k in range(last + 1):
                self.v[k] = 1 - (1 + self.stayed[k]) / (2 + self.clicks[k])

    def remembers(self, state):
        found = [state.missed[0], state.examination[0], 1 - state.staying[0], state.mean[0]]
        wanted = [self.missed, self.kappa, self.v, self.means]
        same = all(np.allclose(one, other, rtol=1e-6, atol=1e-9) for one, other in zip(found, wanted, strict=True))
        return same and state.clicked[0].tolist() == self.clicked


KINDS = {  # of agents: keywords of the agent, and what the oracle calls otherwise
    "pbm": ({}, {}),
    "pbm, known": ({"examination": [0.6, 0.95, 0.5, 0.2, 0.1]}, {"kappa": [0.6, 0.95, 0.5, 0.2, 0.1]}),
    "pbm, by rank": ({"prior": "rank"}, {"prior": MOMENTS["pbm"]}),
    "cascade": ({"users": "cascade"}, {"users": "cascade"}),
    "dcm": ({"users": "dcm"}, {"users": "dcm"}),
    "dcm, known": ({"users": "dcm", "termination": [0.5] * 5}, {"users": "dcm", "v": [0.5] * 5}),
    "dcm, clicks": ({"users": "dcm", "order": "clicks"}, {"users": "dcm", "order": "clicks"}),
}


CASES = [  # the default, PBM with nothing known, plays in test_every_model.py
    *(("bayes-index", kind, {"p": "pbm", "c": "cm", "d": "dcm"}[kind[0]]) for kind in KINDS if kind != "pbm"),
    ("bayes-thompson", "cascade", "dcm"),
    ("bayes-thompson", "dcm", "pbm"),
]


@pytest.mark.parametrize(("name", "kind", "model"), CASES)
def test_the_lists_are_those_of_the_description(name, kind, model):
    knobs, oracles = KINDS[kind]
    horizon = {"horizon": ROUNDS} if name == "bayes-index" else {}
    agent = AGENTS[name](num_items=10, num_positions=5, seed=11, **horizon, **knobs)
    oracle = BayesOracle(10, 5, 11, **horizon, **oracles)
    users = Users(model, 10, 5, seed=(4, 10, 5))
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1)], ids=str)
@pytest.mark.parametrize("users", ["pbm", "cascade", "dcm"])
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape, users):
    L, K = shape
    agent = BayesThompson(num_items=L, num_positions=K, seed=3, users=users)
    oracle = BayesOracle(L, K, 3, users=users)
    for _ in beside_foreign_lists(agent, oracle, 100):
        assert oracle.remembers(agent.state)


@pytest.mark.parametrize("users", ["pbm", "cascade", "dcm"])
def test_it_keeps_the_contract(users):
    check_agent(lambda **shape: BayesIndex(users=users, **shape), rounds=60)
    check_agent(
        lambda **shape: BayesThompson(users=users, prior="rank", **shape), num_items=12, num_positions=9, rounds=40
    )
    check_agent(lambda **shape: BayesIndex(users=users, **shape), num_items=2, num_positions=1, rounds=60, seed=2**40)


def lists(rounds=150, model="pbm", **knobs):
    agent = BayesIndex(num_items=6, num_positions=4, seed=3, horizon=rounds, **knobs)
    users, shown = Users(model, 6, 4, (5, 5)), []
    for _ in range(rounds):
        shown.append(agent.act()[0].tolist())
        agent.update([shown[-1]], [users.clicks(shown[-1])])
    return shown


def test_a_dcm_user_who_never_leaves_examines_everything():
    assert lists(users="dcm", termination=[0.0] * 4) == lists(users="pbm", examination=[1.0] * 4)


def test_a_dcm_user_who_leaves_after_every_click_is_a_cascade_user():
    assert lists(model="cm", users="dcm", termination=[1.0] * 4) == lists(model="cm", users="cascade")


def test_whether_a_dcm_user_stayed_is_bayes_rule():
    """Last click at the second of four positions: what is below was not seen, or seen twice and not clicked."""
    agent = BayesThompson(num_items=4, num_positions=4, users="dcm", termination=[0.9, 0.3, 0.2, 0.1], prior=[1.0, 3.0])
    agent.update([[2, 0, 3, 1]], [[0, 1, 0, 0]])
    stayed = 0.7 * 0.75**2 / (0.3 + 0.7 * 0.75**2)
    # the prior's mean is 1/4, but for the nodes
    assert agent.state.missed[0, :, 0] == pytest.approx([0, stayed, 1, stayed], rel=1e-3)
    assert agent.state.clicked[0, :, 0].tolist() == [1, 0, 0, 0]


def test_order_by_clicks_puts_the_best_items_where_fewest_leave():
    knobs = {"num_items": 4, "num_positions": 3, "prior": [[9, 1], [1, 1], [1, 20], [1, 9]], "horizon": 1000}
    by_clicks = BayesIndex(users="dcm", order="clicks", termination=[0.5, 0.9, 0.1], **knobs)
    assert by_clicks.act()[0].tolist() == [1, 3, 0]
    assert BayesIndex(users="dcm", termination=[0.5, 0.9, 0.1], **knobs).act()[0].tolist() == [0, 1, 3]
    assert BayesIndex(examination=[0.5, 0.1, 0.9], **knobs).act()[0].tolist() == [1, 3, 0]


def test_a_cascades_samples_are_those_of_a_beta():
    """Three users look past item 0 and click item 1."""
    rows = 20_000
    agent = BayesThompson(num_items=2, num_positions=2, num_envs=rows, users="cascade", seed=4)
    for _ in range(3):
        agent.update([[0, 1]] * rows, [[0, 1]] * rows)
    first = (agent.act()[:, 0] == 0).mean()
    # P(Beta(1, 4) > Beta(4, 1)) = 1/70; within 5.5 standard deviations up to probability 4e-8, and .0005 for the nodes
    assert first == pytest.approx(1 / 70, abs=5.5 * math.sqrt(1 / 70 / rows) + 0.0005)


def test_the_first_lists_are_uniform():
    rows = 30_000
    for agent in (BayesThompson, functools.partial(BayesIndex, horizon=10)):
        displayed = agent(num_items=3, num_positions=3, num_envs=rows, seed=3).act()
        for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
            # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 5e-7 for all
            assert abs((displayed == order).all(1).mean() - 1 / 6) < 0.0118


def estimates(users, click, rows=20, rounds=1500):
    """The state after random lists of six items in ``rows`` rows; ``click`` makes clicks of attracted users' marks."""
    chance, attraction = np.random.default_rng(8), np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    agent = BayesThompson(num_items=6, num_positions=3, num_envs=rows, users=users, seed=1)
    for _ in range(rounds):
        displayed = np.array([chance.permutation(6)[:3] for _ in range(rows)])
        attracted = chance.random((rows, 3)) < attraction[displayed]
        agent.update(displayed, click(attracted, chance.random((rows, 3))).astype(np.int8))
    return agent.state


def test_examination_is_found():
    """The mean over 20 rows has a standard error below .01 (a row's deviation was .02 to .03 in 200 rows)."""
    state = estimates("pbm", lambda attracted, coins: attracted & (coins < [1.0, 0.7, 0.3]))
    assert state.examination.mean(0) == pytest.approx([1.0, 0.7, 0.3], abs=0.06)


def test_termination_is_found():
    """As above. Nobody can tell whether users leave at the bottom, where the prior's 1/2 stays."""

    def click(attracted, coins):
        leaves = attracted & (coins < [0.8, 0.3, 0.5])
        return attracted & (np.cumsum(leaves, 1) - leaves == 0)

    assert 1 - estimates("dcm", click).staying.mean(0) == pytest.approx([0.8, 0.3, 0.5], abs=0.06)


@pytest.mark.parametrize(("users", "model"), [("pbm", "PBM"), ("cascade", "CM"), ("dcm", "DCM")])
def test_the_prior_by_rank_has_the_moments_of_the_training_queries(users, model):
    attraction = data.parameters("yandex", model, "calibrated")["attraction"]
    training = attraction[np.arange(len(attraction)) % 5 != 4]
    assert len(training) == 80
    mean, variance = training.mean(0), training.var(0)
    strength = mean * (1 - mean) / variance - 1
    wanted = np.stack([mean * strength, (1 - mean) * strength], axis=1)
    assert np.abs(production_prior(users, 10) - wanted).max() < 0.00051  # three decimals


def test_the_prior_by_rank_follows_the_production_list():
    lists = np.array([[2, 0, 1], [1, 2, 0]])
    agent = BayesThompson(num_items=3, num_positions=1, num_envs=2, prior="rank", initial_list=lists)
    first, second, third = MOMENTS["pbm"][:3]
    assert agent.state.prior.tolist() == [[[*second], [*third], [*first]], [[*third], [*first], [*second]]]
    assert agent.state.mean[0] == pytest.approx([a / (a + b) for a, b in (second, third, first)], rel=1e-3)
    long = production_prior("dcm", 13)
    assert long[9:].tolist() == [[*MOMENTS["dcm"][9]]] * 4


def test_beliefs_are_the_quantiles_that_sort_the_list():
    agent = BayesIndex(num_items=6, num_positions=6, examination=np.linspace(1, 0.2, 6), horizon=50, seed=2)
    for displayed in played(agent, 30, 5)[-1:]:
        assert displayed.shape == (1, 6)
    scores = agent.beliefs().scores["posterior quantile"]
    assert agent.act()[0].tolist() == sorted(range(6), key=lambda i: -scores[i])


@unhurried
@given(
    st.sampled_from(["examination", "termination"]),
    st.one_of(
        st.lists(st.floats(-1, 0, exclude_max=True), min_size=2, max_size=2),
        st.lists(st.floats(1, 9, exclude_min=True), min_size=2, max_size=2),
        st.lists(st.floats(0.1, 1), min_size=3, max_size=5),
        st.sampled_from([[0.5], [0.5, math.nan], [[0.5, 0.5]] * 2, 0.5, [], "half"]),
    ),
)
def test_bad_probabilities_by_position_are_refused(name, values):
    users = "pbm" if name == "examination" else "dcm"
    with pytest.raises(ValueError, match=rf"^{name}.*; allowed"):
        BayesThompson(num_items=3, num_positions=2, num_envs=3, users=users, **{name: values})


@unhurried
@given(
    st.one_of(
        st.text(),
        st.tuples(st.floats(max_value=0.0999), st.floats(0.1, 10)),
        st.tuples(st.floats(0.1, 10), st.floats(min_value=1.0001e6)),
        st.lists(st.floats(0.1, 10), min_size=3, max_size=9),
        st.sampled_from([[math.nan, 1], [[1, 1]] * 2, [[1, 1, 1]] * 3, None, {}, 1.0, [[1, 2], [3]]]),
    )
)
def test_bad_priors_are_refused(prior):
    with pytest.raises(ValueError, match=r"(?s)^prior.*; allowed: "):
        BayesThompson(num_items=3, num_positions=2, prior=prior)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"users": "people"}, r"users = 'people' is unknown; allowed: 'pbm', 'cascade', 'dcm'"),
        ({"order": "rank"}, r"order = 'rank' is unknown; allowed: 'attraction', 'clicks'"),
        ({"order": "clicks"}, r"order is given, but users = 'pbm'; allowed: order with users = 'dcm'"),
        ({"users": "dcm", "examination": [1, 1]}, r"examination is given, but users = 'dcm'"),
        ({"termination": [1, 1]}, r"termination is given, but users = 'pbm'"),
        ({"exploration": 0}, r"exploration = 0 is out of range"),
        ({"exploration": math.inf}, r"exploration = inf is out of range"),
        ({"horizon": None}, r"horizon = None; allowed: a horizon"),
    ],
)
def test_bad_keywords_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        BayesIndex(**{"num_items": 3, "num_positions": 2, "horizon": 9, **knobs})


def test_it_plays_on_beyond_a_horizon_and_with_a_vast_one():
    for horizon in (1, 10**30):
        agent = BayesIndex(num_items=3, num_positions=2, horizon=horizon, seed=1)
        assert sorted({item for row in played(agent, 20, 1) for item in row[0].tolist()}) == [0, 1, 2]
