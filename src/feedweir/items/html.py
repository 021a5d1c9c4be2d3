"""HTML inside items: made safe, read as text, searched for links.

`sanitised` gives what nh3 gives, but asks nh3 only for text that has tags: text without them is decoded and
escaped here, which is the same and faster (a test compares both). `all_sanitised` is for many texts at once: what
most HTML looks like is made safe by a kernel, which declines the rest; a test compares it with `sanitised`.
HTML that was made to be slow (`items/markup_bounds.py`) is shown as its plain text.

Everything here takes time in proportion to its input, whatever the input: where a search for an end might fail again
and again, it is looked for once, from behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import unescape as _unescaped
from typing import Any
from urllib.parse import urljoin

import nh3
import numpy as np

from feedweir.items.html_kernels import END, MAX_GROWTH, clean_texts
from feedweir.items.html_link_kernels import DECLINED, RELATIVE
from feedweir.items.markup_bounds import is_too_complex

_END, _DECLINED, _RELATIVE = chr(END), chr(DECLINED), chr(RELATIVE)
_NO_LINKS: Sequence[str] = ()
_CLEANER = nh3.Cleaner(link_rel=None)
_WEB_LINK = re.compile(r"https?://[^\s/?#]\S*+\Z")
_WEB_LINKS = re.compile(r"https?://[^\s/?#]\S*+(?:\nhttps?://[^\s/?#]\S*+)*+\Z")
_MARKED_URL = re.compile(f'{_RELATIVE}([^"]*)')
_URL_ATTRIBUTES = (' href="', ' src="', ' cite="')
_SCRIPT_SCHEMES = frozenset({"javascript", "vbscript", "data"})
_IGNORED_IN_SCHEMES = re.compile(r"[\x00-\x20\x7f]+")
"""Browsers pass over a line's end in a scheme."""
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
_NOT_HTML_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\r]")


def sanitised(html: str, *, base: str = "") -> str:
    """HTML without anything that acts; relative links become absolute when there is a `base`."""
    if "<" not in html:
        return _without_tags(html) if "&" in html else html
    if _IS_FOREIGN.search(html):
        html = _NAMED_TAG.sub(_without_foreign, html)
    if is_too_complex(html):
        return escaped(text_of(html))
    return _with_base(str(_CLEANER.clean(html)), base)


def _without_foreign(tag: re.Match[str]) -> str:
    """A tag of HTML as it is; nothing for one of SVG or MathML, which nh3 would drop together with its text."""
    name = tag[1].lower()
    if name in _KNOWN_TAGS:
        return tag[0]
    return " " if name in _FOREIGN_TEXTS else ""


def all_sanitised(htmls: Sequence[str], *, bases: Sequence[str]) -> tuple[list[str], list[Sequence[str]]]:
    """What `sanitised` makes of each text, with the base of the same place, and what `links_in` finds in it."""
    texts, links = list(htmls), [_NO_LINKS] * len(htmls)
    marked = [place for place, html in enumerate(htmls) if "<" in html or "&" in html]
    for place, (text, found) in zip(marked, _cleaned([htmls[place] for place in marked]), strict=True):
        if text == _DECLINED:
            texts[place] = sanitised(htmls[place], base=bases[place])
            links[place] = links_in(texts[place])
        else:
            urls = found[:-1].split(_DECLINED) if found else _NO_LINKS
            if _RELATIVE in text:
                text, urls = _joined_relatives(text, urls, bases[place])
            texts[place], links[place] = text, urls
    return texts, links


def _cleaned(htmls: list[str]) -> Iterable[tuple[str, str]]:
    """(HTML, links) of each text as the kernel writes them."""
    if not htmls:
        return []
    source = np.frombuffer((_END.join(htmls) + _END).encode(), np.uint8)
    out, links = np.empty(source.size * MAX_GROWTH, np.uint8), np.empty(source.size, np.uint8)
    out_size, links_size = clean_texts(source, out, links)
    texts = _parts(out[:out_size])
    if len(texts) != len(htmls):  # a text has the byte that parts them
        return [(_DECLINED, "")] * len(htmls)
    return zip(texts, _parts(links[:links_size]), strict=True)


def _parts(joined: np.ndarray[Any, Any]) -> list[str]:
    return joined.tobytes().decode()[:-1].split(_END)


def _joined_relatives(html: str, links: Sequence[str], base: str) -> tuple[str, list[str]]:
    """HTML and links of the kernel with the relative addresses that it marked joined to a base."""
    html = _MARKED_URL.sub(lambda match: _joined(base, match[1]) if base else match[1], html)
    urls: list[str] = []
    for link in links:
        url = _joined(base, link[1:]).replace("&amp;", "&") if link[0] == _RELATIVE else link
        if url is link or is_web_link(url):
            urls.append(url)
    return html, urls


def _with_base(html: str, base: str) -> str:
    """Sanitised HTML with its relative links joined to a base, when there is one."""
    if not base:
        return html
    parts: list[str] = []
    end = 0
    for first, last in _urls(html, _URL_ATTRIBUTES):
        url = html[first:last]
        if url and not url.startswith(("http", "#")) and not _IS_ABSOLUTE.match(url):
            parts += (html[end:first], _joined(base, url))
            end = last
    return "".join(parts) + html[end:] if parts else html


def _urls(html: str, attributes: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where the values of these attributes stand in sanitised HTML, in order."""
    found = []
    for attribute in attributes:
        at, seen, is_in_tag = html.find(attribute), 0, False
        while at >= 0:
            first = at + len(attribute)
            last = html.find('"', first)
            # text may quote such an attribute, but there the last bracket before it closes a tag
            opened, closed = html.rfind("<", seen, at), html.rfind(">", seen, at)
            is_in_tag = opened > closed if opened != closed else is_in_tag
            if is_in_tag:
                found.append((first, last))
            at, seen = html.find(attribute, last), at
    found.sort()
    return found


def _without_tags(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return escaped(_NOT_HTML_TEXT.sub("", unescape(text)))


def unescape(text: str) -> str:
    """Text with its references to characters put in, whatever numbers they have."""
    return _unescaped(_LONG_REFERENCE.sub(_short_reference, text) if "&#" in text else text)


def _short_reference(match: re.Match[str]) -> str:
    """Zeros do not count; there is no character with more digits than are left."""
    mark, digits = ("", match[1]) if match[1] else ("x", match[2])
    return f"&#{mark}{digits.lstrip('0')[:7] or '0'};"


def escaped(text: str) -> str:
    """Plain text as HTML, written as nh3 writes it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\xa0", "&nbsp;")


def _joined(base: str, url: str) -> str:
    return absolute(url.replace("&amp;", "&"), base).replace("&", "&amp;").replace('"', "%22")


def absolute(url: str, base: str) -> str:
    """A link as it stands in a document, made absolute; unchanged where that cannot be done, and where the base is so
    long that all links together would be longer than any document. What a browser would run is no link."""
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
    """Whether whoever follows a link would run or show what stands in the link itself."""
    scheme, colon, _ = url.partition(":")
    return bool(colon) and _IGNORED_IN_SCHEMES.sub("", scheme).lower() in _SCRIPT_SCHEMES


def links_in(html: str) -> list[str]:
    """The absolute web links of sanitised HTML, in order, with repetitions."""
    if "<" not in html:
        return []
    found = (html[first:last].replace("&amp;", "&") for first, last in _urls(html, _URL_ATTRIBUTES[:2]))
    return [url for url in found if is_web_link(url)]


def is_web_link(url: str) -> bool:
    """Whether a link leads somewhere on the web."""
    return _WEB_LINK.match(url) is not None


def are_web_links(urls: Sequence[str]) -> bool:
    """Whether all of them do, and there are some."""
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
    """Comments go as well; behind the last end of one, none can end."""
    last = html.rfind("-->")
    if last < 0:
        return _TAG.sub("", html)
    return _TAG_OR_COMMENT.sub("", html[: last + 3]) + _TAG.sub("", html[last + 3 :])


def _has_tag(text: str) -> bool:
    comment = text.find("<!--")
    return _TAG.search(text) is not None or (comment >= 0 and text.find("-->", comment + 4) >= 0)


def one_line(text: str) -> str:
    """Text with its white space made single blanks."""
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
