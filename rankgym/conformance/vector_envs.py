"""``check_vector_env``: whether a vector environment keeps Gymnasium's contract, and ours.

Gymnasium's own ``check_env`` takes single environments only. The rules here are those that its documentation and its
``SyncVectorEnv`` imply for a batch, plus the two that make a batch worth trusting: a row depends on its own seed and
its own actions alone, and what the caller does with the arrays it was given changes nothing.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Dict
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from rankgym.arguments import count_of, named_keywords, whole_number
from rankgym.conformance.rulebook import Broken, ConformanceError, Rulebook, fail, refuses
from rankgym.conformance.values import (
    check_attributes,
    check_info,
    check_member,
    copied,
    describe,
    info_by_row,
    is_array_space,
    is_duel_space,
    may_share,
    memory,
    mutable_parts,
    overwrite,
    same,
    short,
    spoilt,
)
from rankgym.spaces import Permutation

RULES = {
    "attributes": "num_envs is a whole number, the four spaces are spaces, the metadata hold an AutoresetMode",
    "spaces": "the batched spaces are batch_space of the single ones",
    "reset": "reset returns (observation, info), the observation a member of its space in every dtype",
    "step": "step returns five values: an observation as above, float rewards and two bool flags of shape (num_envs,)",
    "info": "info is a dict of arrays with num_envs entries or of dicts of them, its masks '_key' bool of (num_envs,)",
    "fresh results": "what a call returned is neither returned again nor changed by later calls",
    "ownership": "what the caller does to returned arrays, and to its actions after the step, changes nothing",
    "actions": "step does not change the actions",
    "seed": "the same seed and actions give the same history, bit for bit, also across a later reset without a seed",
    "seed list": "seed = s is seed = [s, s + 1, ...]",
    "row independence": "a row's history depends on its own seed and its own actions alone, bit for bit",
    "next step": "NEXT_STEP: the step after an episode's end ignores the action; its reward is 0, its flags False",
    "same step": "SAME_STEP: an ending step shows the next first observation; final_obs and final_info the last",
    "reset mask": "options['reset_mask'] resets the masked rows as a reset of all would, and touches no other row",
    "options": "reset does not change the caller's options",
    "autoreset": "NEXT_STEP: the automatic reset is the one that reset_mask does",
    "bad mask": "a reset_mask of a wrong dtype or shape, or without a True, is refused and nothing has happened",
    "bad action": "an action that is no permutation, or no duel, is refused with a ValueError; nothing has happened",
    "close": "close works, and again, and sets closed (this only where strict)",
}
"""What is checked: name and statement of every rule."""

MASKS_AND_LISTS = ("seed list", "row independence", "reset mask", "options", "autoreset", "bad mask")


class VectorEnvError(ConformanceError):
    """A vector environment breaks rules of ``check_vector_env``; the message has a line for each.

    Examples:
        >>> import gymnasium as gym
        >>> from rankgym.conformance import VectorEnvError, check_vector_env
        >>> try:
        ...     check_vector_env(gym.make_vec("CartPole-v1", num_envs=3), steps=5)
        ... except VectorEnvError as error:
        ...     print("seed list" in error.broken, "seed" in error.broken)
        True False
    """


class VectorEnvReport(NamedTuple):
    """What ``check_vector_env`` has checked.

    Examples:
        >>> from rankgym.conformance import VectorEnvReport
        >>> print(VectorEnvReport(("close",), {"same step": "the mode is NEXT_STEP"}))
        holds: close: close works, and again, and sets closed (this only where strict)
        not exercised: same step: the mode is NEXT_STEP
    """

    checked: tuple[str, ...]  # names of the rules that were tried, and hold
    not_exercised: dict[str, str]  # the other rules, with the reason

    def __str__(self) -> str:
        lines = [f"holds: {rule}: {RULES[rule]}" for rule in self.checked]
        lines += [f"not exercised: {rule}: {reason}" for rule, reason in self.not_exercised.items()]
        return "\n".join(lines)


@named_keywords
def check_vector_env(
    env: VectorEnv[Any, Any, Any], *, steps: int = 50, seed: int = 0, strict: bool = True
) -> VectorEnvReport:
    """Check whether a vector environment keeps every rule of ``RULES``; it is closed afterwards.

    The environment is played about twenty times from the same seed, with actions that its action space draws. A
    wall-clock time in ``info`` breaks the rule of the seed.

    Args:
        env: any Gymnasium vector environment, native, a batch of singles, or wrapped. Three or four rows are enough.
        steps: steps of a play. Episodes should end within them: the autoreset rules are not exercised otherwise.
        seed: of the environment and of the actions.
        strict: False: do without seed lists and ``reset_mask``, which Gymnasium's base class does not promise, and
            without the rules that need them; the report names these.

    Returns:
        The rules that hold and those that could not be exercised, with the reason.

    Raises:
        VectorEnvError: rules are broken; ``broken`` names all of them, ``skipped`` those that could not be tried.
        ValueError: an argument is out of range.

    Examples:
        >>> import gymnasium as gym
        >>> import rankgym
        >>> from rankgym.conformance import check_vector_env
        >>> report = check_vector_env(gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=3, horizon=7))
        >>> len(report.checked), report.not_exercised
        (18, {'same step': 'the mode is NEXT_STEP'})
    """
    skipped = try_rules(env, steps=steps, seed=seed, strict=strict).raise_if_broken(VectorEnvError)
    return VectorEnvReport(tuple(rule for rule in RULES if rule not in skipped), skipped)


def try_rules(env: VectorEnv[Any, Any, Any], *, steps: int = 50, seed: int = 0, strict: bool = True) -> Rulebook:
    """Try all rules, with the arguments of ``check_vector_env``; return what came of them."""
    steps, seed = count_of("steps", steps, 1), whole_number("seed", seed, 0)
    book = Rulebook(RULES)
    if not strict:
        book.skipped |= dict.fromkeys(MASKS_AND_LISTS, "strict=False")
    book.attempt("attributes", (), lambda: check_attributes(env))
    if book.broken:
        book.skipped = dict.fromkeys(list(RULES)[1:], "rule 'attributes' is broken") | book.skipped
    else:
        Checker(book, env, steps, seed, strict).check_all()
    return book


class Event(NamedTuple):
    """What one call returned for one row. A reset has neither reward nor flags."""

    observation: Any
    info: dict[str, Any]
    reward: Any = None
    terminated: Any = None
    truncated: Any = None


History = list[list[Event]]  # of every row, the events in order


class Checker:
    """Plays the environment, holds every call's result to the rules, and compares plays.

    A play is deterministic given seeds and actions, so that most rules say: this play equals that one.
    """

    def __init__(self, book: Rulebook, env: VectorEnv[Any, Any, Any], steps: int, seed: int, strict: bool) -> None:
        self.book, self.env, self.strict, self.num_envs, self.seed = book, env, strict, int(env.num_envs), seed
        self.mode: AutoresetMode = env.metadata["autoreset_mode"]
        self.of_singles = isinstance(env.unwrapped, (SyncVectorEnv, AsyncVectorEnv))
        self.not_exercised = book.skipped
        self.seeds = [seed + row for row in range(self.num_envs)]
        source = deepcopy(env.action_space)
        source.seed(seed)
        self.actions = [source.sample() for _ in range(steps)]
        self.other_actions = [source.sample() for _ in range(steps)]
        self.end_steps: list[int] = []  # of the first play: the steps in which some episode ended
        self.first_observations: list[Any] = []  # of all resets of all rows
        self.ends_seen: list[tuple[Any, Any]] = []  # SAME_STEP: (shown, final) observations of rows that ended
        self.reference: History = []  # of the first play, and what each of its calls returned
        self.reference_calls: list[dict[str, Any]] = []

    # -- the rules --

    def check_all(self) -> None:
        attempt = self.book.attempt
        attempt("spaces", ("attributes",), self.check_spaces)
        attempt("reset", ("spaces",), lambda: self.start(self.seed))
        attempt("step", ("reset",), self.play_reference)
        for rule in ("info", "fresh results", "actions"):
            attempt(rule, ("step",))  # every play checks these
        attempt("seed", ("step",), lambda: self.replay("seed", "the same seed and actions again"))
        overwritten = "overwriting what was returned, and the actions"
        attempt("ownership", ("seed",), lambda: self.replay("ownership", overwritten, scribble=True), blame=True)
        listed = f"seed={short(self.seeds)} instead of seed={self.seed}"
        attempt("seed list", ("seed",), lambda: self.replay("seed list", listed, self.seeds))
        attempt("row independence", ("seed list",), self.check_row_independence)
        self.find_what_is_exercised()
        others = "other actions in the rows that are being reset"
        attempt("next step", ("seed",), lambda: self.replay("next step", others, other_actions_where_ignored=True))
        attempt("same step", ("step",), self.check_same_step)
        attempt("reset mask", ("seed list",), self.check_reset_mask)
        attempt("options", ("reset mask",))  # masked resets check it
        attempt("autoreset", ("next step", "reset mask"), self.check_autoreset)
        attempt("bad mask", ("reset mask",), self.check_bad_masks, blame=True)
        attempt("bad action", ("seed",), self.check_bad_actions, blame=True)
        attempt("close", ("attributes",), self.check_close)

    def replay(self, rule: str, after: str, seed: int | list[int] | None = None, **changes: Any) -> None:
        """Play once more, with ``changes`` of ``play``, and compare with the first play."""
        self.compare(rule, self.play(self.seed if seed is None else seed, **changes), after)

    def play_reference(self) -> None:
        self.reference = self.play(self.seed)
        self.reference_calls = self.calls
        self.end_steps = self.ends

    def check_spaces(self) -> None:
        for kind in ("observation", "action"):
            single, batched = getattr(self.env, f"single_{kind}_space"), getattr(self.env, f"{kind}_space")
            expected = batch_space(single, self.num_envs)
            if batched == expected:
                continue
            if self.strict or not is_space_dtype_shape_equiv(batched, expected):
                fail("spaces", f"{kind}_space is {batched}", f"batch_space(single_{kind}_space, num_envs), {expected}")
            self.not_exercised["spaces"] = f"{kind}_space has its own bounds (strict=False)"

    def find_what_is_exercised(self) -> None:
        """Note why the rules of autoreset cannot be tried, where they cannot."""
        if "step" in self.book.broken or "step" in self.book.skipped:
            return
        steps, mode = len(self.actions), self.mode
        for rule, wanted in (("next step", AutoresetMode.NEXT_STEP), ("same step", AutoresetMode.SAME_STEP)):
            if mode is not wanted:
                self.not_exercised[rule] = f"the mode is {mode.name}"
            elif not self.end_steps:
                self.not_exercised[rule] = f"no episode ended within {steps} steps"
            elif mode is AutoresetMode.NEXT_STEP and self.end_steps[0] == steps - 1:
                self.not_exercised[rule] = f"the first episode ended in the last of {steps} steps"

    def check_same_step(self) -> None:
        # An observation may look the same before and after a reset by chance, so that one case proves nothing.
        wrong = [shown for shown, final in self.ends_seen if not self.is_reset(shown, final)]
        if 4 * len(wrong) > len(self.ends_seen):
            seen = f"an ending step showed the last observation, {short(wrong[0])}"
            fail("same step", seen, "the first one of the next episode")

    def is_reset(self, shown: Any, final: Any) -> bool:
        """False for an observation that is the final one and that no reset has ever shown."""
        return not same(shown, final) or any(same(shown, first) for first in self.first_observations)

    def check_row_independence(self) -> None:
        if self.num_envs == 1:
            self.not_exercised["row independence"] = "num_envs is 1"
            return
        for keep in np.unique(np.linspace(0, self.num_envs - 1, 8).astype(int)):
            rows = np.arange(self.num_envs) == keep
            seeds = [s if s == self.seeds[keep] else s + 1000 + self.num_envs for s in self.seeds]
            pairs = zip(self.actions, self.other_actions, strict=True)
            again = self.play(seeds, [self.mix(mine, other, rows) for mine, other in pairs])
            self.compare("row independence", again, "other seeds and actions in the other rows", rows)

    def check_reset_mask(self) -> None:
        middle = max(1, len(self.actions) // 3)
        even = np.arange(self.num_envs) % 2 == 0
        for rows, seeded in ((even, True), (~even, True), (even, False)):
            if not rows.any():
                continue
            self.start(self.seeds)
            for action in self.actions[:middle]:
                self.step(action)
            # An unmasked row's entry must not be used; 7 is as good a wrong seed as any.
            seeds = [s if rows[row] else s + 7 for row, s in enumerate(self.seeds)] if seeded else None
            before = [len(events) for events in self.history]
            self.reset(seeds, rows)
            for step in range(len(self.actions) - middle):
                self.step(self.mix(self.actions[step], self.actions[middle + step], rows))
            self.settle()
            self.compare("reset mask", self.history, "a reset of the other rows", ~rows)
            if seeded:
                since = [events[start:] for events, start in zip(self.history, before, strict=True)]
                self.compare("reset mask", since, "a masked reset to the row's first seed", rows)

    def check_autoreset(self) -> None:
        first = self.end_steps[0]
        self.start(self.seeds)
        for action in self.actions[: first + 1]:
            self.step(action)
        rows = self.ended.copy()
        before = [len(events) for events in self.history]
        self.reset(None, rows)
        for step in range(first + 1, len(self.actions) - 1):  # the rows that were reset are one step ahead
            self.step(self.mix(self.actions[step + 1], self.actions[step], rows))
        self.settle()
        for row in np.flatnonzero(rows):  # the call was another, so that of its result only the observation is compared
            shown, expected = self.history[row][before[row]], self.reference[row][before[row]]
            self.history[row][before[row]] = expected._replace(observation=shown.observation)
        self.compare("autoreset", self.history, "reset_mask in place of the automatic reset")

    def check_bad_masks(self) -> None:
        one = np.arange(self.num_envs) == 0
        masks = [one.astype(np.int8), one.tolist(), np.append(one, True), one[None], np.zeros(self.num_envs, bool)]

        def before_step(step: int) -> None:
            for mask in masks if step in (0, len(self.actions) // 2) else ():
                options = {"reset_mask": mask}
                refuses("bad mask", f"reset_mask = {mask!r}", partial(self.env.reset, options=options), Exception)

        self.replay("bad mask", "refusing bad masks", self.seeds, before_step=before_step)

    def check_bad_actions(self) -> None:
        space = self.env.single_action_space
        parts = space.spaces.values() if isinstance(space, Dict) else [space]
        if not is_duel_space(space) and not any(isinstance(part, Permutation) for part in parts):
            self.not_exercised["bad action"] = f"the action space is {short(space)}, without a Permutation"
            return
        if self.of_singles:
            self.not_exercised["bad action"] = "a batch of singles has played the rows before the bad one"
            return

        def before_step(step: int) -> None:
            if step in (0, len(self.actions) // 2) and not self.ended.any():
                for bad in spoilt(self.actions[step], space):
                    refuses("bad action", short(bad), partial(self.env.step, bad))

        self.replay("bad action", "refusing bad actions", before_step=before_step)

    def check_close(self) -> None:
        for _ in range(2):
            self.call("close", self.env.close)
        if self.strict and self.env.unwrapped.closed is not True:
            fail("close", f"closed is {self.env.unwrapped.closed!r} after close()", "True")

    # -- playing --

    def play(
        self,
        seed: int | list[int],
        actions: Sequence[Any] | None = None,
        *,
        scribble: bool = False,
        other_actions_where_ignored: bool = False,
        before_step: Callable[[int], None] = lambda step: None,
    ) -> History:
        """The history of a reset, all steps, a reset without a seed, and two more steps."""
        self.ends: list[int] = []
        actions = self.actions if actions is None else actions
        self.start(seed, scribble)
        for step, action in enumerate(actions):
            before_step(step)
            if other_actions_where_ignored:
                action = self.mix(self.other_actions[step], action, self.ended)
            self.step(action)
            if self.ended.any():
                self.ends.append(step)
        self.reset()
        for action in actions[:2]:
            self.step(action)
        self.settle()
        return self.history

    def start(self, seed: int | list[int], scribble: bool = False) -> None:
        self.history: History = [[] for _ in range(self.num_envs)]
        self.ended = np.zeros(self.num_envs, bool)  # rows whose episode ended in the last step
        self.shown: list[Any] = []  # the rows' last observations
        self.calls: list[dict[str, Any]] = []  # copies of what each call returned
        self.kept: list[tuple[str, Any, Any]] = []  # (what, returned object, its copy at once)
        self.previous: list[Any] = []  # the arrays and dicts of the last result
        self.previous_memory = memory(())  # of these arrays
        self.scribble = scribble
        self.reset(seed)

    def reset(self, seed: int | list[int] | None = None, mask: NDArray[np.bool_] | None = None) -> None:
        options = None if mask is None else {"reset_mask": mask.copy()}
        rule = "reset mask" if mask is not None else "seed list" if isinstance(seed, list) else "reset"
        result = self.call(rule, lambda: self.env.reset(seed=deepcopy(seed), options=options))  # type: ignore[arg-type]
        if not isinstance(result, tuple) or len(result) != 2:
            fail("reset", f"reset returned {short(result)}", "a tuple (observation, info)")
        if mask is not None:
            self.check_options(options, mask)
        observation, info = result
        check_member("reset", "the observation of reset", self.env.observation_space, observation)
        results = {"observation": observation, "info": self.valid_info("info of reset", info)}
        copies = copied(results)
        rows = np.ones(self.num_envs, bool) if mask is None else mask
        shown, infos = self.rows_of(copies["observation"]), info_by_row(copies["info"], self.num_envs)
        for row in range(self.num_envs):
            if rows[row]:
                self.history[row].append(Event(shown[row], infos[row]))
                self.first_observations.append(shown[row])
            elif not same(shown[row], self.shown[row]):
                seen = f"row {row} is not in the mask, and its observation went from {short(self.shown[row])}"
                self.book.note("reset mask", f"{seen} to {short(shown[row])}", "its last observation")
        self.shown = shown
        self.ended = self.ended & ~rows
        self.take("reset", results, copies)

    def check_options(self, options: Any, mask: NDArray[np.bool_]) -> None:
        before = {"reset_mask": mask}
        if self.of_singles and options == {}:
            fault = "a known fault of Gymnasium's Sync and AsyncVectorEnv: they remove reset_mask"
            self.not_exercised["options"] = fault
        elif not same(options, before):
            seen = f"reset turned the caller's options to {short(options)}"
            self.book.note("options", seen, f"as they were, {short(before)}")

    def step(self, action: Any) -> None:
        if self.mode is AutoresetMode.DISABLED and self.ended.any():
            self.reset(None, self.ended.copy() if self.strict else None)
        given = copied(action)
        result = self.call("step", lambda: self.env.step(given))
        if not same(given, action):
            self.book.note("actions", f"step turned the actions {short(action)} to {short(given)}", "as they were")
        if not isinstance(result, tuple) or len(result) != 5:
            expected = "a tuple (observation, reward, terminated, truncated, info)"
            fail("step", f"step returned {short(result)}", expected)
        observation, reward, terminated, truncated, info = result
        check_member("step", "the observation of step", self.env.observation_space, observation)
        flags = {"reward": reward, "terminated": terminated, "truncated": truncated}
        for name, array in flags.items():
            kind = "float" if name == "reward" else "bool"
            if not isinstance(array, np.ndarray) or array.shape != (self.num_envs,) or array.dtype.kind != kind[0]:
                fail("step", f"{name} is {describe(array)}", f"an array of {kind} of shape ({self.num_envs},)")
        if np.isnan(reward).any():
            fail("step", f"reward is {reward}", "numbers")
        if self.mode is AutoresetMode.NEXT_STEP:
            self.check_reset_step(reward, terminated, truncated)
        results = {"observation": observation, **flags, "info": self.valid_info("info of step", info)}
        copies = copied(results)
        shown, info, ended = self.rows_of(copies["observation"]), copies["info"], terminated | truncated
        if self.mode is AutoresetMode.SAME_STEP and not {"same step", "info"} & self.book.broken.keys():
            self.noted(lambda: self.check_final(shown, ended, info))
        columns = (shown, info_by_row(info, self.num_envs), reward, terminated.tolist(), truncated.tolist())
        for events, *event in zip(self.history, *columns, strict=True):
            events.append(Event(*event))
        self.shown, self.ended = shown, ended
        self.take("step", results, copies)
        if self.scribble:
            overwrite(given)

    def check_reset_step(self, reward: Any, terminated: Any, truncated: Any) -> None:
        """The rows that ended in the last step are being reset in this one."""
        for row in np.flatnonzero(self.ended & ((reward != 0) | terminated | truncated)):
            has = f"reward {reward[row]}, terminated {terminated[row]}, truncated {truncated[row]}"
            self.book.note("next step", f"row {row} ended in the last step and has {has}", "reward 0, both flags False")

    def valid_info(self, what: str, info: Any) -> dict[str, Any]:
        """Return ``info``, or an empty one where it breaks the rule."""
        return info if self.noted(lambda: check_info(what, info, self.num_envs)) else {}

    def noted(self, check: Callable[[], None]) -> bool:
        """Return whether ``check`` holds; note its breach and continue if not."""
        try:
            check()
        except Broken as error:
            self.book.note(error.rule, error.breach.seen, error.breach.expected)
            return False
        return True

    def check_final(self, shown: list[Any], ended: NDArray[np.bool_], info: dict[str, Any]) -> None:
        """What SAME_STEP says of the rows that ended in this step."""
        for name in ("final_obs", "final_info"):
            mask, rows = info.get(f"_{name}"), np.flatnonzero(ended).tolist()
            if name not in info and rows:
                fail("same step", f"rows {rows} ended and info has no {name}", f"{name} and _{name} in info")
            if name in info and (mask is None or not np.array_equal(mask, ended)):
                fail("same step", f"_{name} is {mask}", f"a mask of the rows that ended, {ended}")
        final, space = info.get("final_obs"), self.env.single_observation_space
        if not isinstance(info.get("final_info", {}), dict):
            fail("same step", f"final_info is {describe(info['final_info'])}", "a dict")
        if final is None:
            return
        if isinstance(final, dict) or final.dtype != object or final.shape != (self.num_envs,):
            fail("same step", f"final_obs is {describe(final)}", f"an object array of shape ({self.num_envs},)")
        for row, last in enumerate(final):
            if not ended[row]:
                if last is not None:
                    fail("same step", f"row {row} did not end, and its final_obs is {short(last)}", "None")
                continue
            if (is_array_space(space) and not isinstance(last, (np.ndarray, np.generic))) or not space.contains(last):
                fail("same step", f"final_obs of row {row} is {describe(last)}", f"a member of {space}")
            self.ends_seen.append((shown[row], last))

    def call(self, rule: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            fail(rule, f"{type(error).__name__}: {error}", "no error", error)

    def take(self, call: str, results: dict[str, Any], copies: dict[str, Any]) -> None:
        """Hold the results of a call to the rule of fresh results; keep, or (scribbling) overwrite them."""
        parts = [(name, part) for name, result in results.items() for part in mutable_parts(result)]
        arrays = [(name, part) for name, part in parts if isinstance(part, np.ndarray)]
        addresses = memory([part for _, part in arrays])
        used = may_share(addresses, self.previous_memory)
        again = [name for (name, _), shared in zip(arrays, used, strict=True) if shared]
        dicts = [(name, part) for name, part in parts if isinstance(part, dict)]
        again += [name for name, part in dicts if any(part is old for old in self.previous)]
        for name in again[:1]:
            seen = f"{call} returned {name} in the memory of the last call's results"
            self.book.note("fresh results", seen, "its own")
        self.previous, self.previous_memory = [part for _, part in parts], addresses
        self.calls.append(copies)
        if self.scribble:
            overwrite(results)
        else:
            self.kept.append((call, results, copies))

    def settle(self) -> None:
        """All results of this play are as they were when they were returned."""
        for number, (call, results, copies) in enumerate(self.kept):
            for name in copies:
                if not same(results[name], copies[name]):
                    seen = f"{name} of call {number} ({call}) went from {short(copies[name])} to "
                    self.book.note("fresh results", seen + short(results[name]), "no change by later calls")

    # -- rows --

    def rows_of(self, observation: Any) -> list[Any]:
        return list(iterate(self.env.observation_space, observation))

    def mix(self, actions: Any, others: Any, rows: NDArray[np.bool_]) -> Any:
        """``actions`` in the masked rows, ``others`` elsewhere."""
        pairs = zip(iterate(self.env.action_space, actions), iterate(self.env.action_space, others), strict=True)
        chosen = [mine if rows[row] else other for row, (mine, other) in enumerate(pairs)]
        space = self.env.single_action_space
        return concatenate(space, chosen, create_empty_array(space, self.num_envs))  # type: ignore[arg-type]

    def compare(self, rule: str, actual: History, after: str, rows: NDArray[np.bool_] | None = None) -> None:
        """Check that the histories of the masked rows are those of the first play, as far as the shorter one goes."""
        if rows is None and same(self.calls, self.reference_calls):
            return
        for row in range(self.num_envs) if rows is None else np.flatnonzero(rows):
            for number, (before, event) in enumerate(zip(self.reference[row], actual[row], strict=False)):
                if same(before, event):
                    continue
                fields = zip(Event._fields, before, event, strict=True)
                name, old, new = next(field for field in fields if not same(*field[1:]))
                seen = f"after {after}, {name} of row {row} in its call {number} is {short(new)}"
                fail(rule, seen, f"{short(old)}, since {RULES[rule]}")
