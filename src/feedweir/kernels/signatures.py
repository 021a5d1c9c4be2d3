"""The list of all that is compiled ahead: each kernel that Python calls, with the types it is called with.

    python -m feedweir.kernels.signatures

adds what was compiled since the kernels last changed and is not listed. The test run fails until that is done.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedweir.errors import FeedweirError
from feedweir.kernels.compile_notices import compiled_in
from feedweir.kernels.declare import KERNELS, directory_in_use, is_kept
from feedweir.kernels.notation import read

LIST = Path(__file__).with_name("signatures.txt")


@dataclass(frozen=True, slots=True, order=True)
class Signature:
    """A kernel, as `module:name`, and its argument types as text."""

    kernel: str
    types: str

    def __str__(self) -> str:
        return f"{self.kernel}({self.types})"

    @property
    def module(self) -> str:
        return self.kernel.partition(":")[0]

    def found(self) -> tuple[Any, tuple[Any, ...]]:
        """The kernel itself, and the types that Numba takes."""
        try:
            importlib.import_module(self.module)
            return KERNELS[self.kernel], read(self.types)
        except (ImportError, KeyError, AttributeError, ValueError) as error:
            raise FeedweirError(
                f"{LIST.name} lists {self.kernel}, but there is no such kernel or type ({error!r})",
                hint="remove the line",
            ) from error

    def is_kept(self) -> bool:
        return is_kept(*self.found())


def entry_of(line: str) -> Signature:
    kernel, _, types = line.strip().removesuffix(")").partition("(")
    return Signature(kernel, types)


def entries_in(file: Path = LIST) -> tuple[Signature, ...]:
    return tuple(map(entry_of, file.read_text(encoding="utf-8").splitlines()))


def not_listed(lines: Iterable[str], file: Path = LIST) -> tuple[Signature, ...]:
    return tuple(sorted(set(map(entry_of, lines)) - set(entries_in(file))))


def add_to_list(entries: Iterable[Signature], file: Path = LIST) -> None:
    together = sorted({*entries_in(file), *entries})
    file.write_text("".join(f"{entry}\n" for entry in together), encoding="utf-8")


if __name__ == "__main__":
    new = not_listed(compiled_in(directory_in_use()))
    add_to_list(new)
    print(f"added {len(new)} to {LIST}")
