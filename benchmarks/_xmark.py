"""XMark: its DTD, documents that follow it, and tree views over it in the manner of YFilter's generator.

Views have table 2's figures: 6.13 nodes, of which 2.52 are returned, 0.72 predicates and 0.11 `//` edges. (The paper
prints "predicates per view" twice; the second, 0.11, can only be the descendant edges.)
"""

from __future__ import annotations

import random
from typing import Any

from lxml import etree

from feedweir.network.views import Returned, TreeBranch, laid_out
from feedweir.plan.predicates import PatternNode

_ITEM = "location quantity name payment description shipping incategory+ mailbox @id"
_TEXT = "bold* keyword* emph*"
DTD: dict[str, str] = {
    "site": "regions categories catgraph people open_auctions closed_auctions",
    "categories": "category+",
    "category": "name description @id",
    "description": "text|parlist",
    "text": _TEXT,
    "bold": "",
    "keyword": "",
    "emph": "",
    "parlist": "listitem+",
    "listitem": "text",
    "catgraph": "edge*",
    "edge": "@from @to",
    "regions": "africa asia australia europe namerica samerica",
    **dict.fromkeys(("africa", "asia", "australia", "europe", "namerica", "samerica"), "item+"),
    "item": _ITEM,
    "incategory": "@category",
    "mailbox": "mail*",
    "mail": "from to date text",
    "itemref": "@item",
    "personref": "@person",
    "people": "person+",
    "person": "name emailaddress phone? address? homepage? creditcard? profile? watches? @id",
    "address": "street city country province? zipcode",
    "profile": "interest* education? gender? business age? @income",
    "interest": "@category",
    "watches": "watch*",
    "watch": "@open_auction",
    "open_auctions": "open_auction+",
    "open_auction": "initial reserve? bidder* current privacy? itemref seller annotation quantity type interval @id",
    "bidder": "date time personref increase",
    "seller": "@person",
    "interval": "start end",
    "annotation": "author description? happiness",
    "author": "@person",
    "closed_auctions": "closed_auction+",
    "closed_auction": "seller buyer itemref price date quantity type annotation",
    "buyer": "@person",
}
CHILDREN = {
    name: tuple(one.strip("?*+") for part in model.split() for one in part.split("|"))
    for name, model in DTD.items()
}
VALUES = {
    "quantity": [str(n) for n in range(1, 6)],
    "payment": ["Cash", "Creditcard", "Money order", "Personal Check"],
    "location": ["United States", "Germany", "France", "Japan", "Kenya", "Peru", "Poland", "Chile"],
    "country": ["United States", "Germany", "France", "Japan", "Kenya", "Peru", "Poland", "Chile"],
    "gender": ["male", "female"],
    "education": ["High School", "College", "Graduate School", "Other"],
    "business": ["Yes", "No"],
    "privacy": ["Yes", "No"],
    "type": ["Regular", "Featured"],
    "happiness": [str(n) for n in range(1, 11)],
}
OPEN = [str(n) for n in range(1, 1001)]
"""The values of everything else, the first the most frequent."""


def documents(count: int, seed: int) -> list[Any]:
    """Small documents: a few items, persons and auctions each."""
    rng = random.Random(seed)
    return [_element("site", rng, 0) for _ in range(count)]


def _element(name: str, rng: random.Random, depth: int) -> Any:
    element = etree.Element(name)
    parts = DTD.get(name, "").split()
    if not parts or name == "text":
        element.text = " ".join(
            [value_of(name, rng)] + ["word"] * (rng.randint(3, 30) if name == "text" else 0)
        )
    for part in parts:
        if part.startswith("@"):
            element.set(part[1:], value_of(part, rng))
            continue
        choices = part.split("|")
        one = choices[0] if depth > 8 else rng.choice(choices)
        for _ in range(_times(one, rng)):
            element.append(_element(one.strip("?*+"), rng, depth + 1))
    return element


def _times(part: str, rng: random.Random) -> int:
    if part.endswith("?"):
        return rng.random() < 0.5
    if part.endswith("*"):
        return rng.choice((0, 0, 1, 2))
    return rng.choice((1, 1, 2, 3)) if part.endswith("+") else 1


def value_of(name: str, rng: random.Random) -> str:
    values = VALUES.get(name, OPEN)
    return values[min(int(rng.paretovariate(0.5)) - 1, len(values) - 1)]


def views(count: int, seed: int, *, is_unique: bool = True) -> list[TreeBranch]:
    """Tree views over XMark; with `is_unique` no two are equal."""
    rng = random.Random(seed)
    found: list[TreeBranch] = []
    roots: set[PatternNode] = set()
    known: set[TreeBranch] = set()
    while len(found) < count:
        branch = _view(rng)
        # Few of the paper's views embed in each other: hardly any two have the same pattern.
        if is_unique and (branch in known or (branch.root in roots and rng.random() < 0.97)):
            continue
        known.add(branch)
        roots.add(branch.root)
        found.append(branch)
    return found


def _view(rng: random.Random) -> TreeBranch:
    """A path down from the site, with nested paths at its steps."""
    path = ["site"]
    depth = rng.choice((4, 5, 5, 6, 6, 7, 7))
    while len(path) < depth and CHILDREN.get(path[-1]):
        path.append(rng.choice(CHILDREN[path[-1]]))
    begin = 0
    if rng.random() < 0.055 and len(path) > 2:
        begin = rng.randint(1, len(path) - 1)
    root = _steps(path[begin:], rng, "//" if begin else "/", room=[rng.choice((0, 1, 1, 2, 2, 2))])
    laid = laid_out(root)
    wanted = min(max(1, round(rng.gauss(2.52, 0.9))), len(laid))
    places = sorted(rng.sample(range(max(0, min(2, len(laid) - wanted)), len(laid)), wanted))
    returned = tuple(
        Returned(place, "cont" if rng.random() < 0.35 else "val", f"r{place}") for place in places
    )
    return TreeBranch("xmark", root, returned)


def _steps(path: list[str], rng: random.Random, axis: str, room: list[int]) -> PatternNode:
    name, *rest = path
    children: list[PatternNode] = []
    if rest:
        axis_below = "/"
        if len(rest) > 1 and rng.random() < 0.014:
            rest, axis_below = rest[1:], "//"
        children.append(_steps(rest, rng, axis_below, room))
    below = CHILDREN.get(name, ())
    if below and name not in ("site", "regions"):
        for _ in range(2):
            if room[0] and rng.random() < 0.62:
                room[0] -= 1
                children.append(_leaf(rng.choice(below), rng, room))
    return _leaf_or_step(axis, name, tuple(dict.fromkeys(children)), rng)


def _leaf(name: str, rng: random.Random, room: list[int]) -> PatternNode:
    below = CHILDREN.get(name, ())
    children: tuple[PatternNode, ...] = ()
    if below and rng.random() < 0.5:
        children = (_leaf_or_step("/", rng.choice(below), (), rng),)
    return _leaf_or_step("/", name, children, rng)


def _leaf_or_step(axis: str, name: str, children: tuple[PatternNode, ...], rng: random.Random) -> PatternNode:
    has_value = not children and not CHILDREN.get(name)
    if has_value and rng.random() < 0.3:
        if rng.random() < 0.2:
            return PatternNode(axis, name, (), "", rng.choice((">", "<")), float(rng.randint(1, 9)))  # type: ignore[arg-type]
        return PatternNode(axis, name, (), "", "=", value_of(name, rng))  # type: ignore[arg-type]
    return PatternNode(axis, name, children)  # type: ignore[arg-type]


def statistics(branches: list[TreeBranch]) -> dict[str, float]:
    """The figures of table 2."""
    laid = [laid_out(branch.root) for branch in branches]
    n = len(branches)
    return {
        "nodes": round(sum(map(len, laid)) / n, 2),
        "returned": round(sum(len(branch.returned) for branch in branches) / n, 2),
        "predicates": round(sum(one.node.op is not None for nodes in laid for one in nodes) / n, 2),
        "descendant_edges": round(sum(one.node.axis == "//" for nodes in laid for one in nodes) / n, 2),
    }
