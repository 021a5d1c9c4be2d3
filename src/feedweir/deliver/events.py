"""Server-sent events: a feed as a stream that a client may leave and take up again.

Values only: whoever serves HTTP asks what comes after the client's `Last-Event-ID` and writes the bytes.
Guarantee: a client that sends the last id it saw gets everything after it, once; one that does not, gets what is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from feedweir.deliver.address import Address
from feedweir.deliver.render import Format, render
from feedweir.deliver.view import EntryView, FeedView

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = b": still here\n\n"
"""Sent when nothing else was for a while, so that nobody between takes the connection for dead."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where a client takes up a stream. `missed` when entries after its id may be kept no more."""

    after: int
    missed: bool = False


def resumption(last_event_id: str, *, newest: int, oldest_kept: int = 0) -> Resumption:
    """Where to go on for a client: after its id, or, without one that is ours, after the newest entry.

    The id is a sequence number; one beyond the newest is from another installation's stream, and no id of ours.
    """
    text = last_event_id.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) > newest:
        return Resumption(newest)
    return Resumption(int(text), missed=int(text) < oldest_kept - 1)


def after(entries: Iterable[EntryView], seq: int) -> tuple[EntryView, ...]:
    """The entries after a sequence number, in the order of the stream."""
    return tuple(
        sorted((entry for entry in entries if entry.item.seq > seq), key=lambda entry: entry.item.seq)
    )


def events(view: FeedView, entries: Iterable[EntryView], address: Address) -> Iterator[bytes]:
    """One `item` event for each entry: its sequence number as the id, its JSON Feed item as the data."""
    for entry in entries:
        single = FeedView(name=view.name, updated=view.updated, entries=(entry,))
        (item,) = json.loads(render(single, Format.JSON, address))["items"]
        yield event(str(entry.item.seq), "item", json.dumps(item, ensure_ascii=False))


def opening(resumed: Resumption, *, retry_s: float = 5.0) -> bytes:
    """The first bytes of a stream: how long to wait before coming back and with which id, should the line be cut before
    the first event; and what cannot be had any more."""
    begin = f"retry: {round(retry_s * 1000)}\nid: {resumed.after}\n\n".encode()
    return begin + (event("", "missed", str(resumed.after)) if resumed.missed else b"")


def event(id_: str, name: str, data: str) -> bytes:
    """One event; every line of the data becomes a line of its own, whichever way it ended."""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    fields = ([f"id: {id_}"] if id_ else []) + [f"event: {name}"] + [f"data: {line}" for line in lines]
    return ("\n".join(fields) + "\n\n").encode("utf-8", "replace")
