"""All feeds with joins of a version as objects, as the program itself never needs them."""

from __future__ import annotations

from feedweir.join.stored.join_versions import StoredJoins
from feedweir.join.streams import JoinSet


def everything(joins: StoredJoins) -> JoinSet:
    return JoinSet(feed for held in joins._held for feed in held.feeds())
