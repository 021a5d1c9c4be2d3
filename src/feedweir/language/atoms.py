"""The atoms of predicates: an attribute, or the whole item, and what is asked of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn, cast

from feedweir.items.attributes import ATTRIBUTES, SYNONYMS, AttributeType
from feedweir.language.predicates import (
    And,
    Compare,
    Comparison,
    Contains,
    DatePart,
    Extends,
    Not,
    Now,
    Or,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
    Value,
)
from feedweir.language.tokens import Cursor, unquoted
from feedweir.language.values import count, is_number, moment, number

COMPARISONS: dict[str, Comparison] = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
PARTS: dict[DatePart, tuple[int, int]] = {
    "year": (1, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "weekday": (0, 6),
    "date": (0, 0),
}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DEFAULT_THRESHOLD = 0.5
OPERATORS_OF = {
    AttributeType.TEXT: "contains, similar, =, !=, <, <=, >, >=, in, exists",
    AttributeType.HTML: "contains, similar, exists",
    AttributeType.STRING: "=, !=, <, <=, >, >=, in, contains, exists",
    AttributeType.LINK: "references, extends, shares-link, contains, =, !=, in, exists",
    AttributeType.TIME: "=, !=, <, <=, >, >=, between, in, exists, and .year, .month, .day, .hour, .date, .weekday",
    AttributeType.NUMBER: "=, !=, <, <=, >, >=, between, in",
}
_WORDS_AND_PHRASES = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


class Subject(NamedTuple):
    """What an atom is about; `attribute` None is the whole item."""

    attribute: str | None
    type: AttributeType
    part: DatePart | None = None


WHOLE = Subject(None, AttributeType.TEXT)
_SUBJECTS: dict[str, Subject] = {a.name: Subject(a.name, a.type) for a in ATTRIBUTES}
_SUBJECTS |= {synonym: _SUBJECTS[name] for synonym, name in SYNONYMS.items()}
_SUBJECTS |= {
    f"{name}.{part}": Subject(subject.attribute, subject.type, part)
    for name, subject in tuple(_SUBJECTS.items())
    if subject.type is AttributeType.TIME
    for part in PARTS
}
_SUBJECTS["item"] = WHOLE


def subject(c: Cursor) -> Subject:
    """The attribute that is next, by its name or a synonym."""
    found = _SUBJECTS.get(c.words[c.at])
    if found is None:
        found = _extension(c)
    c.at += 1
    return found


def _extension(c: Cursor) -> Subject:
    token = c.tokens[c.at]
    if ":" in token and token[:1].isalpha() and "://" not in token:
        return Subject(token, AttributeType.TEXT)
    head, dot, part = c.words[c.at].partition(".")
    if dot and head in _SUBJECTS:
        if _SUBJECTS[head].type is AttributeType.TIME:
            raise c.error(f"`{part}` is not a part of a date", expected=tuple(PARTS))
        raise c.error(
            f"`{head}` is {_article(_SUBJECTS[head].type)} and has no parts", hint="only dates have parts"
        )
    raise c.unknown("an attribute", tuple(name for name in _SUBJECTS if "." not in name))


def atom(c: Cursor) -> Predicate:
    """An attribute and its condition."""
    about = subject(c)
    return condition_on(c, about)


def condition_on(c: Cursor, about: Subject) -> Predicate:
    """What is asked of an attribute: the operator that is next and its operand."""
    word = c.words[c.at]
    op = COMPARISONS.get(word)
    if op is not None:
        return _compare(c, about, op)
    read = _OPERATORS.get(word)
    if read is None:
        if word == "not" and c.words[c.at + 1] in _OPERATORS:
            c.at += 1
            return Not(condition_on(c, about))
        _fail_operator(c, about)
    c.at += 1
    return read(c, about)


def _fail_operator(c: Cursor, about: Subject) -> NoReturn:
    """Tell which operators the attribute has."""
    what = "the item" if about.attribute is None else f"`{about.attribute}` is {_article(about.type)}; it"
    raise c.error(
        f"{c.seen()} is not an operator for {about.attribute or 'the whole item'}",
        expected=("an operator",),
        hint=f"{what} has {OPERATORS_OF[about.type] if about.attribute else 'contains, similar, references, …'}",
    )


def _article(kind: AttributeType) -> str:
    return {"html": "HTML text", "text": "text", "time": "a time"}.get(kind.value, f"a {kind.value}")


# Words


_WORDLESS = (AttributeType.TIME, AttributeType.NUMBER)


def contains(c: Cursor, about: Subject) -> Predicate:
    """`contains 'words "a phrase" prefix*'`, `contains any of ('a', 'b')`, `contains at least 2 of (…)`."""
    if about.type in _WORDLESS:
        c.at -= 1
        _fail_operator(c, about)
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


def has_word(text: str) -> bool:
    return text.isalnum() or any(character.isalnum() for character in text)


def _contains_list(c: Cursor, about: Subject) -> Contains:
    at_least = quantity(c)
    c.expect("(")
    terms = [_listed_term(c)]
    while c.accept(","):
        terms.append(_listed_term(c))
    c.expect(")")
    wanted = len(terms) if at_least is None else at_least
    return Contains(about.attribute, tuple(terms), wanted)


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
        _fail_operator(c, about)
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


# Links


def _link_operand(c: Cursor, about: Subject) -> str:
    if about.attribute is not None and about.type is not AttributeType.LINK:
        c.at -= 1
        _fail_operator(c, about)
    token = c.tokens[c.at]
    if "://" in token and not c.is_string():
        c.at += 1
        return token
    start = c.at
    url = c.string("a URL or a host").strip()
    if not url or any(character.isspace() for character in url):
        raise c.error("this is not a URL", at=start, expected=("a URL or a host",))
    return url


def references(c: Cursor, about: Subject) -> References:
    return References(about.attribute, _link_operand(c, about))


def extends(c: Cursor, about: Subject) -> Extends:
    return Extends(about.attribute, _link_operand(c, about))


def shares_link(c: Cursor, about: Subject) -> SharesLink:
    """`shares-link ('http://a', 'http://b')`."""
    if not c.accept("("):
        return SharesLink(about.attribute, (_link_operand(c, about),))
    urls = [_link_operand(c, about)]
    while c.accept(","):
        urls.append(_link_operand(c, about))
    c.expect(")")
    return SharesLink(about.attribute, tuple(urls))


# Values


def _compare(c: Cursor, about: Subject, op: Comparison) -> Predicate:
    if about.attribute is None or about.type is AttributeType.HTML:
        _fail_operator(c, about)
    c.at += 1
    value, part = _value(c, about, op)
    return Compare(about.attribute, op, value, part)


def _value(c: Cursor, about: Subject, op: Comparison) -> tuple[Value, DatePart | None]:
    """An operand of the attribute's type. A date alone, tested for equality, means the whole day."""
    if about.type is AttributeType.TIME:
        if about.part is None:
            value, is_date = moment(c)
            return value, "date" if is_date and op in ("=", "!=") else None
        return _part_value(c, about.part), about.part
    if c.is_string() and about.type is not AttributeType.NUMBER:
        c.at += 1
        return unquoted(c.tokens[c.at - 1]), None
    token = c.tokens[c.at]
    if about.type is AttributeType.NUMBER or (
        ":" in (about.attribute or "") and (is_number(token) or token == "-")
    ):
        return number(c), None
    if "://" in token and about.type is AttributeType.LINK:
        c.at += 1
        return token, None
    return c.string(f"a quoted text to compare `{about.attribute}` with"), None


def _part_value(c: Cursor, part: DatePart) -> float | datetime | Now:
    if part == "date":
        value, _ = moment(c)
        return (
            value.replace(hour=0, minute=0, second=0, microsecond=0) if isinstance(value, datetime) else value
        )
    start = c.at
    if part == "weekday" and c.words[c.at].strip("'\"") in WEEKDAYS:
        c.at += 1
        return float(WEEKDAYS.index(c.words[c.at - 1].strip("'\"")))
    value_of_part = number(c)
    _check_part(c, part, value_of_part, start)
    return value_of_part


def _check_part(c: Cursor, part: DatePart, value: float, at: int) -> None:
    low, high = PARTS[part]
    if not low <= value <= high:
        hint = "Monday is 0; the names of the days also work" if part == "weekday" else ""
        raise c.error(f"a {part} lies between {low} and {high}", at=at, hint=hint)


def one_of(c: Cursor, about: Subject) -> Predicate:
    """`in ('a', 'b')`, or `in 1988..2000` for numbers and dates."""
    if about.attribute is None or about.type is AttributeType.HTML:
        c.at -= 1
        _fail_operator(c, about)
    if c.accept("("):
        parts = [_equals(c, about)]
        while c.accept(","):
            parts.append(_equals(c, about))
        c.expect(")")
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]
    low, dots, high = c.tokens[c.at].partition("..")
    if not dots or not is_number(low) or not is_number(high):
        raise c.error(
            f"{c.seen()} is not a list or a range", expected=("a list `('a', 'b')`", "a range `1988..2000`")
        )
    if about.type not in (AttributeType.NUMBER, AttributeType.TIME) or about.part == "date":
        raise c.error(
            "a range is for numbers and the parts of dates", hint=f"write `published.year in {low}..{high}`"
        )
    if about.type is AttributeType.TIME and about.part is None:
        raise c.error("a date cannot be a number", hint=f"write `{about.attribute}.year in {low}..{high}`")
    if about.part is not None:
        _check_part(c, about.part, float(low), c.at)
        _check_part(c, about.part, float(high), c.at)
    c.at += 1
    return _range(about, float(low), float(high))


def _equals(c: Cursor, about: Subject) -> Predicate:
    value, part = _value(c, about, "=")
    return Compare(cast(str, about.attribute), "=", value, part)


def _range(about: Subject, low: Value, high: Value) -> Predicate:
    name = cast(str, about.attribute)
    return And((Compare(name, ">=", low, about.part), Compare(name, "<=", high, about.part)))


def between(c: Cursor, about: Subject) -> Predicate:
    """`between a and b`, both included."""
    if about.attribute is None or about.type is AttributeType.HTML:
        c.at -= 1
        _fail_operator(c, about)
    low, _ = _value(c, about, ">=")
    c.expect("and")
    high, _ = _value(c, about, "<=")
    return _range(about, low, high)


_EVER = datetime.min.replace(tzinfo=UTC)


def exists(c: Cursor, about: Subject) -> Predicate:
    """There is a value: every value is at least the smallest one."""
    if about.attribute is None or about.part is not None or about.type is AttributeType.NUMBER:
        c.at -= 1
        _fail_operator(c, about)
    return Compare(about.attribute, ">=", _EVER if about.type is AttributeType.TIME else "")


_OPERATORS = {
    "contains": contains,
    "similar": similar,
    "references": references,
    "extends": extends,
    "shares-link": shares_link,
    "in": one_of,
    "between": between,
    "exists": exists,
}
