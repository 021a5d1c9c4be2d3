from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.join.compiled import compile_joins
from feedweir.join.query import JoinQuery
from feedweir.join.windows import JoinBounds
from tests.join.naive import Document, Meaning
from tests.join.running import matches
from tests.join.strategies import documents, queries

NO_LATENESS = JoinBounds(lateness=timedelta(0))


@settings(max_examples=250, deadline=None)
@given(queries(), documents(), st.sampled_from((timedelta(0), timedelta(microseconds=2), timedelta(days=1))))
def test_joins_find_what_the_obvious_meaning_says_however_the_stream_is_cut(
    chosen: list[JoinQuery], stream: list[Document], lateness: timedelta
) -> None:
    bounds = JoinBounds(lateness=lateness)
    joins = compile_joins(chosen, bounds=bounds)
    assert not joins.failures
    expected = Meaning(stream, bounds).matches(chosen)
    for cut in (1, 7, 1000):
        found = matches(joins, stream, cut)
        assert set(found) == expected
        assert len(found) == len(set(found))
