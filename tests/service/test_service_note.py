"""What other processes know of the running one: `service.json`, while its writer lives."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir import Weir
from feedweir.config import Settings
from feedweir.health.standstill import Signs, Trouble
from feedweir.service.service_note import FILE_NAME, bounds_in, signs_from_outside, waiting_since, write_note

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOCUMENT = b"<rss version='2.0'><channel><item><guid>1</guid><title>x</title></item></channel></rss>"

moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
troubles = st.builds(Trouble, what=st.text(max_size=20), since=moments, error=st.text(max_size=20))
signs = st.builds(
    Signs,
    started=moments,
    published=st.none() | moments,
    is_running=st.booleans(),
    restarts=st.integers(0, 1_000),
    failed=st.none() | troubles,
    troubles=st.lists(troubles, max_size=3).map(tuple),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("started", "published", "restarts", "failed", "troubles")), inner)
    ),
    max_leaves=5,
)
RELAXED = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@RELAXED
@given(signs)
def test_another_process_reads_what_the_running_one_wrote(tmp_path: Path, written: Signs) -> None:
    with Weir.open(tmp_path / "data") as weir, weir.in_charge():
        write_note(weir.directory.root, written)
        assert signs_from_outside(weir.directory.root, weir.log, weir.store) == written


def test_a_note_whose_writer_has_ended_says_nothing(tmp_path: Path) -> None:
    with Weir.open(tmp_path / "data") as weir:
        with weir.in_charge():
            write_note(weir.directory.root, Signs(started=NOON, is_running=True))
        found = signs_from_outside(weir.directory.root, weir.log, weir.store)
        assert found == Signs(started=None, is_running=False)


@RELAXED
@given(values | st.binary(max_size=8))
def test_a_note_that_cannot_be_read_says_nothing_and_breaks_nothing(tmp_path: Path, damaged: object) -> None:
    with Weir.open(tmp_path / "data") as weir, weir.in_charge():
        content = damaged if isinstance(damaged, bytes) else json.dumps(damaged).encode()
        (weir.directory.root / FILE_NAME).write_bytes(content)
        found = signs_from_outside(weir.directory.root, weir.log, weir.store)
        assert found.started is None
        assert found.waiting_since is None


def test_documents_wait_from_the_oldest_one_that_is_not_published(tmp_path: Path) -> None:
    with Weir.open(tmp_path / "data") as weir:
        assert waiting_since(weir.log, weir.store) is None
        weir.execute("register feed push://a as A")
        before = datetime.now(UTC) - timedelta(seconds=2)
        weir.push("A", DOCUMENT)
        since = waiting_since(weir.log, weir.store)
        weir.push("A", DOCUMENT)
        assert since is not None
        assert before <= since <= datetime.now(UTC)
        assert waiting_since(weir.log, weir.store) == since
        weir.run()
        assert waiting_since(weir.log, weir.store) is None


@pytest.mark.parametrize("seconds", [30.0, 600.0])
def test_after_how_long_work_counts_as_stalled_is_a_setting(seconds: float) -> None:
    assert bounds_in(Settings(stalled_after_s=seconds)).late == timedelta(seconds=seconds)
