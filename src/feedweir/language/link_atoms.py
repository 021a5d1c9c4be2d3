"""Conditions on links: `references`, `extends` and `shares-link`."""

from __future__ import annotations

from feedweir.items.attributes import AttributeType
from feedweir.language.predicates import Extends, References, SharesLink
from feedweir.language.subjects import Subject, fail_operator
from feedweir.language.tokens import Cursor


def _link_operand(c: Cursor, about: Subject) -> str:
    if about.attribute is not None and about.type is not AttributeType.LINK:
        c.at -= 1
        fail_operator(c, about)
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
