"""Kernels run uncompiled, too (`NUMBA_DISABLE_JIT=1`), so that coverage tools and debuggers see into them."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pyarrow as pa

from feedweir.text.analyser import analyse

TEXTS = ["Flood warning, <b>lifted</b> in the valley", "x² Straße 東京 don't", ""]
PROGRAM = """
import warnings
warnings.simplefilter("ignore")  # hashes wrap around on purpose
from feedweir.kernels.declare import IS_COMPILING
from tests.text.test_plain_kernels import found
assert not IS_COMPILING
print(found())
"""


def found() -> list[tuple[list[str], list[int]]]:
    """By row, its words and their hashes."""
    tokens = analyse(pa.array(TEXTS), is_html=True)
    hashes = [tokens.hashes[first:last].tolist() for first, last in pairwise(tokens.offsets)]
    return [(tokens.words(row), hashes[row]) for row in range(len(tokens))]


def test_uncompiled_kernels_give_what_compiled_ones_give() -> None:
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=plain, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (f"{found()}\n", 0), done.stderr
