"""What is known of a source between two polls, across restarts: the value that refresh rules decide by, its row in
the catalog, and the one way to change it."""

from __future__ import annotations

import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from feedweir.acquire.fetch.transport import Validators
from feedweir.acquire.refresh.source_history import History
from feedweir.catalog import Catalog, FetchState, SourceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """How often the document itself asks to be polled."""

    ttl_s: int = 0
    skip_hours: tuple[int, ...] = ()
    """Hours of the day in UTC."""
    skip_days: tuple[int, ...] = ()
    """Monday is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """A source: its address, what is known of it, when to poll it next."""

    source: str
    url: str
    next_at: datetime
    not_before: datetime | None = None
    """What the server and the document allow: no decision may move `next_at` before it."""
    validators: Validators = field(default_factory=Validators)
    polled_at: datetime | None = None
    """The last poll that succeeded, changed or not."""
    failures: int = 0
    """In a row."""
    failure: str = ""
    """The last poll's failure, empty when it went well."""
    is_unreadable: bool = False
    """The last document was no feed; until it changes, every poll fails."""
    is_stopped: bool = False
    """The server answered 410; a person may resume it."""
    page: str = ""
    """The page that was registered, when its feed was found on it."""
    moved_to: str = ""
    """Where a permanent redirect led once; a second time makes it the address."""
    hosts: tuple[str, ...] = ()
    """Every host the last poll had to ask."""
    pushed_until: datetime | None = None
    """Until then a hub pushes (`subscriber.pushed_until`), and polls are only a precaution."""
    pushed_since: datetime | None = None
    """When the push began: only a poll finds what was published between the last poll and then."""
    every_s: float = 0.0
    """The interval that its registration asks for; 0 leaves it to the policy."""
    id_path: str = ""
    """The path to the ids of its items, from its registration."""
    hints: Hints = Hints()
    history: History = field(default_factory=History)
    subscribers: int = 1


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
