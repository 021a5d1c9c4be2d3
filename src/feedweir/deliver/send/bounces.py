"""Mail servers' reports of undeliverable mail: parsed, and recorded with their subscriptions."""

from __future__ import annotations

import logging
import mailbox
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage, Message
from email.policy import default as MAIL_POLICY
from pathlib import Path

from feedweir.catalog import Catalog, Delivery, Failure
from feedweir.deliver.send.parcel import parcel_key
from feedweir.errors import CatalogError, FeedweirError, SettingsError
from feedweir.health.loop import Loop

_STATUS = re.compile(r"\b([245])\.\d{1,3}\.\d{1,3}\b")
_TAGGED = re.compile(r"\+(\d{1,18})@")
_THREAD = re.compile(r"<subscription-(\d{1,18})@")
_MESSAGE_ID = re.compile(r"<([0-9a-f]{32})@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """What a report says, as far as it can be parsed."""

    subscription: int | None
    key: str
    """The parcel's; empty if the report does not quote the message."""
    is_final: bool
    reason: str


def bounce_of(report: bytes) -> Bounce | None:
    """The failure that a message reports; None for any other message."""
    message = message_from_bytes(report, policy=MAIL_POLICY)
    fields = [field for part in message.walk() for field in _delivery_fields(part)]
    failed = [field for field in fields if str(field.get("Action", "")).strip().lower() == "failed"]
    if not failed:
        return None
    status = _STATUS.search(str(failed[0].get("Status", "")))
    text = report.decode("utf-8", "replace")
    return Bounce(
        subscription=_subscription(message, text),
        key=_first(_MESSAGE_ID, text),
        is_final=status is None or status[1] == "5",
        reason=" ".join(str(failed[0].get("Diagnostic-Code", "") or "undeliverable").split())[:300],
    )


def _delivery_fields(part: EmailMessage | Message) -> list[Message]:
    if part.get_content_type() != "message/delivery-status":
        return []
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []


def _subscription(message: EmailMessage | Message, text: str) -> int | None:
    """From the return path, or from the thread of the quoted message."""
    addresses = " ".join(str(message.get(name, "")) for name in ("To", "Delivered-To", "X-Original-To"))
    found = _first(_TAGGED, addresses) or _first(_THREAD, text)
    return int(found) if found else None


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


_log = logging.getLogger(__name__)

_POLL_S = 60.0
_RECENT = 2_000
"""How many lines of a log are searched for the returned message."""


def record_bounce(catalog: Catalog, report: bytes, now: datetime) -> int | None:
    """Record a report as a failure, and in the delivery log if it quotes one of our messages.

    Returns the subscription; None if this is no report, or not about our mail. A report is only mail, and anyone can
    write mail: it informs the subscriber and ends nothing.
    """
    bounce = bounce_of(report)
    if bounce is None or bounce.subscription is None:
        return None
    try:
        record = catalog.subscriptions.with_id(bounce.subscription)
    except CatalogError:
        return None
    if record.channel != "mail":
        return None
    reason = f"returned by the mail server: {bounce.reason}"
    catalog.failures.record([Failure(kind="subscription", resource=str(record.id), at=now, reason=reason)])
    # Only someone who received the message knows its key: nobody else can write into the delivery log.
    if lines := _lines_of(catalog, record.id, bounce.key):
        catalog.deliveries.returned(lines, now, reason)
    return record.id


def _lines_of(catalog: Catalog, subscription: int, key: str) -> list[Delivery]:
    """The lines about the recently sent message with this key; none if it is not found."""
    together: dict[datetime, list[Delivery]] = {}
    for line in catalog.deliveries.of(subscription, limit=_RECENT):
        if line.outcome == "sent":
            together.setdefault(line.at, []).append(line)
    found = (
        lines
        for lines in together.values()
        if parcel_key(subscription, [line.element_key for line in lines]) == key
    )
    return sorted(next(found, []), key=lambda line: line.id)


def read_mailbox(catalog: Catalog, path: Path, now: datetime) -> int:
    """Record new reports in a Maildir, or all in an mbox file, which is then emptied; returns how many were ours.

    In a Maildir, reports are marked as seen. After a crash a report may be read twice: better than not at all.
    """
    if not path.exists():
        raise SettingsError(f"there is no mailbox {path}")
    try:
        return _read_maildir(catalog, path, now) if path.is_dir() else _read_mbox(catalog, path, now)
    except (OSError, mailbox.Error) as error:
        raise SettingsError(f"the mailbox {path} cannot be read: {error}") from error


def _read_maildir(catalog: Catalog, path: Path, now: datetime) -> int:
    box, ours = mailbox.Maildir(path, create=False), 0
    for key in sorted(box.keys()):
        message = box[key]
        if message.get_subdir() == "new":
            ours += record_bounce(catalog, box.get_bytes(key), now) is not None
            message.set_subdir("cur")
            message.add_flag("S")
            box[key] = message
    return ours


def _read_mbox(catalog: Catalog, path: Path, now: datetime) -> int:
    box, ours = mailbox.mbox(path, create=False), 0
    box.lock()
    try:
        for key in sorted(box.keys()):
            ours += record_bounce(catalog, box.get_bytes(key), now) is not None
            box.remove(key)
        box.flush()
    finally:
        box.close()
    return ours


class BounceLoop(Loop):
    """Reads a mailbox once a minute, in a thread."""

    def __init__(
        self, catalog: Catalog, path: Path, clock: Callable[[], datetime], *, poll_s: float = _POLL_S
    ) -> None:
        super().__init__("bounces", "reading returned mail fails")
        self._catalog = catalog
        self._path = path
        self._clock = clock
        self._poll_s = poll_s

    def _run(self) -> None:
        while True:
            try:
                read_mailbox(self._catalog, self._path, self._clock())
                self._standing.well()
            except (FeedweirError, OSError) as error:
                self._standing.failed(error)
                _log.exception("reading the mailbox failed; retrying")
            if self._stopping.wait(self._poll_s):
                return
