"""What waits, what the last batch took, and what is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from feedweir.logs.batches import Manifest, phase_of
from feedweir.logs.directory import DataDirectory
from feedweir.logs.flow import PhaseLog, flow_of, state_bytes
from feedweir.logs.landing import Landed, LandingLog
from feedweir.logs.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = Landed(source="A", arrived=NOW, body=b"{}")


def test_lag_is_counted_in_documents_and_seconds(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    log, store = LandingLog(directory.landing), Store(tmp_path)
    for count in (2, 3, 1):
        log.append([DOCUMENT] * count)
    phases = (phase_of("parse", 2.0, [1.0, 3.0]), phase_of("match", 0.5, [0.5]))
    store.publish(Manifest(0, 1, 1, (), (), 40, 70, landed_bytes=1_000))
    PhaseLog(directory.phases).write(1, phases)
    flow = flow_of(directory, log, store, NOW - timedelta(seconds=90), NOW)
    assert (flow.documents_waiting, flow.behind_s) == (4, 90.0)
    assert flow.sentence() == (
        "40 items, 70 elements, 1,000 bytes read, 0 written; "
        "parse 2.00 s (2 tasks, skew 1.50), match 0.50 s (1 task, skew 1.00)"
    )


def test_nothing_waits_and_nothing_was_published(tmp_path: Path) -> None:
    flow = flow_of(DataDirectory(tmp_path), LandingLog(tmp_path / "landing"), Store(tmp_path), None, NOW)
    assert (flow.documents_waiting, flow.behind_s, flow.sentence()) == (0, 0.0, None)


def test_what_is_kept_is_told_by_kind(tmp_path: Path) -> None:
    (tmp_path / "joins" / "3").mkdir(parents=True)
    (tmp_path / "joins" / "3" / "state").write_bytes(b"12345")
    (tmp_path / "scratch").mkdir()
    assert state_bytes(DataDirectory(tmp_path)) == {"joins": 5}
