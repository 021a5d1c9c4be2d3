"""Named arrays in one file that is memory-mapped: every process of a machine reads the same pages."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from feedweir.errors import CompiledSetError

Array: TypeAlias = npt.NDArray[Any]
_ALIGNMENT = 64
_HEADER_SIZE = 8


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write a header that says where each array lies, then the arrays."""
    places: dict[str, list[Any]] = {}
    offset = 0
    for name, array in arrays.items():
        places[name] = [array.dtype.str, list(array.shape), offset]
        offset += _padded(array.nbytes)
    header = json.dumps(places).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(_HEADER_SIZE, "little"))
        file.write(header.ljust(_padded(_HEADER_SIZE + len(header)) - _HEADER_SIZE))
        for array in arrays.values():
            data = np.ascontiguousarray(array).tobytes()
            file.write(data.ljust(_padded(len(data)), b"\0"))


def load_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file, read-only, without reading them."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(data[:_HEADER_SIZE], "little")
        places = json.loads(data[_HEADER_SIZE : _HEADER_SIZE + size])
        start = _padded(_HEADER_SIZE + size)
        return {name: _view(data, start + place[2], place) for name, place in places.items()}
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise CompiledSetError(f"{path.name} cannot be read: {error}") from error


def frozen(array: Array) -> Array:
    """The same array, read-only: kernels are compiled once, for arrays that nobody writes."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _view(data: mmap.mmap, start: int, place: list[Any]) -> Array:
    dtype, shape, _ = place
    count = int(np.prod(shape))
    if count == 0:
        return frozen(np.empty(shape, dtype))
    return np.frombuffer(data, dtype, count, start).reshape(shape)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
