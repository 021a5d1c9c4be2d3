"""Builds HTML: text is escaped unless its type says that it already is markup."""

from __future__ import annotations

from html import escape
from typing import TypeAlias

import nh3

from feedweir.text.xml_characters import legal


class Html(str):
    """Markup that may go into a page as it is."""

    __slots__ = ()


Child: TypeAlias = "str | Html | list[Html] | tuple[Html, ...] | None"

_VOID = frozenset({"meta", "link", "img", "br", "hr"})


def tag(name: str, /, *children: Child, **attributes: str | None) -> Html:
    """An element; `class_` and `data_x` become `class` and `data-x`, and what is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(legal(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """The children one after the other."""
    return Html("".join(_written(child) for child in children))


def _written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(legal(child), quote=False)
    return "".join(child)


def sanitised(markup: str) -> Html:
    """Foreign HTML, sanitised once more just before it is shown, whatever happened to it earlier."""
    return Html(nh3.clean(legal(markup), link_rel="noopener noreferrer nofollow", url_schemes=_SCHEMES))


def web_link(url: str) -> str | None:
    """The URL if a browser may follow it: never `javascript:` and the like."""
    return url if url.partition(":")[0].lower() in _SCHEMES and ":" in url else None


_SCHEMES = {"http", "https", "mailto"}
