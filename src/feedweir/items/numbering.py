"""Sequence numbers without a coordinator.

A number is (landing segment, row of the segment, place in the document). It is decided when a document is landed, so
the order of the stream is the order of landing and does not depend on how the stream is later cut into batches.
"""

from __future__ import annotations

ROW_BITS = 16
PLACE_BITS = 16
MAX_DOCUMENTS_PER_SEGMENT = 1 << ROW_BITS
MAX_ITEMS_PER_DOCUMENT = 1 << PLACE_BITS


def document_number(segment: int, row: int) -> int:
    """The number of the document in `row` of landing segment `segment`."""
    return segment << ROW_BITS | row


def segment_of_document(document: int) -> int:
    """The landing segment that a document is in."""
    return document >> ROW_BITS


def first_seq(document: int) -> int:
    """The sequence number of a document's first item; the next ones follow it."""
    return document << PLACE_BITS


def document_of(seq: int) -> int:
    """The number of the document that an item came in."""
    return seq >> PLACE_BITS


def segment_of(seq: int) -> int:
    """The landing segment that an item came in."""
    return seq >> (ROW_BITS + PLACE_BITS)
