"""The triples of a batch in columns are those of its items one by one."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.columns import ItemColumns
from feedweir.items.model import Enclosure, Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.schema import batch_of
from feedweir.items.triples import Statement, triples_of
from feedweir.match.graphs.triple_batches import TripleBatch, triples_in
from tests.match.generated import items

AT = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
RSS = (
    f'<item xmlns="{NAMESPACES["rss"]}" xmlns:ex="http://e.org/" rdf:about="http://e.org/1">'
    "<title>a</title><ex:b>c</ex:b></item>"
)
ODD = [
    Item(source="s", identity="1", arrived=AT),
    Item(source="s s", identity="2", arrived=AT, link="not an IRI", title="ä", summary="<p>a &amp; b</p>"),
    Item(source="s", identity="urn:x:3", arrived=AT, published=AT, updated=AT.replace(microsecond=0)),
    Item(
        source="s", identity="4", arrived=AT, link="http://e.org/4", links=("http://e.org/4", "bad link", "")
    ),
    Item(
        source="s",
        identity="5",
        arrived=AT,
        enclosures=(Enclosure(url="http://e.org/f.mp3"), Enclosure(url="f")),
        authors=("Ann", "", "Bob"),
        categories=("a", "a"),
        language="en",
        content="<b>c</b>",
        extensions=(("slash:comments", "3"), ("my:x", "1"), ("your:y", "2"), ("slash:comments", "")),
        raw='<item xmlns:my="http://my.org/ns/"><my:x>1</my:x></item>',
    ),
    Item(source="s", identity="6", arrived=AT, title="own", raw=RSS),
    Item(source="s", identity="7", arrived=AT, title="about", raw="<item about='x'><title>about</title>"),
    Item(
        source="s",
        identity="8",
        arrived=AT,
        title="no about",
        raw="<item><title>what about = it</title></item>",
    ),
]


def statements_of(batch: TripleBatch) -> list[set[Statement]]:
    return [
        {
            Statement(
                *(batch.node(int(column[at])) for column in (batch.subjects, batch.predicates, batch.objects))
            )
            for at in range(*batch.row_ptr[row : row + 2].tolist())
        }
        for row in range(len(batch))
    ]


@pytest.mark.parametrize("some", [ODD, ODD[:5], ODD[5:6] * 5, ODD[:2]])
def test_odd_items_have_the_same_triples_in_columns(some: list[Item]) -> None:
    expected = [set(triples_of(item)) for item in some]
    rows = np.arange(len(some))
    assert statements_of(triples_in(batch_of(some), rows)) == expected
    assert statements_of(triples_in(ItemColumns(some), rows)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(items(), min_size=1, max_size=7), st.data())
def test_rows_and_predicates_can_be_chosen(some: list[Item], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(some) - 1), min_size=1, unique=True).map(sorted))
    known = sorted({one.predicate.value for item in some for one in triples_of(item)} | {"urn:none"})
    wanted = data.draw(st.sets(st.sampled_from(known)))
    expected = [{one for one in triples_of(some[row]) if one.predicate.value in wanted} for row in rows]
    found = triples_in(batch_of(some), np.array(rows), wanted.__contains__)
    assert statements_of(found) == expected


def test_equal_terms_of_a_row_have_one_number_wherever_they_stand() -> None:
    url = "http://e.org/x"
    item = Item(source="s", identity="t", title="t", arrived=AT, link=url, links=(url,), categories=("t",))
    batch = triples_in(batch_of([item] * 6), np.arange(6))
    by_text: dict[tuple[int, str], set[int]] = {}
    for column in (batch.subjects, batch.objects):
        for term in column.tolist():
            by_text.setdefault((int(batch.terms.kinds[term]), batch.text(term)), set()).add(term)
    assert all(len(terms) == 1 for terms in by_text.values())
