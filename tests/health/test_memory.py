"""Freed memory goes back to the system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SCATTERED = """
import sys, threading
import numpy as np
from feedweir.health.memory import give_back, share_pools

def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 >> 20

if "shared" in sys.argv:
    share_pools()
kept, begun = [], threading.Barrier(8)
def work():
    begun.wait()
    made = [np.ones(8_000) for _ in range(400)]  # 64 KB each
    kept.append(made[::40])
threads = [threading.Thread(target=work) for _ in range(8)]
[one.start() for one in threads]; [one.join() for one in threads]
before = resident_mb()
give_back()
print(before, resident_mb())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="counts pages as Linux does")
@pytest.mark.parametrize("pools", ["shared", "own"])
def test_what_is_freed_between_pieces_that_are_kept_is_given_back(pools: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCATTERED, pools], capture_output=True, check=True, text=True
    )
    before, after = map(int, done.stdout.split())
    assert before - after > 50, "of 200 MB"
