"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0: where a document keeps its entries, and how it describes itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from feedweir.acquire.parse.entries import Entries, ParsedFeed, empty_entries, in_order
from feedweir.acquire.parse.xml.element_text import atom_html, atom_title, person_name
from feedweir.acquire.parse.xml.elements import read_entries
from feedweir.acquire.parse.xml.xml_element import XML_BASE, XML_LANG, XmlElement, raws
from feedweir.errors import DocumentError
from feedweir.items.model import FeedDescription
from feedweir.text.dates import date_of
from feedweir.text.html import absolute, sanitised, text_of, title_text

NO_FEED = "the document is not a feed"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ENTRY_KEYS = frozenset(("item", "entry", "atom:entry"))
_FEED_KEYS = frozenset(("rss", "feed", "atom:feed", "rdf:rdf", "channel", "rdf", "xml"))
_HOLDERS = frozenset(("channel", "items", "feed", "atom:feed"))
_LINKS = frozenset(("link", "atom:link"))
_PERIODS_S = {"hourly": 3600, "daily": 86400, "weekly": 604800, "monthly": 2592000, "yearly": 31536000}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class _Placed(NamedTuple):
    """An element, and the base of its relative links."""

    element: XmlElement
    base: str


class _Holder(NamedTuple):
    """An element that may hold entries, and the elements in it that are not entries."""

    element: XmlElement
    base: str
    others: list[XmlElement]


def read_xml_feed(
    root: XmlElement, *, url: str, has_bases: bool, max_items: int, closed_entries: int | None = None
) -> ParsedFeed:
    """The entries and the description of a feed; an entry document of Atom is a feed of one. `closed_entries` is how
    many entries are known to be whole in a document that is not well-formed."""
    if root.key not in _FEED_KEYS and root.key not in _ENTRY_KEYS:
        hint = (
            "this is a list of feeds; import it: feedweir import URL" if root.name.lower() == "opml" else ""
        )
        raise DocumentError(f"{NO_FEED}: its root element is <{root.name}>", hint=hint)
    entries: list[_Placed] = []
    holders = list(_holders(_Placed(root, _base(root, url)), entries, has_bases))
    channel = next((holder for holder in holders if holder.element.key == "channel"), holders[0])
    if root.key in _ENTRY_KEYS:
        entries = [_Placed(root, holders[0].base)]
    if closed_entries is not None:  # tags that were not closed may hold entries anywhere
        entries = list(_anywhere(_Placed(root, holders[0].base)))
    kept, warnings = _kept(entries, max_items, closed_entries)
    description = _description(channel)
    return ParsedFeed(
        description,
        _read(kept, description.link, has_bases),
        _authors(channel.others),
        warnings,
    )


def _holders(parent: _Placed, entries: list[_Placed], has_bases: bool) -> Iterator[_Holder]:
    """An element and those in it that hold entries: the channel (RSS 2.0), `items` (RSS 1.1), the feed (Atom). The
    entries are added to `entries`."""
    holder = _Holder(*parent, [])
    yield holder
    for element in parent.element:
        key = element.key
        base = _base(element, holder.base) if has_bases else holder.base
        if key in _ENTRY_KEYS:
            entries.append(_Placed(element, base))
            continue
        holder.others.append(element)
        if key in _HOLDERS:
            yield from _holders(_Placed(element, base), entries, has_bases)


def _anywhere(parent: _Placed) -> Iterator[_Placed]:
    """The entries in an element at any depth, itself among them."""
    if parent.element.key in _ENTRY_KEYS:
        yield parent
    for element in parent.element:
        yield from _anywhere(_Placed(element, _base(element, parent.base)))


def _base(element: XmlElement, base: str) -> str:
    declared = element.attributes.get(XML_BASE)
    return absolute(declared, base) or base if declared else base


def _kept(
    entries: list[_Placed], max_items: int, closed_entries: int | None
) -> tuple[list[_Placed], tuple[str, ...]]:
    """The entries that are whole, up to the limit, and warnings about the rest."""
    warnings: list[str] = []
    if closed_entries is not None and closed_entries < len(entries):
        entries = entries[:closed_entries]
        warnings.append("the document is truncated: its last entry was left out")
    if len(entries) > max_items:
        warnings.append(f"the document has {len(entries)} entries: only the first {max_items} are read")
        entries = entries[:max_items]
    return entries, tuple(warnings)


def _read(placed: list[_Placed], link: str, has_bases: bool) -> Entries:
    """The entries, those of one shape together."""
    alike: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, (element, _) in enumerate(placed):
        alike[element.shape].append(place)
    return in_order(
        [(places, _block([placed[place] for place in places], link, has_bases)) for places in alike.values()]
    )


def _block(placed: list[_Placed], link: str, has_bases: bool) -> Entries:
    elements = [element for element, _ in placed]
    entries = empty_entries(len(placed))
    entries.base = [base or link for _, base in placed]
    entries.raw = raws(elements)
    for place, element in enumerate(elements):
        attributes = element.attributes
        if attributes:
            entries.language[place] = attributes.get(XML_LANG, "")
            entries.guid[place] = attributes.get(_ABOUT, "").strip()
    read_entries(elements, entries, has_bases=has_bases)
    return entries


def _authors(about: list[XmlElement]) -> tuple[str, ...]:
    """Atom's authors of a feed are the authors of its entries; the editor of an RSS channel is not."""
    names = (person_name(element) for element in about if element.key == "atom:author")
    return tuple(name for name in names if name)


def _description(channel: _Holder) -> FeedDescription:
    children: dict[str, XmlElement] = {}
    links: dict[str, str] = {}
    for element in channel.others:
        key = element.key
        address = element.attributes.get("href") if key in _LINKS else None
        if key == "atom:link" or address:
            relation = element.attributes.get("rel", "alternate")
            links.setdefault(relation, absolute(address or element.text, channel.base))
        else:
            children.setdefault(key, element)
    return FeedDescription(
        title=_first(children, "title", "atom:title", "dc:title"),
        description=_text(children),
        link=absolute(_first(children, "link"), channel.base) or links.get("alternate", ""),
        language=_first(children, "language", "dc:language") or channel.element.attributes.get(XML_LANG, ""),
        icon=absolute(_icon(children), channel.base),
        updated=date_of(
            _first(children, "lastbuilddate", "atom:updated", "atom:modified", "pubdate", "dc:date")
        ),
        hub=links.get("hub", ""),
        self_link=links.get("self", ""),
        ttl_s=_ttl_s(children),
        skip_hours=_hours(children.get("skiphours")),
        skip_days=_days(children.get("skipdays")),
    )


def _first(children: dict[str, XmlElement], *keys: str) -> str:
    for key in keys:
        if key in children:
            return _atom_title(children[key]) if key == "atom:title" else title_text(children[key].text)
    return ""


def _atom_title(element: XmlElement) -> str:
    return atom_title(element.text, element.attributes, element if element.is_parent else None)


def _text(children: dict[str, XmlElement]) -> str:
    for key in ("description", "atom:subtitle", "atom:tagline", "dc:description", "itunes:summary"):
        if key in children:
            return text_of(
                sanitised(_atom_html(children[key]) if key.startswith("atom:") else children[key].html)
            )
    return ""


def _atom_html(element: XmlElement) -> str:
    return atom_html(element.text, element.attributes, element if element.is_parent else None)


def _icon(children: dict[str, XmlElement]) -> str:
    for key in ("atom:icon", "atom:logo"):
        if key in children:
            return children[key].text
    for key in ("image", "itunes:image"):
        if key in children:
            urls = (child.text for child in children[key] if child.key == "url")
            return next(urls, "") or children[key].attributes.get("href", "")
    return ""


def _ttl_s(children: dict[str, XmlElement]) -> int:
    """`ttl` is in minutes; `sy:` gives a period and a frequency."""
    ttl = _first(children, "ttl")
    if ttl.isascii() and ttl.isdigit():
        return min(int(ttl[:9]) * 60, _PERIODS_S["yearly"])
    period_s = _PERIODS_S.get(_first(children, "sy:updateperiod").lower(), 0)
    frequency = _first(children, "sy:updatefrequency")
    times = int(frequency[:6]) if frequency.isascii() and frequency.isdigit() else 1
    return period_s // max(times, 1)


def _hours(element: XmlElement | None) -> tuple[int, ...]:
    texts = [child.text for child in element] if element is not None else []
    return tuple(sorted({int(text) % 24 for text in texts if text in _HOURS}))


_HOURS = frozenset(str(hour) for hour in range(25)) | frozenset(f"{hour:02}" for hour in range(10))


def _days(element: XmlElement | None) -> tuple[int, ...]:
    texts = [child.text.lower() for child in element] if element is not None else []
    return tuple(sorted({_DAYS.index(text) for text in texts if text in _DAYS}))
