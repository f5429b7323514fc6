"""Errors of all commands: one line on standard error, and an exit code."""

import contextlib
import logging
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

INTERRUPTED = 130  # the shell's exit code for Ctrl-C
CHOICES = (
    ", a list of these, 'all', 'train', 'test' or None",
    ", several of these (0,3,7), all, train or test",
)  # in Python, here
LABEL = re.compile(r"did you mean the label '([^']*)'\?")


class OneLineErrors(TyperGroup):
    """Report errors in one line on standard error, with exit code 2. RANKGYM_DEBUG=1 shows the traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with announced_imports():
                return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            notes = getattr(interruption, "__notes__", []) or ["nothing new is kept; to start again: the same command"]
            complain("; ".join(["interrupted", *notes]))
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            from rankgym.experiments.plan.agents import AgentFailed
            from rankgym.models.named import failure_in_model

            if type(error) is typer.BadParameter:  # a missing one, of a subclass, is reported with the usage
                complain(f"error: {error.format_message()}")
                raise typer.Exit(2) from None
            if hasattr(error, "exit_code") or isinstance(error, (typer.Abort, BrokenPipeError)):
                raise  # typer handles these
            if os.environ.get("RANKGYM_DEBUG", "0") not in ("", "0"):
                raise
            plain = isinstance(error, (ValueError, OSError, RuntimeError)) or not str(error)
            text = str(error) or type(error).__name__
            if isinstance(error, OSError) and error.strerror and error.filename is not None:
                text = f"{error.filename}: {error.strerror}"
            if in_model := failure_in_model(error):
                plain, text = True, in_model
            text = LABEL.sub(r"did you mean label:\1?", text.replace(*CHOICES))  # Python's choices as options
            if isinstance(error, AgentFailed):
                text += " (RANKGYM_DEBUG=1 shows the traceback)"
            complain(f"error: {text if plain else f'{type(error).__name__}: {text}'}")
            raise typer.Exit(2) from None


class _Announcements(logging.Handler):
    """Prints the lines of a log on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(record.getMessage(), err=True)


@contextlib.contextmanager
def announced_imports() -> Iterator[None]:
    """Context manager: say in a line on standard error what is about to be imported because it was named."""
    log, handler = logging.getLogger("rankgym.named_code"), _Announcements()  # by its name: it imports all of rankgym
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def complain(text: str) -> None:
    """Print a text in one line on standard error."""
    typer.echo(" ".join(text.split()), err=True)


@contextlib.contextmanager
def one_line_warnings() -> Iterator[None]:
    """Context manager: warnings are printed in one line, once each, without the line of code that gave them."""
    before, printed = warnings.formatwarning, set[str]()

    def one_line(message: Any, *_: Any, **__: Any) -> str:
        text = f"warning: {' '.join(str(message).split())}\n"
        again = text in printed
        printed.add(text)
        return "" if again else text

    warnings.formatwarning = one_line
    try:
        yield
    finally:
        warnings.formatwarning = before
