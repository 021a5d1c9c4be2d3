"""The search box: what people type into search engines, as one predicate of the common tree.

Words stand for themselves and all of them are wanted. `OR` (or `|`) stands between neighbours and binds tighter than
the space, as search engines have it: `rock concert | festival` wants rock, and one of the other two.
"""

from __future__ import annotations

import re

from feedweir.errors import LanguageError, near
from feedweir.language.search_fields import FIELDS, TEXT_FIELDS, ranged
from feedweir.language.tokens import MAX_DEPTH, check_readable
from feedweir.language.word_conditions import each_once, has_word
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Not,
    Or,
    Predicate,
    Term,
)

_TOKEN = re.compile(
    r"""(?<![^\s(|,:])[-+!](?=[^\s)|,])      # not
      | [-+!]\s+                             # a sign by itself, with its space: no word is meant
      | \d{1,6}\s*[oO][fF]\s*(?=\()           # 2of(…)
      | [^\W\d]\w*[:=](?=[^\s/)|,])           # field:
      | ["“][^"”]*+(?:["”]\*?|\Z)             # "a phrase"
      | [(),]|\|\|?
      | [^\s()|",“”]++""",
    re.VERBOSE,
)
_SOME_OF = re.compile(r"(\d{1,6})\s*of\s*", re.IGNORECASE)
_STRUCTURED = ("author", "title", "category", "summary", "description", "content")
"""What may follow `in`: `broder in author`."""


def parse_search(text: str) -> Predicate:
    """What was typed into a search box."""
    box = _Box(text)
    found = box.all_of("")
    if box.at < len(box.tokens):
        raise box.error(
            f"`{box.tokens[box.at]}` has no opening bracket",
            hint="leave it out, or quote what you search for",
        )
    if found is None:
        raise box.error("there is nothing to search for", hint="write at least one word to search for")
    return found


class _Box:
    """A place in the tokens of a search."""

    __slots__ = ("at", "depth", "text", "tokens")

    def __init__(self, text: str) -> None:
        check_readable(text)
        self.text = text
        self.tokens: list[str] = _TOKEN.findall(text)
        self.at = 0
        self.depth = 0

    def error(self, message: str, *, at: int | None = None, hint: str = "") -> LanguageError:
        place = self.at if at is None else at
        starts = [match.start() for match in _TOKEN.finditer(self.text)]
        offset = starts[place] if place < len(starts) else len(self.text)
        return LanguageError(message, text=self.text, offset=offset, hint=hint)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def all_of(self, attribute: str) -> Predicate | None:
        """Everything up to a closing bracket; None when no word is there. `attribute` is what words are about."""
        parts: list[Predicate] = []
        while (token := self.peek()) and token != ")":
            if token in ("AND", "&&", ",") or token == "&":
                self.at += 1
                continue
            part = self.any_of(attribute)
            if part is not None:
                parts.append(part)
        return _joined(parts) if parts else None

    def any_of(self, attribute: str) -> Predicate | None:
        """Neighbours with `|` or `OR` between them."""
        first = self.one(attribute)
        parts = [first] if first is not None else []
        while self.peek() in ("OR", "|", "||"):
            start = self.at
            self.at += 1
            if not self.peek() or self.peek() in (")", "OR", "|", "||"):
                raise self.error(
                    "`OR` must stand between two words",
                    at=start,
                    hint='to search for the word itself, quote it: "OR"',
                )
            another = self.one(attribute)
            parts += [another] if another is not None else []
        return _alternatives(parts) if parts else None

    def one(self, attribute: str) -> Predicate | None:
        """One word, phrase, field or bracket; None for a bare sign that holds no word."""
        token = self.peek()
        if not token:
            raise self.error("something is missing here", hint="a word, or a value after `:`")
        self.at += 1
        if token in ("NOT", "-", "!"):
            return self.negated(attribute, token)
        if token == "+":
            return self.one(attribute)
        if token == "(":
            return self.bracket(attribute)
        if token in ("OR", "|", "||"):
            raise self.error(
                "`OR` must stand between two words",
                at=self.at - 1,
                hint='to search for the word itself, quote it: "OR"',
            )
        if token[-1] in ":=" and len(token) > 1:
            return self.field(token[:-1].lower(), token[-1] == "=", attribute)
        some = _SOME_OF.fullmatch(token)
        if some is not None and self.peek() == "(":
            return self.some_of(int(some[1]), attribute)
        return self.words(token, attribute)

    def negated(self, attribute: str, token: str) -> Predicate | None:
        self._deeper()
        if not self.peek() or self.peek() in ("|", "||", ")"):
            raise self.error(f"`{token}` must be followed by what is not wanted", at=self.at - 1)
        part = self.one(attribute)
        self.depth -= 1
        return None if part is None else Not(part)

    def bracket(self, attribute: str) -> Predicate | None:
        start = self.at - 1
        self._deeper()
        found = self.all_of(attribute)
        self.depth -= 1
        if self.peek() != ")":
            raise self.error("this bracket is never closed", at=start)
        self.at += 1
        return found

    def some_of(self, count: int, attribute: str) -> Predicate:
        """`2of(x, y, z)`."""
        start = self.at
        self.at += 1
        self._deeper()
        parts: list[Predicate] = []
        while (token := self.peek()) and token != ")":
            part = None
            if token == ",":
                self.at += 1
            else:
                part = self.any_of(attribute)
            parts += [part] if part is not None else []
        self.depth -= 1
        if not self.peek() or not parts:
            raise self.error("a list of words in brackets is needed", at=start, hint="as in 2of(x, y, z)")
        self.at += 1
        return _at_least(count, parts)

    def words(self, token: str, attribute: str) -> Predicate | None:
        """A word or phrase; `broder in author` and `year inrange 1988 to 2000` as well."""
        if token == "year" and self.peek() == "inrange":
            return self.in_range()
        term = _term(token)
        if term is None:
            return None
        if self.peek() == "in" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] in _STRUCTURED:
            attribute = TEXT_FIELDS[self.tokens[self.at + 1]]
            self.at += 2
        return Contains(attribute or None, (term,), 1)

    def in_range(self) -> Predicate:
        low, high = self.tokens[self.at + 1 : self.at + 2], self.tokens[self.at + 3 : self.at + 4]
        if self.tokens[self.at + 2 : self.at + 3] != ["to"] or not low or not high:
            raise self.error("this range is incomplete", hint="year inrange 1988 to 2000")
        found = ranged(self, "year", f"{low[0]}..{high[0]}")
        self.at += 4
        return found

    def field(self, name: str, is_equal: bool, attribute: str) -> Predicate | None:
        """`field:value`; an unknown field is text."""
        start = self.at - 1
        reader = FIELDS.get(name)
        about = TEXT_FIELDS.get(name)
        if reader is None and about is None:
            hint = near(name, (*FIELDS, *TEXT_FIELDS), 1)
            if hint and name not in ("re", "fw", "fwd"):
                raise self.error(f"`{name}:` is not a field", at=start, hint=hint)
            value = self.peek()
            self.at += 1
            return self.words(f'"{self.tokens[start]} {_plain(value)}"', attribute)
        if about is not None and is_equal:
            value = _plain(self.peek())
            self.at += 1
            return Compare(about, "=", value)
        if about is not None:
            self._deeper()
            found = self.one(about)
            self.depth -= 1
            return found
        value = _plain(self.peek())
        if not value:
            raise self.error(f"`{name}:` needs a value")
        self.at += 1
        assert reader is not None
        return reader(self, name, value)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("nested too deeply", hint=f"brackets can be nested {MAX_DEPTH} levels deep")


def _plain(token: str) -> str:
    return token.strip('"“”')


def _term(token: str) -> Term | None:
    """A word, prefix* or "phrase"; None when it has no word in it."""
    is_prefix = token.endswith("*")
    text = " ".join(_plain(token.rstrip("*") if is_prefix else token).split())
    if text.endswith("*"):
        text, is_prefix = text.rstrip("* "), True
    return Term(text, is_prefix) if has_word(text) else None


def _joined(parts: list[Predicate]) -> Predicate:
    """All of these; words about the same attribute become one `contains`."""
    if len(parts) == 1:
        return parts[0]
    terms: dict[str | None, list[Term]] = {}
    kept: list[Predicate | str | None] = []
    for part in parts:
        if isinstance(part, Contains) and part.at_least == len(part.terms):
            if part.attribute not in terms:
                kept.append(part.attribute)
            terms.setdefault(part.attribute, []).extend(part.terms)
        else:
            kept.append(part)
    merged = tuple(
        Contains(part, tuple(terms[part]), len(terms[part]))
        if part is None or isinstance(part, str)
        else part
        for part in kept
    )
    return And(merged) if len(merged) > 1 else merged[0]


def _alternatives(parts: list[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else _at_least(1, parts)


def _at_least(count: int, parts: list[Predicate]) -> Predicate:
    """So many different ones of these; one `contains` when all are single words about the same attribute."""
    parts = list(each_once(parts))
    singles = [
        part for part in parts if isinstance(part, Contains) and len(part.terms) == 1 and part.at_least == 1
    ]
    if len(singles) == len(parts) and len({part.attribute for part in singles}) == 1 and count:
        return Contains(singles[0].attribute, tuple(part.terms[0] for part in singles), count)
    return Or(tuple(parts)) if count == 1 else AtLeast(count, tuple(parts))
