"""RDF terms as graph patterns write them: IRIs, prefixed names, texts with a type or a language."""

from __future__ import annotations

import re
from collections.abc import Mapping

from feedweir.errors import near
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_values import BOOLEAN, NUMBERS, STRING, TIMES, TRUTHS, number_in
from feedweir.language.literals import format_value, is_number, number
from feedweir.language.tokens import Cursor, quoted, unquoted
from feedweir.plan.predicates import Constant, GraphTerm, Iri, RdfLiteral, Variable

PREFIXES = NAMESPACES | {
    "as": "https://www.w3.org/ns/activitystreams#",
    "doap": "http://usefulinc.com/ns/doap#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "schema": "http://schema.org/",
    "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}
"""Known without being declared: those of feeds, and a few of what feeds link to."""
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")


def literal_term(c: Cursor, prefixes: Mapping[str, str]) -> Constant | RdfLiteral:
    """A quoted text, perhaps with `^^` and its type or `@` and its language."""
    text = unquoted(c.tokens[c.at])
    c.at += 1
    if c.tokens[c.at] == "@":
        c.at += 1
        if _LANGUAGE.fullmatch(c.tokens[c.at]) is None:
            raise c.missing("a language", expected=("a language, as in `'chat'@fr`",))
        c.at += 1
        return RdfLiteral(text, "", c.words[c.at - 1])
    if c.tokens[c.at] == "^" and c.tokens[c.at + 1] == "^":
        c.at += 2
        return RdfLiteral(text, iri_named(c, prefixes).iri)
    return Constant(text)


def typed_or_plain(c: Cursor) -> Constant:
    """A number."""
    return Constant(number(c))


def iri_named(c: Cursor, prefixes: Mapping[str, str]) -> Iri:
    """`<…>`, a bare URL, or a name with a prefix, which may be empty."""
    token = c.tokens[c.at]
    if token[:1] == "<" and len(token) > 2:
        c.at += 1
        return Iri(token[1:-1])
    if "://" in token:
        c.at += 1
        return Iri(token)
    if token[:1] == "<":
        raise c.error("an IRI must be whole", hint="write it with its scheme, as in `<http://example.org/>`")
    start, label, local = c.at, *_name(c)
    if label not in prefixes:
        hint = near(label, prefixes) or f"declare it by `prefix {label}: <http://…>`"
        raise c.error(f"unknown prefix `{label}`", at=start, hint=hint)
    return Iri(prefixes[label] + local)


def _name(c: Cursor) -> tuple[str, str]:
    """The prefix and the rest of `doap:release`, `:release` or `doap:`."""
    token = c.tokens[c.at]
    if token == ":":
        c.at += 1
        local = c.tokens[c.at] if _stands_close(c) else ""
        c.at += bool(local)
        return "", local
    if (token[:1].isalnum() or token[:1] == "_") and not is_number(token):
        if ":" in token and "#" not in token:
            c.at += 1
            label, _, local = token.partition(":")
            return label, local
        if c.tokens[c.at + 1] == ":":
            c.at += 2
            return token, ""
    raise c.missing(
        "a part of a triple", expected=("?variable", "<IRI>", "prefix:name", "a quoted text", "a number")
    )


def _stands_close(c: Cursor) -> bool:
    return c.tokens[c.at][:1].isalnum() or c.tokens[c.at][:1] == "_"


def is_readable(literal: RdfLiteral) -> bool:
    """Whether the text of a literal is a value of its type, as far as the type is known here."""
    if literal.datatype in NUMBERS:
        return number_in(literal.text) is not None
    if literal.datatype in TIMES:
        from feedweir.text.dates import instant_of  # has kernels: lists do without

        return instant_of(literal.text) is not None
    return literal.datatype != BOOLEAN or literal.text in TRUTHS


def is_ordered(literal: RdfLiteral) -> bool:
    """Whether values of this type are less or greater than each other."""
    return literal.datatype in (*NUMBERS, *TIMES, BOOLEAN, STRING)


def format_term(term: GraphTerm) -> str:
    match term:
        case Variable(name):
            return f"?{name}"
        case Iri(iri):
            return f"<{iri}>"
        case RdfLiteral(text, _, language) if language:
            return f"{quoted(text)}@{language}"
        case RdfLiteral(text, datatype, _):
            return f"{quoted(text)}^^<{datatype}>"
        case Constant(value):
            return format_value(value)
