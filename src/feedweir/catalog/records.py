"""The values that go into the catalog and come out of it.

What comes in bulk is a named tuple, which is as frozen as a dataclass and three times as fast to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

FeedKind: TypeAlias = Literal["source", "virtual"]
SourceStatus: TypeAlias = Literal["active", "paused", "gone"]
SubscriptionStatus: TypeAlias = Literal["active", "paused", "dropped"]
FailureKind: TypeAlias = Literal["source", "feed", "subscription", "channel"]
EntryState: TypeAlias = Literal["pending", "claimed", "sent", "failed", "dead"]
Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFeed:
    """A feed to be added or replaced: a source with its `url`, or a virtual feed and the names it `reads`."""

    name: str
    kind: FeedKind
    statement: str
    """Its definition as canonical text."""
    reads: tuple[str, ...] = ()
    url: str = ""
    """Empty for a source that is not fetched: one that is pushed to, or made from another feed."""
    owner: str = ""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRecord:
    """A feed as it is now. Its `id` is kept when it is replaced, and never given again when it is dropped."""

    id: int
    name: str
    kind: FeedKind
    statement: str
    reads: tuple[str, ...]
    owner: str
    created_at: datetime
    version: int
    """The version that last changed it."""


class FirstDocument(NamedTuple):
    """The first document of a source that brought items, and when the source was registered."""

    number: int | None
    """None before there was one."""
    registered_at: datetime


class Definition(NamedTuple):
    """A feed as of some version: all that compiling needs."""

    id: int
    name: str
    kind: FeedKind
    statement: str


class Change(NamedTuple):
    """One line of the log of definitions. `detail` holds what the statement alone does not say."""

    version: int
    id: int
    action: Literal["create", "replace", "drop"]
    kind: Literal["source", "virtual", "subscription"]
    name: str
    """A feed's name; empty for a subscription."""
    statement: str
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchState:
    """What is remembered of a source between two fetches; saved as a whole."""

    feed_id: int
    url: str
    """Where to fetch: the registered URL, or where it has permanently moved."""
    status: SourceStatus = "active"
    etag: str = ""
    last_modified: str = ""
    """Both validators byte for byte as the server sent them."""
    validated_url: str = ""
    """The address that gave them."""
    body_hash: str = ""
    """Of the last document."""
    next_check_at: datetime
    not_before: datetime | None = None
    """What the server and the document allow: no policy may choose an earlier time."""
    last_success_at: datetime | None = None
    failures: int = 0
    """Failures since the last success."""
    failure: str = ""
    """The last of them in words."""
    is_unreadable: bool = False
    """Whether the last document was no feed."""
    page: str = ""
    """The page that was registered, when its feed was found on it."""
    moved_to: str = ""
    """Where a permanent redirect pointed that is not yet confirmed."""
    hosts: tuple[str, ...] = ()
    """Every host that the last fetch had to ask."""
    pushed_until: datetime | None = None
    pushed_since: datetime | None = None
    """Since when and until when a hub pushes."""
    every_s: float = 0.0
    """The interval that its registration asks for; 0 leaves it to the policy."""
    id_path: str = ""
    """Where its registration says that its items name their ids."""
    ttl_s: int = 0
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    """How often its document asks to be polled."""
    history: Json = field(default_factory=dict)
    """The refresh policy's statistics."""
    hub: str = ""
    """The hub that an operator set."""
    lease: Json = field(default_factory=dict)
    """The subscription at its hub."""
    imported_from: tuple[str, ...] = ()
    """The addresses under which it was imported."""
    description: Json = field(default_factory=dict)
    """The feed's description in its last readable document: title, link, language, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """A source that is fetched: its name, its owner and its state."""

    name: str
    owner: str
    state: FetchState


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSubscription:
    feed: str
    statement: str
    channel: str
    """What carries it: `mail`, `file`, `webhook`, …"""
    target: str
    schedule: Json = field(default_factory=dict)
    options: Json = field(default_factory=dict, repr=False)
    """The channel's own settings, secrets included."""
    owner: str = ""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRecord:
    id: int
    feed_id: int
    statement: str
    channel: str
    target: str
    schedule: Json
    options: Json = field(repr=False)
    status: SubscriptionStatus
    owner: str
    created_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Where a subscription stands in its schedule."""

    subscription_id: int
    next_due_at: datetime | None = None
    """When to look at it; None while nothing of it can go."""
    last_sent_at: datetime | None = None
    state: Json = field(default_factory=dict)
    channel: str = ""
    """Its subscription's, by which senders look for it."""
    hears: bool = True
    """Whether what arrives makes it due at once."""


class FeedCounts(NamedTuple):
    """What one batch adds to a feed's statistics."""

    feed_id: int
    items: int = 0
    """Items the feed was asked about."""
    hits: int = 0
    """Items that are in it."""
    candidates: int = 0
    """How often the matcher had to check it: what it costs."""
    last_hit_at: datetime | None = None


class FeedStatistics(NamedTuple):
    """Totals, and the same with the past fading (see `statistics.HALF_LIFE_S`), as of `recent_at`."""

    feed_id: int
    items: int
    hits: int
    candidates: int
    last_hit_at: datetime | None
    recent_items: float
    recent_hits: float
    recent_candidates: float
    recent_at: datetime


class Fading(NamedTuple):
    """What is left of the weights of a source's atoms, except of those that are spared."""

    source_id: int
    share: float
    spared: tuple[str, ...] = ()


class AtomCount(NamedTuple):
    """How often an atom held among the items of a source; `weight` is whatever else the optimizer adds up."""

    source_id: int
    atom: str
    times: int
    weight: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One thing that went wrong, recorded against what it happened to."""

    kind: FailureKind
    resource: str
    """The feed's name, the subscription's number, the channel's name."""
    at: datetime
    reason: str
    batch: str = ""


class NewEntry(NamedTuple):
    """A delivery to be made. (`subscription_id`, `element_key`) is what is never sent twice."""

    subscription_id: int
    element_key: str
    payload: Json
    not_before: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A delivery in the outbox; numbers grow in the order of the stream."""

    id: int
    subscription_id: int
    element_key: str
    payload: Json
    state: EntryState
    attempts: int
    due_at: datetime | None
    """When a sender may take it: its time, its retry, the end of another's lease. None when it is settled."""
    worker: str
    reason: str
    created_at: datetime
    settled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOutcome:
    """The result for a claimed entry. `failed` is tried again at `retry_at`; `dead` waits for a person."""

    id: int
    state: Literal["sent", "failed", "dead"]
    retry_at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One line of a subscription's delivery log."""

    id: int
    subscription_id: int
    outbox_id: int
    element_key: str
    at: datetime
    outcome: Literal["sent", "failed", "dead", "replayed", "returned"]
    attempt: int
    worker: str
    reason: str


class Waiting(NamedTuple):
    """How much waits for a subscription, and since when: what a digest decides by."""

    subscription_id: int
    entries: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCommit:
    """Everything a batch leaves behind in the catalog."""

    batch: str
    version: int
    """The version of the definitions it was evaluated against."""
    at: datetime
    detail: Json = field(default_factory=dict)
    counts: tuple[FeedCounts, ...] = ()
    fading: tuple[Fading, ...] = ()
    """Happens before the atoms are added."""
    atoms: tuple[AtomCount, ...] = ()
    failures: tuple[Failure, ...] = ()
    fetch_states: tuple[FetchState, ...] = ()
    entries: tuple[NewEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    batch: str
    ordinal: int
    """Grows with every commit; numbers may be left out."""
    version: int
    committed_at: datetime
    detail: Json
