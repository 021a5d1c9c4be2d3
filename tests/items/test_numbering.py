"""Sequence numbers without a coordinator."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.numbering import (
    MAX_DOCUMENTS_PER_SEGMENT,
    MAX_ITEMS_PER_DOCUMENT,
    document_number,
    document_of,
    first_seq,
    segment_of,
    segment_of_document,
)

segments = st.integers(0, 1 << 31)
rows = st.integers(0, MAX_DOCUMENTS_PER_SEGMENT - 1)
places = st.integers(0, MAX_ITEMS_PER_DOCUMENT - 1)


@given(segments, rows, places)
def test_a_number_leads_back_to_its_document_and_its_segment(segment: int, row: int, place: int) -> None:
    document = document_number(segment, row)
    seq = first_seq(document) + place
    assert (document_of(seq), segment_of(seq), segment_of_document(document)) == (document, segment, segment)


@given(st.lists(st.tuples(segments, rows, places), min_size=2, max_size=2))
def test_numbers_are_in_the_order_of_segment_row_and_place(two: list[tuple[int, int, int]]) -> None:
    first, second = (first_seq(document_number(segment, row)) + place for segment, row, place in two)
    assert (first < second) == (two[0] < two[1])


def test_the_largest_number_fits_a_signed_column() -> None:
    last = document_number((1 << 31) - 1, MAX_DOCUMENTS_PER_SEGMENT - 1)
    assert first_seq(last) + MAX_ITEMS_PER_DOCUMENT - 1 == (1 << 63) - 1
