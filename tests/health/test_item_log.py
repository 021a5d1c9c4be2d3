"""Lines by which an item can be followed: off by default, one for each hand-over, with ids to search for."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from feedweir.health.item_log import hand_over, is_followed
from feedweir.health.log_setup import SafeFormatter


@pytest.fixture(autouse=True)
def level_of_before() -> Iterator[None]:
    ours = logging.getLogger("feedweir")
    before = ours.level
    yield
    ours.setLevel(before)


def test_nothing_is_logged_below_debug(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("feedweir").setLevel("INFO")
    hand_over("landed", document=1)
    assert not is_followed()
    assert caplog.messages == []


def test_a_line_has_its_ids_as_text_and_as_values(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("feedweir").setLevel("DEBUG")
    assert is_followed()
    hand_over("matched", batch=7, item=12, feeds=[3, 4], source="The Post", reason="", error=None)
    (record,) = caplog.records
    assert record.getMessage() == 'matched batch=7 item=12 feeds=3,4 source="The Post"'
    assert (record.name, record.levelname) == ("feedweir.items", "DEBUG")
    assert vars(record)["event"] == "matched"
    assert vars(record)["ids"]["feeds"] == [3, 4]


def test_a_zero_is_written_since_it_is_a_number(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("feedweir").setLevel("DEBUG")
    hand_over("parsed", items=0)
    assert caplog.messages == ["parsed items=0"]


def test_no_line_has_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("feedweir").setLevel("DEBUG")
    hand_over("landed", url="https://ann:hush@example.org/feed?token=sesame")
    (record,) = caplog.records
    line = SafeFormatter("%(message)s").format(record)
    assert "example.org" in line
    assert "hush" not in line
    assert "sesame" not in line
