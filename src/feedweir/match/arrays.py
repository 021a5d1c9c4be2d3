"""Named arrays in one memory-mapped file: all processes of a machine share its pages."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from feedweir.errors import CompiledSetError

Array: TypeAlias = npt.NDArray[Any]
_ALIGNMENT = 64
_HEADER_SIZE = 8


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write a header with the offset of each array, then the arrays."""
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
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CompiledSetError(f"{path.name} cannot be read: {error}") from error


def frozen(array: Array) -> Array:
    """A read-only view: kernels are compiled for one kind of array, which nothing writes to."""
    flags = array.flags
    if flags.c_contiguous and not flags.writeable:
        return array
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def joined(parts: Sequence[Array]) -> Array:
    """Arrays one after the other; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def continued(parts: Sequence[Array]) -> Array:
    """Offsets of several parts as offsets into all of them together."""
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(one[-1] for one in parts)])
    return np.concatenate([*(one[:-1] + n for one, n in zip(parts, firsts, strict=False)), firsts[-1:]])


def starts_of(counts: Array) -> Array:
    """Where each of consecutive stretches of these lengths begins, and where the last ends."""
    return frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))


def ranges_of(starts: Array, counts: Array) -> Array:
    """The numbers start, start + 1, … of every stretch, one stretch after the other."""
    ends = np.cumsum(counts)
    shift: Array = np.repeat(starts - ends + counts, counts)
    return shift + np.arange(len(shift))


def _view(data: mmap.mmap, start: int, place: list[Any]) -> Array:
    dtype, shape, _ = place
    count = int(np.prod(shape))
    if count == 0:
        return frozen(np.empty(shape, dtype))
    return np.frombuffer(data, dtype, count, start).reshape(shape)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
