"""What readers of an installation see, in words that no layout of its logs and no numbering of items can change."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from email.message import EmailMessage
from hashlib import blake2b
from pathlib import Path

from feedweir import Item, Weir
from feedweir.ask.why import Clause
from feedweir.deliver.render.view import EntryView
from tests.deliver.receivers import Mailbox, Receiver
from tests.golden.worlds import World

_ALL = 1_000_000
_NUMBER = re.compile(r"\b\d{10,}\b")


class Reading:
    """What readers see, in words."""

    def __init__(self, weir: Weir) -> None:
        self._weir = weir
        self._views = [weir.feed_views.feed(feed.name, _ALL) for feed in weir.feed_views.feeds()]
        self._names: dict[int, str] = {}
        """What items are called, by number."""
        for view in self._views:
            shown = [entry.item for entry in view.entries if not entry.item.made_of] if view else []
            self._names |= {item.seq: _name(item) for item in shown}

    def feeds(self) -> dict[str, list[str]]:
        return {
            f"{view.kind} {view.name}": [
                self._source_line(entry.item) if view.kind == "source" else self._line(entry)
                for entry in view.entries
            ]
            for view in self._views
            if view is not None
        }

    def _source_line(self, item: Item) -> str:
        """Everything that was read of an item."""
        seen = (
            item.summary, item.content, item.link, item.links, item.authors, item.categories, item.published,
            item.updated, item.arrived, item.language, item.enclosures, item.extensions, item.raw,
        )  # fmt: skip
        return f"{_name(item)} {item.title!r} {_digest(repr(seen))}"

    def _line(self, entry: EntryView) -> str:
        """Which item stands there, with whom, and what was constructed."""
        item = entry.item
        joined = [
            f"{identifier}: {', '.join(_name(partner) for partner in partners)}"
            for identifier, partners in entry.annotation
        ]
        if not item.made_of:
            return "; ".join([_name(item), *joined])
        parts = " + ".join(map(self._name_of, item.made_of))
        made = self.named(f"{item.title!r} {item.link} {item.categories} {item.time.isoformat()} {item.raw}")
        return "; ".join([f"made of {parts}", *joined, made])

    def deliveries(self, outputs: Path, receiver: Receiver, mailbox: Mailbox) -> dict[str, list[str]]:
        def plain(text: str) -> list[str]:
            return self.named(text.replace(receiver.url, "HOOK")).splitlines()

        files = {
            f"file {path.name}": plain(
                _readable(path.read_bytes()) if path.suffix == ".json" else path.read_text("utf-8")
            )
            for path in sorted(outputs.glob("*"))
        }
        # What is sent at once arrives in any order.
        posted: dict[str, list[str]] = {}
        for request in sorted(receiver.requests, key=lambda request: request.body):
            posted.setdefault(f"posted {request.path}", []).extend(plain(_readable(request.body)))
        mails = {"mail": [line for mail in sorted(map(_mail_text, mailbox.messages)) for line in plain(mail)]}
        return {**files, **posted, **mails}

    def answers(self, world: World) -> dict[str, str]:
        why = {
            f"why {item} in {feed}": "\n".join(_meaning(self._weir.ask.why(item, feed)).lines())
            for item, feed in world.asked
        }
        explained = {f"explain {feed}": self._plan(feed) for feed in world.explained}
        return {heading: self.named(text) for heading, text in {**why, **explained}.items()}

    def _plan(self, feed: str) -> str:
        """Without what it costs: that is estimated from counts of samples."""
        return replace(self._weir.ask.explain(feed), costs=()).text

    def named(self, text: str) -> str:
        """With the names of items instead of their numbers."""
        return _NUMBER.sub(lambda found: self._name_of(int(found[0])), text)

    def _name_of(self, number: int) -> str:
        if number not in self._names:
            entry = self._weir.feed_views.item(number)
            self._names[number] = _name(entry.item) if entry else str(number)
        return self._names[number]


def _meaning(told: Clause) -> Clause:
    """Without what the matcher did, which may take another way to the same answer every time it is compiled."""
    return replace(told, parts=tuple(part for part in told.parts if not part.text.startswith("matched")))


def _readable(body: bytes) -> str:
    return json.dumps(json.loads(body), ensure_ascii=False, indent=1)


def _name(item: Item) -> str:
    revision = f"#{item.revision}" if item.revision else ""
    return (
        f"{item.identity}{revision}"
        if item.identity.startswith(item.source.lower())
        else (f"{item.source}:{item.identity}{revision}")
    )


def _mail_text(mail: EmailMessage) -> str:
    parts = [part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"]
    return "\n".join([f"To: {mail['To']}", f"Subject: {mail['Subject']}", *parts])


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()
