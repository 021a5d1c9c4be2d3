"""The pages in a real browser: they are styled, readable, safe, and fit a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from feedweir.deliver.render.view import EntryView
from feedweir.items.model import Enclosure
from feedweir.web.app import create_app
from feedweir.web.web_server import WebServer
from tests.web.browser import Tab, browse
from tests.web.memory_backend import NOON, MemoryBackend, an_item

EVIL = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
    "<a href='javascript:window.pwned=3'>go</a><iframe srcdoc='<script>parent.pwned=4</script>'></iframe>"
    "<style>body{display:none}</style><p>harmless</p>"
)
WIDE = f"<pre>{'wide ' * 80}</pre><p>{'unbreakable' * 30}</p><table><tr>{'<td>cell</td>' * 60}</tr></table>"


@pytest.fixture
def url(backend: MemoryBackend) -> Iterator[str]:
    backend.put("Evil", [an_item(50, title="<script>window.pwned = 5</script>", summary=EVIL)])
    wide = an_item(51, title="A" * 200, content=WIDE, categories=("c" * 90,), language="de")
    backend.put(
        "Wide", [wide], definition=f"create feed Wide from {' | '.join(['Feed'] * 60)};", title="W" * 120
    )
    sound = Enclosure(url="http://127.0.0.1:1/a.wav", type="audio/wav", length=1_500_000)
    arabic = an_item(
        52, title="ماء النهر", summary="<p>ارتفع ماء النهر</p>", language="ar", enclosures=(sound,)
    )
    backend.put("Nahr", [arabic], kind="source")
    joined = EntryView(item=an_item(53), annotation=(("photos", (an_item(3), an_item(2))),))
    backend.put("Joined")
    backend.views["Joined"] = replace(backend.views["Joined"], entries=(joined,))
    backend.failures["RiverPost"] = "the host did not answer " * 10
    with WebServer(create_app(backend, clock=lambda: NOON + timedelta(hours=1))) as server:
        yield server.url


PAGES = (
    "/",
    "/feeds/RiverPost",
    "/feeds/Wide",
    "/feeds/Joined",
    "/items/51",
    "/items/52",
    "/items/53",
    "/feeds/Nope",
)

_CONTRAST = """(() => {
  const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const ratios = [...document.querySelectorAll('body *')]
    .filter(node => [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()))
    .map(node => {
      const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 80)];
    });
  return ratios.filter(([ratio]) => ratio < 4.5);
})()"""


def test_pages_are_styled_readable_in_both_lights_and_fit_a_telephone(chromium: str, url: str) -> None:
    async def visit(tab: Tab) -> None:
        for page in PAGES:
            await tab.open(url + page)
            refused = [text for text in tab.complaints() if "Content Security Policy" in text]
            assert not refused, page
            assert await tab.evaluate("document.styleSheets[0].cssRules.length") > 50, page
            for is_dark in (False, True):
                await tab.be(width=1100, is_dark=is_dark)
                assert await tab.evaluate(_CONTRAST) == [], (page, is_dark)
            await tab.be(width=360)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= 360, page

    browse(chromium, visit)


def test_dark_pages_are_dark(chromium: str, url: str) -> None:
    async def visit(tab: Tab) -> None:
        paper = "getComputedStyle(document.body).backgroundColor"
        await tab.open(url)
        await tab.be(is_dark=False)
        assert await tab.evaluate(paper) == "rgb(251, 250, 247)"
        await tab.be(is_dark=True)
        assert await tab.evaluate(paper) == "rgb(16, 24, 27)"

    browse(chromium, visit)


def test_hostile_items_run_nothing_and_hide_nothing(chromium: str, url: str) -> None:
    async def visit(tab: Tab) -> None:
        for page in ("/feeds/Evil", "/items/50"):
            await tab.open(url + page)
            assert await tab.evaluate("typeof window.pwned") == "undefined"
            assert await tab.evaluate("getComputedStyle(document.body).display") == "flex"
            assert await tab.evaluate("document.querySelectorAll('script, iframe, style').length") == 0
            assert await tab.evaluate("[...document.links].every(a => a.protocol === 'http:')")
            assert "harmless" in await tab.evaluate("document.body.innerText")

    browse(chromium, visit)


def test_a_person_walks_from_the_list_to_a_feed_to_an_item(chromium: str, url: str) -> None:
    async def visit(tab: Tab) -> None:
        await tab.open(url)
        feed = await tab.evaluate("[...document.links].find(a => a.innerText === 'The River Post').href")
        await tab.open(feed)
        alternates = "[...document.querySelectorAll('link[rel=alternate]')].map(l => l.href)"
        assert await tab.evaluate(alternates) == [f"{feed}.rss", f"{feed}.atom", f"{feed}.json"]
        item = await tab.evaluate("document.querySelector('.entry h2 a').href")
        await tab.open(item)
        assert await tab.evaluate("document.querySelector('h1').innerText") == "The river on day 3"
        original = "document.querySelector('.original').href"
        assert await tab.evaluate(original) == "http://river.example/3"

    browse(chromium, visit)


def test_text_of_any_direction_runs_its_own_way(chromium: str, url: str) -> None:
    async def visit(tab: Tab) -> None:
        await tab.open(f"{url}/items/52")
        assert await tab.evaluate("getComputedStyle(document.querySelector('h1')).direction") == "rtl"
        assert await tab.evaluate("getComputedStyle(document.querySelector('.meta')).direction") == "ltr"
        assert await tab.evaluate("document.querySelector('audio').preload") == "none"

    browse(chromium, visit)
