"""What a channel declares: each module of this folder that is named in `channel_kinds` has a `CHANNEL`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from feedweir.channel_kinds import SENT_CHANNELS
from feedweir.config import Settings
from feedweir.deliver.send.parcel import Channel
from feedweir.deliver.send.poster import Poster
from feedweir.deliver.send.retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelContext:
    """What an installation offers a channel that is opened."""

    settings: Settings
    outputs: Path
    """The directory below which files are written."""
    link_secret: str
    """Signs the links in messages; empty when messages have none."""
    post: Poster
    clock: Callable[[], datetime]


def any_target(target: str, has_stylesheet: bool) -> None:
    """Accept every target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelType:
    """Everything particular to one channel."""

    open: Callable[[ChannelContext, ExitStack], Channel | None]
    """Open the channel; the stack closes it. None when the settings do not allow it, and its messages wait."""
    check_target: Callable[[str, bool], None] = any_target
    """Raise DeliveryError for a target that can never be reached. The flag: whether a stylesheet is applied."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    at_once: int = 64
    """How many parcels may be on their way at a time."""
    new_secret: Callable[[], str] | None = None
    """Makes a secret for a subscription whose statement gives none."""
    when_gone: Literal["paused", "dropped"] = "paused"
    """What happens to a subscription whose receiver is permanently gone."""


@cache
def channel_type(name: str) -> ChannelType:
    """The channel of this name, one of `SENT_CHANNELS`."""
    found: ChannelType = import_module(f"feedweir.deliver.channels.{name}").CHANNEL
    return found


def channel_types() -> Mapping[str, ChannelType]:
    """All channels that a sender delivers, by name."""
    return {name: channel_type(name) for name in SENT_CHANNELS}


def retry_policies() -> Mapping[str, RetryPolicy]:
    return {name: type_.retry for name, type_ in channel_types().items()}
