"""What items tell, and which of them are found to tell the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.windows import story_kernels as kernels
from feedweir.join.windows.story_vectors import StoryIndex, story_vectors
from feedweir.text.rarity import weight
from tests.naive import alike, telling

START = datetime(2026, 6, 1, tzinfo=UTC)
WORDS = ("the", "of", "river", "flood", "otter", "mayor", "Zürich", "2026", "ﬁlm", "日本")

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
summaries = st.one_of(st.just(""), texts.map("<p>{}</p>".format), texts)


@st.composite
def items(draw: st.DrawFn) -> list[Item]:
    found = []
    for seq in range(draw(st.integers(0, 12))):
        published = START + timedelta(hours=draw(st.sampled_from([0, 1, 5, 30, 47, 49, 300])))
        arrived = START + timedelta(hours=draw(st.sampled_from([0, 400])))
        dated = draw(st.sampled_from([published, None]))
        text = {name: draw(summaries) for name in ("summary", "content")}
        item = Item(
            source="A", identity=str(seq), title=draw(texts), arrived=arrived, published=dated, **text
        )
        found.append(replace(item, seq=seq))
    return found


def likeness(one: Item, other: Item) -> float:
    told = story_vectors(batch_of([one, other]))
    first, second = np.zeros(1, np.int64), np.ones(1, np.int64)
    return float(kernels.similarities(first, second, told.ptr, told.longs, told.ptr, told.longs)[0])


@settings(max_examples=150, deadline=None)
@given(
    items(),
    st.sampled_from([0.05, 0.3, 0.38, 0.6, 1.0]),
    st.sampled_from([1, 3, 1000]),
    st.sampled_from([8, 900]),
)
def test_the_index_finds_exactly_those_that_are_as_much_alike(
    stream: list[Item], threshold: float, cut: int, longest_h: int
) -> None:
    longest = timedelta(hours=longest_h)
    index = StoryIndex(threshold, longest // timedelta(microseconds=1))
    pairs = {}
    for start in range(0, len(stream), cut):
        told = story_vectors(batch_of(stream[start : start + cut]))
        numbers = np.arange(start, start + len(told), dtype=np.int64)
        index.add(told, numbers)
        found = index.probe(told, numbers, np.zeros(len(told), np.int64))
        columns = (numbers[found.row], found.number, found.similarity)
        pairs |= {(a, b): how for a, b, how in zip(*(c.tolist() for c in columns), strict=True)}
    wanted = obvious(stream, threshold)
    near = {(a, b) for a, b in wanted if abs(stream[a].time - stream[b].time) <= longest}
    assert near <= pairs.keys()
    assert pairs.items() <= wanted.items()


def obvious(stream: Sequence[Item], threshold: float) -> dict[tuple[int, int], float]:
    found = {(a.seq, b.seq): alike(a, b) for a in stream for b in stream if b.seq < a.seq}
    return {pair: how for pair, how in found.items() if how >= threshold}


def said(title: str, summary: str = "", *, hours: int = 0) -> Item:
    return Item(
        source="A",
        identity=title,
        title=title,
        summary=summary,
        arrived=START + timedelta(days=30),
        published=START + timedelta(hours=hours),
    )


def test_rare_words_say_more_than_frequent_ones() -> None:
    assert weight("the") < weight("new") < weight("election") < weight("volcano")
    one = said("The volcano erupts at the border of the country")
    same = said("Volcano at border erupts")
    other = said("The mayor speaks at the opening of the bridge")
    assert likeness(one, same) > 0.7 > 0.3 > likeness(one, other)


def test_the_same_words_two_days_later_are_half_as_much_alike_and_later_no_less() -> None:
    text = "The mayor opens the bridge"
    found = [round(likeness(said(text), said(text, hours=hours)), 3) for hours in (0, 24, 48, 480)]
    assert found == [1.0, 0.667, 0.5, 0.5]


def test_what_is_further_down_than_readers_see_is_not_compared() -> None:
    start = " ".join(["river"] * 60)
    assert likeness(said("Flood", start), said("Flood", f"{start} {'otter ' * 200}")) == 1.0


def test_authors_and_categories_are_no_part_of_a_telling() -> None:
    plain = said("Otters return to the river")
    signed = replace(plain, authors=("Ann",), categories=("nature", "rivers"))
    assert telling(plain) == telling(signed)
    assert likeness(plain, signed) == 1.0


def test_who_has_no_words_tells_nothing() -> None:
    assert likeness(said("…"), said("…")) == 0.0
