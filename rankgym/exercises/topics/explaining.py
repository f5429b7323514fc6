"""Failures of exercises 1 and 2, explained: Python's errors in words, and earlier functions that are wrong."""

import ast
import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rankgym.exercises.exercise import Trial
from rankgym.exercises.faults import Failed, Fault, plain, same

UNWRITTEN = "not written yet"  # what a function that still raises NotImplementedError gives
REPEATED = 12  # calls with the same arguments, to find random numbers
NOTHING = "nothing is returned: end the function with return"
ERRORS = (  # a pattern of the error's name and text, and what it means
    (r"NoneType", "a function that is used here returns nothing (None): does it end with return?"),
    (
        r"'(list|int|float)' object is not callable",
        "round brackets call a function: an entry of a list has square ones, attraction[item]",
    ),
    (
        r"list assignment index out of range",
        "an entry is set that the list does not have: begin with [0] * K for K positions, or use append",
    ),
    (
        r"IndexError: pop from empty|IndexError: list index out of range|IndexError: index .* out of bounds",
        "a list has no entry with this number. Entries are numbered from 0. Lists by item (attraction, item_coins) "
        "have L entries: ask them for an item. Lists by position (ranking, clicks, examination) have K: ask them for a "
        "position",
    ),
    (
        r"list indices must be integers or slices, not (list|tuple)",
        "a whole list or pair is used as the number of an entry: take one item at a time, "
        "for k, item in enumerate(ranking)",
    ),
    (
        r"list indices must be integers or slices, not float",
        "a probability is used as the number of an entry: loop over ranking for items, over range(K) for positions",
    ),
    (
        r"'int' object is not iterable|cannot unpack non-iterable",
        "a loop goes over a number, or over single numbers where it wants pairs: for k in range(K), "
        "for k, item in enumerate(ranking)",
    ),
    (
        r"'(int|float)' object is not subscriptable",
        "a single number is used as a list: which entry of which list is meant? attraction[item], examination[k]",
    ),
    (
        r"(operand|not supported between).*'list'|'list' object cannot be interpreted|real number, not list|"
        r"non-int of type 'float'",
        "a whole list is used as a number: take the entry of one item or position, attraction[item], examination[k]",
    ),
    (
        r"TypeError: \w+\(\) (missing|takes)",
        "a function is called with other arguments than its def line has: leave the handout's def lines as they are",
    ),
    (r"ZeroDivisionError", "what it divides by can be 0 in a right program: is it the right number?"),
)


def compare(
    trial: Trial,
    function: str,
    oracle: Callable[..., Any],
    cases: Iterable[Sequence[Any]],
    *,
    mistakes: Mapping[str, Callable[..., Any]],
    own: Mapping[str, Callable[..., Any]] | None = None,
    remark: Callable[[], str] = lambda: "",
) -> None:
    """Compare as ``Trial.compare`` does; say also what Python's errors mean.

    Args:
        trial: the check's.
        function: its name in the submission.
        oracle: takes the same arguments.
        cases: the arguments of each call.
        mistakes: wrong functions of the same arguments, by what is wrong with them.
        own: more of them, which call the submission's other functions; tried if none of ``mistakes`` fits.
        remark: called if none of both fits; says what is wrong, or "".
    """
    listed = list(cases)
    try:
        trial.compare(function, oracle, listed, mistakes={**mistakes, NOTHING: lambda *args: None})
    except Failed as failed:
        fault = failed.fault
        mistake = ""
        if fault.expected or "IndexError" in fault.got:
            mistake = _failing_alike(trial, function, listed, mistakes) or fault.mistake
        if not mistake and fault.expected:
            mistake = (_fitting(trial, function, oracle, listed, own) if own else "") or remark()
        raise Failed(explained(trial, fault._replace(mistake=mistake))) from None


def _failing_alike(
    trial: Trial, function: str, cases: Sequence[Sequence[Any]], mistakes: Mapping[str, Callable[..., Any]]
) -> str:
    """Return the first mistake that gives the same answers up to an IndexError in the same case; "" if none does."""
    suspects = dict(mistakes)
    for args in cases:
        try:
            got = trial.call(function, *args)
        except Failed as failed:
            alike = (why for why, wrong in suspects.items() if isinstance(_answer(wrong, args), IndexError))
            return next(alike, "") if "IndexError" in failed.fault.got else ""
        suspects = {why: wrong for why, wrong in suspects.items() if same(got, _answer(wrong, args))}
    return ""


def _answer(wrong: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Return a wrong function's answer, or its error."""
    try:
        return plain(wrong(*args))
    except Exception as error:
        return error


def _fitting(
    trial: Trial,
    function: str,
    oracle: Callable[..., Any],
    cases: Sequence[Sequence[Any]],
    mistakes: Mapping[str, Callable[..., Any]],
) -> str:
    """Return the mistake that ``Trial.compare`` names."""
    try:
        trial.compare(function, oracle, cases, mistakes=mistakes)
    except Failed as failed:
        return failed.fault.mistake
    return ""


def explained_call(trial: Trial, function: str, *args: Any) -> Any:
    """Return the answer of the submission's function; say what an error of Python's means."""
    try:
        return trial.call(function, *args)
    except Failed as failed:
        raise Failed(explained(trial, failed.fault)) from None


def explained(trial: Trial, fault: Fault) -> Fault:
    """Return the fault with what an error of Python's means, if it is one without a named mistake."""
    if fault.expected or fault.mistake:
        return fault
    place = _function_at(trial.student.source, fault.line)
    if place in ("", fault.where):
        return fault._replace(mistake=meaning(fault.got))
    if fault.got == UNWRITTEN:
        return fault._replace(got=f"{place}, which {fault.where} uses, is {UNWRITTEN}")
    return fault._replace(mistake=f"the error is in {place}, which {fault.where} uses: begin there")


def meaning(error: str) -> str:
    """Return in words what an error of Python's may come from; "" if it says enough itself."""
    return next((why for pattern, why in ERRORS if re.search(pattern, error)), "")


def _function_at(source: str, line: int | None) -> str:
    """Return the function that has a line of a submission; "" if none has."""
    try:
        functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return next((one.name for one in functions if line and one.lineno <= line <= (one.end_lineno or 0)), "")


def ignores_coins(trial: Trial, function: str, session: Callable[[float], Sequence[Any]]) -> str:
    """Return what is wrong if the answers do not follow from the coins; "" if they seem to.

    ``session(coin)`` returns arguments in which all coins are ``coin``.
    """
    with contextlib.suppress(Failed):
        answers = [trial.call(function, *session(0.0)) for _ in range(REPEATED)]
        if any(answer != answers[0] for answer in answers):
            return (
                "the answer changes from call to call, with the same arguments: use the coins that are given, no "
                "random numbers of your own, and begin anew in each call"
            )
        if trial.call(function, *session(0.999)) == answers[0]:
            return "the coins are not used: the answer is the same with others"
    return ""
