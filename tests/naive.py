"""The obvious, slow meaning of the language: every construct evaluated item by item, with nothing clever.

Every fast path of the project is compared with this file. When the two disagree, read this one first.
"""

from __future__ import annotations

from datetime import UTC, datetime
from operator import eq, ge, gt, le, lt

from feedweir.items.attributes import WHOLE_TEXT, AttributeType, attribute_named, values_of
from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.items.model import Item
from feedweir.items.text import fold, words, words_of_html
from feedweir.language.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Not,
    Now,
    Or,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
    TreePattern,
)

COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


def holds(predicate: Predicate, item: Item) -> bool:
    """Whether an item satisfies a predicate."""
    match predicate:
        case And(parts):
            return all(holds(part, item) for part in parts)
        case Or(parts):
            return any(holds(part, item) for part in parts)
        case Not(part):
            return not holds(part, item)
        case AtLeast(count, parts):
            return sum(holds(part, item) for part in parts) >= count
        case Contains():
            return (
                sum(_has_term(term, predicate.attribute, item) for term in predicate.terms)
                >= predicate.at_least
            )
        case Compare(op="!="):
            return not holds(Compare(predicate.attribute, "=", predicate.value, predicate.part), item)
        case Compare():
            return any(_compares(value, predicate, item) for value in values_of(item, predicate.attribute))
        case Similar(attribute, text, threshold):
            return jaccard(bag_of(item, attribute), set(words(text))) >= threshold
        case References(attribute, url):
            return any(_references(link, url) for link in links_of(item, attribute))
        case Extends(attribute, url):
            return any(_extends(link, url) for link in links_of(item, attribute))
        case SharesLink(attribute, urls):
            wanted = {canonical_url(url) for url in urls}
            return any(canonical_url(link) in wanted for link in links_of(item, attribute))
        case FromFeeds(names):
            return item.source in names
        case TreePattern():
            return has_tree_pattern(predicate, item)
        case GraphPattern():
            return has_graph_pattern(predicate, item)


# Words


def texts_of(item: Item, attribute: str | None) -> list[list[str]]:
    """The words of every value of an attribute, one list a value; of the item when it is None."""
    if attribute is None:
        found = [text for name in WHOLE_TEXT for text in texts_of(item, name)]
        return found + [list(words(value)) for _, value in item.extensions]
    kind = attribute_named(attribute)
    if kind is None or kind.type in (AttributeType.TIME, AttributeType.NUMBER):
        return []
    read = words_of_html if kind.type is AttributeType.HTML else words
    return [list(read(str(value))) for value in values_of(item, attribute)]


def bag_of(item: Item, attribute: str | None) -> set[str]:
    """The words of an attribute (all its values together), or of the whole item."""
    return {word for text in texts_of(item, attribute) for word in text}


def jaccard(one: set[str], other: set[str]) -> float:
    """How much two sets overlap; nothing overlaps with nothing by 0."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _has_term(term: Term, attribute: str | None, item: Item) -> bool:
    return any(_stands_in(term, text) for text in texts_of(item, attribute))


def _stands_in(term: Term, text: list[str]) -> bool:
    wanted = list(words(term.text))
    if not wanted:
        return False
    starts = range(len(text) - len(wanted) + 1)
    if term.is_prefix:
        head, last = wanted[:-1], wanted[-1]
        return any(
            text[at : at + len(head)] == head and text[at + len(head)].startswith(last) for at in starts
        )
    return any(text[at : at + len(wanted)] == wanted for at in starts)


# Values


def _compares(found: str | float | datetime, wanted: Compare, item: Item) -> bool:
    """Values of different kinds never compare; text compares with a number when it reads as one."""
    compare = COMPARISONS[wanted.op]
    value = item.arrived + wanted.value.offset if isinstance(wanted.value, Now) else wanted.value
    if isinstance(found, datetime) and wanted.part is not None:
        part = part_of(found, wanted.part)
        return compare(part, part_of(value, wanted.part) if isinstance(value, datetime) else value)
    if isinstance(found, str) and isinstance(value, (int, float)):
        number = number_in(found)
        return number is not None and compare(number, value)
    if isinstance(found, str) and isinstance(value, str):
        return compare(fold(found).strip(), fold(value).strip())
    if isinstance(found, datetime) and isinstance(value, datetime):
        return compare(found, value)
    if isinstance(found, (int, float)) and isinstance(value, (int, float)):
        return compare(found, value)
    return False


def part_of(time: datetime, part: str) -> float | datetime:
    """A part of a date, in UTC; `weekday` counts from Monday = 0, `date` is the midnight before."""
    utc = time.astimezone(UTC)
    if part == "date":
        return utc.replace(hour=0, minute=0, second=0, microsecond=0)
    return utc.weekday() if part == "weekday" else getattr(utc, part)


def number_in(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) != float("inf") and number == number else None


# Links


def links_of(item: Item, attribute: str | None) -> tuple[str, ...]:
    """The URLs of an attribute; every link of the item when `attribute` is None."""
    return tuple(str(value) for value in values_of(item, attribute or "links"))


def _references(link: str, url: str) -> bool:
    return host_of(link) == host_of(url) if is_host(url) else canonical_url(link) == canonical_url(url)


def _extends(link: str, url: str) -> bool:
    return host_of(url) in domains_of(link) if is_host(url) else canonical_url(url) in openings_of(link)


# Trees and graphs


def has_tree_pattern(pattern: TreePattern, item: Item) -> bool:
    """Whether the item's XML tree has the pattern."""
    raise NotImplementedError


def has_graph_pattern(pattern: GraphPattern, item: Item) -> bool:
    """Whether the item's triples have a subgraph that matches the pattern."""
    raise NotImplementedError
