"""Check an agent's lists in several settings, and name its mistake by all of them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rankgym.exercises.exercise import Failed, Trial, played

FAILING_ROUND = re.compile(r"\.act\(\) in round (\d+)")


class Setting(NamedTuple):
    """One run: what the agent's constructor gets, and the users that it meets."""

    arguments: Mapping[str, Any]
    attracted: Any  # (rounds, items) bool
    examined: Any  # (rounds, positions) bool
    first_only: bool = False

    @property
    def users(self) -> tuple[Any, Any, bool]:
        return self.attracted, self.examined, self.first_only


def expect_all_lists(
    trial: Trial,
    make_oracle: Callable[..., Any],
    class_name: str,
    settings: Sequence[Setting],
    mistakes: Mapping[str, Callable[..., Any]],
    remark: Callable[[Sequence[Any]], str] = lambda lists: "",
) -> None:
    """Check that an agent displays the oracle's lists in each setting.

    In a short run several mistakes look alike. So a mistake is named if its lists are the submission's in all settings;
    if there is none, the only one whose lists are the submission's up to the failing round.

    Args:
        make_oracle: as in ``Trial.expect_lists``.
        class_name: of the submission's agent.
        settings: small ones first.
        mistakes: makers of wrong oracles by what is wrong with them.
        remark: called after a failure with the submission's lists of each setting; what else is wrong with them.
    """
    for number, (arguments, attracted, examined, first_only) in enumerate(settings):
        try:
            trial.expect_lists(make_oracle, class_name, arguments, attracted, examined, first_only=first_only)
        except Failed as error:
            fault, failing = error.fault, FAILING_ROUND.search(error.fault.call)
            if failing is None:
                raise
            t = int(failing[1])
            try:
                lists = [
                    trial.lists(class_name, one.arguments, *one[1:3], first_only=one.first_only) for one in settings
                ]
            except Failed:
                raise Failed(fault) from None
            named = [_look_alike(settings, lists, mistakes, number, t), remark(lists)]
            raise Failed(fault._replace(mistake="; ".join(filter(None, named)))) from None


def _look_alike(
    settings: Sequence[Setting], lists: Sequence[Any], mistakes: Mapping[str, Callable[..., Any]], number: int, t: int
) -> str:
    """Return the mistake that explains the lists; "" if none does, or several do."""
    early = []
    for why, make_wrong in mistakes.items():
        if _plays(make_wrong, settings[number], t + 1) != lists[number][: t + 1]:
            continue
        early.append(why)
        if all(_plays(make_wrong, one) == other for one, other in zip(settings, lists, strict=True)):
            return why
    return early[0] if len(early) == 1 else ""


def _plays(make: Callable[..., Any], setting: Setting, rounds: int | None = None) -> Any:
    """Return an oracle's lists; None if it fails, as some wrong ones do."""
    try:
        return played(make(**setting.arguments), *setting.users, rounds=rounds)[0]
    except (ArithmeticError, LookupError, ValueError):
        return None
