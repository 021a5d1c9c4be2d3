"""OPML in and out: feeds become sources, folders virtual feeds over them, and nothing of a feed is lost on the way.

The imported feeds are kept in the catalog with their folders and all their attributes, and exported with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from feedweir.acquire.fetch.http_rules import wire_url
from feedweir.acquire.opml import Imported, Subscription, merged, read_opml, subscription, write_opml
from feedweir.acquire.refresh.source_state import SourceMemory
from feedweir.catalog import FetchState, SourceRecord
from feedweir.language.literals import format_name
from feedweir.language.tokens import quoted
from feedweir.service.installation import Weir
from feedweir.text.redact import without_secrets

_MAX_NAME_CHARS = 80


def import_opml(weir: Weir, body: bytes) -> Imported:
    """Register all feeds of an OPML file in one transaction; raises `DocumentError` when it is not OPML."""
    document = read_opml(body)
    listed = tuple(feed for feed in document if wire_url(feed.url))
    refused = tuple(
        (feed.title or feed.url, "not an http address") for feed in document if not wire_url(feed.url)
    )
    registered = _registered_urls(weir.catalog.sources.all())
    names = _names(listed, registered, {feed.name for feed in weir.catalog.feeds.all()})
    new = {url: name for url, name in names.items() if url not in registered}
    taken = {feed.name for feed in weir.catalog.feeds.all()} | set(names.values())
    folders = _folders(listed, names, weir, taken)
    statements = [f"register feed {quoted(url)} as {format_name(name)}" for url, name in new.items()]
    statements += [
        f"create or replace feed {format_name(name)} from {' | '.join(map(format_name, members))}"
        for name, members in folders.values()
    ]
    if statements:
        weir.execute(";\n".join(statements))
    _remember(weir, names)
    _remember_folders(weir, {path: name for path, (name, _) in folders.items()})
    with weir.catalog.transaction():  # two imports at once must not forget one of them
        weir.catalog.outlines.write(write_opml(merged(_kept(weir), document)).decode())
    return Imported(
        registered=tuple(new.values()),
        known=tuple(name for url, name in names.items() if url in registered),
        folders=tuple(name for name, _ in folders.values()),
        refused=refused,
    )


def export_opml(weir: Weir, *, is_public: bool = False) -> bytes:
    """The imported feeds, without those that were dropped since, and after them all other sources.

    In public, addresses go without the secrets in them.
    """
    records = {record.name: record for record in weir.catalog.sources.all()}
    names = _registered_urls(records.values())
    titles = _folder_titles(weir)
    kept = _kept(weir)
    listed = [
        _titled(feed, records[names[feed.url]] if feed.url in names else None, titles)
        for feed in kept
        if feed.url in names or not wire_url(feed.url)  # what was never registered stays
    ]
    exported = {names[feed.url] for feed in kept if feed.url in names}
    listed += [
        _subscription(record)
        for name, record in records.items()
        if name not in exported and _is_fetched(record)
    ]
    return write_opml(feed.moved(without_secrets(feed.url)) if is_public else feed for feed in listed)


def _kept(weir: Weir) -> tuple[Subscription, ...]:
    document = weir.catalog.outlines.read()
    return read_opml(document.encode()) if document else ()


def _titled(
    feed: Subscription, record: SourceRecord | None, title: Callable[[tuple[str, ...]], str]
) -> Subscription:
    """An imported feed as it is today: its address if it moved or was found on a page, its name if it was
    registered anew since it was imported, its folders as they are called now."""
    folders = tuple(title(feed.folders[:depth]) for depth in range(1, len(feed.folders) + 1))
    feed = replace(feed, folders=folders)
    if record is None:
        return feed
    if not record.state.imported_from:
        feed = feed.renamed(record.name)
    return feed if wire_url(feed.url) == wire_url(record.state.url) else feed.moved(record.state.url)


def _is_fetched(record: SourceRecord) -> bool:
    return wire_url(record.state.url) is not None


def _subscription(record: SourceRecord) -> Subscription:
    site = str(record.state.description.get("link") or "")
    return subscription(record.state.url, record.name, site)


def _registered_urls(records: Collection[SourceRecord]) -> dict[str, str]:
    """By address, as it was registered and where it moved, the name of the source."""
    known = {record.state.url: record.name for record in records}
    for record in records:
        known |= dict.fromkeys(record.state.imported_from, record.name)
    return known


def _names(listed: Sequence[Subscription], registered: Mapping[str, str], taken: set[str]) -> dict[str, str]:
    """By address the name of each source: its title, with a number where several would have the same."""
    names: dict[str, str] = {}
    used = {name.casefold() for name in taken}
    for feed in listed:
        if feed.url not in names:
            names[feed.url] = registered.get(feed.url) or _unused(feed.title or feed.url, used)
            used.add(names[feed.url].casefold())
    return names


def _folders(
    listed: Sequence[Subscription], names: Mapping[str, str], weir: Weir, taken: set[str]
) -> dict[tuple[str, ...], tuple[str, list[str]]]:
    """By folder the virtual feed it becomes, and the sources below it, those of folders inside it included."""
    below: dict[tuple[str, ...], dict[str, None]] = {}
    for feed in listed:
        for depth in range(1, len(feed.folders) + 1):
            below.setdefault(feed.folders[:depth], {})[names[feed.url]] = None
    used = {name.casefold() for name in taken}
    made = _names_today(weir)
    found: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for path, members in below.items():
        name = made.get(path) or " / ".join(part for part in path if part.strip())
        if name:
            old = _members_of(weir, name)
            chosen = name if old is not None else _unused(name, used)
            used.add(chosen.casefold())
            found[path] = (chosen, list(dict.fromkeys([*(old or ()), *members])))
    return found


def _names_today(weir: Weir) -> dict[tuple[str, ...], str]:
    """By folder the name that its feed has now; folders whose feed was dropped have none."""
    feeds = {
        path: weir.catalog.feeds.with_id(id_) for path, (id_, _) in weir.catalog.outlines.folders().items()
    }
    return {path: feed.name for path, feed in feeds.items() if feed is not None}


def _remember_folders(weir: Weir, names: Mapping[tuple[str, ...], str]) -> None:
    known = weir.catalog.outlines.folders()
    for path, name in names.items():
        id_ = weir.catalog.feeds.named(name).id
        if known.get(path, (-1, ""))[0] != id_:
            known[path] = (id_, name)
    weir.catalog.outlines.write_folders(known)


def _folder_titles(weir: Weir) -> Callable[[tuple[str, ...]], str]:
    """What folders are called: as they are written, unless their feeds were renamed since."""
    given = {path: name for path, (_, name) in weir.catalog.outlines.folders().items()}
    today = _names_today(weir)

    def title(path: tuple[str, ...]) -> str:
        name = today.get(path)
        if name is None or name == given[path]:
            return path[-1]
        return name.removeprefix(f"{today.get(path[:-1], '')} / ")

    return title


def _members_of(weir: Weir, name: str) -> tuple[str, ...] | None:
    """The members of a virtual feed that is nothing but a union; None for any other feed, and for none."""
    record = weir.catalog.feeds.find(name)
    if record is None or record.kind != "virtual":
        return None
    plain = f"create feed {format_name(name)} from {' | '.join(map(format_name, record.reads))}"
    return record.reads if record.statement.rstrip(";").split() == plain.split() else None


def _unused(wanted: str, used: set[str]) -> str:
    base = " ".join(wanted.split())[:_MAX_NAME_CHARS] or "Feed"
    name, number = base, 2
    while name.casefold() in used:
        name, number = f"{base} {number}", number + 1
    return name


def _remember(weir: Weir, names: Mapping[str, str]) -> None:
    """Save the addresses under which each source was imported: it is recognised by them, wherever it moves."""
    urls: dict[str, set[str]] = {}
    for url, name in names.items():
        urls.setdefault(name, set()).add(url)

    def remembering(record: SourceRecord) -> FetchState:
        known = urls[record.name] | set(record.state.imported_from)
        return replace(record.state, imported_from=tuple(sorted(known)))

    SourceMemory(weir.catalog).change(urls, remembering)
