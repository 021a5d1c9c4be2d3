"""What a predicate means, for one item, in plain Python.

The compiled matcher decides nearly everything itself; this verifies the few candidates that it cannot decide
(similarity, graphs, odd comparisons), and tells `explain` why an item was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from operator import eq, ge, gt, le, lt
from typing import Any

from feedweir.items.attributes import WHOLE_TEXT, AttributeType, attribute_named, texts_in, values_of
from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.items.model import Item
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.item_patterns import Patterns
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    DatePart,
    Extends,
    FromFeeds,
    GraphPattern,
    Matches,
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
from feedweir.text.analyser import fold, words, words_of_html
from feedweir.text.html import text_of
from feedweir.text.regular_expressions import has_match

_BETWEEN = "\n"
_WORDS_A_STEP = 10
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


class Reading:
    """An item under evaluation: its words are analysed once, when the first clause needs them."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.patterns = Patterns(item)
        self.effort = Effort()
        self._texts: dict[str | None, tuple[tuple[str, ...], ...]] = {}
        self._bags: dict[str | None, frozenset[str]] = {}

    def for_next_query(self) -> Reading:
        """Itself, with all steps restored for another query."""
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

    def plain(self, attribute: str | None) -> tuple[str, ...]:
        """Every value of an attribute, or of the whole item's text, as people read it."""
        found = texts_in(self.item, attribute)
        return tuple(text_of(text) if is_html else text for _, _, text, is_html in found)

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
        case _:
            return ATOM_MEANINGS[type(predicate)](predicate, reading)


def _contains_terms(atom: Contains, reading: Reading) -> bool:
    return sum(_contains(term, atom.attribute, reading) for term in atom.terms) >= atom.at_least


def _compares_value(atom: Compare, reading: Reading) -> bool:
    if atom.op == "!=":
        return not _compares_value(Compare(atom.attribute, "=", atom.value, atom.part), reading)
    wanted = reading.item.arrived + atom.value.offset if isinstance(atom.value, Now) else atom.value
    return any(
        compares(found, atom.op, wanted, atom.part) for found in values_of(reading.item, atom.attribute)
    )


def _is_similar(atom: Similar, reading: Reading) -> bool:
    return similarity(reading.bag(atom.attribute), _bag(atom.text)) >= atom.threshold


def _references_link(atom: References, reading: Reading) -> bool:
    return any(references(link, atom.url) for link in reading.links(atom.attribute))


def _extends_link(atom: Extends, reading: Reading) -> bool:
    return any(extends(link, atom.url) for link in reading.links(atom.attribute))


def _shares_link(atom: SharesLink, reading: Reading) -> bool:
    wanted = {canonical_url(url) for url in atom.urls}
    return any(canonical_url(link) in wanted for link in reading.links(atom.attribute))


def _matches_text(atom: Matches, reading: Reading) -> bool:
    return any(has_match(atom.pattern, atom.flags, text) for text in reading.plain(atom.attribute))


def _is_from(atom: FromFeeds, reading: Reading) -> bool:
    return reading.item.source in atom.names


def _has_pattern(atom: TreePattern | GraphPattern, reading: Reading) -> bool:
    return reading.patterns.has(atom, reading.effort)


ATOM_MEANINGS: dict[type, Callable[[Any, Reading], bool]] = {
    Contains: _contains_terms,
    Compare: _compares_value,
    Similar: _is_similar,
    References: _references_link,
    Extends: _extends_link,
    SharesLink: _shares_link,
    Matches: _matches_text,
    FromFeeds: _is_from,
    TreePattern: _has_pattern,
    GraphPattern: _has_pattern,
}
"""By kind of atom, whether an item satisfies it."""


def _contains(term: Term, attribute: str | None, reading: Reading) -> bool:
    """As `has_term`; texts are searched only if the bag contains all whole words of the term."""
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
    """Whether the words of a term occur next to each other in one of the texts; a term without words never does."""
    wanted = term_words(term)
    return bool(wanted) and any(stands_at(wanted, term.is_prefix, text) >= 0 for text in texts)


def stands_at(wanted: Sequence[str], is_prefix: bool, text: Sequence[str]) -> int:
    """The place of the wanted words in a text, -1 if they do not occur; a prefix opens the last one."""
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
    """How much two sets overlap; 0 for two empty sets."""
    return len(one & other) / len(one | other) if one or other else 0.0


@lru_cache(maxsize=4096)
def _bag(text: str) -> frozenset[str]:
    return frozenset(words(text))


def references(link: str, url: str) -> bool:
    return host_of(link) == host_of(url) if is_host(url) else canonical_url(link) == canonical_url(url)


def extends(link: str, url: str) -> bool:
    return host_of(url) in domains_of(link) if is_host(url) else canonical_url(url) in openings_of(link)
