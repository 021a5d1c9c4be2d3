"""What is known of a source between two polls, across restarts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from feedweir.acquire.fetch.exchange import Validators
from feedweir.acquire.refresh.source_history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the document itself asks of its readers."""

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
