"""Click models with one mistake each, by the rule of ``check_model`` that finds it. The rest of each is a PBM."""

from typing import NamedTuple

import numpy as np
import trust_bias

from rankgym.kernels import EXAMINATION, bits, kernel, session_seed, uniform
from rankgym.models import MODELS, ClickModel, Reward, coins, matched_lists
from rankgym.models.pbm import AXES, Parameters, best_lists, clicked, examine, value

RNG = np.random.default_rng(0)


def click(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    """The PBM with NumPy."""
    places = np.arange(displayed.shape[1])
    attracted = coins(key, session, displayed) < np.take_along_axis(attraction, displayed, 1)
    clicks[:] = attracted & (coins(key, session, EXAMINATION + places) < examination)
    reward[:] = clicks[:, :cutoff].sum(1)


def model(**changes):
    parts = {"click": click, "value": value, "best_lists": best_lists, "examine": examine, **changes}
    reward = Reward(parts["click"], parts["value"], parts["best_lists"])
    return ClickModel("Broken", Parameters, AXES, parts["examine"], {"clicks": reward})


GOOD = model()


def wrapped(function, before=None, after=None):
    """A function with something done before or after it, to its arguments."""

    def changed(*arguments):
        if before is not None:
            before(*arguments)
        function(*arguments)
        if after is not None:
            after(*arguments)

    return changed


class Sizes(NamedTuple):
    """Parameters without attraction."""

    weight: np.ndarray


@kernel
def click_that_calls_another_file(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    for row in range(displayed.shape[0]):
        seed = session_seed(key[row], session[row])
        reward[row] = 0.0
        for k in range(displayed.shape[1]):
            item = displayed[row, k]
            clicks[row, k] = clicked(seed, item, EXAMINATION + k, attraction[row, item], examination[row, k])
            if k < cutoff:
                reward[row] += clicks[row, k]


@kernel
def examine_that_writes_too_far(attraction, examination, displayed, examined):
    for row in range(displayed.shape[0] - 1, -1, -1):
        for k in range(displayed.shape[1], -1, -1):
            examined[row, k] = examination[row, min(k, displayed.shape[1] - 1)]


def click_by_bits(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    for row in range(len(displayed)):
        clicks[row, 0] = uniform(bits(session_seed(key[row], session[row]), 0)) < 0.5


def click_where_clicked(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    fresh = np.zeros_like(clicks)
    click(attraction, examination, key, session, displayed, cutoff, fresh, reward)
    clicks[fresh == 1] = 1


def click_with_coins(numbers):
    """The PBM whose attraction coins are ``numbers(key, session, displayed)``."""

    def drawn(attraction, examination, key, session, displayed, cutoff, clicks, reward):
        places = np.arange(displayed.shape[1])
        attracted = numbers(key, session, displayed) < np.take_along_axis(attraction, displayed, 1)
        clicks[:] = attracted & (coins(key, session, EXAMINATION + places) < examination)
        reward[:] = clicks[:, :cutoff].sum(1)

    return drawn


def click_with(change):
    """The PBM that plays with other keys and sessions, ``change(key, session)``."""

    def drawn(attraction, examination, key, session, displayed, cutoff, clicks, reward):
        click(attraction, examination, *change(key, session), displayed, cutoff, clicks, reward)

    return drawn


def click_until_the_cutoff(*arguments):
    click(*arguments)
    arguments[-2][:, arguments[-3] :] = 0


def pay_all(*arguments):
    click(*arguments)
    arguments[-1][:] = arguments[-2].sum(1)


def add_up(attraction, examination, displayed, cutoff, expected):
    value(attraction, np.ones_like(examination), displayed, cutoff, expected)


def value_of_all(attraction, examination, displayed, cutoff, expected):
    value(attraction, examination, displayed, displayed.shape[1], expected)


def value_among(attraction, examination, displayed, cutoff, expected):
    value(attraction, examination, displayed, cutoff, expected)
    expected *= 1 + 1e-9 * np.arange(len(expected))


def sorted_in_place(parameters, num_positions, cutoff):
    best = best_lists(parameters, num_positions, cutoff)
    parameters.attraction.sort(axis=1)
    return best


def best_at_all_positions(parameters, num_positions, cutoff):
    return best_lists(parameters, num_positions, num_positions)


def by_attraction(parameters, num_positions, cutoff):
    falling = np.broadcast_to(1.0 / np.arange(1, num_positions + 1), parameters.examination.shape)
    return matched_lists(parameters.attraction, falling, num_positions, cutoff)


def nan_at_zero(attraction, examination, displayed, cutoff, expected):
    value(attraction, examination, displayed, cutoff, expected)
    expected[examination[:, 0] == 0] = np.nan


def cascade_by_position():
    """A CCM whose attraction coins are numbered by position: users who click at the first go on to the second."""
    ccm = MODELS["CCM"]

    def by_position(attraction, noclick, irrelevant, relevant, key, session, displayed, cutoff, clicks, reward):
        places = np.broadcast_to(np.arange(displayed.shape[1]), displayed.shape).copy()
        shown = np.take_along_axis(attraction, displayed, 1)
        ccm.rewards["clicks"].click(shown, noclick, irrelevant, relevant, key, session, places, cutoff, clicks, reward)

    return ccm._replace(rewards={"clicks": ccm.rewards["clicks"]._replace(click=by_position)})


def change(position, change_array):
    return lambda *arguments: change_array(arguments[position])


BROKEN = {
    "parts": [
        GOOD._replace(axes={"attraction": ("item",)}),
        GOOD._replace(axes={**AXES, "examination": ("place",)}),
        GOOD._replace(axes={**AXES, "examination": ("previous",)}),
        GOOD._replace(parameters=Sizes, axes={"weight": ("item",)}),
        GOOD._replace(parameters=dict),
        GOOD._replace(rewards={}),
        GOOD._replace(rewards={"clicks": (click, value, best_lists)}),
        GOOD._replace(rewards={"clicks": Reward(click, None, best_lists)}),
        GOOD._replace(examine=None),
        GOOD._replace(clicks="examine"),
        model(click=click_by_bits),
    ],
    "kernels": [model(click=click_that_calls_another_file)],
    "outputs": [
        model(click=click_where_clicked),
        model(click=wrapped(click, after=change(-2, lambda clicks: np.multiply(clicks, 2, out=clicks)))),
        model(click=wrapped(click, after=change(-1, lambda reward: reward.fill(np.nan)))),
        model(value=nan_at_zero),
        model(examine=examine_that_writes_too_far),
        model(examine=wrapped(examine, after=change(-1, lambda examined: np.add(examined, 1, out=examined)))),
        model(click=lambda *arguments: None),
    ],
    "inputs": [
        model(click=wrapped(click, after=change(0, lambda attraction: attraction.fill(0.5)))),
        model(click=wrapped(click, after=change(3, lambda session: np.add(session, 1, out=session)))),
        model(value=wrapped(value, after=change(2, lambda displayed: displayed.sort(axis=1)))),
        model(examine=wrapped(examine, after=change(1, lambda examination: examination.sort(axis=1)))),
        model(best_lists=sorted_in_place),
    ],
    "seed": [
        model(click=click_with_coins(lambda key, session, shown: RNG.random(shown.shape))),
        model(click=click_with(lambda key, session: (key, np.zeros_like(session)))),
        model(click=click_with(lambda key, session: (np.zeros_like(key), session))),
    ],
    "row independence": [
        model(click=click_with_coins(lambda key, session, shown: coins(key, session + np.arange(len(key)), shown))),
        model(value=value_among),
        model(examine=wrapped(examine, after=change(-1, lambda examined: examined.sort(axis=0)))),
    ],
    "common coins": [
        model(click=click_with_coins(lambda key, session, shown: coins(key, session, np.arange(shown.shape[1])))),
        cascade_by_position(),
    ],
    "cutoff": [
        model(click=click_until_the_cutoff),
        model(click=pay_all, value=value_of_all, best_lists=best_at_all_positions),
    ],
    "value": [model(value=add_up), model(value=value_of_all)],
    "examine": [
        model(examine=wrapped(examine, after=change(-1, lambda examined: examined.fill(1.0)))),
        model(examine=wrapped(examine, after=change(-1, lambda examined: np.multiply(examined, 0.9, out=examined)))),
        trust_bias.UNSAID,
        GOOD._replace(clicks=lambda attraction, examination, displayed, probability: probability.fill(0.5)),
    ],
    "best lists": [
        model(best_lists=by_attraction),
        model(best_lists=lambda p, positions, cutoff: np.zeros((len(p.attraction), positions), np.int64)),
        model(best_lists=lambda p, positions, cutoff: best_lists(p, positions, cutoff)[:, :0]),
        model(best_lists=lambda p, positions, cutoff: best_lists(p, positions, cutoff).astype(float)),
        model(best_lists=lambda p, positions, cutoff: best_lists(p, positions, cutoff) + 1),
    ],
}
