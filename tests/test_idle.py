"""A running installation that nothing came to for a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.idle import idle


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_the_first_item_after_a_silence_is_there_as_soon_as_any_other(tmp_path: Path) -> None:
    found = idle(tmp_path, silence_s=95, feeds=100)
    assert float(str(found["workers_kept"])) > 0.9, found
    assert float(str(found["after_idle_s"])) < max(2.0, 3 * float(str(found["next_items_s"]))), found
