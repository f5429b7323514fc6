"""Arrays for what a kernel remembers only until it ends. Their memory is C's, without numba's counting of references.

A kernel that made them by ``np.empty`` would count references to every array that it touches, with an atomic
instruction each time: a row of TopRank alone would take twice as long.

Examples:
    >>> import numpy as np
    >>> from rankgym.kernels import borrowed, give_back, kernel
    >>> @kernel
    ... def turn_round(items):
    ...     kept = borrowed(items.shape[0], np.int64)
    ...     for place in range(items.shape[0]):
    ...         kept[place] = items[place]
    ...     for place in range(items.shape[0]):
    ...         items[place] = kept[items.shape[0] - 1 - place]
    ...     give_back(kept)
    >>> items = np.arange(4)
    >>> turn_round(items)
    >>> items.tolist()
    [3, 2, 1, 0]
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from rankgym.kernels.compiling import CONFIG


@intrinsic
def _borrowed(typing: Any, size: Any, dtype: Any) -> Any:
    """A one-dimensional array in memory of C's ``malloc``."""
    array = types.Array(dtype.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.intp)
        width = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(dtype.dtype)))
        malloc = cgutils.get_or_insert_function(builder.module, ir.FunctionType(cgutils.voidptr_t, [word]), "malloc")
        made = make_array(array)(context, builder)
        data = builder.bitcast(builder.call(malloc, [builder.mul(arguments[0], width)]), made.data.type)
        populate_array(made, data=data, shape=[arguments[0]], strides=[width], itemsize=width, meminfo=None)
        return made._getvalue()

    return array(types.intp, dtype), generate


@intrinsic
def _give_back(typing: Any, borrowed: Any) -> Any:
    """Free the memory of ``_borrowed``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        free = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t]), "free"
        )
        given = make_array(signature.args[0])(context, builder, arguments[0])
        builder.call(free, [builder.bitcast(given.data, cgutils.voidptr_t)])
        return context.get_dummy_value()

    return types.none(borrowed), generate


def _lent(size: int, dtype: Any) -> Any:
    return np.empty(size, dtype)


def _forgotten(borrowed: Any) -> None:
    """Nothing is to be done: Python forgets the array."""


borrowed: Any = _lent if CONFIG.DISABLE_JIT else _borrowed
"""``borrowed(size, dtype)`` is an array (size,) with anything in it; the kernel must ``give_back`` it at its end."""
give_back: Any = _forgotten if CONFIG.DISABLE_JIT else _give_back
"""``give_back(array)`` frees an array of ``borrowed``, which must not be touched again."""
