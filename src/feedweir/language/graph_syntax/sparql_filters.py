"""FILTER: comparisons, `&&`, `||`, `!`, IN, EXISTS and the functions that are taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from feedweir.items.rdf_values import NUMBERS, number_in
from feedweir.language.graph_syntax.graph_groups import (
    Bound,
    Either,
    Exists,
    Expression,
    Group,
    Opposite,
    Tested,
    Together,
)
from feedweir.language.graph_syntax.graph_terms import is_ordered, is_readable
from feedweir.language.literals import COMPARISONS
from feedweir.language.tokens import Cursor
from feedweir.plan.predicates import (
    Comparison,
    Constant,
    Constraint,
    GraphTerm,
    Iri,
    RdfLiteral,
    TermPart,
    TermTest,
    Variable,
)

_PARTS: dict[str, TermPart] = {"str": "text", "lang": "language", "datatype": "datatype"}
_TEXT_TESTS: dict[str, TermTest] = {"contains": "contains", "strstarts": "starts", "strends": "ends"}
_KINDS = {"isiri": "iri", "isuri": "iri", "isblank": "blank", "isliteral": "literal", "isnumeric": "number"}
_TESTS = ("bound", "langmatches", "sameterm", "exists", *_TEXT_TESTS, *_KINDS)
_HINTS = {
    "regex": "`matches` looks for regular expressions in attributes; CONTAINS, STRSTARTS and STRENDS in texts",
    "lcase": "`contains` on an attribute ignores case",
    "ucase": "`contains` on an attribute ignores case",
    "now": "`published > now - 2 days` beside the pattern asks about the item's time",
}
_MIRRORED: dict[str, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Of:
    """A variable, or a part of what it is bound to."""

    name: str
    part: TermPart = ""


Operand: TypeAlias = Of | Constant | Iri | RdfLiteral
ReadTerm: TypeAlias = Callable[[], GraphTerm]
ReadGroup: TypeAlias = Callable[[], Group]


@dataclass(slots=True)
class _Filters:
    c: Cursor
    group: ReadGroup
    term: ReadTerm

    def either(self) -> Expression:
        parts = [self.together()]
        while self.c.accept("||"):
            parts.append(self.together())
        return Either(tuple(parts)) if len(parts) > 1 else parts[0]

    def together(self) -> Expression:
        parts = [self.single()]
        while self.c.accept("&&"):
            parts.append(self.single())
        return Together(tuple(parts)) if len(parts) > 1 else parts[0]

    def single(self) -> Expression:
        c = self.c
        if c.accept("!"):
            c.enter()
            part = self.single()
            c.leave()
            return Opposite(part)
        if c.accept("("):
            c.enter()
            inner = self.either()
            c.leave()
            c.expect(")")
            return inner
        word = c.words[c.at]
        if word in ("true", "false") and c.words[c.at + 1] in (")", "&&", "||"):
            c.at += 1
            return Together(()) if word == "true" else Either(())
        if word == "exists" or (word == "not" and c.words[c.at + 1] == "exists"):
            c.at += 1 + (word == "not")
            found: Expression = Exists(self.group())
            return Opposite(found) if word == "not" else found
        if word in _TESTS:
            return self.test(word)
        return self.comparison()

    def test(self, word: str) -> Expression:
        c = self.c
        c.at += 1
        c.expect("(")
        about = self.operand()
        if not isinstance(about, Of):
            raise c.error("a variable is needed here", at=c.at - 1, expected=("a variable, as in `?x`",))
        if word == "bound" or word in _KINDS:
            self.whole(about)
            c.expect(")")
            return (
                Bound(about.name) if word == "bound" else Tested(Constraint(about.name, "kind", _KINDS[word]))
            )
        c.expect(",")
        start = c.at
        if word == "sameterm":
            self.whole(about)
            term = self.term()
            c.expect(")")
            if isinstance(term, Variable):
                raise c.error(
                    "a value is needed here, not a variable", at=start, hint="use one variable for both"
                )
            return Tested(Constraint(about.name, "is", term))
        value = self.operand()
        if not (isinstance(value, Constant) and isinstance(value.value, str)):
            raise c.error("a text is needed here", at=start, hint="put it between quotes")
        c.expect(")")
        if word == "langmatches":
            if about.part != "language":
                raise c.error("LANGMATCHES asks for a language", at=start - 2, hint="as in `LANG(?x)`")
            return Tested(Constraint(about.name, "speaks", value.value.lower(), "language"))
        if about.part not in ("", "text"):
            raise c.error("only a text contains texts", at=start - 2, hint="compare it with `=`")
        return Tested(Constraint(about.name, _TEXT_TESTS[word], value.value, about.part))

    def whole(self, about: Of) -> None:
        if about.part:
            raise self.c.error("a variable is needed here", at=self.c.at - 1, expected=("as in `?x`",))

    def operand(self) -> Operand:
        c = self.c
        word = c.words[c.at]
        if word in _PARTS and c.words[c.at + 1] == "(":
            c.at += 2
            inner = self.operand()
            if not isinstance(inner, Of) or inner.part:
                raise c.error("a variable is needed here", at=c.at - 1, expected=("a variable, as in `?x`",))
            c.expect(")")
            return Of(inner.name, _PARTS[word])
        if word.isalpha() and c.words[c.at + 1] == "(":
            raise c.error(
                f"the function `{c.tokens[c.at]}` is not supported",
                hint=_HINTS.get(
                    word, f"supported are {', '.join(sorted(map(str.upper, (*_PARTS, *_TESTS))))}"
                ),
            )
        term = self.term()
        return Of(term.name) if isinstance(term, Variable) else term

    def comparison(self) -> Expression:
        c = self.c
        start = c.at
        left = self.operand()
        word = c.words[c.at]
        if word == "in" or (word == "not" and c.words[c.at + 1] == "in"):
            c.at += 1 + (word == "not")
            found = self.one_of(left, start)
            return Opposite(found) if word == "not" else found
        op = COMPARISONS.get(word)
        if op is None:
            if word in ("+", "-", "*", "/"):
                raise c.error("arithmetic is not supported", hint="compare with the value itself")
            raise c.unknown("a comparison", (*COMPARISONS, "in"))
        c.at += 1
        at = c.at
        right = self.operand()
        if not isinstance(left, Of):
            if not isinstance(right, Of):
                raise c.error("a comparison needs a variable", at=start, expected=("a variable, as in `?x`",))
            left, right, op, at = right, left, _MIRRORED[op], start
        return Tested(compared(c, left, op, right, at))

    def one_of(self, left: Operand, start: int) -> Expression:
        """`(1, 2)` after IN."""
        c = self.c
        if not isinstance(left, Of):
            raise c.error("a comparison needs a variable", at=start, expected=("a variable, as in `?x`",))
        c.expect("(")
        parts: list[Expression] = []
        while c.words[c.at] != ")":
            if parts:
                c.expect(",")
            at = c.at
            parts.append(Tested(compared(c, left, "=", self.operand(), at)))
        c.expect(")")
        return Either(tuple(parts))


def compared(c: Cursor, left: Of, op: Comparison, right: Operand, at: int) -> Constraint:
    """A comparison; refused when it could never be asked."""
    is_order = op not in ("=", "!=")
    if isinstance(right, Of):
        if left.part or right.part:
            raise c.error("parts of terms are compared with values only", at=at)
        return Constraint(left.name, op, Variable(right.name))
    if left.part == "datatype":
        if not isinstance(right, Iri) or is_order:
            raise c.error("a datatype is compared with an IRI", at=at, hint="as in `= xsd:date`")
        return Constraint(left.name, op, right, "datatype")
    if left.part:
        if not isinstance(right, Constant) or not isinstance(right.value, str):
            raise c.error("this is compared with a text", at=at, hint="put it between quotes")
        text = right.value.lower() if left.part == "language" else right.value
        return Constraint(left.name, op, text, left.part)
    if isinstance(right, Constant):
        return Constraint(left.name, op, right.value)
    if isinstance(right, Iri):
        if is_order:
            raise c.error("IRIs have no order", at=at, hint="compare `STR(?x)` with a text")
        return Constraint(left.name, op, right)
    if not is_readable(right):
        raise c.error(
            f"`{right.text}` is not a value of <{right.datatype}>",
            at=at,
            hint="`sameTerm(?x, …)` asks for exactly this term",
        )
    if is_order and not is_ordered(right):
        raise c.error("literals of this type have no order", at=at, hint="numbers, times and texts have")
    number = number_in(right.text) if right.datatype in NUMBERS else None
    return Constraint(left.name, op, right if number is None else number)


def filter_expression(c: Cursor, group: ReadGroup, term: ReadTerm) -> Expression:
    """What follows FILTER: an expression in brackets, EXISTS, or a function."""
    word = c.words[c.at]
    if c.tokens[c.at] != "(" and word not in _TESTS and word != "not":
        raise c.missing("a condition", expected=("a condition in brackets, as in `FILTER(?x > 3)`",))
    return _Filters(c, group, term).single()
