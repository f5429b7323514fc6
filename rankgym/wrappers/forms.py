"""The vector form of a wrapper, made from the class of its single form."""

from typing import Any


def vector_form(single: type[Any], base: type[Any], **attributes: Any) -> Any:
    """Make the subclass of ``base`` that is found, and pickled, as ``single.vector``."""
    names = {"__module__": single.__module__, "__qualname__": f"{single.__qualname__}.vector"}
    doc = f"``{single.__name__}`` over a vector environment."
    return type(f"Vector{single.__name__}", (base,), {**names, "__doc__": doc, **attributes})
