"""A sender with every channel that an installation offers."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from feedweir.acquire.fetch.addresses import AddressRule
from feedweir.acquire.fetch.aiohttp_transport import AiohttpTransport
from feedweir.catalog import Catalog
from feedweir.config import Settings
from feedweir.deliver.address import Address
from feedweir.deliver.channels.channel_types import ChannelContext, channel_types
from feedweir.deliver.hub import drop_ended
from feedweir.deliver.send.parcel import Channel
from feedweir.deliver.send.parcel_store import Parcels
from feedweir.deliver.send.poster import GuardedPoster
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.deliver.send.sender import EntrySource, Sender, SenderOptions
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.deliver.transforms.transformer import Transformer


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingOptions:
    """Where an installation delivers to, and under which name."""

    settings: Settings = field(default_factory=Settings)
    outputs: Path
    """The directory below which `output file` writes."""
    stylesheets: Path | None = None
    link_secret: str = ""
    """Signs the links in messages; without it they have none."""
    posts_per_host: int = 8
    retries: Mapping[str, RetryPolicy] | None = None
    """When a failed delivery is tried again, by channel; None for each channel's default."""
    sender: SenderOptions = field(default_factory=SenderOptions)


@asynccontextmanager
async def opened_sender(
    catalog: Catalog,
    entries: EntrySource,
    options: SendingOptions,
    *,
    clock: Callable[[], datetime],
    worker: str = "",
) -> AsyncIterator[Sender]:
    """A sender with every channel that the settings allow; closed, with its connections, at the end."""
    settings = options.settings
    rule = AddressRule(allow_private=settings.allow_private)
    worker = worker or worker_name()
    parcels = Parcels(catalog, worker=worker, lease_s=options.sender.lease_s, retries=options.retries)
    drop_ended(catalog, clock())
    with Transformer() as transformer, ExitStack() as stack:
        async with AiohttpTransport(rule=rule, max_connections_per_host=options.posts_per_host) as transport:
            context = ChannelContext(
                settings=settings,
                outputs=options.outputs,
                link_secret=options.link_secret,
                post=GuardedPoster(transport),
                clock=clock,
            )
            yield Sender(
                catalog,
                entries,
                open_channels(context, stack),
                worker=worker,
                clock=clock,
                transformer=transformer,
                stylesheets=Stylesheets(options.stylesheets),
                address=Address(settings.public_url.rstrip("/")),
                options=options.sender,
                parcels=parcels,
            )


def open_channels(context: ChannelContext, stack: ExitStack) -> dict[str, Channel]:
    """By name every channel that the settings allow."""
    opened = {name: type_.open(context, stack) for name, type_ in channel_types().items()}
    return {name: channel for name, channel in opened.items() if channel is not None}


def worker_name() -> str:
    """A name that no other sender has at this moment."""
    return f"{socket.gethostname()}:{os.getpid()}:{os.urandom(3).hex()}"
