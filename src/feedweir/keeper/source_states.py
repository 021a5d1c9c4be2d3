"""What the catalog keeps of a source ⇄ what acquisition decides by; and the one way to change it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from feedweir.acquire.refresh.state import SourceState, from_json, to_json
from feedweir.catalog import Catalog, FetchState, SourceRecord

Change = Callable[[SourceRecord], FetchState]


class SourceMemory:
    """Changes states of sources, each read and written in one transaction: nobody's lesson is lost to another's."""

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
    """What acquisition remembers of a source, from what the catalog keeps."""
    kept = record.state
    text = kept.refresh.get("state")
    state = (
        from_json(text) if text else SourceState(source=record.name, url=kept.url, next_at=kept.next_check_at)
    )
    return replace(
        state,
        source=record.name,
        url=kept.url,
        next_at=kept.next_check_at,
        every_s=float(kept.refresh.get("every_s", 0.0)),
        id_path=id_path_of(record),
        # A person who sets a source going again means it.
        is_stopped=kept.status == "gone",
    )


def id_path_of(record: SourceRecord) -> str:
    """Where the items of a source name their ids, if `with_id_path` said so."""
    return str(record.state.refresh.get("id_path", ""))


def with_id_path(record: SourceRecord, path: str) -> FetchState:
    """The state of a source whose items name their ids there from now on."""
    return replace(record.state, refresh={**record.state.refresh, "id_path": path})


def saved(record: SourceRecord, state: SourceState) -> FetchState:
    """What the catalog keeps of a source in this state."""
    kept = record.state
    return replace(
        kept,
        url=state.url,
        status="gone" if state.is_stopped else kept.status,
        etag=state.validators.etag,
        last_modified=state.validators.last_modified,
        next_check_at=state.next_at,
        last_checked_at=max(filter(None, (state.looked_at, kept.last_checked_at)), default=None),
        last_success_at=state.looked_at,
        failures=state.failures,
        moved_to=state.moved_to,
        refresh={**kept.refresh, "state": to_json(state)},
    )


def paced(record: SourceRecord, every: timedelta | None, now: datetime) -> FetchState:
    """The state of a source that is to be looked at so often from now on; None leaves it to the policy."""
    every_s = every.total_seconds() if every else 0.0
    refresh = {name: value for name, value in record.state.refresh.items() if name != "every_s"}
    if not every_s:
        return replace(record.state, refresh=refresh)
    state = state_of(record)
    moment = state.next_at
    if state.looked_at is not None and not state.failures:
        moment = max(state.looked_at + timedelta(seconds=every_s), state.not_before or now, now)
    return replace(record.state, next_check_at=moment, refresh={**refresh, "every_s": every_s})
