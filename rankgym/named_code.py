"""The one place that turns names into code: ``module:NAME`` of agents, click models and policies.

Importing a module runs it. So names are looked up here only where something is played, never where results are read;
a line says before what is imported from where; and what is found is returned, not called. Callers check that it is an
agent, a click model or a policy before they call it: ``subprocess:Popen`` would run a command.
"""

import importlib
import logging
import sys
from typing import Any

from rankgym.source import missing_module, module_file

LOG = logging.getLogger("rankgym.named_code")  # the command line shows its lines
OURS = ("rankgym", "rankgym_agents")


class NameNotFound(ValueError):
    """There is no such module, or it has no such name; the message says which, and ``module`` is what was found."""

    def __init__(self, message: str, module: Any = None) -> None:
        super().__init__(message)
        self.module = module


def is_ours(place: str) -> bool:
    """Return whether the module of ``place``, "module:NAME", belongs to rankgym."""
    return place.partition(":")[0].partition(".")[0] in OURS


def find_named(place: str) -> Any:
    """Import the module of ``place``, "module:NAME" or "module", and return what has this name in it, unchecked.

    Raises:
        NameNotFound: there is no such module, or nothing of this name in it.
        ModuleNotFoundError: the module is there, and imports one that is not; the message says where.
    """
    module_name, colon, attribute = place.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".")):
        if not module_name.endswith(".py"):
            raise NameNotFound(f"{module_name!r} is not the name of a module; allowed: such as package.module")
        raise NameNotFound(missing_module(ModuleNotFoundError(name=module_name.removesuffix(".py")), place))
    announce(module_name)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ModuleNotFoundError(missing_module(error, place), name=error.name) from error
        raise NameNotFound(missing_module(error, place)) from None
    module = found
    for name in attribute.split(".") if colon else ():
        if not hasattr(found, name):
            raise NameNotFound(f"module {module_name!r} has no {attribute!r}", module)
        found = getattr(found, name)
    return found


def announce(module: str) -> None:
    """Say in one line which module is about to be imported from where, unless it is imported already, or ours."""
    file = module_file(module) if module not in sys.modules and not is_ours(module) else None
    if file is not None:
        LOG.info("importing %s, which runs it: %s", module, file)
