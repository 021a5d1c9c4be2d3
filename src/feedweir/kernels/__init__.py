"""How kernels are declared, where what was compiled of them is kept, and the list of all that is compiled ahead."""

from feedweir.kernels.declare import njit

__all__ = ["njit"]
