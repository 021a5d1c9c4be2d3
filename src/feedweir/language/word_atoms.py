"""Conditions on words: `contains` and `similar`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from feedweir.items.attributes import AttributeType
from feedweir.items.text import words
from feedweir.language.predicates import Contains, Predicate, Similar, Term
from feedweir.language.subjects import Subject, fail_operator
from feedweir.language.tokens import Cursor
from feedweir.language.values import count, number

DEFAULT_THRESHOLD = 0.5
_WORDS_AND_PHRASES = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


_WORDLESS = (AttributeType.TIME, AttributeType.NUMBER)


def contains(c: Cursor, about: Subject) -> Predicate:
    """`contains 'words "a phrase" prefix*'`, `contains any of ('a', 'b')`, `contains at least 2 of (…)`."""
    if about.type in _WORDLESS:
        c.at -= 1
        fail_operator(c, about)
    token = c.tokens[c.at]
    start = c.at
    if token[:1] == "'" and token[1:-1].isalnum():
        c.at += 1
        return Contains(about.attribute, (Term(token[1:-1]),), 1)
    if c.words[c.at] in ("all", "any", "at"):
        return _contains_list(c, about)
    text = c.string("the words to look for")
    terms = tuple(terms_of(text))
    if not terms or not all(has_word(term.text) for term in terms):
        raise c.error(f"{token} has a part without any word", at=start, hint="letters and digits make words")
    return Contains(about.attribute, terms, len(terms))


def terms_of(text: str) -> list[Term]:
    """The words and "phrases" of a text; a `*` at the end makes a prefix."""
    terms = []
    for phrase, star, word in _WORDS_AND_PHRASES.findall(text):
        if word:
            terms.append(Term(word.rstrip("*"), word.endswith("*")))
        else:
            terms.append(term_of(phrase + star))
    return terms


def term_of(text: str) -> Term:
    """One term, all of whose words stand next to each other."""
    text = text.strip()
    return Term(text.rstrip("* "), True) if text.endswith("*") else Term(text)


def each_once(parts: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Conditions without those that ask again for the same words, or are the same: `at least k of` counts different
    ones.
    """
    found: dict[object, Predicate] = {}
    for part in parts:
        found.setdefault(_meant(part), part)
    return tuple(found.values())


def _meant(part: Predicate) -> object:
    if not isinstance(part, Contains):
        return part
    return part.attribute, part.at_least, tuple(map(_words_of, part.terms))


def _words_of(term: Term) -> tuple[tuple[str, ...], bool]:
    return tuple(words(term.text)), term.is_prefix


def _different(terms: Iterable[Term]) -> tuple[Term, ...]:
    found: dict[object, Term] = {}
    for term in terms:
        found.setdefault(_words_of(term), term)
    return tuple(found.values())


def has_word(text: str) -> bool:
    return text.isalnum() or any(character.isalnum() for character in text)


def _contains_list(c: Cursor, about: Subject) -> Contains:
    at_least = quantity(c)
    c.expect("(")
    listed = [_listed_term(c)]
    while c.accept(","):
        listed.append(_listed_term(c))
    c.expect(")")
    terms = _different(listed)
    return Contains(about.attribute, terms, len(terms) if at_least is None else at_least)


def _listed_term(c: Cursor) -> Term:
    start = c.at
    found = term_of(c.string("a word or phrase to look for"))
    if not has_word(found.text):
        raise c.error("this text has no word", at=start, hint="letters and digits make words")
    return found


def quantity(c: Cursor) -> int | None:
    """`all of` (None), `any of` (1), `at least k of`."""
    if c.accept("all"):
        c.expect("of")
        return None
    if c.accept("any"):
        c.expect("of")
        return 1
    c.expect("at")
    c.expect("least")
    wanted = count(c, "how many at least")
    c.expect("of")
    return wanted


def similar(c: Cursor, about: Subject) -> Similar:
    """`similar 'a text' at least 0.4`."""
    if about.type in (AttributeType.TIME, AttributeType.NUMBER, AttributeType.LINK):
        c.at -= 1
        fail_operator(c, about)
    start = c.at
    if c.words[c.at].partition(".")[0] == "window":
        raise c.error("`window` is known only in the `with` of a join", at=start, expected=("a quoted text",))
    text = c.string("the text to compare with")
    if not has_word(text):
        raise c.error("this text has no word", at=start, hint="letters and digits make words")
    return Similar(about.attribute, text, threshold(c))


def threshold(c: Cursor) -> float:
    """`at least 0.4` or `at least 40 %`, or nothing."""
    if c.words[c.at] != "at":
        return DEFAULT_THRESHOLD
    c.at += 1
    c.expect("least")
    start = c.at
    value = number(c)
    if c.accept("%"):
        value /= 100
    if not 0 < value <= 1:
        raise c.error(
            "a threshold lies above 0 and at most at 1", at=start, expected=("a number such as 0.4",)
        )
    return value
