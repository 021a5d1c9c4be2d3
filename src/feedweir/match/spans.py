"""Where in an item's text the words of a term stand, for people to see. Slow and exact: only explanations use it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from feedweir.items.attributes import WHOLE_TEXT, AttributeType, attribute_named, values_of
from feedweir.items.model import Item
from feedweir.items.text import words, words_of_html
from feedweir.match.matches import Span
from feedweir.match.meaning import term_words
from feedweir.plan.predicates import Term

_MARKUP = re.compile(r"<!--.*?-->|<[^>]*>|&(?:amp|lt|gt|nbsp|quot);", re.DOTALL)
_STRETCH = re.compile(r"\S+")


def spans_of(term: Term, attribute: str | None, item: Item) -> Iterator[Span]:
    """Every place where a term stands in an attribute, or in the whole item."""
    wanted = term_words(term)
    for name, number, text, is_html in _values(item, attribute):
        placed = _placed(text, is_html)
        found = [word for word, _, _ in placed]
        for at in range(len(found) - len(wanted) + 1) if wanted else ():
            *head, last = found[at : at + len(wanted)]
            ends_so = last.startswith(wanted[-1]) if term.is_prefix else last == wanted[-1]
            if ends_so and tuple(head) == wanted[:-1]:
                yield Span(name, number, placed[at][1], placed[at + len(wanted) - 1][2])


def _values(item: Item, attribute: str | None) -> Iterator[tuple[str, int, str, bool]]:
    """(attribute, number of the value, text, whether it is HTML)."""
    if attribute is None:
        for name in (*WHOLE_TEXT, *dict.fromkeys(name for name, _ in item.extensions)):
            yield from _values(item, name)
        return
    kind = attribute_named(attribute)
    if kind is None or kind.type in (AttributeType.TIME, AttributeType.NUMBER):
        return
    for number, value in enumerate(values_of(item, attribute)):
        yield kind.name, number, str(value), kind.type is AttributeType.HTML


def _placed(text: str, is_html: bool) -> list[tuple[str, int, int]]:
    """The words of a text with their places; nothing when the places cannot be told for certain."""
    plain = _MARKUP.sub(lambda markup: " " * len(markup.group()), text) if is_html else text
    placed = [
        (word, match.start() + start, match.start() + end)
        for match in _STRETCH.finditer(plain)
        for word, start, end in _within(match.group())
    ]
    every_word = words_of_html(text) if is_html else words(text)
    return placed if [word for word, _, _ in placed] == every_word else []


def _within(stretch: str) -> Iterator[tuple[str, int, int]]:
    """The words of a stretch without white space: each begins where one more word is first seen."""
    found = words(stretch)
    begun, end = 0, 0
    for number, word in enumerate(found):
        start = end
        while start < len(stretch) and len(words(stretch[begun : start + 1])) == 0:
            start += 1
        end = start + 1
        while end < len(stretch) and words(stretch[start:end])[:1] != [word]:
            end += 1
        begun = end
        yield found[number], start, end
