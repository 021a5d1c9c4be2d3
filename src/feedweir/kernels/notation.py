"""Argument types of kernels as text: `int64`, `readonly uint8[::1]`, `(int32, float64[:,::1])`, `module:Name(…)`.

Numba prints types but does not read all of what it prints, least of all named tuples.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from numba import types

_TOKEN = re.compile(r"\s*(readonly\b|unaligned\b|[\w.:]*\(|\)|,|\w+(?:\[[:1,]+\])?)")


def written(argument_types: tuple[Any, ...]) -> str:
    return ", ".join(map(_written, argument_types))


def _written(one: Any) -> str:
    if isinstance(one, types.Array):
        words = ("" if one.mutable else "readonly ") + ("" if one.aligned else "unaligned ")
        return f"{words}{one.dtype}[{_axes(one.ndim, one.layout)}]"
    if isinstance(one, types.BaseTuple):
        maker = getattr(one, "instance_class", tuple)
        name = "" if maker is tuple else f"{maker.__module__}:{maker.__qualname__}"
        return f"{name}({written(one.types)})"
    return str(one)


def _axes(n_axes: int, layout: str) -> str:
    axes = [":"] * n_axes
    if layout != "A":
        axes[-1 if layout == "C" else 0] = "::1"
    return ",".join(axes)


def read(text: str) -> tuple[Any, ...]:
    """The types that `written` wrote."""
    try:
        found, _ = _sequence(_TOKEN.findall(text), 0)
    except IndexError:
        raise ValueError(f"not a list of types: {text}") from None
    if written(tuple(found)) != text:
        raise ValueError(f"not a list of types: {text}")
    return tuple(found)


def _sequence(tokens: list[str], at: int) -> tuple[list[Any], int]:
    found = []
    while at < len(tokens) and tokens[at] != ")":
        one, at = _type(tokens, at)
        found.append(one)
        at += at < len(tokens) and tokens[at] == ","
    return found, at


def _type(tokens: list[str], at: int) -> tuple[Any, int]:
    words = set()
    while tokens[at] in ("readonly", "unaligned"):
        words.add(tokens[at])
        at += 1
    token = tokens[at]
    if token.endswith("("):
        inner, at = _sequence(tokens, at + 1)
        return types.BaseTuple.from_types(tuple(inner), _class(token[:-1])), at + 1
    name, bracket, axes = token.removesuffix("]").partition("[")
    scalar = getattr(types, name)
    if not bracket:
        return scalar, at + 1
    layout = "C" if axes.endswith("::1") else "F" if axes.startswith("::1") else "A"
    array = types.Array(
        scalar, axes.count(",") + 1, layout, readonly="readonly" in words, aligned="unaligned" not in words
    )
    return array, at + 1


def _class(name: str) -> type:
    if not name:
        return tuple
    module, _, qualified = name.partition(":")
    found: type = getattr(importlib.import_module(module), qualified)
    return found
