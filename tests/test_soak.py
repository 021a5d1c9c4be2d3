"""A running installation for an hour, with a kill a minute: nothing is lost, doubled, or grows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.soak import soak

MINUTES = float(os.environ.get("SOAK_MINUTES", "60"))


@pytest.mark.nightly
@pytest.mark.timeout(60 * MINUTES + 2400)
def test_a_stream_with_a_kill_a_minute_loses_nothing_doubles_nothing_and_does_not_grow(
    tmp_path: Path,
) -> None:
    found = soak(tmp_path, 60 * MINUTES, rate=200, kill_every_s=60)
    assert (found["lost"], found["doubled"], found["quarantined"]) == (0, 0, 0), found
    assert (found["unpublished_segments"], found["unsent"]) == (0, 0), found
    assert found["probes_failed"] == 0, found
    assert found["file_is_current"], found
    assert found["stopped_well"], found
    growths = [found[name] for name in ("growth_python", "growth_java")]
    assert all(isinstance(one, float) and one < 0.05 for one in growths), found
