"""The channels by name, and what rooms below `deliver` must know of each: how statements write it, what it is given.

All else about a channel is in its file, `deliver/channels/NAME.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelKind:
    """One channel, as statements and the outbox see it."""

    name: str
    target: str = ""
    """What a statement gives as the target, in words; empty when it gives none."""
    has_secret: bool = False
    """Whether `secret '…'` may follow the target."""
    is_written: bool = True
    """Whether statements can ask for it. WebSub subscribers ask our hub instead."""
    is_sent: bool = True
    """Whether a sender delivers it. A stream is fetched by its reader."""
    mirrors_feed: bool = False
    """Whether it shows all that the feed shows, including items from before a source was registered."""
    repeats_edits: bool = False
    """Whether an edited item is delivered again."""


_KINDS = (
    ChannelKind(name="mail", target="a mail address"),
    ChannelKind(name="file", target="the name of a file", mirrors_feed=True, repeats_edits=True),
    ChannelKind(name="webhook", target="a URL", has_secret=True),
    ChannelKind(name="notify", target="the URL of a service"),
    ChannelKind(name="stream", is_sent=False),
    ChannelKind(name="websub", target="the URL of a subscriber", is_written=False, mirrors_feed=True),
)

CHANNEL_KINDS: Mapping[str, ChannelKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
WRITTEN_CHANNELS = tuple(kind.name for kind in _KINDS if kind.is_written)
"""Those that statements can ask for."""
SENT_CHANNELS = tuple(kind.name for kind in _KINDS if kind.is_sent)
"""Those that a sender delivers."""
