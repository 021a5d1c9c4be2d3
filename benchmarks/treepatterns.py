"""Tree patterns by the hundred thousand against XMark-like documents and feed items, and lxml with each of them alone.

Patterns are made from the label paths and values of sample documents: steps skipped (`//`), names forgotten (`*`),
branches and comparisons added. Both sides get documents that are already parsed; our time includes turning them into
arrays, a batch at a time. lxml evaluates compiled expressions, a sample of the patterns on every document, and its time
is extrapolated linearly to all patterns; the same sample is what `agree` compares. All times are CPU time of one
thread. Documents were preceded by others of their kind, as in a stream, so that most structures of small documents were
met before; `structures` tells how many there were, and `speedup_unseen` what is left when nothing is known of any.

`through_weir_ms` is the time of an item through an installation whose feeds ask for paths (`_tree_feeds.py`).
"""

from __future__ import annotations

import argparse
import gc
import gzip
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lxml import etree

from benchmarks._tree_feeds import Press, conditions, example_roots, through_weir
from feedweir.match.trees import TreeSet, compile_trees, parse_tree, tree_of
from feedweir.plan.predicates import PatternNode, TreePattern

WORDS = tuple(f"word{place}" for place in range(2000))
REGIONS = ("africa", "asia", "australia", "europe", "namerica", "samerica")
Branch = tuple[str, ...]
MAX_VALUES = 5000
COUNTS = (100_000, 500_000)


def auction_document(items: int, chance: random.Random) -> str:
    """An auction site in the manner of XMark: regions with items, people, open auctions, categories."""
    text = lambda count: " ".join(chance.choices(WORDS, k=count))  # noqa: E731
    regions = {region: [] for region in REGIONS}  # type: dict[str, list[str]]
    for number in range(items):
        regions[chance.choice(REGIONS)].append(_item(number, chance, text))
    people = "".join(_person(number, chance, text) for number in range(items))
    auctions = "".join(_auction(number, items, chance, text) for number in range(items // 2))
    inside = "".join(f"<{region}>{''.join(held)}</{region}>" for region, held in regions.items())
    categories = "".join(
        f'<category id="category{n}"><name>{text(2)}</name></category>' for n in range(items // 10)
    )
    return (
        f"<site><regions>{inside}</regions><categories>{categories}</categories>"
        f"<people>{people}</people><open_auctions>{auctions}</open_auctions></site>"
    )


def _item(number: int, chance: random.Random, text: Any) -> str:
    listed = "".join(
        f"<listitem><text>{text(8)}<keyword>{text(1)}</keyword></text></listitem>"
        for _ in range(chance.randrange(1, 3))
    )
    body = (
        f"<parlist>{listed}</parlist>"
        if chance.random() < 0.5
        else f"<text>{text(12)}<emph>{text(1)}</emph></text>"
    )
    kinds = "".join(
        f'<incategory category="category{chance.randrange(20)}"/>' for _ in range(chance.randrange(1, 4))
    )
    mail = f"<mail><from>{text(2)}</from><to>{text(2)}</to><date>{_date(chance)}</date><text>{text(10)}</text></mail>"
    return (
        f'<item id="item{number}"><location>{text(1)}</location><quantity>{chance.randrange(1, 9)}</quantity>'
        f"<name>{text(2)}</name><payment>Creditcard</payment><description>{body}</description>"
        f"<shipping>{text(3)}</shipping>{kinds}<mailbox>{mail * chance.randrange(0, 2)}</mailbox></item>"
    )


def _person(number: int, chance: random.Random, text: Any) -> str:
    extra = f"<phone>{chance.randrange(10**6)}</phone>" if chance.random() < 0.5 else ""
    if chance.random() < 0.4:
        extra += (
            f"<address><street>{text(2)}</street><city>{text(1)}</city><country>{text(1)}</country></address>"
        )
    profile = (
        f'<profile income="{chance.randrange(10_000, 99_999)}"><interest category="category{chance.randrange(20)}"/>'
        f"<education>{text(1)}</education><age>{chance.randrange(18, 90)}</age></profile>"
    )
    mail = f"<emailaddress>{text(1)}</emailaddress>"
    return f'<person id="person{number}"><name>{text(2)}</name>{mail}{extra}{profile}</person>'


def _auction(number: int, items: int, chance: random.Random, text: Any) -> str:
    bids = "".join(_bid(items, chance) for _ in range(chance.randrange(0, 4)))
    happiness = f"<happiness>{chance.randrange(1, 11)}</happiness>"
    return (
        f'<open_auction id="open_auction{number}"><initial>{chance.randrange(1, 300)}.25</initial>{bids}'
        f'<current>{chance.randrange(1, 500)}.75</current><itemref item="item{chance.randrange(items)}"/>'
        f"<annotation><description><text>{text(6)}</text></description>{happiness}</annotation>"
        f"<interval><start>{_date(chance)}</start><end>{_date(chance)}</end></interval></open_auction>"
    )


def _bid(items: int, chance: random.Random) -> str:
    person = f'<personref person="person{chance.randrange(items)}"/>'
    return f"<bidder><date>{_date(chance)}</date>{person}<increase>{chance.randrange(1, 60)}.50</increase></bidder>"


def _date(chance: random.Random) -> str:
    return f"{chance.randrange(1, 13):02}/{chance.randrange(1, 29):02}/200{chance.randrange(0, 4)}"


def feed_item(chance: random.Random) -> str:
    """An RSS item with the usual elements, some of them now and then."""
    word = lambda count: " ".join(chance.choices(WORDS, k=count))  # noqa: E731
    parts = [f"<title>{word(6)}</title><link>https://example.org/{chance.randrange(10**6)}</link>"]
    parts.append(f"<description>{word(20)}</description><pubDate>{_date(chance)}</pubDate>")
    parts += [f"<category>{chance.choice(WORDS[:200])}</category>" for _ in range(chance.randrange(0, 5))]
    if chance.random() < 0.6:
        parts.append(f"<author>{chance.choice(WORDS[:300])}</author>")
    if chance.random() < 0.4:
        parts.append(f'<guid isPermaLink="false">{chance.randrange(10**6)}</guid>')
    if chance.random() < 0.3:
        url = f"https://example.org/{chance.randrange(99)}"
        parts.append(f'<enclosure url="{url}" length="{chance.randrange(10**6)}" type="audio/mpeg"/>')
    if chance.random() < 0.3:
        content = f'<content height="{chance.randrange(100, 900)}"><thumb/></content>'
        parts.append(f"<media>{content}<credit>{word(1)}</credit></media>")
    return f"<item>{''.join(parts)}</item>"


def branches_of(roots: Sequence[Any]) -> dict[Branch, list[str]]:
    """Label paths of documents, each with some of its values."""
    found: dict[Branch, list[str]] = {}

    def walk(node: Any, above: Branch) -> None:
        name = f"{node.prefix}:{etree.QName(node).localname}" if node.prefix else node.tag
        path = (*above, name)
        values = found.setdefault(path, [])
        if len(values) < MAX_VALUES and not len(node):
            values.append(node.text or "")
        for name, value in node.attrib.items():
            held = found.setdefault((*path, f"@{name}"), [])
            if len(held) < MAX_VALUES:
                held.append(value)
        for child in node:
            walk(child, path)

    for root in roots:
        walk(root, ())
    return found


class PatternMaker:
    """Distinct random patterns over the paths of sample documents."""

    def __init__(
        self, roots: Sequence[Any], chance: random.Random, compared: float = 0.65, equal: float = 0.25
    ) -> None:
        self.values = branches_of(roots)
        self.paths = sorted(self.values)
        self.below: dict[Branch, list[Branch]] = {}
        for path in self.paths:
            for length in range(1, len(path)):
                self.below.setdefault(path[:length], []).append(path)
        self.chance = chance
        self._compared, self._equal = compared, equal

    def patterns(self, count: int) -> list[TreePattern]:
        made: dict[PatternNode, None] = {}
        while len(made) < count:
            made[self._pattern()] = None
        return [TreePattern(root) for root in made]

    def _pattern(self) -> PatternNode:
        chance = self.chance
        path = chance.choice(self.paths)
        start = chance.randrange(len(path)) if chance.random() < 0.6 else 0
        if path[start].startswith("@"):
            start = 0
        return self._chain(path, start, "/" if start == 0 and chance.random() < 0.5 else "//")

    def _chain(self, path: Branch, place: int, axis: str) -> PatternNode:
        chance = self.chance
        name = path[place]
        last = place == len(path) - 1
        children: list[PatternNode] = []
        if not last:
            skip = chance.random() < 0.2 and place + 2 < len(path)
            children.append(
                self._chain(path, place + (2 if skip else 1), "//" if skip or chance.random() < 0.1 else "/")
            )
            if chance.random() < 0.25:
                side = chance.choice(self.below[path[: place + 1]])
                children.append(self._chain(side, place + 1, "/"))
        op, value = self._comparison(path) if last else (None, None)
        shown = name if name.startswith("@") or chance.random() > 0.1 else "*"
        return PatternNode(axis, shown, tuple(children), "", op, value)  # type: ignore[arg-type]

    def _comparison(self, path: Branch) -> tuple[str | None, str | float | None]:
        values = self.values[path]
        if not values or self.chance.random() > self._compared:
            return None, None
        value = self.chance.choice(values)
        try:
            number = float(value)
        except ValueError:
            return "=", value if self.chance.random() < 0.5 else self.chance.choice(WORDS)
        if self.chance.random() < self._equal:
            return "=", number
        return self.chance.choice(("<", ">", ">=")), number + self.chance.randrange(-20, 20)


def plain_xpath(node: PatternNode, context: str = "") -> str:
    """The expression as a person would write it: lxml is fastest with plain names."""
    conditions = "".join(f"[{plain_xpath(child, '.')}]" for child in node.children)
    compared = ""
    if node.op is not None:
        value = (
            f"'{node.value}'"
            if isinstance(node.value, str)
            else np.format_float_positional(float(node.value or 0))
        )
        compared = f"[. {node.op} {value}]"
    return f"{context}{node.axis}{node.name}{compared}{conditions}"


def measure(
    patterns: Sequence[TreePattern], documents: Sequence[Any], warm: int, sample: int
) -> dict[str, object]:
    """All patterns together on all documents, and a sample of them with lxml."""
    start = time.process_time()
    trees = compile_trees(patterns)
    compile_s = time.process_time() - start
    trees.matches_of([tree_of(document) for document in documents[:warm]])
    measured = documents[warm:]
    ours_s, found = _timed(lambda: trees.matches_of([tree_of(document) for document in measured]))
    structures = int(trees.document_shapes.replaced[0])
    unseen_s = ours_s + _added_by_unseen(trees, measured)
    chosen = random.Random(3).sample(range(len(patterns)), min(sample, len(patterns)))
    expressions = [etree.XPath(f"boolean({plain_xpath(patterns[number].root)})") for number in chosen]
    roots = [etree.ElementTree(document) for document in measured]
    lxml_s, answers = _timed(
        lambda: [[bool(expression(root)) for expression in expressions] for root in roots], repeats=1
    )
    alone_s = lxml_s / len(chosen) * len(patterns)
    agree = all(
        answer == (number in had)
        for row, had in zip(
            answers, (set(found.of(place).tolist()) for place in range(len(measured))), strict=True
        )
        for answer, number in zip(row, chosen, strict=True)
    )
    return {
        "patterns": len(patterns),
        "documents": len(measured),
        "nodes": int(np.mean([sum(1 for _ in document.iter()) for document in measured])),
        "structures": structures,
        "matched": int(len(found.patterns) / len(measured)),
        "compile_s": round(compile_s, 2),
        "ms_per_document": round(1000 * ours_s / len(measured), 3),
        "lxml_sampled_patterns": len(chosen),
        "lxml_ms_per_document": round(1000 * alone_s / len(measured), 1),
        "speedup": round(alone_s / ours_s, 1),
        "speedup_unseen": round(alone_s / unseen_s, 1),
        "agree": agree,
    }


def _added_by_unseen(trees: TreeSet, documents: Sequence[Any]) -> float:
    """What it takes longer, document by document, when the memory of structures is emptied before each."""

    def one_by_one(is_known: bool) -> None:
        for document in documents:
            if not is_known:
                trees.document_shapes.lengths[:] = 0
            trees.matches_of([tree_of(document)])

    one_by_one(True)
    known_s, _ = _timed(lambda: one_by_one(True))
    unseen_s, _ = _timed(lambda: one_by_one(False))
    return max(0.0, unseen_s - known_s)


def _timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """(CPU seconds, result): the median of some runs."""
    spent: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        spent.append(time.process_time() - start)
    return sorted(spent)[len(spent) // 2], result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--feeds", type=int, default=100_000, help="feeds that ask for a path, through an installation"
    )
    parser.add_argument(
        "--document", default="", help="an XML document (.gz or plain) instead of the generated ones"
    )


def _feeds(options: argparse.Namespace) -> dict[str, object]:
    """As many feeds as told, each with a pattern or some of them."""
    press, chance = Press(3), random.Random(5)
    maker = PatternMaker(example_roots(press, 6_000, seed=11), random.Random(13), compared=0.97, equal=0.9)
    wanted = list(conditions(maker.patterns(round(1.55 * options.feeds)), chance))
    return through_weir(wanted[: options.feeds], press, 40_000 if options.full else 20_000, sample=64)


def _auctions(options: argparse.Namespace) -> list[Any]:
    if options.document:
        opened = gzip.open if options.document.endswith(".gz") else open
        with opened(options.document, "rb") as source:
            text = source.read()
        return [parse_tree(text) for _ in range(3)]
    chance = random.Random(5)
    return [parse_tree(auction_document(400, chance)) for _ in range(8 if options.full else 4)]


def run(options: argparse.Namespace) -> dict[str, object]:
    """100,000 and 500,000 patterns of each kind; `--full` takes more documents and a larger sample."""
    chance = random.Random(9)
    items = [parse_tree(feed_item(chance)) for _ in range(1300 if options.full else 400)]
    auctions = _auctions(options)
    examples = {"auctions": auctions, "items": [parse_tree(feed_item(chance)) for _ in range(4000)]}
    result: dict[str, object] = {}
    checks: list[dict[str, object]] = []
    gc.disable()  # millions of patterns are made and kept: looking through them again and again is no part of this
    for name, documents, warm, sample in (("auctions", auctions, 1, 300), ("items", items, 100, 500)):
        patterns = PatternMaker(examples[name], random.Random(13)).patterns(max(COUNTS))
        for count in COUNTS:
            found = measure(patterns[:count], documents, warm, sample * (3 if options.full else 1))
            result[f"{name}_{count}"] = found
            checks.append(found)
        del patterns
    gc.enable()
    result |= _feeds(options)
    result["speedup"] = min(float(str(one["speedup"])) for one in checks)
    result["agree"] = all(bool(one["agree"]) for one in checks)
    return result
