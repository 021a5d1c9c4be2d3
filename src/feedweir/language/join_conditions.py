"""Join predicates: attributes of the primary item against those of an item in the window, and conditions on either."""

from __future__ import annotations

from feedweir.items.attributes import AttributeType
from feedweir.language.atom_syntax import condition_on
from feedweir.language.conditions import factor, format_factor, format_predicate, predicate
from feedweir.language.literals import COMPARISONS
from feedweir.language.subjects import WHOLE, Subject, begins_subject, format_about, subject
from feedweir.language.tokens import Cursor
from feedweir.language.word_conditions import begins_regex, format_threshold, threshold
from feedweir.plan.predicates import (
    MIRRORED,
    And,
    Comparison,
    JoinAnd,
    JoinNot,
    JoinOperator,
    JoinOr,
    JoinPredicate,
    Not,
    OfItem,
    OfWindow,
    Or,
    Predicate,
    Relates,
)

_WORDLESS = (AttributeType.TIME, AttributeType.NUMBER)
_LINKING = ("references", "extends", "shares-link")
_BETWEEN_TEXTS = ("similar", "contains")
_TURNED: dict[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def join_predicate(c: Cursor) -> JoinPredicate:
    """`title similar window.title and (author = window.author or category = 'rock')`."""
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
    if _is_of_window(c):
        return _of_window(c)
    return _of_item(c)


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


# One side each


def _of_item(c: Cursor) -> JoinPredicate:
    """The item's attribute and the window's, or a condition on the item alone."""
    start = c.at
    is_whole = c.words[c.at] in (*_LINKING, *_BETWEEN_TEXTS) or not begins_subject(c)
    about = WHOLE if is_whole else subject(c)
    is_negated = c.words[c.at] == "not"
    if not _is_of_window(c, c.at + 1 + is_negated):
        c.at = start
        return _on_one_side(factor(c), OfItem)
    c.at += is_negated
    start = c.at
    op = _operator(c)
    found = _relation(c, about, op, _window_subject(c), start)
    return JoinNot(found) if is_negated else found


def _of_window(c: Cursor) -> JoinPredicate:
    """`window.title similar title`, `window.title contains 'tour'`, `window[…]`."""
    if c.words[c.at] == "window" and c.tokens[c.at + 1] == "[":
        return _window_condition(c)
    other = _window_subject(c, may_have_part=True)
    is_negated = c.words[c.at] == "not"
    if begins_regex(c.words[c.at + is_negated]) or not begins_subject(c, c.at + 1 + is_negated):
        return _on_one_side(condition_on(c, other), OfWindow)
    c.at += is_negated
    start = c.at
    op = _operator(c)
    found = _turned(c, subject(c), op, other, start)
    return JoinNot(found) if is_negated else found


def _window_condition(c: Cursor) -> JoinPredicate:
    c.at += 2
    c.enter()
    found = predicate(c)
    c.leave()
    c.expect("]")
    return _on_one_side(found, OfWindow)


def _on_one_side(found: Predicate, side: type[OfItem] | type[OfWindow]) -> JoinPredicate:
    """A condition with its connectives as those of the join, so that either way to write it is one."""
    match found:
        case And(parts):
            return JoinAnd(tuple(_on_one_side(part, side) for part in parts))
        case Or(parts):
            return JoinOr(tuple(_on_one_side(part, side) for part in parts))
        case Not(part):
            return JoinNot(_on_one_side(part, side))
        case _:
            return side(found)


# Both sides


def _operator(c: Cursor) -> str:
    word = c.words[c.at]
    op = COMPARISONS.get(word, word)
    if word not in COMPARISONS and word not in (*_LINKING, *_BETWEEN_TEXTS):
        expected = ("a comparison", *_BETWEEN_TEXTS, *_LINKING)
        raise c.unknown("an operator between the two sides of a join", expected)
    c.at += 1
    return op


def _relation(c: Cursor, about: Subject, op: str, other: Subject, at: int) -> Relates:
    """The item's attribute first."""
    for side in (about, other):
        if side.part is not None:
            raise c.error("a join compares whole attributes", at=at, hint="leave out the part of the date")
    if op in _LINKING:
        _check_links(c, about, other, at)
    elif op in _BETWEEN_TEXTS:
        _check_words(c, about, other, at)
    else:
        _check_values(c, about, other, at)
    if op == "references":
        # Without an attribute, the window's item stands for its own address.
        return Relates(about.attribute, "shares-link", other.attribute or "link")
    if op == "extends":
        return Relates(about.attribute, "extends", other.attribute or "link")
    if op == "contains" and other.attribute is None:
        raise c.error(
            "`contains` needs an attribute of the window", at=at, hint="title contains window.category"
        )
    return Relates(about.attribute, op, other.attribute, threshold(c) if op == "similar" else 0.0)  # type: ignore[arg-type]


def _turned(c: Cursor, about: Subject, op: str, other: Subject, at: int) -> Relates:
    """The same with the window's attribute first."""
    found = _relation(c, other, op, about, at)
    mine, theirs = found.window_attribute, found.attribute
    turned: Comparison | JoinOperator = MIRRORED.get(found.op, found.op)  # type: ignore[arg-type]
    return Relates(mine, _TURNED.get(turned, turned), theirs, found.threshold)  # type: ignore[arg-type]


def _is_of_window(c: Cursor, at: int | None = None) -> bool:
    return c.words[c.at if at is None else at].partition(".")[0] == "window"


def _window_subject(c: Cursor, *, may_have_part: bool = False) -> Subject:
    """`window.title`, or `window` for the whole item."""
    _, dot, rest = c.tokens[c.at].partition(".")
    if not dot:
        c.at += 1
        return WHOLE
    saved = c.tokens[c.at], c.words[c.at]
    c.tokens[c.at], c.words[c.at] = rest, rest.lower()
    try:
        found = subject(c)
        c.at -= 1
    finally:
        c.tokens[c.at], c.words[c.at] = saved
    if found.part is not None and not may_have_part:
        raise c.error("a join compares whole attributes", hint="leave out the part of the date")
    c.at += 1
    return found


def _check_words(c: Cursor, about: Subject, other: Subject, at: int) -> None:
    if about.type in _WORDLESS or other.type in _WORDLESS:
        raise c.error(f"`{c.words[at]}` compares words of texts", at=at, hint=_types(about, other))


def _check_links(c: Cursor, about: Subject, other: Subject, at: int) -> None:
    for side in (about, other):
        if side.attribute is not None and side.type is not AttributeType.LINK:
            raise c.error(f"`{c.words[at]}` compares links", at=at, hint=_types(about, other))


def _check_values(c: Cursor, about: Subject, other: Subject, at: int) -> None:
    if about.attribute is None or other.attribute is None or _kind(about) != _kind(other):
        one, two = (f"`{side.attribute}`" if side.attribute else "the whole item" for side in (about, other))
        raise c.error(f"{one} and {two} cannot be compared", at=at, hint=_types(about, other))


def _kind(about: Subject) -> str:
    return about.type.value if about.type in (AttributeType.TIME, AttributeType.NUMBER) else "text"


def _types(about: Subject, other: Subject) -> str:
    return "; ".join(f"`{side.attribute or 'item'}` is a {side.type.value}" for side in (about, other))


# Printing


def format_join_predicate(predicate: JoinPredicate) -> str:
    """A join predicate as it would stand in `with $r[…]`."""
    match predicate:
        case JoinAnd(parts) if len(parts) > 1:
            return " and ".join(map(_join_factor, parts))
        case JoinOr(parts) if len(parts) > 1:
            return " or ".join(map(_join_factor, parts))
        case JoinAnd(()):
            return "true"
        case JoinOr(()):
            return "false"
        case JoinAnd(parts) | JoinOr(parts):
            how = "all" if isinstance(predicate, JoinAnd) else "any"
            return f"{how} of ({', '.join(map(format_join_predicate, parts))})"
        case JoinNot(part):
            return f"not {_join_factor(part)}"
        case Relates():
            return _relates(predicate)
        case OfItem(condition):
            return format_factor(condition)
        case OfWindow(condition):
            return f"window[{format_predicate(condition)}]"


def _join_factor(part: JoinPredicate) -> str:
    text = format_join_predicate(part)
    return f"({text})" if isinstance(part, (JoinAnd, JoinOr)) and len(part.parts) > 1 else text


def _relates(atom: Relates) -> str:
    other = f"window.{atom.window_attribute}" if atom.window_attribute else "window"
    if atom.op in MIRRORED.values():
        (op,) = (op for op, mirrored in MIRRORED.items() if mirrored == atom.op)
        return f"{other} {op} {atom.attribute or 'item'}"
    end = format_threshold(atom.threshold) if atom.op in ("similar", "tells") else ""
    return format_about(atom.attribute, f"{atom.op} {other}{end}")
