"""What kernels need of the machine and Numba has no word for: eight bytes at once, memory asked for early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from feedweir.kernels.declare import IS_COMPILING

_WORD = ir.IntType(64)
_INT = ir.IntType(32)


def _machine_code(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Declare what the compiler puts in place of a call; `plain` does the same where nothing is compiled."""
    return lambda generate: intrinsic(generate) if IS_COMPILING else plain


@_machine_code(lambda data, at: data[int(at) : int(at) + 8].view(np.uint64)[0])
def eight_bytes(typing_context, data, at):  # type: ignore[no-untyped-def]
    """The bytes `data[at : at + 8]` as one number, the first the lowest. Nobody checks that they are there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.load(builder.bitcast(place, ir.PointerType(_WORD)), align=1)

    return types.uint64(data, at), generate


@_machine_code(lambda number: np.uint64((int(number) & -int(number)).bit_length() - 1))
def lowest_bit(typing_context, number):  # type: ignore[no-untyped-def]
    """How many zeros a number that is not 0 ends with."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@_machine_code(lambda array, at: None)
def ask_for(typing_context, array, at):  # type: ignore[no-untyped-def]
    """Have the memory fetch `array[at]`, which is soon to be read, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.bitcast(_place(context, builder, signature, arguments), ir.PointerType(ir.IntType(8)))
        kind = ir.FunctionType(ir.VoidType(), [place.type, _INT, _INT, _INT])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        is_read, is_kept, is_data = (ir.Constant(_INT, value) for value in (0, 3, 1))
        builder.call(function, [place, is_read, is_kept, is_data])
        return context.get_dummy_value()

    return types.void(array, at), generate


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])
