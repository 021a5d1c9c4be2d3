"""A data directory that an older version left is taken over, or refused in one sentence that says the way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from feedweir import FeedweirError
from tests.golden import installations
from tests.golden.listing import differences
from tests.golden.record import recorded_feeds
from tests.golden.worlds import small_world

REFUSED: dict[str, type[FeedweirError]] = {}
"""Of installations that are not taken over: how they are refused. All others are."""


@pytest.mark.parametrize("name", [name for name in installations.names() if name not in REFUSED])
def test_an_older_installation_goes_on_as_if_it_had_been_this_one_all_along(
    name: str, tmp_path: Path
) -> None:
    result = installations.lived_on(name, tmp_path)
    kept = json.loads(recorded_feeds(small_world()).read_text("utf-8"))
    found = differences(result.listing, kept)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", REFUSED)
def test_an_installation_that_is_too_old_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(REFUSED[name]) as refused:
        installations.lived_on(name, tmp_path)
    message = str(refused.value)
    assert "\n" not in message
    assert "export" in message
    assert "import" in message
