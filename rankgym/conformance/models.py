"""``check_model``: whether a click model keeps the contract that environments and compiled loops rely on."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import whole_number
from rankgym.conformance.model_trials import ModelTrial
from rankgym.conformance.rulebook import ConformanceError, Rulebook, fail
from rankgym.models.base import ClickModel
from rankgym.models.exhaustive import best_of_all
from rankgym.models.named import functions_of, look_up, unfit

RULES = {
    "parts": "the model is a ClickModel with parameters, their axes, examine, and rewards of click, value, best_lists",
    "kernels": "compiled functions call compiled functions of their own file or of rankgym.kernels only",
    "outputs": "click, value and examine fill their outputs, whatever was in them, and write nowhere else",
    "inputs": "click, value, examine and best_lists leave parameters, lists, keys and sessions unchanged",
    "seed": "the same user, session and list give the same clicks; other users and other sessions give others",
    "row independence": "a row's results do not depend on the other rows",
    "common coins": "an item's attraction coin is decided by user, session and item, wherever it is displayed",
    "cutoff": "clicks do not depend on the cutoff, and the reward 'clicks' counts those in the first cutoff positions",
    "value": "value is the mean reward of many sessions",
    "examine": "position k is clicked with probability chi(R, k) alpha(R(k)), with chi by examine; else clicks says it",
    "best lists": "best_lists returns lists of different items, and no other list has a larger value",
}
"""Name and statement of every rule of ``check_model``."""

SURE = 6.0  # standard errors that an item's clicks at two positions are correlated by; by chance once in 10^9
CLICKED_OTHERWISE = "; if users also click what does not attract them, give the model clicks (docs/own_parts.md)"
MISTAKEN = 1e-6  # most probability that a correct model breaks a rule by chance
ROUNDING = 1e-9  # allowed in the value of a best list


class ModelError(ConformanceError):
    """A click model breaks rules of ``check_model``; the message has a line for each.

    Examples:
        >>> from rankgym.conformance import ModelError, check_model
        >>> from rankgym.models import MODELS
        >>> try:
        ...     check_model(MODELS["PBM"]._replace(examine=None))
        ... except ModelError as error:
        ...     print(list(error.broken), len(error.skipped) > 0)
        ['parts'] True
    """


def check_model(
    model: str | ClickModel,
    *,
    num_items: int = 6,
    num_positions: int = 3,
    sessions: int = 100_000,
    seed: int = 0,
) -> None:
    """Check whether a click model keeps the contract of ``rankgym.models.ClickModel``, the rules of ``RULES``.

    Parameters are drawn from the seed. The model is checked with more items than positions, with as many, and with one
    of each. Details of some rules:

    * parts: if one is missing, no other rule is tried.
    * value, examine: four queries, ``sessions / 4`` sessions each. Means may differ from the model's by at most the
      bound of Maurer and Pontil (2009, theorem 4); a correct model exceeds one of all bounds with probability below
      1e-6, if a session's reward is at most the cutoff. With the default a difference of about 0.04 clicks is seen.
    * examine: a model with the function ``clicks`` is compared with that.
    * common coins: two lists that differ in the exchange of the first two items. The first item attracts half of the
      users, no other item attracts, and all other parameters are 0 or 1, in every combination. If one coin decides
      about the item's attraction in both lists, clicks on it are the same in the same sessions, or correlated at least.
    * best lists: all lists of 20 drawn queries and of 20 with parameters of 0, 1/2 and 1 are tried.

    Args:
        model: a ``ClickModel``, a key of ``rankgym.models.MODELS``, or ``"package.module:MODEL"``.
        num_items: items in the case with more items than positions, 2 .. 8.
        num_positions: positions, at least 1 and less than ``num_items``.
        sessions: for each mean, at least 1,000.
        seed: of parameters, lists and users.

    Raises:
        ModelError: rules are broken; ``broken`` names all of them, ``skipped`` those that could not be tried.
        ValueError: an argument is out of range, or nothing has the name ``model``.

    Examples:
        >>> from rankgym.conformance import ModelError, check_model
        >>> from rankgym.models import MODELS
        >>> check_model("PBM", sessions=10_000)  # it keeps all rules
        >>> mixed = MODELS["PBM"]._replace(examine=MODELS["DCM"].examine)
        >>> try:
        ...     check_model(mixed, sessions=10_000)
        ... except ModelError as error:
        ...     print(list(error.broken))
        ['examine']
    """
    try_rules(model, num_items=num_items, num_positions=num_positions, sessions=sessions, seed=seed).raise_if_broken(
        ModelError
    )


def try_rules(
    model: str | ClickModel,
    *,
    num_items: int = 6,
    num_positions: int = 3,
    sessions: int = 100_000,
    seed: int = 0,
) -> Rulebook:
    """Try all rules, with the arguments of ``check_model``; return what came of them."""
    whole_number("num_items", num_items, 2, 8)
    whole_number("num_positions", num_positions, 1, num_items - 1)
    whole_number("sessions", sessions, 1_000)
    whole_number("seed", seed, 0)
    found, book = look_up(model), Rulebook(RULES)
    book.attempt("parts", (), lambda: _check_parts(found))
    if "parts" in book.broken:
        for rule in list(RULES)[1:]:
            book.skipped[rule] = "rule 'parts' is broken"
        return book
    book.attempt("kernels", (), lambda: _check_kernels(found))
    for items, positions in ((num_items, num_positions), (num_positions, num_positions), (1, 1)):
        book.case = f"{items} item{'s' * (items > 1)}, {positions} position{'s' * (positions > 1)}"
        trial = ModelTrial(found, items, positions, sessions, seed)
        checks: dict[str, tuple[tuple[str, ...], Callable[[ModelTrial], None]]] = {
            "outputs": ((), _check_outputs),
            "inputs": (("outputs",), _check_inputs),
            "seed": (("outputs", "inputs"), _check_seed),
            "row independence": (("outputs", "inputs", "seed"), _check_rows),
            "common coins": (("outputs", "inputs", "seed"), _check_coins),
            "cutoff": (("outputs", "inputs", "seed"), _check_cutoff),
            "value": (("outputs", "inputs", "seed", "row independence"), _check_value),
            "examine": (("outputs", "inputs", "seed", "row independence"), _check_examine),
            "best lists": (("outputs", "inputs", "value"), _check_best_lists),
        }
        for rule, (needs, check) in checks.items():
            book.attempt(rule, needs, lambda check=check, trial=trial: check(trial))  # type: ignore[misc]
    return book


def _check_parts(model: Any) -> None:
    if wrong := unfit(model):
        said, _, allowed = wrong.partition("; allowed: ")
        fail("parts", f"the model {said}", allowed or "as examples/own_click_model.py has it")


def _check_kernels(model: ClickModel) -> None:
    """Look at all compiled functions that are reached by global names from those of the model."""
    todo = [function for function in functions_of(model) if hasattr(function, "py_func")]
    seen = set(todo)
    while todo:
        function = todo.pop()
        file = function.py_func.__code__.co_filename
        for name, called in inspect.getclosurevars(function.py_func).globals.items():
            if not hasattr(called, "py_func") or called in seen:
                continue
            if called.__module__.startswith("rankgym.kernels."):
                continue
            if called.py_func.__code__.co_filename != file:
                other = f"{function.__name__} calls {name} of {called.__module__}"
                fail(
                    "kernels", other, "a copy of it in the same file: numba does not notice when another file is edited"
                )
            seen.add(called)
            todo.append(called)


def _check_outputs(trial: ModelTrial) -> None:
    for parameters, what in ((trial.parameters, "drawn"), (trial.corners, "0, 1/2 and 1 as")):
        for name in trial.model.rewards:
            for cutoff in range(1, trial.positions + 1):
                clicks, reward = trial.filled("click", name, parameters, cutoff)
                if not np.isin(clicks, (0, 1)).all():
                    fail("outputs", f"click wrote {sorted(set(clicks.ravel().tolist()))[:5]} into clicks", "0 or 1")
                (expected,) = trial.filled("value", name, parameters, cutoff)
                for said, numbers in (("reward", reward), ("expected", expected)):
                    if not np.isfinite(numbers).all():
                        fail(
                            "outputs",
                            f"{said} has {numbers[~np.isfinite(numbers)][0]} with {what} parameters",
                            "numbers",
                        )
        for function in _probabilities(trial.model):
            (numbers,) = trial.filled(function, "", parameters, 1)
            if not ((numbers >= 0) & (numbers <= 1)).all():
                worst = numbers.ravel()[np.argmax(np.abs(numbers.ravel() - 0.5))]
                fail("outputs", f"{function} wrote {worst} with {what} parameters", "probabilities in [0, 1]")


def _probabilities(model: ClickModel) -> list[str]:
    """The functions that fill probabilities for each position."""
    return ["examine"] if model.clicks is None else ["examine", "clicks"]


def _check_inputs(trial: ModelTrial) -> None:
    for name in trial.model.rewards:
        for what in ("click", "value"):
            if changed := trial.changed(what, name):
                fail("inputs", f"{what} of {name!r} changed {changed}", "arguments that stay as they are")
    for function in _probabilities(trial.model):
        if changed := trial.changed(function, ""):
            fail("inputs", f"{function} changed {changed}", "arguments that stay as they are")


def _check_seed(trial: ModelTrial) -> None:
    for name in trial.model.rewards:
        first = trial.play(name)
        again = trial.play(name)
        if (first[0] != again[0]).any() or (first[1] != again[1]).any():
            fail("seed", f"click of {name!r} gave other clicks or rewards the second time", "the same")
        halves = trial.halves
        if not trial.play(name, parameters=halves)[0].any():
            continue  # clicks are too rare to tell sessions apart
        for what, other in (("session", {"session": trial.session + 1}), ("user", {"key": trial.other_key})):
            if (trial.play(name, parameters=halves)[0] == trial.play(name, parameters=halves, **other)[0]).all():
                fail(
                    "seed",
                    f"click of {name!r} gave the same clicks to every other {what}",
                    f"other coins in each {what}",
                )


def _check_rows(trial: ModelTrial) -> None:
    few = np.linspace(0, len(trial.key) - 1, 20).astype(np.int64)  # of all queries
    for name in trial.model.rewards:
        together = trial.everything(name, few)
        for row in range(len(together[0])):
            alone = trial.everything(name, few[row : row + 1])
            for what, a, b in zip(("clicks", "reward", "value", "examination"), together, alone, strict=True):
                if (a[row] != b[0]).any():
                    fail(
                        "row independence",
                        f"{what} of row {row} among {len(together[0])} rows is {a[row]}, and {b[0]} alone",
                        "the same, bit for bit",
                    )


def _check_coins(trial: ModelTrial) -> None:
    if trial.positions < 2:
        return
    first = np.tile(np.arange(trial.positions), (len(trial.key), 1))
    second = first.copy()
    second[:, :2] = first[:, 1::-1]
    for name in trial.model.rewards:
        found, least = -np.inf, SURE / np.sqrt(len(trial.key))
        for parameters in itertools.chain(trial.alone(), [trial.halves]):  # the latter if nothing is clicked otherwise
            if parameters is trial.halves and found > -np.inf:
                break
            upper = trial.play(name, parameters=parameters, displayed=first)[0][:, 0]
            lower = trial.play(name, parameters=parameters, displayed=second)[0][:, 1]
            if upper.std() > 0 and lower.std() > 0:
                found = max(found, float(np.corrcoef(upper, lower)[0, 1]))
            if found >= least:
                break
        if found == -np.inf:
            fail("common coins", "an item of attraction 1/2 is clicked never or always", "clicks that depend on it")
        if found < least:
            fail(
                "common coins",
                f"in the same sessions, clicks on item 0 at positions 0 and 1 have correlation {found:.3f} at most, "
                "whatever parameters other than attraction are 0 or 1",
                f"at least {least:.3f}: the attraction coin is bits(session_seed(key, session), item), not numbered by "
                "position",
            )


def _check_cutoff(trial: ModelTrial) -> None:
    for name in trial.model.rewards:
        everything = trial.play(name)[0]
        for cutoff in range(1, trial.positions + 1):
            clicks, reward = trial.play(name, cutoff=cutoff)
            if (clicks != everything).any():
                fail("cutoff", f"with cutoff {cutoff}, click of {name!r} gave other clicks", "those of any cutoff")
            counted = clicks[:, :cutoff].sum(1)
            if name == "clicks" and (reward != counted).any():
                row = int((reward != counted).argmax())
                seen = f"with cutoff {cutoff}, the reward of the clicks {clicks[row]} is {reward[row]:g}"
                fail("cutoff", seen, f"{counted[row]}, the clicks in the first {cutoff} positions")


def _check_value(trial: ModelTrial) -> None:
    for name in trial.model.rewards:
        for cutoff in range(1, trial.positions + 1):
            rewards = trial.by_query(trial.play(name, cutoff=cutoff)[1])
            expected = trial.value(name, cutoff, trial.firsts)
            span = max(cutoff, float(np.ptp(rewards)))
            _compare("value", trial, rewards, expected, span, f"{name!r}, cutoff {cutoff}", "value says")


def _check_examine(trial: ModelTrial) -> None:
    clicked, says = trial.model_probability(), "clicks says"
    if trial.model.clicks is None:
        says = "examine times attraction is"
    for name in trial.model.rewards:
        clicks = trial.play(name)[0]
        for k in range(trial.positions):
            drawn, what = trial.by_query(clicks[:, k]), f"clicks at position {k}"
            _compare("examine", trial, drawn, clicked[:, k], 1.0, what, says)


def _compare(
    rule: str, trial: ModelTrial, drawn: NDArray[Any], expected: NDArray[np.float64], span: float, what: str, says: str
) -> None:
    """Compare means of sessions, (queries, sessions), with ``expected`` (queries,), by an empirical Bernstein bound."""
    n = drawn.shape[1]
    comparisons = 3 * len(expected) * trial.positions * len(trial.model.rewards) * 2  # cases, both rules
    log = np.log(4 * comparisons / MISTAKEN)
    bound = np.sqrt(2 * drawn.var(axis=1, ddof=1) * log / n) + 7 * span * log / (3 * (n - 1))
    means = drawn.mean(axis=1)
    far = np.abs(means - expected) / bound
    if far.max() > 1 or not np.isfinite(expected).all():
        query = int(far.argmax())
        shown = trial.displayed_of(query)
        seen = (
            f"{what}: the list {shown} has mean {means[query]:.4f} in {n:,} sessions, and {says} {expected[query]:.4f}"
        )
        other = "" if trial.model.clicks is not None or rule != "examine" else CLICKED_OTHERWISE
        fail(rule, seen, f"a difference of at most {bound[query]:.4f}{other}")


def _check_best_lists(trial: ModelTrial) -> None:
    for name, reward in trial.model.rewards.items():
        for parameters in (trial.many, trial.many_corners):
            for cutoff in range(1, trial.positions + 1):
                copies = type(parameters)(*(table.copy() for table in parameters))
                best = np.asarray(reward.best_lists(copies, trial.positions, cutoff))
                if changed := trial.first_difference(copies, parameters):
                    fail("inputs", f"best_lists of {name!r} changed {changed}", "arguments that stay as they are")
                shape = len(parameters.attraction), trial.positions
                ordered = np.sort(best, axis=-1)
                if best.shape != shape or best.dtype.kind not in "iu":
                    fail(
                        "best lists", f"best_lists gave shape {best.shape} and dtype {best.dtype}", f"{shape} and int64"
                    )
                if (ordered < 0).any() or (ordered >= trial.items).any() or (np.diff(ordered) == 0).any():
                    wrong = ((ordered < 0) | (ordered >= trial.items)).any(1) | (np.diff(ordered) == 0).any(1)
                    fail(
                        "best lists", f"best_lists gave {best[wrong][0]}", f"different items of 0 .. {trial.items - 1}"
                    )
                own = trial.values(reward, parameters, best, cutoff)
                better = best_of_all(reward.value)(parameters, trial.positions, cutoff)
                most = trial.values(reward, parameters, better, cutoff)
                if (own < most - ROUNDING).any():
                    row = int((most - own).argmax())
                    seen = f"{name!r}, cutoff {cutoff}: best_lists gave {best[row]} with value {own[row]:.6f}"
                    numbers = {key: np.round(table[row], 3).tolist() for key, table in parameters._asdict().items()}
                    fail("best lists", seen, f"{better[row]} with value {most[row]:.6f}, at {numbers}")
