"""Mail by SMTP: one message for each parcel.

Guarantee: at least once, under one Message-ID for the same entries. If the server's response is lost, or the sender
dies before settling, the message is repeated with the same Message-ID; most mailboxes discard or merge it.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.header import Header
from email.utils import format_datetime, formataddr
from functools import lru_cache

from feedweir.deliver.channels.channel_types import ChannelContext, ChannelType
from feedweir.deliver.channels.smtp import SmtpPool, server_in
from feedweir.deliver.render.digest import Foot, digest
from feedweir.deliver.send.parcel import Destination, Parcel
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.deliver.send.threads import Threads
from feedweir.deliver.signed_links import link_token, unsubscribe_token
from feedweir.errors import DeliveryError
from feedweir.text.xml_characters import legal

_ADDRESS = re.compile(
    r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]{1,64}@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]{1,255}", re.ASCII
)
_AT_ONCE = 8
_LINE = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class MailOptions:
    """How this installation sends mail."""

    sender: str = "feedweir@localhost"
    name: str = "Feedweir"
    secret: str = ""
    """Signs unsubscribe links; without it there are none."""
    bounces: str = ""
    """Where servers report undeliverable mail (`bounces@example.org`); the sender when empty."""

    @property
    def domain(self) -> str:
        return self.sender.rpartition("@")[2] or "localhost"


@dataclass(frozen=True, slots=True)
class MailChannel:
    """Composes messages and passes them to the pool of SMTP connections."""

    pool: SmtpPool
    options: MailOptions = MailOptions()
    newest: int = 0
    threads: Threads = field(default_factory=lambda: Threads(_AT_ONCE, "mail"))

    async def send(self, parcel: Parcel) -> None:
        content = compose(parcel, self.options)
        envelope = return_path(self.options, parcel.destination.subscription)
        await self.threads.run(self.pool.send, envelope, parcel.destination.target, content)


def compose(parcel: Parcel, options: MailOptions) -> bytes:
    """The message for a parcel; the same bytes for every attempt."""
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


def message_bytes(
    headers: Mapping[str, str], text: Sequence[str], html: Sequence[str], boundary: str
) -> bytes:
    """The whole message; the pieces of a part end with a line end, except the last one.

    The standard library's generator would take longer than everything else about a digest. The pieces of a digest are
    whole lines, so that an entry is encoded once for all its readers.
    """
    body = _body("plain", text) if not html else _alternatives(text, html, boundary)
    head = "".join(f"{name}: {encoded(value, name)}\r\n" for name, value in headers.items())
    return (head + "MIME-Version: 1.0\r\n").encode("ascii") + body


def _alternatives(text: Sequence[str], html: Sequence[str], boundary: str) -> bytes:
    """The boundary starts with `=_`, which encoded parts never contain."""
    fence = f"--=_{boundary}".encode("ascii")
    kind = f'Content-Type: multipart/alternative; boundary="=_{boundary}"\r\n\r\n'.encode("ascii")
    parts = b"".join(fence + b"\r\n" + part + b"\r\n" for part in (_body("plain", text), _body("html", html)))
    return kind + parts + fence + b"--\r\n"


def _body(kind: str, pieces: Sequence[str]) -> bytes:
    head = (
        f'Content-Type: text/{kind}; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n'
    )
    return head.encode("ascii") + b"".join(map(quoted, pieces))


@lru_cache(maxsize=2048)
def quoted(text: str) -> bytes:
    """Quoted-printable with the line endings of mail; stray carriage returns would break lines."""
    plain = legal(text).replace("\r\n", "\n").replace("\r", "\n")
    return binascii.b2a_qp(plain.encode("utf-8"), istext=True).replace(b"\n", b"\r\n")


def encoded(value: str, name: str) -> str:
    """A header's value, encoded (RFC 2047) unless it is ASCII."""
    if value.isascii():
        return value
    return Header(value, "utf-8", _LINE, name).encode(linesep="\r\n")


def recipient(target: str) -> str:
    """A mail address that can be used in a header; raises a final DeliveryError for anything else."""
    if not _ADDRESS.fullmatch(target):
        raise DeliveryError(f"{target!r} is not a mail address", is_final=True, hint="as in ann@example.org")
    return target


def thread_id(subscription: int, options: MailOptions) -> str:
    """The id of a message that is never sent: all messages of a subscription are replies to it."""
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
    """Where reports of undeliverable mail go; the address itself contains the subscription's number."""
    name, at, domain = options.bounces.partition("@")
    return f"{name}+{subscription}@{domain}" if at else options.sender


def _open(context: ChannelContext, stack: ExitStack) -> MailChannel | None:
    """None without a mail server."""
    settings = context.settings
    server = server_in(settings)
    if server is None:
        return None
    pool = SmtpPool(server)
    stack.callback(pool.close)
    options = MailOptions(sender=settings.mail_from, bounces=settings.bounces, secret=context.link_secret)
    return MailChannel(pool, options)


def _check_target(target: str, has_stylesheet: bool) -> None:
    recipient(target)


CHANNEL = ChannelType(
    open=_open,
    check_target=_check_target,
    # The custom of mail servers: about two days.
    retry=RetryPolicy(first_s=60, factor=2, most_s=4 * 3_600, attempts=22),
    at_once=_AT_ONCE,
)
