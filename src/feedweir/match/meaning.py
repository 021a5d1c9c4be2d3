"""What a predicate means, for one item, in plain Python.

The compiled matcher decides nearly everything itself; this is what it asks about the few candidates that it
cannot decide (similarity, trees, graphs, odd comparisons), and what `explain` reads a refusal from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from operator import eq, ge, gt, le, lt
from typing import Any

from feedweir.items.attributes import WHOLE_TEXT, AttributeType, attribute_named, values_of
from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.items.model import Item
from feedweir.items.text import fold, words, words_of_html
from feedweir.match.effort import Effort
from feedweir.match.patterns import Patterns
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    DatePart,
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

_BETWEEN = "\n"
_WORDS_A_STEP = 10
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


class Reading:
    """An item while it is being judged: its words are analysed once, when the first clause asks for them."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.patterns = Patterns(item)
        self.effort = Effort()
        self._texts: dict[str | None, tuple[tuple[str, ...], ...]] = {}
        self._bags: dict[str | None, frozenset[str]] = {}

    def rested(self) -> Reading:
        """The same for another query, which has as many steps as any."""
        self.effort = Effort()
        return self

    def texts(self, attribute: str | None) -> tuple[tuple[str, ...], ...]:
        """The words of every value of an attribute, one tuple a value; of the whole item when it is None."""
        if attribute not in self._texts:
            self._texts[attribute] = self._analysed(attribute)
        return self._texts[attribute]

    def bag(self, attribute: str | None) -> frozenset[str]:
        """The words of an attribute as a set."""
        if attribute not in self._bags:
            self._bags[attribute] = frozenset(word for text in self.texts(attribute) for word in text)
        return self._bags[attribute]

    def links(self, attribute: str | None) -> tuple[str, ...]:
        return tuple(str(value) for value in values_of(self.item, attribute or "links"))

    def _analysed(self, attribute: str | None) -> tuple[tuple[str, ...], ...]:
        if attribute is None:
            named = tuple(text for name in WHOLE_TEXT for text in self.texts(name))
            return named + tuple(tuple(words(value)) for _, value in self.item.extensions)
        kind = attribute_named(attribute)
        if kind is None or kind.type in (AttributeType.TIME, AttributeType.NUMBER):
            return ()
        read = words_of_html if kind.type is AttributeType.HTML else words
        return tuple(tuple(read(str(value))) for value in values_of(self.item, attribute))


def holds(predicate: Predicate, item: Item | Reading) -> bool:
    """Whether an item satisfies a predicate."""
    reading = item if isinstance(item, Reading) else Reading(item)
    match predicate:
        case And(parts):
            return all(holds(part, reading) for part in parts)
        case Or(parts):
            return any(holds(part, reading) for part in parts)
        case Not(part):
            return not holds(part, reading)
        case AtLeast(count, parts):
            return sum(holds(part, reading) for part in parts) >= count
        case Contains(attribute, terms, at_least):
            return sum(_contains(term, attribute, reading) for term in terms) >= at_least
        case Compare(attribute, "!=", value, part):
            return not holds(Compare(attribute, "=", value, part), reading)
        case Compare(attribute, op, value, part):
            wanted = reading.item.arrived + value.offset if isinstance(value, Now) else value
            return any(compares(found, op, wanted, part) for found in values_of(reading.item, attribute))
        case Similar(attribute, text, threshold):
            return similarity(reading.bag(attribute), _bag(text)) >= threshold
        case References(attribute, url):
            return any(references(link, url) for link in reading.links(attribute))
        case Extends(attribute, url):
            return any(extends(link, url) for link in reading.links(attribute))
        case SharesLink(attribute, urls):
            wanted_urls = {canonical_url(url) for url in urls}
            return any(canonical_url(link) in wanted_urls for link in reading.links(attribute))
        case FromFeeds(names):
            return reading.item.source in names
        case TreePattern() | GraphPattern():
            return reading.patterns.has(predicate, reading.effort)


def _contains(term: Term, attribute: str | None, reading: Reading) -> bool:
    """As `has_term`; only where all whole words of a term are in the bag the texts are looked through."""
    wanted = term_words(term)
    whole = wanted[:-1] if term.is_prefix else wanted
    if not wanted or not reading.bag(attribute).issuperset(whole):
        return False
    if len(wanted) == 1 and not term.is_prefix:
        return True
    texts = reading.texts(attribute)
    reading.effort.take(len(wanted) + sum(map(len, texts)) // _WORDS_A_STEP)
    return has_term(term, texts)


def has_term(term: Term, texts: Sequence[Sequence[str]]) -> bool:
    """Whether the words of a term stand next to each other in one of the texts; no words never do."""
    wanted = term_words(term)
    return bool(wanted) and any(stands_at(wanted, term.is_prefix, text) >= 0 for text in texts)


def stands_at(wanted: Sequence[str], is_prefix: bool, text: Sequence[str]) -> int:
    """Where the wanted words stand in a text, -1 when they do not; a prefix opens the last one."""
    # Texts are searched in linear time, however often their words repeat; no word has the character between them.
    laid_out = _BETWEEN.join(("", *text, ""))
    at = laid_out.find(_BETWEEN.join(("", *wanted)) + ("" if is_prefix else _BETWEEN))
    return laid_out.count(_BETWEEN, 0, at) if at >= 0 else -1


@lru_cache(maxsize=65536)
def term_words(term: Term) -> tuple[str, ...]:
    """The words of a term, as the analyser sees them."""
    return tuple(words(term.text))


def compares(found: str | float | datetime, op: str, wanted: Any, part: DatePart | None) -> bool:
    """Values of different kinds never compare; text compares with a number when it reads as one."""
    compare = _COMPARISONS[op]
    if isinstance(found, datetime) and part is not None:
        if isinstance(wanted, datetime):
            wanted = part_of(wanted, part)
        value = part_of(found, part)
        return isinstance(wanted, datetime) == isinstance(value, datetime) and (
            not isinstance(wanted, str) and compare(value, wanted)
        )
    if isinstance(found, str) and isinstance(wanted, (int, float)):
        number = number_in(found)
        return number is not None and compare(number, wanted)
    if isinstance(found, str) and isinstance(wanted, str):
        return compare(fold(found).strip(), fold(wanted).strip())
    if isinstance(found, datetime) or isinstance(wanted, datetime):
        return isinstance(found, datetime) and isinstance(wanted, datetime) and compare(found, wanted)
    return not isinstance(found, str) and not isinstance(wanted, str) and compare(found, wanted)


def part_of(time: datetime, part: DatePart) -> float | datetime:
    """A part of a date, in UTC; `weekday` counts from Monday = 0, `date` is the midnight before."""
    utc = time.astimezone(UTC)
    if part == "date":
        return utc.replace(hour=0, minute=0, second=0, microsecond=0)
    if part == "weekday":
        return utc.weekday()
    number: int = getattr(utc, part)
    return number


def number_in(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets overlap; nothing overlaps with nothing by 0."""
    return len(one & other) / len(one | other) if one or other else 0.0


@lru_cache(maxsize=4096)
def _bag(text: str) -> frozenset[str]:
    return frozenset(words(text))


def references(link: str, url: str) -> bool:
    return host_of(link) == host_of(url) if is_host(url) else canonical_url(link) == canonical_url(url)


def extends(link: str, url: str) -> bool:
    return host_of(url) in domains_of(link) if is_host(url) else canonical_url(url) in openings_of(link)
