"""Values compared whole (sources, strings, links) as byte strings of one dictionary: `kind`, attribute, value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from feedweir.items.links import canonical_url, domains_of, host_of, openings_of
from feedweir.items.text import fold
from feedweir.match.atoms import Equal, EqualNumber, Link, Origin
from feedweir.match.meaning import number_in

ORIGIN, EQUAL, NUMBER = "origin", "equal", "number"


def keys_of_atom(atom: Origin | Equal | EqualNumber | Link) -> Iterator[tuple[str, str, bytes]]:
    """(kind, attribute, byte string) of every value that satisfies an atom."""
    match atom:
        case Origin(names):
            for name in names:
                yield ORIGIN, "source", _key(ORIGIN, "source", name)
        case Equal(attribute, value):
            yield EQUAL, attribute, _key(EQUAL, attribute, value)
        case EqualNumber(attribute, number):
            yield NUMBER, attribute, _key(NUMBER, attribute, repr(number))
        case Link(attribute, kind, value):
            yield kind, attribute, _key(kind, attribute, value)


@lru_cache(maxsize=65536)
def keys_of_value(kind: str, attribute: str, value: str) -> tuple[bytes, ...]:
    """The byte strings under which an item's value may be looked for."""
    return tuple(_key(kind, attribute, form) for form in _forms(kind, value))


def _forms(kind: str, value: str) -> tuple[str, ...]:
    match kind:
        case "equal":
            return (fold(value),)
        case "number":
            number = number_in(value)
            return () if number is None else (repr(number + 0.0),)  # both zeros are one
        case "url":
            return (canonical_url(value),)
        case "opening":
            return openings_of(value)
        case "host":
            return (host_of(value),)
        case "domain":
            return domains_of(value)
        case _:
            return (value,)


def _key(kind: str, attribute: str, value: str) -> bytes:
    return f"{kind}\0{attribute}\0{value}".encode("utf-8", "surrogatepass")
