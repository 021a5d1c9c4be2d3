"""HTML in items: sanitised, read as text, searched for links.

nh3 makes it safe; text without `<` and `&` is safe as it is.
HTML that was made to be slow (`text/markup_bounds.py`) is shown as its plain text.

Everything here takes time in proportion to its input, whatever the input: where a search for an end could
fail many times, it is done once, from the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape as _unescaped
from urllib.parse import urljoin

import nh3

from feedweir.text.markup_bounds import is_too_complex

_NO_LINKS: Sequence[str] = ()
_CLEANER = nh3.Cleaner(link_rel=None)
_WEB_LINK = re.compile(r"https?://[^\s/?#]\S*+\Z")
_WEB_LINKS = re.compile(r"https?://[^\s/?#]\S*+(?:\nhttps?://[^\s/?#]\S*+)*+\Z")
_LINKED_TAG = re.compile(r'<[a-z0-9]+ (?:[^<>]*? )??(?:href|src|cite)="[^<>]*+>')
_ADDRESS = re.compile(r' (href|src|cite)="([^"]*+)"')
"""As nh3 writes them: brackets and quotes in values are escaped, so these are in tags and nowhere else."""
_SCRIPT_SCHEMES = frozenset({"javascript", "vbscript", "data"})
_IGNORED_IN_SCHEMES = re.compile(r"[\x00-\x20\x7f]+")
"""Browsers ignore line ends in a scheme."""
_IS_ABSOLUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
_TAG_OR_COMMENT = re.compile(rf"<!--.*?-->|{_TAG.pattern}", re.DOTALL)
_BLOCK_TAG = re.compile(
    r"</?(?:p|br|div|li|ul|ol|tr|td|th|h[1-6]|blockquote|pre|table|hr)\b[^>]*+>", re.IGNORECASE
)
_HIDDEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_IS_FOREIGN = re.compile(r"<(?:svg|math)\b", re.IGNORECASE)
_NAMED_TAG = re.compile(r"</?([a-zA-Z][^\s<>/]*+)[^<>]*+>")
_KNOWN_TAGS = nh3.ALLOWED_TAGS | {"script", "style"}
_FOREIGN_TEXTS = frozenset(("svg", "math", "title", "desc", "text"))
_LONG_REFERENCE = re.compile(r"&#(?:([0-9]{8,})|[xX]([0-9a-fA-F]{8,}));?")
_MAX_BASE_CHARS = 2048


def sanitised(html: str, *, base: str = "") -> str:
    """HTML without scripts and the like; relative links become absolute when there is a `base`."""
    return _linked(_cleaned(html), base)[0] if "<" in html or "&" in html else html


def _cleaned(html: str) -> str:
    if _IS_FOREIGN.search(html):
        html = _NAMED_TAG.sub(_without_foreign, html)
    if is_too_complex(html):
        return escaped(text_of(html))
    return str(_CLEANER.clean(html))


def _without_foreign(tag: re.Match[str]) -> str:
    """A tag of HTML as it is; nothing for one of SVG or MathML, which nh3 would drop together with its text."""
    name = tag[1].lower()
    if name in _KNOWN_TAGS:
        return tag[0]
    return " " if name in _FOREIGN_TEXTS else ""


def all_sanitised(htmls: Sequence[str], *, bases: Sequence[str]) -> tuple[list[str], list[Sequence[str]]]:
    """What `sanitised` makes of each text, with the base of the same place, and the absolute web links in it, in order,
    with repetitions."""
    texts, links = list(htmls), [_NO_LINKS] * len(htmls)
    for place, html in enumerate(htmls):
        if "<" in html or "&" in html:
            texts[place], links[place] = _linked(_cleaned(html), bases[place])
    return texts, links


def _linked(html: str, base: str) -> tuple[str, Sequence[str]]:
    """Sanitised HTML with its relative links joined to a base, when there is one, and the web links in it."""
    links: list[str] = []

    def written(attribute: re.Match[str]) -> str:
        name, url = attribute.groups()
        if base and url and not url.startswith(("http", "#")) and not _IS_ABSOLUTE.match(url):
            url = _joined(base, url)
        link = url.replace("&amp;", "&")
        if name != "cite" and is_web_link(link):
            links.append(link)
        return f' {name}="{url}"'

    return _LINKED_TAG.sub(lambda tag: _ADDRESS.sub(written, tag[0]), html), links


def unescape(text: str) -> str:
    """Text with its character references replaced, whatever their numbers."""
    return _unescaped(_LONG_REFERENCE.sub(_short_reference, text) if "&#" in text else text)


def _short_reference(match: re.Match[str]) -> str:
    """Without leading zeros, and cut where no character has more digits."""
    mark, digits = ("", match[1]) if match[1] else ("x", match[2])
    return f"&#{mark}{digits.lstrip('0')[:7] or '0'};"


def escaped(text: str) -> str:
    """Plain text as HTML, written as nh3 writes it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\xa0", "&nbsp;")


def _joined(base: str, url: str) -> str:
    return absolute(url.replace("&amp;", "&"), base).replace("&", "&amp;").replace('"', "%22")


def absolute(url: str, base: str) -> str:
    """A link as it stands in a document, made absolute; unchanged where that is impossible, and where the base is
    so long that the links together would exceed any document. A link that a browser would run becomes empty."""
    url = url.strip()
    if is_script(url):
        return ""
    if not url or not base or len(base) > _MAX_BASE_CHARS or _IS_ABSOLUTE.match(url):
        return url
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def is_script(url: str) -> bool:
    """Whether following a link would run or show what the link itself contains."""
    scheme, colon, _ = url.partition(":")
    return bool(colon) and _IGNORED_IN_SCHEMES.sub("", scheme).lower() in _SCRIPT_SCHEMES


def is_web_link(url: str) -> bool:
    """Whether a link leads somewhere on the web."""
    return _WEB_LINK.match(url) is not None


def are_web_links(urls: Sequence[str]) -> bool:
    """Whether all of them lead to the web, and there are some."""
    whole = "\n".join(urls)
    return whole.count("\n") == len(urls) - 1 and _WEB_LINKS.match(whole) is not None


def text_of(html: str) -> str:
    """The text a reader would see, in one line."""
    if "<" in html:
        html = _without_inline_tags(_without_block_tags(_HIDDEN.sub(" ", html)))
    return one_line(unescape(html) if "&" in html else html)


def _without_block_tags(html: str) -> str:
    end = html.rfind(">") + 1
    return _BLOCK_TAG.sub(" ", html[:end]) + html[end:]


def _without_inline_tags(html: str) -> str:
    """Also without comments; after the last `-->` none can end."""
    last = html.rfind("-->")
    if last < 0:
        return _TAG.sub("", html)
    return _TAG_OR_COMMENT.sub("", html[: last + 3]) + _TAG.sub("", html[last + 3 :])


def _has_tag(text: str) -> bool:
    comment = text.find("<!--")
    return _TAG.search(text) is not None or (comment >= 0 and text.find("-->", comment + 4) >= 0)


def one_line(text: str) -> str:
    """Text with single blanks as its only white space."""
    if text.isprintable() and "  " not in text:  # the only white space that is printable is the blank
        return text.strip()
    return " ".join(text.split())


def all_one_line(texts: list[str]) -> list[str]:
    """As `one_line`, for texts without space around them."""
    if _are_lines("|".join(texts)):
        return texts
    return [one_line(text) for text in texts]


def _are_lines(text: str) -> bool:
    return text.isprintable() and "  " not in text


def all_texts_of(htmls: list[str]) -> list[str]:
    """As `text_of`, for HTML without space around it."""
    whole = "|".join(htmls)
    if _are_lines(whole) and "<" not in whole and "&" not in whole:
        return htmls
    return [text_of(html) for html in htmls]


def all_title_texts(titles: list[str]) -> list[str]:
    """As `title_text`, for titles without space around them."""
    whole = "|".join(titles)
    if _are_lines(whole) and "<" not in whole and "&" not in whole:
        return titles
    return [title_text(title) for title in titles]


def title_text(title: str) -> str:
    """A title as plain text: titles come as text, as HTML, and as HTML escaped once more."""
    if "<" not in title and "&" not in title:
        return one_line(title)
    once = text_of(title)
    return text_of(once) if _has_tag(once) or _ENTITY.search(once) else once


_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
