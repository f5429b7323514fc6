"""Exercise 6: right solutions have full points, typical mistakes fail at their checks, the oracles are the papers'."""

import itertools
import math

import numpy as np
import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes, solution

from rankgym.exercises.playing import played
from rankgym.exercises.topics.changing_users import (
    ALWAYS,
    EXERCISE,
    RESTARTS,
    WINDOWS,
    attraction_of_epochs,
    change_at_the_first_test,
    discounted,
    draw_users,
    restart_setting,
    window_setting,
)
from rankgym.exercises.topics.forgetting_rankers import (
    INDEX_GAP,
    WRONG_RESTARTS,
    WRONG_WINDOWS,
    RestartingUCB,
    SlidingWindowUCB,
    window_counts,
    window_index,
)

SEEN = "items_are_observed_down_to_the_first_click"
COUNTS = "a_window_has_the_last_rounds"
FADE = "all_counts_fade_in_each_round"
INDEX = "the_index_is_that_of_equations_7_and_8"
WINDOW = "the_window_forgets_in_the_right_round"
TEST = "two_halves_that_differ_show_a_change"
RESTART = "a_restart_forgets_everything"
MISTAKES = [
    Mistake("without the clicked item", "        items.append(item)\n        if click:\n            break\n",
            "        if click:\n            break\n        items.append(item)\n", SEEN, "clicked item is missing"),
    Mistake("everything displayed", "        if click:\n            break\n    return items", "    return items", SEEN,
            "what is below the first click was not seen"),
    Mistake("down to the last click", "    for item, click in zip(displayed, clicks):\n        items.append(item)\n"
            "        if click:\n            break\n    return items",
            "    last = max([k for k, c in enumerate(clicks) if c], default=len(clicks))\n"
            "    return displayed[: last + 1]", SEEN, "down to the last click"),
    Mistake("only clicked items", "        items.append(item)\n        if click:\n            break\n",
            "        if click:\n            items.append(item)\n", SEEN, "those above the click were seen"),
    Mistake("window too short", "in history[-window:]:", "in history[len(history) - min(window - 1, len(history)):]:",
            COUNTS, "one round too short"),
    Mistake("window too long", "in history[-window:]:", "in history[-window - 1:]:", COUNTS, "one round too long"),
    Mistake("first rounds", "in history[-window:]:", "in history[:window]:", COUNTS, "first rounds, not the last"),
    Mistake("no window", "in history[-window:]:", "in history:", COUNTS, "nothing is forgotten"),
    Mistake("counts what is displayed", "history[-window:]:\n        seen = observed_items(displayed, clicks)\n",
            "history[-window:]:\n        seen = displayed\n", COUNTS, "stop at the first click"),
    Mistake("clicks first", "            clicked[item] += click\n    return [observed, clicked]\n\n\ndef disc",
            "            clicked[item] += click\n    return [clicked, observed]\n\n\ndef disc",
            COUNTS, "return [N, X]"),
    Mistake("only observed items fade", "        observed = [gamma * n for n in observed]\n"
            "        clicked = [gamma * x for x in clicked]\n        for item, click in zip(observed"
            "_items(displayed, clicks), clicks):\n",
            "        for item, click in zip(observed_items(displayed, clicks), clicks):\n"
            "            observed[item] *= gamma\n            clicked[item] *= gamma\n", FADE, "only observed items"),
    Mistake("discount after adding", "        observed = [gamma * n for n in observed]\n"
            "        clicked = [gamma * x for x in clicked]\n        for item, click in zip(observed"
            "_items(displayed, clicks), clicks):\n"
            "            observed[item] += 1\n            clicked[item] += click\n",
            "        for item, click in zip(observed_items(displayed, clicks), clicks):\n"
            "            observed[item] += 1\n            clicked[item] += click\n"
            "        observed = [gamma * n for n in observed]\n        clicked = [gamma * x for x in clicked]\n", FADE,
            "the last round is discounted already"),
    Mistake("observations do not fade", "        observed = [gamma * n for n in observed]\n", "", FADE,
            "observations are not"),
    Mistake("t is too small", "    t = played + 1\n", "    t = played\n", INDEX, "it is of min(t + 1, window)"),
    Mistake("no minimum", "math.log(min(t, window))", "math.log(t)", INDEX, "the window is not in the logarithm"),
    Mistake("the window alone", "math.log(min(t, window))", "math.log(window)", INDEX, "the window alone"),
    Mistake("bonus bracket", "math.sqrt(epsilon * math.log(min(t, window)) / observed)",
            "math.sqrt(epsilon * math.log(min(t, window))) / observed", INDEX, "N is outside of the square root"),
    Mistake("epsilon outside", "math.sqrt(epsilon * math.log(min(t, window)) / observed)",
            "epsilon * math.sqrt(math.log(min(t, window)) / observed)", INDEX, "epsilon is outside"),
    Mistake("no logarithm", "math.log(min(t, window))", "min(t, window)", INDEX, "logarithm is missing"),
    Mistake("log10", "math.log(min(t, window))", "math.log10(min(t, window))", INDEX, "natural"),
    Mistake("x / 0 is 1", "    if observed == 0:\n        return math.inf\n",
            "    if observed == 0:\n        return 2\n",
            INDEX, "has the index 2, not infinity"),
    Mistake("larger number first", "        return sorted(range(self.num_items), key=lambda item: -index[item])[:",
            "        return sorted(range(self.num_items), key=lambda item: index[item])[::-1][:", WINDOW,
            "larger item number comes first"),
    Mistake("smallest index first", "        return sorted(range(self.num_items), key=lambda item: -index[item])[:",
            "        return sorted(range(self.num_items), key=lambda item: index[item])[:", WINDOW, "smallest indices"),
    Mistake("the agent's window is too long", "window_counts(self.history, self.num_items, self.window)",
            "window_counts(self.history, self.num_items, self.window + 1)", WINDOW, "one round too long"),
    Mistake("the agent's index has no window", "window_index(n, x, len(self.history), self.window, self.epsilon)",
            "window_index(n, x, len(self.history), 10**9, self.epsilon)", WINDOW, "the window is not in the logarithm"),
    Mistake("a window for each item",
            "        observed, clicked = window_counts(self.history, self.num_items, self.window)\n",
            "        found = [[] for _ in range(self.num_items)]\n        for d, c in self.history:\n"
            "            for i, x in zip(observed_items(d, c), c):\n                found[i].append(x)\n"
            "        observed = [len(f[-self.window:]) for f in found]\n"
            "        clicked = [sum(f[-self.window:]) for f in found]\n", WINDOW, "not of observations of each item"),
    Mistake("not strictly", "> threshold", ">= threshold", TEST, "must be larger"),
    Mistake("only rises", "abs(sum(last[half:]) - sum(last[:half]))", "sum(last[half:]) - sum(last[:half])", TEST,
            "only rises"),
    Mistake("does not wait", "    if len(observations) < window:\n        return False\n", "", TEST,
            "fewer observations than the window"),
    Mistake("waits too long", "if len(observations) < window:", "if len(observations) <= window:", TEST,
            "as many are enough"),
    Mistake("means", "abs(sum(last[half:]) - sum(last[:half])) >", "abs(sum(last[half:]) - sum(last[:half])) / half >",
            TEST, "means of the halves"),
    Mistake("first observations", "last = observations[-window:]", "last = observations[:window]", TEST,
            "first observations"),
    Mistake("all observations", "last = observations[-window:]\n    half = window // 2",
            "last = observations[-(len(observations) // 2 * 2):]\n    half = len(last) // 2", TEST,
            "divided in two halves"),
    Mistake("no forced exploration", "        if first < self.num_items:\n", "        if False:\n",
            RESTART, "no item is forced"),
    Mistake("forced exploration at the end", "            ranking.insert(0, first)\n",
            "            ranking.append(first)\n",
            RESTART, "at the end of the list"),
    Mistake("forced item changes places", "            ranking.remove(first)\n            ranking.insert(0, first)\n",
            "            k = ranking.index(first)\n            ranking[0], ranking[k] = ranking[k], ranking[0]\n",
            RESTART,
            "changes places"),
    Mistake("forced item twice", "            ranking.remove(first)\n", "", RESTART, "different items"),
    Mistake("one too late", "first = self.played % self.period", "first = (self.played - 1) % self.period", RESTART,
            "one too late"),
    Mistake("forgets only one item", "            self.restart()\n",
            "            self.played = 0\n            for item in seen:\n"
            "                if change_detected(self.observations[item], self.window, self.threshold):\n"
            "                    self.observations[item] = []\n", RESTART, "then no item may have observations"),
    Mistake("forgets only one item, and s goes on", "            self.restart()\n", "            for item in seen:\n"
            "                if change_detected(self.observations[item], self.window, self.threshold):\n"
            "                    self.observations[item] = []\n", RESTART, "forget all of them"),
    Mistake("s goes on", "            self.restart()\n",
            "            self.observations = [[] for _ in range(self.num_items)]\n",
            RESTART, "s goes on after a restart"),
    Mistake("tests inside of the loop",
            "            self.observations[item].append(click)\n        if any(change_detected("
            "self.observations[item], self.window, self.threshold) for item in seen):\n            self.restart()",
            "            self.observations[item].append(click)\n"
            "            if change_detected(self.observations[item], self.window, self.threshold):\n"
            "                self.restart()", RESTART, "then no item may have observations"),
    Mistake("the round counts after a restart",
            "        self.played += 1\n        seen = observed_items(displayed, clicks)\n"
            "        for item, click in zip(seen, clicks):\n            self.observations[item].append(click)\n"
            "        if any(change_detected(self.observations[item], self.window, self.threshold) for item in seen):\n"
            "            self.restart()",
            "        seen = observed_items(displayed, clicks)\n"
            "        for item, click in zip(seen, clicks):\n            self.observations[item].append(click)\n"
            "        if any(change_detected(self.observations[item], self.window, self.threshold) for item in seen):\n"
            "            self.restart()\n        self.played += 1", RESTART, "s is 1 after a restart"),
    Mistake("more than w observations", "any(change_detected(self.observations[item], self.window, self.threshold) for"
            " item in seen)", "any(len(self.observations[item]) > self.window and change_detected("
            "self.observations[item], self.window, self.threshold) for item in seen)", RESTART, "as many are enough"),
    Mistake("only the first one is tested", "self.threshold) for item in seen):",
            "self.threshold) for item in seen[:1]):", RESTART, "only the first observed item"),
    Mistake("only the last one is tested", "self.threshold) for item in seen):",
            "self.threshold) for item in seen[-1:]):", RESTART, "only the last observed item"),
    Mistake("forced item is last in the list", "            ranking.insert(0, first)\n",
            "            ranking.insert(self.num_positions - 1, first)\n", RESTART, "last displayed position"),
    Mistake("forced item replaces the first",
            "            ranking.remove(first)\n            ranking.insert(0, first)\n",
            "            ranking = ranking[: self.num_positions]\n            if first in ranking:\n"
            "                ranking.remove(first)\n                ranking.insert(0, first)\n"
            "            ranking[0] = first\n", RESTART, "cut before"),
    Mistake("s counts observations", "        self.played += 1\n        seen = observed_items(displayed, clicks)\n",
            "        seen = observed_items(displayed, clicks)\n        self.played += len(seen)\n", RESTART,
            "s grows by the number of observed items"),
    Mistake("one list for all items", "self.observations = [[] for _ in range(self.num_items)]",
            "self.observations = [[]] * self.num_items", RESTART, "the lists of [[]] * L are one list"),
    Mistake("s % num_items", "first = self.played % self.period", "first = self.played % self.num_items", RESTART,
            "s % period, not s % num_items"),
    Mistake("recent mean", "            if found:\n",
            "            found = found[-self.window:]\n            if found:\n", RESTART,
            "mean and n are of the last w"),
    Mistake("recent mean, all counted", "index.append(sum(found) / len(found) +",
            "last = found[-self.window:]\n                index.append(sum(last) / len(last) +", RESTART,
            "the mean is of the last w"),
    Mistake("running mean", "index.append(sum(found) / len(found) +",
            "mean = 0.0\n                for n, x in enumerate(found):\n"
            "                    mean += (x - mean) / (n + 1)\n                index.append(mean +", RESTART,
            "divide once"),
    Mistake("never restarts", "            self.restart()\n", "            pass\n", RESTART, "it never restarts"),
    Mistake("learns below the click", "        for item, click in zip(seen, clicks):\n            self.observations",
            "        seen = displayed\n        for item, click in zip(seen, clicks):\n            self.observations",
            RESTART,
            "stop at the first click"),
    Mistake("no 1.5", "math.sqrt(1.5 * math.log(", "math.sqrt(math.log(", RESTART, "factor 1.5"),
    Mistake("s + 1", "math.log(self.played)", "math.log(self.played + 1)", RESTART, "it is ln(s)"),
    Mistake("bracket", "math.log(self.played) / len(found)))", "math.log(self.played)) / len(found))", RESTART,
            "n is outside"),
]  # fmt: skip
ARRAYS = '''
import collections

import numpy as np


def observed_items(displayed, clicks):
    clicks = np.asarray(clicks)
    return np.asarray(displayed)[np.cumsum(clicks) - clicks == 0]


def window_counts(history, num_items, window):
    counts = np.zeros((2, num_items), int)
    for displayed, clicks in list(history)[max(0, len(history) - window):]:
        seen = observed_items(displayed, clicks)
        counts[0, seen] += 1
        counts[1, seen] += np.asarray(clicks)[: len(seen)]
    return counts


def discounted_counts(history, num_items, gamma):
    counts = np.zeros((2, num_items))
    for age, (displayed, clicks) in enumerate(reversed(history)):
        for k, item in enumerate(observed_items(displayed, clicks)):
            counts[:, item] += np.array([1, clicks[k]]) * gamma**age
    return tuple(counts)


def window_index(observed, clicked, played, window, epsilon):
    with np.errstate(all="ignore"):
        bonus = np.sqrt(epsilon) * np.sqrt(np.log(np.minimum(played + 1, window))) / np.sqrt(observed)
        return np.where(np.equal(observed, 0), np.inf, np.divide(clicked, observed) + bonus)[()]


class SlidingWindowUCB:
    """Counts go up with the round that enters the window, and down with the one that leaves it."""

    def __init__(self, num_items, num_positions, window, epsilon):
        self.shape, self.epsilon, self.t = (num_items, num_positions), epsilon, 0
        self.counts, self.window = np.zeros((2, num_items), int), window
        self.inside = collections.deque()

    def act(self):
        index = window_index(*self.counts, self.t, self.window, self.epsilon)
        return np.argsort(-index, kind="stable")[: self.shape[1]]

    def update(self, displayed, clicks):
        self.inside.append(window_counts([(displayed, clicks)], self.shape[0], 1))
        self.counts += self.inside[-1]
        if len(self.inside) > self.window:
            self.counts -= self.inside.popleft()
        self.t += 1


def change_detected(observations, window, threshold):
    last = np.array(observations[-window:])
    if len(last) != window:
        return np.False_
    signs = np.repeat([-1, 1], window // 2)
    return np.abs(signs @ last) > threshold


class RestartingUCB:
    def __init__(self, num_items, num_positions, period, window, threshold):
        self.rest = num_items, num_positions, period, window, threshold
        self.s, self.found = 0, {item: [] for item in range(num_items)}

    def key(self, item):
        n = len(self.found[item])
        index = np.mean(self.found[item]) + (3 / 2 * np.log(self.s) / n) ** 0.5 if n else np.inf
        return self.s % self.rest[2] != item, -index, item

    def act(self):
        return sorted(self.found, key=self.key)[: self.rest[1]]

    def update(self, displayed, clicks):
        self.s, fired = self.s + 1, False
        for item, click in zip(observed_items(displayed, clicks).tolist(), clicks):
            self.found[item].append(click)
            fired |= bool(change_detected(self.found[item], *self.rest[3:]))
        if fired:
            self.__init__(*self.rest)
'''


@pytest.mark.parametrize("seed", [0, 1])
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


def test_a_solution_with_arrays_has_full_points():
    found = outcomes(EXERCISE, ARRAYS)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


@pytest.mark.parametrize(
    ("make", "mistakes", "settings"),
    [
        (SlidingWindowUCB, WRONG_WINDOWS, [window_setting(size, None) for size in WINDOWS if size in ALWAYS]),
        (
            RestartingUCB,
            WRONG_RESTARTS,
            [change_at_the_first_test(), *(restart_setting(size, None) for size in RESTARTS if size in ALWAYS)],
        ),
    ],
)
def test_the_first_users_tell_mistakes_apart(make, mistakes, settings):
    makers = {"": make, **mistakes}
    lists = {why: [one.play(maker(**one.arguments))[0] for one in settings] for why, maker in makers.items()}
    assert [(one, other) for one, other in itertools.combinations(lists, 2) if lists[one] == lists[other]] == []


def test_a_change_shows_at_the_first_test():
    """Also with other indices: no list before the one that differs depends on them."""
    setting = change_at_the_first_test()
    late = WRONG_RESTARTS["more observations than the window are needed: as many are enough"]
    for index in (None, lambda observations, s: 1.0, lambda observations, s: -sum(observations) - 1e-3 * s):
        changes = {} if index is None else {"index": index}
        oracle, other = RestartingUCB(**setting.arguments, **changes), late(**setting.arguments, **changes)
        right, wrong = setting.play(oracle)[0], setting.play(other)[0]
        window = setting.arguments["window"]
        assert oracle.restarts == [window - 1]  # item 1 is observed in each round: this is its w-th observation
        assert right[:window] == wrong[:window]
        assert (right[window], wrong[window]) == ([0, 1], [1, 0])


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


def test_constant_answers_have_no_points():
    names = "observed_items window_counts discounted_counts window_index change_detected"
    constant = "".join(f"\n\ndef {name}(*args):\n    return args[0]\n" for name in names.split())
    for agent in ("SlidingWindowUCB", "RestartingUCB"):
        constant += f"\n\n{agent}.act = lambda self: list(range(self.num_positions))\n"
    found = outcomes(EXERCISE, solution(EXERCISE.name) + constant)
    assert all(outcome.fault for outcome in found.values())


def test_the_window_oracle_is_the_packages():
    """The package breaks ties at random: the oracle sees its lists, and must have the same counts and indices."""
    from rankgym_agents import CascadeSWUCB

    items, positions, window, epsilon, rounds = 6, 3, 40, 0.5, 2_000
    rng = np.random.default_rng(4)
    attracted, _ = draw_users(rng, attraction_of_epochs(rng, items), positions, rounds)
    agent = CascadeSWUCB(num_items=items, num_positions=positions, tau=window, epsilon=epsilon, seed=5)
    oracle = SlidingWindowUCB(items, positions, window, epsilon)
    for t in range(rounds):
        observed, clicked = window_counts(oracle.history, items, window)
        assert agent.state.observed[0].tolist() == observed
        assert agent.state.clicked[0].tolist() == clicked
        index = [window_index(n, x, t, window, epsilon) for n, x in zip(observed, clicked, strict=True)]
        displayed = agent.act()
        assert [index[item] for item in displayed[0]] == pytest.approx(sorted(index, reverse=True)[:positions])
        clicks = attracted[t][displayed]
        clicks[0, int(clicks[0].argmax()) + 1 :] = False
        agent.update(displayed, clicks)
        oracle.update(displayed[0].tolist(), clicks[0].astype(int).tolist())


def test_the_discounts_are_the_packages():
    from rankgym_agents import CascadeDUCB

    items, positions, gamma, rounds = 5, 3, 0.95, 300
    rng = np.random.default_rng(6)
    agent, history = CascadeDUCB(num_items=items, num_positions=positions, gamma=gamma, seed=7), []
    for _ in range(rounds):
        displayed = agent.act()
        clicks = (rng.random((1, positions)) < 0.3).astype(int)
        agent.update(displayed, clicks)
        seen = [*clicks[0].tolist(), 1].index(1)
        clicks[0, seen + 1 :] = 0  # the package counts down to the first click, too
        history.append((displayed[0].tolist(), clicks[0].tolist()))
    observed, clicked = discounted(history, items, gamma)
    assert agent.state.observed[0] == pytest.approx(observed, rel=1e-12)
    assert agent.state.clicked[0] == pytest.approx(clicked, rel=1e-12)
    assert sum(observed) <= positions * (1 - gamma**rounds) / (1 - gamma)


@pytest.mark.parametrize("window", [1, 2, 5, 12])
def test_the_window_forgets_in_exactly_the_right_round(window):
    """Item 1, which nobody likes, is tried in round 1,
    and again when that round has left the window: window + 1 later."""
    rounds = 10 * window
    lists, _ = played(SlidingWindowUCB(2, 1, window, 0.01), [[True, False]] * rounds, [[True]] * rounds, True)
    assert [t for t, ranking in enumerate(lists) if ranking == [1]] == list(range(1, rounds, window + 1))


@pytest.mark.parametrize("threshold", [0, 1, 2.5, 4])
def test_a_change_is_detected_after_exactly_as_many_contrary_observations(threshold):
    """With one item, liked up to round 50 and by nobody after it, the halves differ by one more in each round."""
    window, rounds = 10, 60
    oracle = RestartingUCB(1, 1, 1, window, threshold)
    played(oracle, [[t < 50] for t in range(rounds)], [[True]] * rounds, True)
    assert oracle.restarts == [50 + math.floor(threshold)]  # floor(b) + 1 observations, the first one in round 50


def test_users_who_stay_the_same_cause_no_restart():
    """Hoeffding: 2 exp(-2 b^2 / w) = 2e-12 for each of fewer than 6,000 tests, 1.2e-8 in all; a low threshold does."""
    rng, window = np.random.default_rng(8), 40
    users = draw_users(rng, np.array([[0.5, 0.3, 0.1]]), 3, 2_000)
    for threshold, calm in ((math.sqrt(window / 2 * math.log(1e12)), True), (5, False)):
        oracle = RestartingUCB(3, 3, 10, window, threshold)
        played(oracle, *users, True)
        assert (oracle.restarts == []) == calm


def test_settings_are_hardly_ever_drawn_anew():
    """They are if an agent never restarts, or if indices are so close that rounding could decide."""
    restarted = []
    for seed, (items, positions, period, window, threshold, rounds) in itertools.product(range(5), RESTARTS):
        rng = np.random.default_rng([seed, items])
        oracle = RestartingUCB(items, positions, period, window, threshold)
        played(oracle, *draw_users(rng, attraction_of_epochs(rng, items), positions, rounds), True)
        assert oracle.gap > INDEX_GAP
        restarted.append(bool(oracle.restarts))
    assert sum(restarted) >= 15
