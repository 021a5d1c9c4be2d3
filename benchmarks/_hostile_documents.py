"""Documents made to be slow to read: each shape grows to any size, so that what they cost can be compared.

`hostile_documents` gives them by name; whatever reads documents must read each in a time that grows with its size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape


def hostile_documents(size: int) -> dict[str, bytes]:
    """Documents of about `size` bytes, by the name of their shape."""
    return {name: make(size).encode() for name, make in _SHAPES.items()}


def repeated(unit: str, size: int) -> str:
    """A text of about `size` characters made of one that is repeated."""
    return unit * max(size // len(unit), 1)


def numbered(unit: str, size: int) -> str:
    """As `repeated`, each with its number in place of `#`: no two are the same."""
    count = max(size // (len(unit) + 4), 1)
    return "".join(unit.replace("#", str(number)) for number in range(count))


def nested(name: str, size: int, inside: str = "x") -> str:
    count = max(size // (2 * len(name) + 5), 1)
    return f"<{name}>" * count + inside + f"</{name}>" * count


def _rss(items: str, *, attributes: str = "", before: str = "") -> str:
    about = "<title>Hostile</title><link>https://hostile.example/</link>"
    return f'{before}<rss version="2.0"{attributes}><channel>{about}{items}</channel></rss>'


def _item(inside: str, *, number: int = 0, link: str = "") -> str:
    address = link or f"https://hostile.example/{number}"
    return f"<item><title>News {number}</title><link>{address}</link>{inside}</item>"


def _of_one(inside: str) -> str:
    return _rss(_item(inside))


def _described(html: str) -> str:
    return _of_one(f"<description>{escape(html, quote=False)}</description>")


def _element(name: str, unit: str) -> Callable[[int], str]:
    return lambda size: _of_one(f"<{name}>{escape(repeated(unit, size), quote=False)}</{name}>")


def _link_with_space(size: int) -> str:
    """As a news site has it: good links, and the last with a space in it."""
    count = max(size // 130, 2)
    good = "".join(_item("", number=number) for number in range(count))
    return _rss(good + _item("", number=count, link="https://hostile.example/a story/with a space"))


def _comments_first(size: int) -> str:
    return _rss(_item(""), before=repeated("<!---->", min(size, 4000)) + repeated(" <!--x-->", size))


def _page_comments(size: int) -> str:
    return repeated("<!---->", size) + "<p>nothing</p>"


def _json(item: dict[str, object]) -> str:
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Hostile", "items": [item]}
    return json.dumps(feed, ensure_ascii=False)


def _nested_json(size: int) -> str:
    depth = size // 2
    return '{"version": "https://jsonfeed.org/version/1.1", "items": ' + "[" * depth + "]" * depth + "}"


def _equal_guids(size: int) -> str:
    count = max(size // 120, 2)
    items = (
        f"<item><title>{n}</title><guid>same</guid><link>https://hostile.example/{n % 2}</link></item>"
        for n in range(count)
    )
    return _rss("".join(items))


def _different_shapes(size: int) -> str:
    """No two items have the same elements."""
    items, total, number = [], 0, 1
    while total < size:
        items.append(_item(numbered("<x#>y</x#>", 12 * (number % 40)) + f"<z{number}>1</z{number}>"))
        total += len(items[-1])
        number += 1
    return _rss("".join(items))


def _items(inside: str, size: int) -> str:
    count = max(size // (len(inside) + 80), 1)
    return "".join(_item(inside, number=number) for number in range(count))


def _namespaces_and_items(size: int) -> str:
    return _rss(_items("", size // 2), attributes=numbered(' xmlns:n#="urn:n:#"', size // 2))


def _long_namespace_and_items(size: int) -> str:
    return _rss(_items("<n:a>1</n:a>", size // 2), attributes=f' xmlns:n="urn:n:{repeated("n", size // 2)}"')


def _cut_off(inside: str) -> Callable[[int], str]:
    """Not well-formed, so that every way of reading is tried."""
    return lambda size: f'<rss version="2.0"><channel>{_item("")}{repeated(inside, size)}<item><title>&'


_TEXT_SHAPES: dict[str, Callable[[int], str]] = {
    f"{name}: {unit}": _element(name, unit)
    for name, units in {
        "title": ("<!--", "<!-- ", "<a ", "<", "</", "<script>", "<style ", "<p ", "&#", "&amp;lt;", "&a", "<a<"),
        "author": ("<a@", "@", "a@b (", "a <", "<!--", "( "),
        "category": ("<!--", "<script", "<br "),
        "link": ("http://@", ".", "[", "a.", "//", "http://a:", "?", "&utm_a"),
        "guid": ("http://@", ".", "[", "a.", "https://[", "a:"),
        "description": (
            "<div>", "<b>", "<p>", "<a href='x'>", "<table>", "<!--", "<script>", "<font>", "<li>", "<svg>",
            "<math>", "<select>", "<template>", '<a href="', "<a b", "<a b='c' ", "&lt;", "&", "<", " href=\"",
            '<img src="/a">', "<form>", "<i><b>", "</p>", "<b></p>", "<nobr>", "<td>", "<![CDATA[", "<?",
        ),
        "pubDate": ("1 ", "May ", "1:", "(", "20-", "."),
        "enclosure": ("x",),
    }.items()
    for unit in units
}  # fmt: skip

_SHAPES: dict[str, Callable[[int], str]] = {
    "a link with a space after good links": _link_with_space,
    "comments before the root": _comments_first,
    "comments and no root": _page_comments,
    **_TEXT_SHAPES,
    "many categories": lambda size: _of_one(numbered("<category>c#</category>", size)),
    "many authors": lambda size: _of_one(numbered("<author>a#@b.example (A#)</author>", size)),
    "many enclosures": lambda size: _of_one(numbered('<enclosure url="https://h.example/#"/>', size)),
    "many media": lambda size: _rss(
        _item(numbered('<media:content url="https://h.example/#"/>', size)),
        attributes=' xmlns:media="http://search.yahoo.com/mrss/"',
    ),
    "many links": lambda size: (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>'
        + numbered('<link rel="related" href="https://h.example/#"/>', size)
        + "</entry></feed>"
    ),
    "many people": lambda size: (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>'
        + numbered("<author><name>A#</name></author>", size)
        + "</entry></feed>"
    ),
    "many feed authors": lambda size: (
        '<feed xmlns="http://www.w3.org/2005/Atom">'
        + numbered("<author><name>A#</name></author>", size // 2)
        + repeated("<entry><title>t</title></entry>", size // 2)
        + "</feed>"
    ),
    "many extensions": lambda size: _of_one(numbered("<e#>1</e#>", size)),
    "many attributes": lambda size: _of_one("<x" + numbered(' a#="1"', size) + "/>"),
    "many attributes of the root": lambda size: _rss(_item(""), attributes=numbered(' a#="1"', size)),
    "many attributes in HTML": lambda size: _described("<p" + numbered(" a#=1", size) + ">x</p>"),
    "many kept attributes in HTML": lambda size: _described("<p" + repeated(' title="x"', size) + ">x</p>"),
    "many xmlns": lambda size: _rss(_item(""), attributes=numbered(' xmlns:n#="urn:n:#"', size)),
    "many xmlns and items": _namespaces_and_items,
    "a long xmlns and items": _long_namespace_and_items,
    "xmlns of each element": lambda size: _of_one(numbered('<n#:x xmlns:n#="urn:n:#"/>', size)),
    "nested escaped div": lambda size: _described(nested("div", size // 2)),
    "nested escaped b": lambda size: _described(nested("b", size // 2)),
    "nested elements": lambda size: _of_one(nested("x", size)),
    "nested items": lambda size: _rss("<item><title>t</title>" * 200 + repeated("y", size) + "</item>" * 200),
    "nested items, cut off": lambda size: (
        "<rss><channel>" + "<item><title>t</title>" * 200 + repeated("y", size) + "</item>" * 200 + "<item>&"
    ),
    "mixed content": lambda size: _of_one(repeated("<title>a<b>c</b></title>", size)),
    "items of one guid": _equal_guids,
    "items of different shapes": _different_shapes,
    "many small items": lambda size: _rss(repeated("<item><title>t</title></item>", size)),
    "cut off after <": _cut_off("<"),
    "cut off after <a ": _cut_off("<a "),
    "cut off after &": _cut_off("&a"),
    "cut off in CDATA": _cut_off("<![CDATA["),
    "cut off in comments": _cut_off("<!--"),
    "cut off in quotes": _cut_off('<a b="'),
    "cut off in items": _cut_off("<item>"),
    "cut off after closed items": _cut_off("</item>"),
    "an open DOCTYPE": lambda size: "<!DOCTYPE rss [" + repeated("<!ENTITY a 'b' ", size) + _of_one(""),
    "a DOCTYPE of quotes": lambda size: "<!DOCTYPE rss " + repeated("'\"", size) + _of_one(""),
    "an entity bomb": lambda size: (
        "<!DOCTYPE rss [" + numbered('<!ENTITY a# "&b#;&b#;">', size) + "]>" + _of_one("")
    ),
    "entities one after the other": lambda size: (
        "<!DOCTYPE rss [" + numbered('<!ENTITY a# "x">', size) + "]>" + _of_one("<description>&a1;</description>")
    ),
    "instructions before the root": lambda size: _rss(_item(""), before=repeated("<?x y?>", size)),
    "space before the root": lambda size: repeated(" ", size) + _rss(_item("")),
    "an XML declaration without an end": lambda size: "<?xml " + repeated("encoding=", size),
    "a page": lambda size: "<!DOCTYPE html><html><body>" + repeated('<a href="/feed">', size),
    "a page of links": lambda size: "<html><head>" + numbered('<link rel="alternate" href="/feed#">', size),
    "JSON nested": _nested_json,
    "JSON tags": lambda size: _json({"id": "1", "tags": [f"t{n}" for n in range(size // 8)]}),
    "JSON attachments": lambda size: _json(
        {"id": "1", "attachments": [{"url": f"https://h.example/{n}"} for n in range(size // 32)]}
    ),
    "JSON extensions": lambda size: _json({"id": "1", "_x": {f"k{n}": "v" for n in range(size // 12)}}),
    "JSON title": lambda size: _json({"id": "1", "title": repeated("<!--", size)}),
    "JSON number": lambda size: '{"version": "x", "items": [{"id": ' + repeated("1", size) + "}]}",
    "words of combining marks": lambda size: _of_one("<title>a" + repeated("\u0301\u0323", size // 4) + "</title>"),
    "digits of a reference": lambda size: _of_one(f"<title>&amp;#{repeated('1', size)};</title>"),
}  # fmt: skip
