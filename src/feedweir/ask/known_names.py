"""Names of feeds that questions have found, as long as no definition changes: most find the same ones again."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

from feedweir.catalog import Catalog
from feedweir.items.owners import concerns

_MOST_OWNERS = 1_000
_MOST_NAMES = 1_000_000


class KnownNames:
    """For any number of threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._feeds = catalog.feeds
        self._turn = Lock()
        self._version = -1
        self._called: dict[int, tuple[str, str]] = {}
        self._counts: dict[str | None, int] = {}

    def bring_up(self, version: int) -> None:
        """Forget definitions from before this version."""
        with self._turn:
            if version != self._version:
                self._version, self._called, self._counts = version, {}, {}

    def of(self, ids: Iterable[int], owner: str | None) -> dict[int, str]:
        """The names of those of these feeds that there are and that concern an owner."""
        wanted, called = set(ids), self._called
        missing = wanted - called.keys()
        if missing:
            if len(called) > _MOST_NAMES:
                called.clear()
            called |= self._feeds.called(missing)
        found = ((id_, called[id_]) for id_ in wanted if id_ in called)
        return {id_: name for id_, (name, whose) in found if owner is None or concerns(whose, owner)}

    def count(self, owner: str | None) -> int:
        """How many feeds there are that concern an owner."""
        counts = self._counts
        if owner not in counts:
            if len(counts) > _MOST_OWNERS:
                counts.clear()
            counts[owner] = self._feeds.count(owner=owner)
        return counts[owner]
