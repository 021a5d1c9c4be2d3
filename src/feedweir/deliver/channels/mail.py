"""Mail by SMTP: one message for each parcel.

Guarantee: at least once, under one Message-ID for the same entries. A server that took the message but whose answer was
lost (or a sender that died before settling) makes a repeat with the same Message-ID; most mailboxes drop or fold it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.headerregistry import Address as MailAddress
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime

from feedweir.deliver.channels.smtp import SmtpPool
from feedweir.deliver.digest import digest
from feedweir.deliver.parcel import Destination, Parcel
from feedweir.deliver.plain import legal
from feedweir.deliver.unsubscribe import unsubscribe_token
from feedweir.errors import DeliveryError


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

    async def send(self, parcel: Parcel) -> None:
        message = compose(parcel, self.options)
        content = message.as_bytes(policy=SMTP_POLICY)
        envelope = return_path(self.options, parcel.destination.subscription)
        await asyncio.to_thread(self.pool.send, envelope, parcel.destination.target, content)


def compose(parcel: Parcel, options: MailOptions) -> EmailMessage:
    """The message for a parcel: the same one every time, but for the boundary between its parts."""
    destination = parcel.destination
    unsubscribe = unsubscribe_link(destination, options)
    made = digest(parcel.view, destination.address, unsubscribe=unsubscribe, transformed=parcel.transformed)
    message = EmailMessage(policy=SMTP_POLICY)
    message["From"] = MailAddress(display_name=options.name, addr_spec=options.sender)
    message["To"] = recipient(destination.target)
    message["Subject"] = made.subject
    message["Date"] = format_datetime(parcel.made_at)
    message["Message-ID"] = f"<{parcel.key}@{options.domain}>"
    # Mail programs show the messages of a subscription as one conversation.
    message["References"] = thread_id(destination.subscription, options)
    message["In-Reply-To"] = thread_id(destination.subscription, options)
    message["List-Id"] = f"<subscription-{destination.subscription}.feedweir.{options.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["Precedence"] = "bulk"
    if unsubscribe:
        message["List-Unsubscribe"] = f"<{unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_bodied(made.text), cte="quoted-printable")
    if made.html:
        message.add_alternative(_bodied(made.html), subtype="html", cte="quoted-printable")
        message.set_boundary(f"=_{parcel.key}")
    return message


def recipient(target: str) -> MailAddress:
    """A mail address that can stand in a header; raises DeliveryError, final, for what is none."""
    try:
        address = MailAddress(addr_spec=target.strip())
    except (HeaderParseError, ValueError, IndexError):
        address = None
    if address is None or not address.username or not address.domain or not target.isprintable():
        raise DeliveryError(f"{target!r} is not a mail address", is_final=True)
    return address


def thread_id(subscription: int, options: MailOptions) -> str:
    """The message, never sent, that all messages of a subscription answer to."""
    return f"<subscription-{subscription}@{options.domain}>"


def unsubscribe_link(destination: Destination, options: MailOptions) -> str:
    if not options.secret or not destination.address.base:
        return ""
    token = unsubscribe_token(options.secret, destination.subscription)
    return f"{destination.address.base}/unsubscribe/{token}"


def return_path(options: MailOptions, subscription: int) -> str:
    """Where a report about an undeliverable message goes; it tells which subscription by itself."""
    name, at, domain = options.bounces.partition("@")
    return f"{name}+{subscription}@{domain}" if at else options.sender


def _bodied(text: str) -> str:
    # Line ends as mail has them come from the policy; stray carriage returns would make lines of their own.
    return legal(text).replace("\r\n", "\n").replace("\r", "\n")
