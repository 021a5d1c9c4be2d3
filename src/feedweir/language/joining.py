"""Join predicates: attributes of the primary item against those of an item in the window."""

from __future__ import annotations

from feedweir.items.attributes import AttributeType
from feedweir.language.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, Relates
from feedweir.language.subjects import WHOLE, Subject, subject
from feedweir.language.tokens import Cursor
from feedweir.language.value_atoms import COMPARISONS
from feedweir.language.word_atoms import threshold

_WORDLESS = (AttributeType.TIME, AttributeType.NUMBER, AttributeType.LINK)


def join_predicate(c: Cursor) -> JoinPredicate:
    """`title similar window.title and (author = window.author or shares-link window)`."""
    first = _conjunction(c)
    if c.words[c.at] != "or":
        return first
    parts = [first]
    while c.accept("or"):
        parts.append(_conjunction(c))
    return JoinOr(tuple(parts))


def _conjunction(c: Cursor) -> JoinPredicate:
    first = _factor(c)
    if c.words[c.at] != "and":
        return first
    parts = [first]
    while c.accept("and"):
        parts.append(_factor(c))
    return JoinAnd(tuple(parts))


def _factor(c: Cursor) -> JoinPredicate:
    word = c.words[c.at]
    if word == "not":
        c.at += 1
        c.enter()
        part = _factor(c)
        c.leave()
        return JoinNot(part)
    if word in ("(", "all", "any"):
        return _bracketed(c, word)
    return _relates(c)


def _bracketed(c: Cursor, word: str) -> JoinPredicate:
    """`(…)`, and `all of (…)` or `any of (…)`, which also hold a single part."""
    c.at += 1
    if word != "(":
        c.expect("of")
        c.expect("(")
    c.enter()
    parts = [join_predicate(c)]
    while word != "(" and c.accept(","):
        parts.append(join_predicate(c))
    c.leave()
    c.expect(")")
    if word == "(":
        return parts[0]
    return JoinAnd(tuple(parts)) if word == "all" else JoinOr(tuple(parts))


def _relates(c: Cursor) -> Relates:
    about = WHOLE if c.words[c.at] in ("similar", "shares-link") else subject(c)
    if about.part is not None:
        raise c.error("a join compares whole attributes", at=c.at - 1, hint="leave out the part of the date")
    word = c.words[c.at]
    start = c.at
    op = COMPARISONS.get(word)
    c.at += 1
    if word == "similar":
        other = _window_subject(c)
        _check_words(c, about, other, start)
        return Relates(about.attribute, "similar", other.attribute, threshold(c))
    if word == "shares-link":
        other = _window_subject(c)
        _check_links(c, about, other, start)
        return Relates(about.attribute, "shares-link", other.attribute)
    if op is None or about.attribute is None:
        c.at = start
        expected = ("a comparison", "similar", "shares-link")
        raise c.error(f"{c.seen()} is not an operator of joins", expected=expected)
    other = _window_subject(c)
    if other.attribute is None or _kind(about) != _kind(other):
        shown = other.attribute or "the whole item"
        raise c.error(
            f"`{about.attribute}` and `{shown}` cannot be compared", at=start, hint=_types(about, other)
        )
    return Relates(about.attribute, op, other.attribute)


def _window_subject(c: Cursor) -> Subject:
    """`window.title`, or `window` for the whole item."""
    head, dot, rest = c.tokens[c.at].partition(".")
    if head.lower() != "window":
        hint = "the other side is the window's item: title similar window.title"
        raise c.error(f"{c.seen()} is not of the window", expected=("`window.` and an attribute",), hint=hint)
    if not dot:
        c.at += 1
        return WHOLE
    saved = c.tokens[c.at], c.words[c.at]
    c.tokens[c.at], c.words[c.at] = rest, rest.lower()
    found = subject(c)
    c.tokens[c.at - 1], c.words[c.at - 1] = saved
    if found.part is not None:
        raise c.error("a join compares whole attributes", at=c.at - 1, hint="leave out the part of the date")
    return found


def _check_words(c: Cursor, about: Subject, other: Subject, at: int) -> None:
    if about.type in _WORDLESS or other.type in _WORDLESS:
        raise c.error("`similar` compares the words of texts", at=at, hint=_types(about, other))


def _check_links(c: Cursor, about: Subject, other: Subject, at: int) -> None:
    for side in (about, other):
        if side.attribute is not None and side.type is not AttributeType.LINK:
            raise c.error("`shares-link` compares links", at=at, hint=_types(about, other))


def _kind(about: Subject) -> str:
    return about.type.value if about.type in (AttributeType.TIME, AttributeType.NUMBER) else "text"


def _types(about: Subject, other: Subject) -> str:
    return "; ".join(f"`{side.attribute or 'item'}` is a {side.type.value}" for side in (about, other))
