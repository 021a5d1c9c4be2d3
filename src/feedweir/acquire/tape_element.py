"""An element of a tape as the readers of feeds know elements.

The tape holds elements that have text alone or elements alone inside. Of any other, its own XML is given to lxml, so
that both ways say the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from feedweir.acquire.lxml_element import LxmlElement
from feedweir.acquire.tape import Tape
from feedweir.acquire.tape_kernels import HAS_DEEP, IS_MIXED
from feedweir.acquire.xml_element import Attributes, Said, XmlElement
from feedweir.acquire.xml_tree import strictly_parsed


class TapeElement:
    """See `XmlElement`."""

    __slots__ = ("_place", "_tape")

    def __init__(self, tape: Tape, place: int) -> None:
        self._tape = tape
        self._place = place

    @property
    def key(self) -> str:
        return self._tape.names[self._tape.kinds[self._place]][0]

    @property
    def name(self) -> str:
        return self._tape.names[self._tape.kinds[self._place]][1]

    @property
    def attributes(self) -> Attributes:
        return self._tape.attributes[self._place]

    @property
    def text(self) -> str:
        return self._in_tree.text if self._tape.sizes[self._place] else self._tape.texts[self._place]

    @property
    def lead(self) -> str:
        is_mixed = self._tape.flags[self._place] & IS_MIXED
        return self._in_tree.lead if is_mixed else self._tape.texts[self._place]

    @property
    def html(self) -> str:
        return self._in_tree.html if self._tape.sizes[self._place] else self._tape.texts[self._place]

    @property
    def raw(self) -> bytes:
        return self._tape.raw(self._place)

    @property
    def _in_tree(self) -> LxmlElement:
        element = strictly_parsed(self._tape.raw(self._place))
        assert element is not None, "the tape accepted what lxml does not"
        return LxmlElement(element)

    def __iter__(self) -> Iterator[TapeElement]:
        tape, sizes, place = self._tape, self._tape.sizes, self._place + 1
        end = place + sizes[self._place]
        while place < end:
            yield TapeElement(tape, place)
            place += 1 + sizes[place]

    @property
    def is_parent(self) -> bool:
        return self._tape.sizes[self._place] > 0

    @property
    def shape(self) -> Hashable:
        tape, first = self._tape, self._place + 1
        last = first + tape.sizes[self._place]
        if tape.flags[self._place] & HAS_DEEP:
            return tuple(tape.kinds[first:last]), tuple(tape.sizes[first:last])
        return tuple(tape.kinds[first:last])

    def said(self, alike: Sequence[XmlElement]) -> Iterator[Said]:
        tape, sizes = self._tape, self._tape.sizes
        places = [element._place for element in alike if isinstance(element, TapeElement)]
        offset, end = 1, 1 + sizes[self._place]
        while offset < end:
            place = self._place + offset
            key, name = tape.names[tape.kinds[place]]
            texts, attributes = tape.texts, tape.attributes
            yield Said(
                key,
                name,
                [texts[start + offset] for start in places],
                [attributes[start + offset] for start in places],
                [TapeElement(tape, start + offset) for start in places] if sizes[place] else None,
            )
            offset += 1 + sizes[place]
