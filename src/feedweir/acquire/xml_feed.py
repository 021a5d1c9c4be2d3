"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0: where a document keeps its entries, and what it says of itself."""

from __future__ import annotations

from lxml import etree

from feedweir.acquire.element_text import atom_html, atom_title, inner_html, person_name, plain
from feedweir.acquire.elements import Reading, read_entry
from feedweir.acquire.entry import Entry, Feed
from feedweir.acquire.names import Names
from feedweir.acquire.xml_tree import XmlTree
from feedweir.errors import DocumentError
from feedweir.items.dates import date_of
from feedweir.items.html import absolute, sanitised, text_of, title_text
from feedweir.items.model import FeedDescription

_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ENTRY_KEYS = frozenset(("item", "entry", "atom:entry"))
_FEED_KEYS = frozenset(("rss", "feed", "atom:feed", "rdf:rdf", "channel", "rdf", "xml"))
_HOLDERS = frozenset(("channel", "items", "feed", "atom:feed"))
_PERIODS_S = {"hourly": 3600, "daily": 86400, "weekly": 604800, "monthly": 2592000, "yearly": 31536000}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def read_xml_feed(tree: XmlTree, *, url: str, body: bytes, max_items: int) -> Feed:
    """The entries and the description of a feed; an entry document of Atom is a feed of one."""
    names = Names()
    root = tree.root
    key = names.of(root)[0]
    if key not in _FEED_KEYS and key not in _ENTRY_KEYS:
        raise DocumentError(f"the document is no feed: its root element is <{names.of(root)[1]}>")
    has_bases = b"xml:base" in body
    elements: list[etree._Element] = []
    others = _others(root, names, elements)
    channel, about = next((pair for pair in others if names.of(pair[0])[0] == "channel"), others[0])
    if key in _ENTRY_KEYS:
        elements = [root]
    if tree.closed_entries is not None:  # tags that were not closed may hold entries anywhere
        elements = [element for element in root.iter() if names.of(element)[0] in _ENTRY_KEYS]
    warnings = [tree.warning] if tree.warning else []
    if tree.closed_entries is not None and tree.closed_entries < len(elements):
        elements = elements[: tree.closed_entries]
        warnings.append("the document is cut off: its last entry was left out")
    if len(elements) > max_items:
        warnings.append(f"the document has {len(elements)} entries: only the first {max_items} are kept")
        elements = elements[:max_items]
    description = _description(channel, about, names, _base(channel, url, has_bases))
    base = url or description.link
    reading = Reading(Entry(), names, base, has_bases)
    entries = [_entry(element, reading, base) for element in elements]
    return Feed(description, entries, _authors(about, names), tuple(warnings))


def _others(
    parent: etree._Element, names: Names, entries: list[etree._Element]
) -> list[tuple[etree._Element, list[etree._Element]]]:
    """(element, its children that are no entries) for an element and those in it that hold entries: the channel
    (RSS 2.0), `items` (RSS 1.1), the feed (Atom). The entries are added to `entries`."""
    others: list[etree._Element] = []
    found = [(parent, others)]
    for element in parent:
        key = names.of(element)[0]
        if key in _ENTRY_KEYS:
            entries.append(element)
            continue
        others.append(element)
        if key in _HOLDERS:
            found += _others(element, names, entries)
    return found


def _base(element: etree._Element, url: str, has_bases: bool) -> str:
    return (element.base or url) if has_bases else url


def _entry(element: etree._Element, reading: Reading, base: str) -> Entry:
    reading.base = (element.base or base) if reading.has_bases else base
    entry = reading.entry = Entry(base=reading.base, language=element.get(_XML_LANG, ""))
    entry.guid = element.get(_ABOUT, "").strip()
    read_entry(element, reading)
    entry.raw = etree.tostring(element, encoding="unicode", with_tail=False)
    return entry


def _authors(about: list[etree._Element], names: Names) -> tuple[str, ...]:
    """Atom's authors of a feed are the authors of its entries; RSS has an editor, who is not."""
    people = (element for element in about if names.of(element)[0] == "atom:author")
    return tuple(name for name in (person_name(person, names) for person in people) if name)


def _description(
    channel: etree._Element, about: list[etree._Element], names: Names, base: str
) -> FeedDescription:
    said: dict[str, etree._Element] = {}
    links: dict[str, str] = {}
    for element in about:
        key = names.of(element)[0]
        if key == "atom:link" or (key == "link" and element.get("href")):
            links.setdefault(element.get("rel", "alternate"), absolute(element.get("href", ""), base))
        else:
            said.setdefault(key, element)
    return FeedDescription(
        title=_first(said, names, "title", "atom:title", "dc:title"),
        description=_text(said),
        link=absolute(_first(said, names, "link"), base) or links.get("alternate", ""),
        language=_first(said, names, "language", "dc:language") or channel.get(_XML_LANG, ""),
        icon=absolute(_icon(said, names), base),
        updated=date_of(
            _first(said, names, "lastbuilddate", "atom:updated", "atom:modified", "pubdate", "dc:date")
        ),
        hub=links.get("hub", ""),
        self_link=links.get("self", ""),
        ttl_s=_ttl_s(said, names),
        skip_hours=_hours(said.get("skiphours")),
        skip_days=_days(said.get("skipdays")),
    )


def _first(said: dict[str, etree._Element], names: Names, *keys: str) -> str:
    element = next((said[key] for key in keys if key in said), None)
    if element is None:
        return ""
    return atom_title(element) if names.of(element)[0] == "atom:title" else title_text(plain(element))


def _text(said: dict[str, etree._Element]) -> str:
    for key in ("description", "atom:subtitle", "atom:tagline", "dc:description", "itunes:summary"):
        if key in said:
            html = atom_html(said[key]) if key.startswith("atom:") else inner_html(said[key])
            return text_of(sanitised(html))
    return ""


def _icon(said: dict[str, etree._Element], names: Names) -> str:
    for key in ("atom:icon", "atom:logo"):
        if key in said:
            return plain(said[key])
    for key in ("image", "itunes:image"):
        if key in said:
            urls = (plain(child) for child in said[key] if names.of(child)[0] == "url")
            return next(urls, "") or said[key].get("href", "")
    return ""


def _ttl_s(said: dict[str, etree._Element], names: Names) -> int:
    """`ttl` is in minutes; `sy:` says a period and how often in it."""
    ttl = _first(said, names, "ttl")
    if ttl.isascii() and ttl.isdigit():
        return min(int(ttl[:9]) * 60, _PERIODS_S["yearly"])
    period_s = _PERIODS_S.get(_first(said, names, "sy:updateperiod").lower(), 0)
    frequency = _first(said, names, "sy:updatefrequency")
    times = int(frequency[:6]) if frequency.isascii() and frequency.isdigit() else 1
    return period_s // max(times, 1)


def _hours(element: etree._Element | None) -> tuple[int, ...]:
    texts = [plain(child) for child in element] if element is not None else []
    return tuple(sorted({int(text) % 24 for text in texts if text in _HOURS}))


_HOURS = frozenset(str(hour) for hour in range(25)) | frozenset(f"{hour:02}" for hour in range(10))


def _days(element: etree._Element | None) -> tuple[int, ...]:
    texts = [plain(child).lower() for child in element] if element is not None else []
    return tuple(sorted({_DAYS.index(text) for text in texts if text in _DAYS}))
