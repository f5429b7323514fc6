"""What tests of exercises share: right solutions, typical mistakes made in them, and what the checker says."""

import ast
import json
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rankgym.exercises.checking import try_check, with_beginnings
from rankgym.exercises.handouts import HANDOUTS
from rankgym.submissions import Limits, Submission
from rankgym.submissions.answering import Answerer, plain
from rankgym.submissions.process import _plain, _raised

SOLUTIONS = Path(__file__).with_name("solutions")


class Mistake(NamedTuple):
    """A typical mistake: ``old`` in the right solution becomes ``new``."""

    name: str
    old: str
    new: str
    fails: str  # name of the check that must fail; others that use the function may fail, too
    says: str  # part of what the message says of the mistake


class Within(Submission):
    """A submission that answers in this process, which starts in no time: for files of ours, which harm nobody."""

    def _start(self):
        self.starts += 1
        self._process = self.answerer = Answerer()

    def _ask(self, request):
        asked = json.loads(json.dumps(request, default=_plain))
        answer = json.loads(json.dumps(self.answerer.answer(asked), default=plain))
        if "value" in answer:
            return answer["value"]
        raise _raised(answer["error"])

    def close(self):
        if self._process is not None:
            self._process = None
            del sys.meta_path[0]  # what refuses packages


@cache
def solution(name):
    return (SOLUTIONS / f"{name}.py").read_text()


def with_mistake(name, mistake):
    """The right solution with a mistake in it."""
    source = solution(name)
    assert source.count(mistake.old) == 1, f"{mistake.name}: {mistake.old!r} is there {source.count(mistake.old)} times"
    return source.replace(mistake.old, mistake.new)


def outcomes(exercise, source, seed=0, call_seconds=10.0, only=None, form=Submission):
    """What came of each check, by name, or of one of them."""
    limits = Limits(call_seconds=call_seconds)
    with form(source, f"{exercise.name}.py", refused=exercise.refused, limits=limits) as student:
        checks = [check for check in exercise.checks if only in (None, check.name)]
        found = with_beginnings([try_check(check, student, seed) for check in checks], source)
        return {outcome.check.name: outcome for outcome in found}


def assert_full_points(exercise, seed=0):
    found = outcomes(exercise, solution(exercise.name), seed)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}
    assert exercise.points == 10


def assert_found(exercise, mistake):
    """The mistake fails its check, at the function where it was made, with what it looks like."""
    endless = "endless" in mistake.says
    form, seconds = (Submission, 2.0) if endless else (Within, 10.0)
    found = outcomes(exercise, with_mistake(exercise.name, mistake), 0, seconds, mistake.fails, form)
    fault = found[mistake.fails].fault
    assert fault, f"{mistake.name} was not found by {mistake.fails}"
    check = found[mistake.fails].check
    assert fault.where == check.of, fault
    assert fault.line, fault
    said = " ".join([fault.mistake, fault.got, fault.expected, fault.call])
    assert mistake.says in said, said


def filled(name):
    """The handout with the right solution's functions and classes in place of its own."""
    handout = (HANDOUTS / f"{name}.py").read_text()
    kinds = (ast.FunctionDef, ast.ClassDef)
    source = solution(name)
    right = {
        node.name: ast.get_source_segment(source, node) for node in ast.parse(source).body if isinstance(node, kinds)
    }
    lines = handout.splitlines(keepends=True)
    for node in reversed([node for node in ast.parse(handout).body if isinstance(node, kinds)]):
        if node.name in right:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            lines[first - 1 : node.end_lineno] = [right.pop(node.name), "\n"]
    helpers = "\n\n\n".join(right.values())  # of the solution's own, put after the imports
    imports = max(node.end_lineno for node in ast.parse(handout).body if isinstance(node, (ast.Import, ast.ImportFrom)))
    lines.insert(imports, f"\n\n{helpers}\n" if helpers else "")
    return "".join(lines)
