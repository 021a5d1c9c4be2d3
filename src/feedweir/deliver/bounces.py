"""Reports of mail servers about messages that could not be delivered after all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage, Message
from email.policy import default as MAIL_POLICY

_STATUS = re.compile(r"\b([245])\.\d{1,3}\.\d{1,3}\b")
_TAGGED = re.compile(r"\+(\d{1,18})@")
_THREAD = re.compile(r"<subscription-(\d{1,18})@")
_MESSAGE_ID = re.compile(r"<([0-9a-f]{32})@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """What a report says, as far as it can be read."""

    subscription: int | None
    key: str
    """The parcel's, empty when the report does not quote the message."""
    is_final: bool
    reason: str


def bounce_of(report: bytes) -> Bounce | None:
    """The bounce that a message reports; None for a message that is no report of a failure."""
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
    """The return path tells it, or the thread of the message that is quoted."""
    addresses = " ".join(str(message.get(name, "")) for name in ("To", "Delivered-To", "X-Original-To"))
    found = _first(_TAGGED, addresses) or _first(_THREAD, text)
    return int(found) if found else None


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""
