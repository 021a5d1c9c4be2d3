"""Every channel of an installation, open, and the sender that uses them."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from feedweir.acquire.addresses import AddressRule
from feedweir.acquire.aiohttp_transport import AiohttpTransport
from feedweir.catalog import Catalog
from feedweir.deliver.address import Address
from feedweir.deliver.channels.file import FileChannel
from feedweir.deliver.channels.mail import MailChannel, MailOptions
from feedweir.deliver.channels.notify import NotifyChannel, with_apprise
from feedweir.deliver.channels.smtp import SmtpPool, SmtpServer
from feedweir.deliver.channels.webhook import WebhookChannel
from feedweir.deliver.channels.websub import WebSubChannel
from feedweir.deliver.parcel import Channel
from feedweir.deliver.retry import RETRIES, RetryPolicy
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.deliver.transform import Transformer
from feedweir.keeper.entry_views import EntryViews
from feedweir.keeper.hub import drop_ended
from feedweir.keeper.parcels import Parcels
from feedweir.keeper.posting import GuardedPoster
from feedweir.keeper.sending import Sender, SenderOptions

HUB_PATH = "/hub"
"""Where web serves the WebSub hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutletOptions:
    """Where an installation delivers to, and under which name."""

    outputs: Path
    """The directory below which `output file` writes."""
    stylesheets: Path | None = None
    smtp: SmtpServer | None = None
    """Without a server, mail waits."""
    mail: MailOptions = field(default_factory=MailOptions)
    base_url: str = ""
    """Where readers reach this installation; without it there are no links back and no hub."""
    allow_private: bool = False
    """Whether webhooks may go to private and loopback addresses."""
    notify: bool = False
    """Whether Apprise may be used: it goes wherever a URL says, to private addresses too."""
    posts_per_host: int = 8
    retries: Mapping[str, RetryPolicy] = field(default_factory=lambda: RETRIES)
    """By channel: when what failed is tried again."""
    sender: SenderOptions = field(default_factory=SenderOptions)


@asynccontextmanager
async def opened_sender(
    catalog: Catalog,
    views: EntryViews,
    options: OutletOptions,
    *,
    clock: Callable[[], datetime],
    worker: str = "",
) -> AsyncIterator[Sender]:
    """A sender with every channel that the options allow; closed, with its connections, at the end."""
    rule = AddressRule(allow_private=options.allow_private)
    worker = worker or worker_name()
    parcels = Parcels(catalog, worker=worker, lease_s=options.sender.lease_s, retries=options.retries)
    drop_ended(catalog, clock())
    pool = SmtpPool(options.smtp) if options.smtp else None
    with Transformer() as transformer:
        async with AiohttpTransport(rule=rule, max_connections_per_host=options.posts_per_host) as transport:
            try:
                yield Sender(
                    catalog,
                    views,
                    channels_of(options, GuardedPoster(transport), pool, clock),
                    worker=worker,
                    clock=clock,
                    transformer=transformer,
                    stylesheets=Stylesheets(options.stylesheets),
                    address=Address(options.base_url),
                    options=options.sender,
                    parcels=parcels,
                )
            finally:
                if pool is not None:
                    pool.close()


def channels_of(
    options: OutletOptions, poster: GuardedPoster, pool: SmtpPool | None, clock: Callable[[], datetime]
) -> dict[str, Channel]:
    """The channels by the names that subscriptions know them by."""
    channels: dict[str, Channel] = {
        "file": FileChannel(options.outputs),
        "webhook": WebhookChannel(poster, clock),
    }
    if pool is not None:
        channels["mail"] = MailChannel(pool, options.mail)
    if options.base_url:
        channels["websub"] = WebSubChannel(poster, clock, options.base_url + HUB_PATH)
    notify = with_apprise() if options.notify else None
    if notify is not None:
        channels["notify"] = NotifyChannel(notify)
    return channels


def worker_name() -> str:
    """A name that no other sender has at this moment."""
    return f"{socket.gethostname()}:{os.getpid()}:{os.urandom(3).hex()}"
