"""Mail by SMTP: one message for each parcel.

Guarantee: at least once, under one Message-ID for the same entries. A server that took the message but whose answer was
lost (or a sender that died before settling) makes a repeat with the same Message-ID; most mailboxes drop or fold it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import format_datetime, formataddr

from feedweir.deliver.channels.smtp import SmtpPool
from feedweir.deliver.digest import Foot, digest
from feedweir.deliver.message import message_bytes
from feedweir.deliver.parcel import Destination, Parcel
from feedweir.deliver.threads import Threads
from feedweir.deliver.unsubscribe import link_token, unsubscribe_token
from feedweir.errors import DeliveryError

_ADDRESS = re.compile(
    r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]{1,64}@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]{1,255}", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailOptions:
    """How this installation writes."""

    sender: str = "feedweir@localhost"
    name: str = "Feedweir"
    secret: str = ""
    """Makes unsubscribe links; without it there are none."""
    bounces: str = ""
    """Where servers report what they could not deliver later (`bounces@example.org`); the sender when empty."""

    @property
    def domain(self) -> str:
        return self.sender.rpartition("@")[2] or "localhost"


@dataclass(frozen=True, slots=True)
class MailChannel:
    """Composes and hands over to the pool of SMTP connections."""

    pool: SmtpPool
    options: MailOptions = MailOptions()
    newest: int = 0
    threads: Threads = field(default_factory=lambda: Threads(8, "mail"))

    async def send(self, parcel: Parcel) -> None:
        content = compose(parcel, self.options)
        envelope = return_path(self.options, parcel.destination.subscription)
        await self.threads.run(self.pool.send, envelope, parcel.destination.target, content)


def compose(parcel: Parcel, options: MailOptions) -> bytes:
    """The message for a parcel: the same bytes every time."""
    destination = parcel.destination
    unsubscribe = unsubscribe_link(destination, options)
    foot = Foot(unsubscribe=unsubscribe, log=log_link(destination, options), zone=destination.zone)
    made = digest(parcel.view, destination.address, foot=foot, transformed=parcel.transformed)
    headers = {
        "From": formataddr((options.name, options.sender)),
        "To": recipient(destination.target),
        "Subject": made.subject,
        "Date": format_datetime(parcel.made_at),
        "Message-ID": f"<{parcel.key}@{options.domain}>",
        # Mail programs show the messages of a subscription as one conversation.
        "References": thread_id(destination.subscription, options),
        "In-Reply-To": thread_id(destination.subscription, options),
        "List-Id": f"<subscription-{destination.subscription}.feedweir.{options.domain}>",
        "Auto-Submitted": "auto-generated",
        "Precedence": "bulk",
    }
    if unsubscribe:
        headers["List-Unsubscribe"] = f"<{unsubscribe}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return message_bytes(headers, made.text_pieces, made.html_pieces, parcel.key)


def recipient(target: str) -> str:
    """A mail address that can stand in a header; raises DeliveryError, final, for what is none."""
    if not _ADDRESS.fullmatch(target):
        raise DeliveryError(f"{target!r} is not a mail address", is_final=True, hint="as in ann@example.org")
    return target


def thread_id(subscription: int, options: MailOptions) -> str:
    """The message, never sent, that all messages of a subscription answer to."""
    return f"<subscription-{subscription}@{options.domain}>"


def unsubscribe_link(destination: Destination, options: MailOptions) -> str:
    if not options.secret or not destination.address.base:
        return ""
    token = unsubscribe_token(options.secret, destination.subscription)
    return destination.address.unsubscribe(token)


def log_link(destination: Destination, options: MailOptions) -> str:
    if not options.secret or not destination.address.base:
        return ""
    return destination.address.subscription(link_token(options.secret, destination.subscription, "log"))


def return_path(options: MailOptions, subscription: int) -> str:
    """Where a report about an undeliverable message goes; it tells which subscription by itself."""
    name, at, domain = options.bounces.partition("@")
    return f"{name}+{subscription}@{domain}" if at else options.sender
