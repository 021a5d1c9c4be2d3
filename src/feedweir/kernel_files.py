"""Where compiled kernels are kept: in a directory that is named by the text of all of them.

Numba looks only at the file that a kernel is written in. One that calls a kernel of another file would go on calling
what that was before it changed, with whatever arguments it takes now.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree

_PACKAGE = Path(__file__).parent
_SETTING, _PREFIX = "NUMBA_CACHE_DIR", "kernels-"


def keep_kernels(package: Path = _PACKAGE) -> None:
    """Tell Numba, which asks when it is imported, where compiled kernels are; whoever said so before is obeyed."""
    told = os.environ.get(_SETTING)
    if told is None or Path(told).name.startswith(
        _PREFIX
    ):  # by another version, whose process started this one
        os.environ[_SETTING] = str(directory_of(package))


def directory_of(package: Path) -> Path:
    digest = blake2b(digest_size=8)
    for path in sorted(package.rglob("*_kernels.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return package / "__pycache__" / f"{_PREFIX}{digest.hexdigest()}"


def forget_old_kernels(package: Path = _PACKAGE) -> None:
    """Remove what was compiled from kernels as they no longer are."""
    for path in package.glob(f"__pycache__/{_PREFIX}*"):
        if path != directory_of(package):
            rmtree(path, ignore_errors=True)
