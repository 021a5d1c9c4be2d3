"""Small streams and join queries that often meet."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from feedweir.join.patterns.variables import PatternQuery
from feedweir.plan.nodes import Block, LastItems, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.join.naive import Document, item

LEAVES = ("x", "y", "z")
VALUES = ("1", "2", "3")


@st.composite
def documents(draw: st.DrawFn, max_size: int = 10) -> list[Document]:
    count = draw(st.integers(2, max_size))
    stream = []
    for place in range(count):
        groups = draw(
            st.lists(
                st.lists(st.tuples(st.sampled_from(LEAVES), st.sampled_from(VALUES)), max_size=3), max_size=2
            )
        )
        inside = "".join(f"<g>{''.join(f'<{n}>{v}</{n}>' for n, v in group)}</g>" for group in groups)
        alone = "".join(
            f"<{n}>{v}</{n}>"
            for n, v in draw(
                st.lists(st.tuples(st.sampled_from(LEAVES), st.sampled_from(VALUES)), max_size=2)
            )
        )
        streams = draw(st.sampled_from((("source a",), ("source b",), ("source a", "source b"))))
        time = draw(st.sampled_from((place, place, place, max(place - 3, 0))))
        stream.append(item(100 + place, time, f"<d>{alone}{inside}</d>", *streams))
    return stream


@st.composite
def blocks(draw: st.DrawFn, prefix: str) -> Block:
    """A block that binds leaves, and perhaps groups, as prefix0, prefix1, …"""
    source = draw(st.sampled_from(("a", "b")))
    names = (f"{prefix}{place}" for place in range(20))
    leaf = st.sampled_from(LEAVES)

    def bound(axis: str, children: tuple[PatternNode, ...] = (), name: str = "") -> PatternNode:
        value = draw(st.sampled_from((None, None, None, "1"))) if not children else None
        chosen = name or draw(leaf)
        return PatternNode(axis, chosen, children, next(names), None if value is None else "=", value)  # type: ignore[arg-type]

    top = [bound(draw(st.sampled_from(("/", "//")))) for _ in range(draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(0 if top else 1, 2))):
        inner = tuple(bound("/") for _ in range(draw(st.integers(1, 2))))
        group = PatternNode("/", "g", inner, next(names) if draw(st.booleans()) else "")
        top.append(group)
    if draw(st.integers(0, 3)) == 0:
        top.append(PatternNode("//", draw(leaf)))
    root = PatternNode("/", "d", tuple(top), next(names) if draw(st.booleans()) else "")
    return Block(Source(source), TreePattern(root))


def variables(block: Block) -> list[str]:
    found: list[str] = []

    def walk(node: PatternNode) -> None:
        if node.variable and not node.children:
            found.append(node.variable)
        for child in node.children:
            walk(child)

    walk(block.pattern.root)
    return found


@st.composite
def joins(draw: st.DrawFn, depth: int = 1) -> PatternJoin:
    left: Block | PatternJoin = draw(blocks("a")) if depth == 1 else draw(joins(depth - 1))
    right = draw(blocks(f"r{depth}_"))
    on_left = variables(left) if isinstance(left, Block) else _all(left)
    size = draw(st.sampled_from((0, 1, 1, 2, 2, 3)))
    pair = st.tuples(st.sampled_from(on_left), st.sampled_from(variables(right)))
    equalities = tuple(draw(st.lists(pair, min_size=size, max_size=size)))
    window = draw(_windows())
    select = ""
    if draw(st.integers(0, 2)) == 0:
        chosen = draw(st.lists(st.sampled_from(on_left + variables(right)), max_size=2, unique=True))
        select = "<d>" + "".join(f"<x>{{${name}}}</x>" for name in sorted(chosen)) + "</d>"
    kind = draw(st.sampled_from(("join", "followed by")))
    return PatternJoin(kind, left, right, equalities, window, select)  # type: ignore[arg-type]


def _all(join: PatternJoin) -> list[str]:
    left = variables(join.left) if isinstance(join.left, Block) else _all(join.left)
    return left + variables(join.right)


def _windows() -> st.SearchStrategy[TimeSpan | LastItems]:
    spans = st.sampled_from((1, 2, 5, 100)).map(lambda n: TimeSpan(timedelta(microseconds=n)))
    return st.one_of(spans, st.sampled_from((1, 2, 4)).map(LastItems))


@st.composite
def queries(draw: st.DrawFn) -> list[PatternQuery]:
    simple = draw(st.lists(joins(), min_size=1, max_size=4))
    chosen = [PatternQuery(number, join) for number, join in enumerate(simple)]
    if draw(st.booleans()):
        chosen.append(PatternQuery(50, draw(joins(depth=draw(st.sampled_from((2, 2, 3)))))))
    return chosen
