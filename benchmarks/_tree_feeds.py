"""Feeds that ask for `path`s, through an installation: statements as text, documents pushed, `Weir.run`.

Documents are RSS as publishers write it: each has a template of its own, in an order of its own, of which some parts
are there now and then; one item in ten is of a stranger whose structure nobody has seen before. The patterns are made
from other documents than those that come first and warm things up, and these are others than those that are timed.
"""

from __future__ import annotations

import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.naive import holds

from feedweir.items.model import Item
from feedweir.language.conditions import format_predicate
from feedweir.match.sets import compiled_set
from feedweir.match.trees import parse_tree
from feedweir.plan.predicates import And, AtLeast, GraphPattern, Not, Or, Predicate, TreePattern
from feedweir.service.installation import Weir

SOURCES = tuple(f"press{number}" for number in range(16))
_ITEMS_A_DOCUMENT = 25
_STRANGERS = 0.1
_WARM = 4_000
_FEEDS_COMPARED = 400
_SPACES = (
    ("media", "http://search.yahoo.com/mrss/"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("itunes", "http://www.itunes.com/dtds/podcast-1.0.dtd"),
    ("slash", "http://purl.org/rss/1.0/modules/slash/"),
    ("georss", "http://www.georss.org/georss"),
    ("atom", "http://www.w3.org/2005/Atom"),
)
_DECLARED = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in _SPACES)

Draw = random.Random
WORDS = tuple(f"word{place}" for place in range(6000))
NAMES = tuple(f"Name{place}" for place in range(800))
TOPICS = tuple(f"topic{place}" for place in range(400))


def _text(draw: Draw, count: int) -> str:
    """Words as they are in texts: few of them often."""
    return " ".join(WORDS[int(len(WORDS) * draw.random() ** 3)] for _ in range(count))


def _one(draw: Draw, among: Sequence[str]) -> str:
    return among[int(len(among) * draw.random() ** 2)]


def _content(draw: Draw) -> str:
    sizes = f'width="{draw.choice((120, 240, 640, 1024))}" height="{draw.randrange(60, 800)}"'
    kind = draw.choice(("image/jpeg", "image/png", "video/mp4", "audio/mpeg"))
    inside = f"<media:credit role='author'>{_one(draw, NAMES)}</media:credit>" if draw.random() < 0.5 else ""
    url = f"https://m.example/{draw.randrange(10**6)}"
    return f'<media:content url="{url}" type="{kind}" {sizes}>{inside}</media:content>'


def _group(draw: Draw) -> str:
    rating = f"<media:rating>{draw.randrange(1, 6)}</media:rating>"
    return f"<media:group>{_content(draw)}{_content(draw)}{rating}</media:group>"


def _community(draw: Draw) -> str:
    counts = f"views='{draw.randrange(10**5)}' favorites='{draw.randrange(99)}'"
    return f"<media:community><media:statistics {counts}/></media:community>"


_PARTS: tuple[Callable[[Draw], str], ...] = (
    lambda draw: f"<description>{_text(draw, 20)}</description>",
    lambda draw: f"<author>{_one(draw, NAMES)}</author>",
    lambda draw: "".join(f"<category>{_one(draw, TOPICS)}</category>" for _ in range(draw.randrange(1, 5))),
    lambda draw: f'<category domain="{draw.choice(("tags", "section"))}">{_one(draw, TOPICS)}</category>',
    lambda draw: f"<pubDate>Mon, {draw.randrange(1, 29):02} Jun 2020 10:00:00 GMT</pubDate>",
    lambda draw: f"<comments>https://c.example/{draw.randrange(10**6)}</comments>",
    lambda draw: f'<source url="https://s.example/{draw.randrange(90)}">{_one(draw, NAMES)}</source>',
    lambda draw: (
        f'<enclosure url="https://e.example/{draw.randrange(999)}" length="{draw.randrange(10**6)}" type="audio/mpeg"/>'
    ),
    lambda draw: f"<dc:creator>{_one(draw, NAMES)}</dc:creator>",
    lambda draw: "".join(
        f"<dc:subject>{_one(draw, TOPICS)}</dc:subject>" for _ in range(draw.randrange(1, 4))
    ),
    lambda draw: f"<dc:language>{draw.choice(('en', 'de', 'fr', 'es'))}</dc:language>",
    lambda draw: f"<dc:publisher>{_one(draw, NAMES)}</dc:publisher>",
    _content,
    _group,
    lambda draw: (
        f'<media:thumbnail url="https://t.example/{draw.randrange(999)}" width="{draw.randrange(50, 300)}"/>'
    ),
    lambda draw: f"<media:keywords>{_one(draw, TOPICS)}</media:keywords>",
    _community,
    lambda draw: f"<itunes:duration>{draw.randrange(60, 9000)}</itunes:duration>",
    lambda draw: (
        f"<itunes:episode>{draw.randrange(1, 400)}</itunes:episode><itunes:author>{_one(draw, NAMES)}</itunes:author>"
    ),
    lambda draw: (
        f'<itunes:category text="{_one(draw, TOPICS)}"><itunes:category text="{_one(draw, TOPICS)}"/></itunes:category>'
    ),
    lambda draw: (
        f"<slash:section>{_one(draw, TOPICS)}</slash:section><slash:comments>{draw.randrange(300)}</slash:comments>"
    ),
    lambda draw: f"<georss:point>{draw.randrange(-90, 90)} {draw.randrange(-180, 180)}</georss:point>",
    lambda draw: (
        f"<atom:author><atom:name>{_one(draw, NAMES)}</atom:name><atom:uri>https://u.example/</atom:uri></atom:author>"
    ),
    lambda draw: (
        f"<atom:link rel='{draw.choice(('self', 'alternate', 'replies'))}' href='https://l.example/{draw.randrange(999)}'/>"
    ),
)


class Publisher:
    """Some of the parts in an order, each of them there with a chance of its own."""

    def __init__(self, draw: Draw) -> None:
        parts = draw.sample(_PARTS, draw.randrange(6, 14))
        self._parts = [(part, draw.choice((1.0, 1.0, 1.0, 0.9, 0.5, 0.2))) for part in parts]

    def item(self, draw: Draw) -> str:
        parts = (part(draw) for part, chance in self._parts if draw.random() < chance)
        number = draw.randrange(10**12)
        head = f"<title>{_text(draw, 7)}</title><link>https://n.example/{number}</link><guid>{number}</guid>"
        return f"<item>{head}{''.join(parts)}</item>"


class Press:
    """Publishers, and now and then a stranger."""

    def __init__(self, seed: int) -> None:
        draw = Draw(seed)
        self._publishers = [Publisher(draw) for _ in SOURCES]

    def documents(self, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
        """(source, document) until there are so many items."""
        draw = Draw(seed)
        for _ in range(0, count, _ITEMS_A_DOCUMENT):
            place = draw.randrange(len(SOURCES))
            items = (self._item(place, draw) for _ in range(_ITEMS_A_DOCUMENT))
            yield (
                SOURCES[place],
                f'<rss version="2.0" {_DECLARED}><channel>{"".join(items)}</channel></rss>'.encode(),
            )

    def _item(self, place: int, draw: Draw) -> str:
        publisher = Publisher(draw) if draw.random() < _STRANGERS else self._publishers[place]
        return publisher.item(draw)


def example_roots(press: Press, count: int, seed: int) -> list[Any]:
    """The elements of items, under the names that the installation sees."""
    documents = press.documents(count, seed)
    return [item for _, document in documents for item in parse_tree(document).iter("item")]


def conditions(patterns: Sequence[TreePattern] | Sequence[GraphPattern], draw: Draw) -> Iterator[Predicate]:
    """Mostly one pattern, now and then several of them combined."""
    left = iter(patterns)
    while True:
        kind = draw.random()
        try:
            if kind < 0.7:
                yield next(left)
            elif kind < 0.8:
                yield And((next(left), Not(next(left))))
            elif kind < 0.9:
                yield Or((next(left), next(left)))
            else:
                yield AtLeast(2, (next(left), next(left), next(left)))
        except StopIteration:
            return


def statements(predicates: Sequence[Predicate], draw: Draw) -> tuple[list[str], list[str]]:
    """(the source of each feed, or `*`; the feeds as text): single patterns of one source in XSCL now and then."""
    sources = [draw.choice(SOURCES) if draw.random() < 0.5 else "*" for _ in predicates]
    return sources, [
        _statement(f"f{number}", source, predicate, draw)
        for number, (source, predicate) in enumerate(zip(sources, predicates, strict=True))
    ]


def _statement(name: str, source: str, predicate: Predicate, draw: Draw) -> str:
    text = format_predicate(predicate)
    if source != "*" and isinstance(predicate, TreePattern) and draw.random() < 0.2:
        return f"{source}{text.removeprefix('path ')} PUBLISH {name}"
    return f"create feed {name} from {source} where {text}"


def through_weir(predicates: Sequence[Predicate], press: Press, items: int, sample: int) -> dict[str, object]:
    """Milliseconds of the processor for an item of `Weir.run`, reading and parsing and writing included; compiling,
    and planning of filters, first beside the batches and later where statistics differ, are told by themselves."""
    draw = Draw(7)
    sources, texts = statements(predicates, draw)
    with tempfile.TemporaryDirectory() as scratch, Weir.open(Path(scratch) / "data") as weir:
        weir.execute("; ".join(f"register feed http://{name}.example/feed as {name}" for name in SOURCES))
        weir.execute(";\n".join(texts))
        compile_s = _spent(weir.refresh_set)
        _push(weir, press.documents(_WARM, seed=21))
        warm_s = _spent(weir.run)
        ahead_s = _spent(lambda: _planned_ahead(weir))
        _push(weir, press.documents(items, seed=22))
        before = _published(weir)
        with _Calls() as calls, _Planning(weir) as planning:
            run_s = _spent(weir.run) - planning.spent_s
        n_items, n_elements = (_published(weir) - before).tolist()
        return {
            "through_weir_ms": round(1000 * run_s / n_items, 4),
            "through_weir_feeds": len(texts),
            "through_weir_items": n_items,
            "through_weir_hits_per_item": round(n_elements / n_items, 1),
            "through_weir_us_per_hit": round(1e6 * run_s / n_elements, 3),
            "through_weir_calls": calls.count,
            "through_weir_compile_s": round(compile_s, 1),
            "through_weir_planned_ahead_s": round(ahead_s, 1),
            "through_weir_planning_s": round(planning.spent_s, 1),
            "through_weir_first_run_s": round(warm_s, 1),
            "through_weir_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "through_weir_agree": _agrees(weir, sources, predicates, draw, sample),
        }


def _planned_ahead(weir: Weir) -> None:
    """What is planned beside the first batches, until its plans are in force and have been opened."""
    weir.plans.wait()
    weir.run()
    _push(weir, Press(3).documents(_WARM, seed=23))
    weir.run()


def _published(weir: Weir) -> NDArray[np.int64]:
    """Items and elements so far; compaction joins batches of before and after, and leaves the sums as they are."""
    return np.sum([(one.item_count, one.element_count) for one in weir.store.manifests()], axis=0)


def _push(weir: Weir, documents: Iterator[tuple[str, bytes]]) -> None:
    for source, document in documents:
        weir.push(source, document)


class _Calls:
    """How many pairs the plain meaning is asked of, each by a call in Python."""

    count = 0

    def __enter__(self) -> _Calls:
        self._real = compiled_set.holds
        compiled_set.holds = self._counted
        return self

    def __exit__(self, *_: object) -> None:
        compiled_set.holds = self._real

    def _counted(self, *given: Any) -> bool:
        self.count += 1
        return self._real(*given)


class _Planning:
    """What it takes to plan and compile the set anew, which statistics may lead to after a run."""

    spent_s = 0.0

    def __init__(self, weir: Weir) -> None:
        self._weir: Any = weir

    def __enter__(self) -> _Planning:
        self._refresh, self._replan = self._weir.refresh_set, self._weir.plans.replan
        self._weir.refresh_set, self._weir.plans.replan = self._told(self._refresh), self._told(self._replan)
        return self

    def __exit__(self, *_: object) -> None:
        self._weir.refresh_set, self._weir.plans.replan = self._refresh, self._replan

    def _told(self, work: Callable[[], object]) -> Callable[[], object]:
        def told() -> object:
            begun = cpu_s()
            result = work()
            self.spent_s += cpu_s() - begun
            return result

        return told


def _agrees(
    weir: Weir, sources: Sequence[str], predicates: Sequence[Predicate], draw: Draw, sample: int
) -> bool:
    """Whether some feeds have of the newest items what their plain meaning says."""
    items = _newest(weir, sample)
    chosen = draw.sample(range(len(predicates)), _FEEDS_COMPARED)
    return all(
        _has(weir, f"f{number}", items) == _wants(sources[number], predicates[number], items)
        for number in chosen
    )


def _newest(weir: Weir, sample: int) -> list[Item]:
    return [item for source in SOURCES for item in weir.items(source, sample // len(SOURCES))]


def _has(weir: Weir, feed: str, items: Sequence[Item]) -> list[bool]:
    feeds = np.full(len(items), weir.catalog.feeds.named(feed).id)
    found: list[bool] = weir.store.is_in(feeds, np.array([item.seq for item in items])).tolist()
    return found


def _wants(source: str, predicate: Predicate, items: Sequence[Item]) -> list[bool]:
    return [source in ("*", item.source) and holds(predicate, item) for item in items]


def _spent(work: Callable[[], object]) -> float:
    """Seconds of the processor that this process and those that it started took."""
    before = cpu_s()
    work()
    return cpu_s() - before


def cpu_s() -> float:
    return time.process_time() + sum(map(_of_process, _children(os.getpid())))


def _children(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").iterdir()
    own = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return own + [below for child in own for below in _children(child)]


def _of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
