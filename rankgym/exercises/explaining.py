"""Python's errors in words: what they may come from in a student's program, and where."""

import ast
import re

from rankgym.exercises.faults import UNWRITTEN, Fault

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
        "a list has no entry with this number. Entries are numbered from 0. Lists by item, such as attraction, have L "
        "entries: ask them for an item. Lists by position, such as ranking and clicks, have K: ask them for a position",
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
    (r"ZeroDivisionError", "it divides by 0: either this case comes first, by itself, or it is the wrong number"),
)


def explained(source: str, fault: Fault) -> Fault:
    """Return the fault of a submission with what an error of Python's means, if no mistake is named yet."""
    place = _function_at(source, fault.line)
    if place not in ("", fault.where) and fault.where and not fault.expected:
        if fault.got == UNWRITTEN:
            return fault._replace(got=f"{place}, which {fault.where} uses, is {UNWRITTEN}")
        fault = fault._replace(got=f"{fault.got}, in {place}, which {fault.where} uses")
    if fault.mistake:
        return fault
    nothing = fault.got == "None" and bool(fault.expected)
    return fault._replace(mistake=NOTHING if nothing else "" if fault.expected else meaning(fault.got))


def meaning(error: str) -> str:
    """Return in words what an error of Python's may come from; "" if it says enough itself."""
    return next((why for pattern, why in ERRORS if re.search(pattern, error)), "")


def uses(source: str, name: str) -> set[str]:
    """Return the functions and classes of a submission that one of them uses, directly or through others."""
    nodes = defined(source)
    found: set[str] = set()
    new = {name} & nodes.keys()
    while new:
        found |= new
        names = {one.id for each in new for one in ast.walk(nodes[each]) if isinstance(one, ast.Name)}
        new = (names & nodes.keys()) - found
    return found - {name}


def defined(source: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes that a file defines, by name; none if it is not Python."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _function_at(source: str, line: int | None) -> str:
    """Return the function that has a line of a submission; "" if none has."""
    functions = [node for node in defined(source).values() if isinstance(node, ast.FunctionDef)]
    return next((one.name for one in functions if line and one.lineno <= line <= (one.end_lineno or 0)), "")
