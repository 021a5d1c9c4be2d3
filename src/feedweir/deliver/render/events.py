"""Server-sent events: a feed as a stream that a client can leave and resume.

Values only; the HTTP server reads what comes after the client's `Last-Event-ID` and writes the bytes.
Guarantee: a client that sends the last id it saw gets everything after it exactly once; others get what is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from feedweir.deliver.address import Address
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.render.view import EntryView, FeedView

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = b": still here\n\n"
"""Sent during silence, so that no proxy takes the connection for dead."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where a client resumes a stream; `missed` if entries after its id may have been deleted."""

    after: int
    missed: bool = False


def resumption(last_event_id: str, *, newest: int, oldest_kept: int = 0) -> Resumption:
    """Where a client's stream continues: after its id, or after the newest entry if the id is not ours.

    The id is a sequence number; one beyond the newest is from another installation's stream.
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
    """The first bytes of a stream: when and with which id to reconnect if the connection breaks before the first event,
    and whether entries were missed."""
    begin = f"retry: {round(retry_s * 1000)}\nid: {resumed.after}\n\n".encode()
    return begin + (event("", "missed", str(resumed.after)) if resumed.missed else b"")


def event(id_: str, name: str, data: str) -> bytes:
    """One event; every line of the data is a line of its own, whatever its line ending was."""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    fields = ([f"id: {id_}"] if id_ else []) + [f"event: {name}"] + [f"data: {line}" for line in lines]
    return ("\n".join(fields) + "\n\n").encode("utf-8", "replace")
