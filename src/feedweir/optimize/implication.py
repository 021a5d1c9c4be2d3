"""When one atom implies another of its kind, whatever the item: sound always, complete for the cases named here.

- words: a phrase implies its parts, a word every prefix of it; in an attribute of the text implies in the whole item
- comparisons of the same attribute: by the order of their values, `=` implies every range around it
- links: a URL implies what it continues, its host and the domains above; one of some URLs implies what all of them do
- sources: by inclusion; similarity: by threshold; graph patterns: by containment, their constraints included
- tree patterns: `tree_containment.py`
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from feedweir.items.attributes import WHOLE_TEXT, attribute_named
from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.match.graphs.graph_containment import contains
from feedweir.optimize.graph_names import is_part_of, may_contain
from feedweir.plan.predicates import (
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Now,
    References,
    SharesLink,
    Similar,
    Term,
)
from feedweir.text.analyser import fold, words

_MICROSECOND = timedelta(microseconds=1)
_YEAR_ONE = datetime(1, 1, 1, tzinfo=UTC)

LinkAtom = References | Extends | SharesLink
Bound = tuple[str, int | float | str]
"""A value with its kind; only values of the same kind are ordered."""


def canonical(attribute: str | None) -> str | None:
    """An attribute's own name in place of a synonym."""
    if attribute is None:
        return None
    known = attribute_named(attribute)
    return attribute if known is None else known.name


def is_in_whole_text(attribute: str | None) -> bool:
    """Whether text of the attribute is text of the item."""
    name = canonical(attribute)
    return name is None or name in WHOLE_TEXT or ":" in name


def link_attribute(atom: LinkAtom) -> str:
    """Without an attribute, all links are meant."""
    return canonical(atom.attribute) or "links"


# Words


def contains_implies(one: Contains, other: Contains) -> bool:
    """Any `at_least` terms of one leave at most the unmatched ones out of what they imply of the other."""
    name = canonical(other.attribute)
    if name != canonical(one.attribute) and not (name is None and is_in_whole_text(one.attribute)):
        return False
    matched = _matched([[term_implies(s, t) for t in other.terms] for s in one.terms])
    return one.at_least - (len(one.terms) - matched) >= other.at_least


def term_implies(one: Term, other: Term) -> bool:
    """Whether wherever one term stands, the other does."""
    these, those = words(one.text), words(other.text)
    if not these or not those:
        return not these
    places = range(len(these) - len(those) + 1)
    return any(_stands_at(these, one.is_prefix, those, other.is_prefix, at) for at in places)


def _stands_at(these: list[str], is_open: bool, those: list[str], is_prefix: bool, at: int) -> bool:
    *head, last = those
    if these[at : at + len(head)] != head:
        return False
    place = at + len(head)
    if is_prefix:
        return these[place].startswith(last)
    # A word that is only known to begin so is no whole word.
    return these[place] == last and not (is_open and place == len(these) - 1)


def _matched(edges: list[list[bool]]) -> int:
    """The size of a largest matching: rows with columns, each once."""
    partner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, is_edge in enumerate(edges[row]):
            if is_edge and column not in tried:
                tried.add(column)
                if column not in partner or place(partner[column], tried):
                    partner[column] = row
                    return True
        return False

    return sum(place(row, set()) for row in range(len(edges)))


# Values


def compare_implies(one: Compare, other: Compare) -> bool:
    return "!=" not in (one.op, other.op) and _comparable(one, other) and _within(one, other)


def comparisons_exclude(one: Compare, other: Compare) -> bool:
    """An attribute with several values can satisfy contrary comparisons."""
    is_order = "!=" not in (one.op, other.op) and _is_single(one.attribute)
    return is_order and _comparable(one, other) and _apart(one, other)


def _comparable(one: Compare, other: Compare) -> bool:
    these, those = bound_of(one), bound_of(other)
    if these is None or those is None or these[0] != those[0]:
        return False
    return canonical(one.attribute) == canonical(other.attribute) and one.part == other.part


def bound_of(atom: Compare) -> Bound | None:
    """The value in its order, or None when it is of no use for comparing comparisons.

    Values relative to the item's arrival are ordered by their offsets, unless only a part of the date counts.
    """
    value = atom.value
    if isinstance(value, Now):
        return None if atom.part else ("now", value.offset // _MICROSECOND)
    if isinstance(value, datetime):
        return ("time", _part(value, atom.part)) if value.tzinfo else None
    if isinstance(value, str):
        return ("text", fold(value).strip())
    # Whole numbers stay as they are: floats are not all of them.
    return ("number", value) if value == value else None


def _part(value: datetime, part: str | None) -> int:
    utc = value.astimezone(UTC)
    if part is None or part == "date":
        day = utc.replace(hour=0, minute=0, second=0, microsecond=0) if part else utc
        return (day - _YEAR_ONE) // _MICROSECOND
    return int(utc.weekday() if part == "weekday" else getattr(utc, part))


def _within(one: Compare, other: Compare) -> bool:
    """Whether the values that satisfy one satisfy the other."""
    (_, low), (_, high) = _bounds(one, other)
    match one.op, other.op:
        case "=", _:
            return _holds(low, other.op, high)
        case ((">" | ">="), (">" | ">=")):
            return _holds(low, ">" if (one.op, other.op) == (">=", ">") else ">=", high)
        case (("<" | "<="), ("<" | "<=")):
            return _holds(low, "<" if (one.op, other.op) == ("<=", "<") else "<=", high)
        case _:
            return False


def _apart(one: Compare, other: Compare) -> bool:
    """Whether no value satisfies both."""
    (_, here), (_, there) = _bounds(one, other)
    match one.op, other.op:
        case "=", _:
            return not _holds(here, other.op, there)
        case _, "=":
            return not _holds(there, one.op, here)
        case (("<" | "<="), (">" | ">=")):
            return _holds(here, "<" if (one.op, other.op) == ("<=", ">=") else "<=", there)
        case ((">" | ">="), ("<" | "<=")):
            return _apart(other, one)
        case _:
            return False


def _bounds(one: Compare, other: Compare) -> tuple[Bound, Bound]:
    these, those = bound_of(one), bound_of(other)
    assert these is not None
    assert those is not None
    return these, those


def _holds(one: float | str, op: str, other: float | str) -> bool:
    if isinstance(one, str) != isinstance(other, str):
        return False
    sign = (one > other) - (one < other)  # type: ignore[operator]
    return {"=": sign == 0, "!=": sign != 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[
        op
    ]


def _is_single(attribute: str) -> bool:
    known = attribute_named(attribute)
    return known is not None and not known.is_multiple


# Links


def links_imply(one: LinkAtom, other: LinkAtom) -> bool:
    if link_attribute(one) != link_attribute(other):
        return False
    match one:
        case SharesLink(urls=urls):
            return all(_page_implies(url, other) for url in urls)
        case References(url=url) if not is_host(url):
            return _page_implies(url, other)
        case References(url=url):
            return _host_implies(url, other)
        case Extends(url=url) if is_host(url):
            return isinstance(other, Extends) and is_host(other.url) and host_of(other.url) in domains_of(url)
        case Extends(url=url):
            return isinstance(other, Extends) and _deeper_implies(url, other.url)


def _page_implies(url: str, other: LinkAtom) -> bool:
    """What a link to exactly this page implies."""
    match other:
        case SharesLink(urls=urls):
            return canonical_url(url) in {canonical_url(one) for one in urls}
        case References(url=wanted) if is_host(wanted):
            return host_of(url) == host_of(wanted)
        case References(url=wanted):
            return canonical_url(url) == canonical_url(wanted)
        case Extends(url=wanted) if is_host(wanted):
            return host_of(wanted) in domains_of(url)
        case Extends(url=wanted):
            return canonical_url(wanted) in openings_of(url)


def _host_implies(host: str, other: LinkAtom) -> bool:
    """What a link to some page of this very host implies."""
    if isinstance(other, SharesLink) or not is_host(other.url) or not host_of(host):
        return False
    if isinstance(other, References):
        return host_of(host) == host_of(other.url)
    return host_of(other.url) in domains_of(host)


def _deeper_implies(url: str, wanted: str) -> bool:
    """What a link that continues this URL implies of one that continues another."""
    if not is_host(wanted):
        return canonical_url(wanted) in openings_of(url)
    # Only past its host does a URL fix the host of whatever continues it.
    is_past_host = any(mark in canonical_url(url) for mark in "/?")
    return is_past_host and host_of(wanted) in domains_of(url)


# Similarity, sources, graphs


def similar_implies(one: Similar, other: Similar) -> bool:
    is_same = canonical(one.attribute) == canonical(other.attribute)
    return is_same and one.threshold >= other.threshold and set(words(one.text)) == set(words(other.text))


def sources_imply(one: FromFeeds, other: FromFeeds) -> bool:
    return set(one.names) <= set(other.names)


def sources_exclude(one: FromFeeds, other: FromFeeds) -> bool:
    return set(one.names).isdisjoint(other.names)


def graph_implies(one: GraphPattern, other: GraphPattern) -> bool:
    """Whatever the variables are called. What the constants or the words decide is not searched for."""
    return may_contain(other, one) and (is_part_of(other, one) or contains(other, one))
