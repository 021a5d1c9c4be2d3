"""How kernels are declared, where what was compiled of them is kept, and the list of all that is compiled ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedweir.kernels.declare import njit

__all__ = ["njit"]


def __getattr__(name: str) -> Any:
    """Numba is imported by what declares kernels, and not by what only asks where they lie."""
    if name != "njit":
        raise AttributeError(f"module 'feedweir.kernels' has no attribute {name!r}")
    from feedweir.kernels.declare import njit

    return njit
