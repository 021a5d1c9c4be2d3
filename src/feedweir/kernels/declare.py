"""The one decorator of kernels: Numba's, but that what is kept of them is kept in our place.

Numba itself refuses to read compiled kernels where it cannot write, and fails where it cannot save.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

from feedweir.kernels.compile_notices import notice_compiling
from feedweir.kernels.kernel_files import (
    SETTING,
    chosen_place,
    name_of,
    note_use,
    sole_writer,
    usable_directory,
)

KERNELS: dict[str, Any] = {}
"""Every kernel that is kept and whose module was imported, by `module:name`."""
IS_COMPILING = not numba.config.DISABLE_JIT
"""Otherwise kernels are the functions that they were written as."""


class _Place:
    """Where this process keeps kernels; decided when the first is declared."""

    directory: Path


def njit(*, cache: bool = False, **switches: Any) -> Any:
    """Declare a kernel. One with `cache` is kept; one without is a part of others, and never called by itself."""
    compiled = numba.njit(**switches)

    def declare(function: Callable[..., Any]) -> Any:
        kernel: Any = compiled(function)
        if cache and IS_COMPILING:
            kernel._cache = _KernelCache(function)
            KERNELS[f"{function.__module__}:{function.__qualname__}"] = kernel
        return kernel

    return declare


def keep_kernels_in(place: Path) -> None:
    """From now on, in this process and those it starts; kernels that were declared before included."""
    os.environ[SETTING] = str(place.absolute())
    directory = _chosen_directory()
    if directory == _Place.directory:
        return
    _Place.directory = directory
    for kernel in KERNELS.values():
        kernel._cache = _KernelCache(kernel.py_func)


def directory_in_use() -> Path:
    return _Place.directory


def is_kept(kernel: Any, signature: tuple[Any, ...]) -> bool:
    """Whether it was compiled for this machine and these argument types before."""
    found: bool = kernel._cache.has(signature, kernel.targetctx.codegen())
    return found


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Kernels lie by the name of their module: where the package is installed makes no difference."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = str(_Place.directory / function.__module__)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:
        return cls(function, file)


class _Finding(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Finding

    def save_overload(self, signature: Any, data: Any) -> None:
        """What cannot be saved (a full disk, a read-only image) was compiled for this process."""
        with suppress(OSError), sole_writer(_Place.directory):
            super().save_overload(signature, data)

    def has(self, signature: tuple[Any, ...], codegen: Any) -> bool:
        return self._index_key(signature, codegen) in self._cache_file._load_index()


def _chosen_directory() -> Path:
    directory = usable_directory(chosen_place(), name_of(made_by=numba.__version__))
    note_use(directory)
    return directory


_Place.directory = _chosen_directory()
notice_compiling(directory_in_use)
