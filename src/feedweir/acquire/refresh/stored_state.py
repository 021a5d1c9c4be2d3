"""What the catalog keeps of a source ⇄ what refresh rules decide by; and the one way to change it."""

from __future__ import annotations

import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from feedweir.acquire.fetch.exchange import Validators
from feedweir.acquire.refresh.source_history import History
from feedweir.acquire.refresh.source_state import Hints, SourceState
from feedweir.catalog import Catalog, FetchState, SourceRecord

Change = Callable[[SourceRecord], FetchState]

_SHARED = (
    "url", "not_before", "failures", "failure", "is_unreadable", "page", "moved_to", "hosts", "pushed_until",
    "pushed_since", "every_s", "id_path",
)  # fmt: skip
"""Fields that both have under one name."""


class SourceMemory:
    """Changes states of sources, each read and written in one transaction: no thread undoes another's change."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._turn = threading.Lock()

    def change(self, names: Iterable[str], changed: Change) -> int:
        """Put `changed(record)` in the place of each source's state; sources that are gone are left out."""
        wanted = sorted(set(names))
        if not wanted:
            return 0
        # Threads of one process take turns here rather than by the database's time-outs.
        with self._turn, self._catalog.transaction():
            records = self._catalog.sources.several(wanted)
            self._catalog.sources.save([changed(record) for record in records])
        return len(records)


def state_of(record: SourceRecord) -> SourceState:
    """What the refresh rules know of a source."""
    kept = record.state
    shared: dict[str, Any] = {name: getattr(kept, name) for name in _SHARED}
    return SourceState(
        source=record.name,
        next_at=kept.next_check_at,
        polled_at=kept.last_success_at,
        # A person who sets a source going again means it.
        is_stopped=kept.status == "gone",
        validators=Validators(
            url=kept.validated_url, etag=kept.etag, last_modified=kept.last_modified, body_hash=kept.body_hash
        ),
        hints=Hints(ttl_s=kept.ttl_s, skip_hours=kept.skip_hours, skip_days=kept.skip_days),
        history=_history_of(kept.history),
        **shared,
    )


def saved(record: SourceRecord, state: SourceState) -> FetchState:
    """What the catalog keeps of a source in this state."""
    kept = record.state
    shared: dict[str, Any] = {name: getattr(state, name) for name in _SHARED}
    return replace(
        kept,
        next_check_at=state.next_at,
        last_success_at=state.polled_at,
        status="gone" if state.is_stopped else kept.status,
        validated_url=state.validators.url,
        etag=state.validators.etag,
        last_modified=state.validators.last_modified,
        body_hash=state.validators.body_hash,
        ttl_s=state.hints.ttl_s,
        skip_hours=state.hints.skip_hours,
        skip_days=state.hints.skip_days,
        history=_plain(state.history),
        **shared,
    )


def polled_every(record: SourceRecord, every: timedelta | None, now: datetime) -> FetchState:
    """The state of a source that is to be polled at this interval from now on; None leaves it to the policy, which
    chooses again after a poll that is made soon: the one that was planned may lie a year ahead."""
    every_s = every.total_seconds() if every else 0.0
    state = state_of(record)
    moment = state.next_at
    if state.polled_at is not None and not state.failures:
        moment = max(state.polled_at + timedelta(seconds=every_s), state.not_before or now, now)
    return replace(record.state, next_check_at=moment, every_s=every_s)


def _plain(history: History) -> dict[str, Any]:
    """Numbers as they are, arrays as text."""
    # Not `asdict`: its deep copies cost more than all the rest of remembering a poll.
    values = ((field.name, getattr(history, field.name)) for field in fields(History))
    return {
        name: {"base64": b64encode(value).decode("ascii")} if isinstance(value, bytes) else value
        for name, value in values
    }


def _history_of(value: Mapping[str, Any]) -> History:
    """The history that `_plain` wrote; what an older version did not know has its default."""
    known: dict[str, Any] = {
        name: b64decode(part["base64"]) if isinstance(part, dict) else part for name, part in value.items()
    }
    if len(known.get("factors", b"")) != len(History().factors):
        # Tables of another grain, from an older version: the next fit makes new ones.
        known.pop("factors", None)
    return History(**known)
