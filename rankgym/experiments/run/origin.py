"""What made a result, compared with what is here now: versions, the code of agents and click models, and data.

Nothing of the user's is imported: the files of modules are found and digested, not run.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.data.errors import DataError
from rankgym.experiments.plan.agents import DECIDED_BY, AgentSpec
from rankgym.experiments.plan.digests import data_digests
from rankgym.experiments.plan.jobs import made_here
from rankgym.experiments.run.own_modules import own_modules
from rankgym.experiments.run.plan_file import made_by
from rankgym.experiments.run.result_file import read_settings
from rankgym.source import module_digest

OTHER_CODE = "other code of rankgym"
MOST_NAMED = 3  # files in a message


def differences(before: Mapping[str, Any], now: Mapping[str, Any], agent: str) -> list[str]:
    """Return in words what made a result of ``agent`` differently from ``now``, without what the user chooses."""
    old, new = before["versions"], now["versions"]
    changed = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    words = [", ".join(f"{name} {old[name]}" if name in old else f"no {name}" for name in changed)]
    others = {"format": "another format", "code": OTHER_CODE, "agent's code": f"other code of the agent {agent}"}
    words += [said for name, said in others.items() if before[name] != now[name]]
    for name in {**before["data"], **now["data"]}:
        one, other = before["data"].get(name), now["data"].get(name)
        if one != other:
            is_code = isinstance(one or other, Mapping)
            words.append(f"other code of the click model {name}" if is_code else f"other data than {name!r} has now")
    return list(filter(None, words))


class Now(NamedTuple):
    """What would make a result now."""

    made_by: dict[str, Any]
    unknown: list[str]  # what cannot be compared, and why; ``made_by`` has what is recorded of it


class Present:
    """Compares results with what is here now. Each agent, click model and data set is looked up once."""

    def __init__(self) -> None:
        self.here = made_here()
        self._found: dict[str, Now] = {}

    def now(self, settings: Mapping[str, Any]) -> Now:
        """Return what would make the result with these ``settings`` now."""
        names = ("agent's code", "data", "arguments", "agent", "class", "knobs")
        key = json.dumps([settings[name] for name in names], sort_keys=True)
        if key not in self._found:
            unknown: list[str] = []
            code, data = settings["agent's code"], settings["data"]
            found = {"agent's code": _code(code, settings, unknown), "data": _data(data, settings, unknown)}
            self._found[key] = Now({**self.here, **found}, unknown)
        return self._found[key]

    def differences(self, settings: Mapping[str, Any]) -> list[str]:
        """Return in words what made the result with these ``settings`` differently from now."""
        made = made_by(dict(settings))
        words, code = differences(made, self.now(settings).made_by, settings["agent"]), self.here["code"]
        return [f"{one} ({made['code'][:8]}, now {code[:8]})" if one == OTHER_CODE else one for one in words]

    def distance(self, path: Path) -> float:
        """Return how much differs between what made a result and what is here: 0 for nothing, infinite if damaged."""
        try:
            settings = read_settings(path)
            return len(self.differences(settings)) + 0.5 * bool(self.now(settings).unknown)
        except (OSError, ValueError):
            return math.inf


def made_by_other_code(files: Sequence[Path]) -> str:
    """Say which of the result ``files`` were made by something else than is here now, or cannot be compared.

    Returns "" if all of them were made by the present versions, code and data.
    """
    present = Present()
    found: dict[str, list[Path]] = {}
    for path in files:
        settings = read_settings(path)
        different, unknown = present.differences(settings), present.now(settings).unknown
        if different:
            found.setdefault(f"were made by {', '.join(different)}", []).append(path)
        elif unknown:
            found.setdefault(f"cannot be compared with what is here now, as {', and '.join(unknown)}", []).append(path)
    parts = []
    for words, paths in found.items():
        names = ", ".join(path.name for path in paths[:MOST_NAMED])
        rest = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        parts.append(f"{len(paths)} of {len(files)} results {words}: {names}{rest}")
    return "; ".join(parts)


def _code(recorded: Any, settings: Mapping[str, Any], unknown: list[str]) -> Any:
    """Return the digests that the modules of ``recorded`` have now; adds to ``unknown`` what cannot be told."""
    if not isinstance(recorded, Mapping):  # of an earlier version of rankgym, whose code differs anyway
        return recorded
    now = {}
    for name, before in recorded.items():
        if name.endswith(DECIDED_BY):
            found, why = _decided_by(name, settings)
        elif not before:
            found, why = None, f"the code in {name} was typed at a prompt"
        else:
            found, why = module_digest(name), f"module {name} is not found here (call this in its folder)"
            if name == "__main__" and found != before:  # perhaps another script
                found, why = None, "the code was in a script"
        if found is None:
            unknown += [why] if why not in unknown else []
        now[name] = before if found is None else found
    return now


def _decided_by(name: str, settings: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return what an agent of rankgym's says now of the files that it reads, or None and why that is not known."""
    where = name.removesuffix(DECIDED_BY)
    spec: AgentSpec | None = AgentSpec(settings["agent"], settings["class"], settings["knobs"])
    while spec is not None and not own_modules([spec.where]):
        try:
            if spec.where == where:
                return spec.decided_by(), ""
            spec = spec.inner()
        except (ImportError, OSError, ValueError) as error:
            return None, f"the agent {settings['agent']} cannot be read here ({error})"
    return None, f"{name} is code of your own, which is not run when results are read"


def _data(recorded: Mapping[str, Any], settings: Mapping[str, Any], unknown: list[str]) -> dict[str, Any]:
    """Return the digests that the ``recorded`` data and click models have now, as ``_code`` does."""
    now: dict[str, Any] = {}
    try:
        there = data_digests(settings["arguments"]) | data_digests(settings["knobs"])
        why = "the data {!r} are not found here"
    except (DataError, OSError, ValueError) as error:
        there, why = {}, f"the data {{!r}} cannot be read here ({error})"
    for name, before in recorded.items():
        if isinstance(before, Mapping):
            now[name] = _code(before, settings, unknown)
        else:
            now[name] = there.get(name, before)
            unknown += [why.format(name)] if name not in there else []
    return now
