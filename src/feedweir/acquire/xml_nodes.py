"""An XML document as frozen values, as it is written: names with their prefixes, attributes in order, declarations of
namespaces among them, comments, instructions and the text between.

For documents that are kept, changed a little, and written again; feeds are read by faster ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeAlias
from xml.parsers import expat

from lxml import etree

Attributes: TypeAlias = tuple[tuple[str, str], ...]

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE = _TEXT | str.maketrans({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})


@dataclass(frozen=True, slots=True)
class Aside:
    """A comment, or an instruction to `target`."""

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """An element; between its children stands their text, never empty and never two in a row."""

    name: str
    attributes: Attributes = ()
    children: tuple[Node | Aside | str, ...] = ()

    @property
    def nodes(self) -> Iterator[Node]:
        return (child for child in self.children if isinstance(child, Node))


Child: TypeAlias = Node | Aside | str


@dataclass(frozen=True, slots=True)
class XmlDocument:
    """The root, and the asides around it."""

    root: Node
    before: tuple[Aside, ...] = ()
    after: tuple[Aside, ...] = ()


def read_xml(text: str, *, recover: bool = False) -> XmlDocument | None:
    """A document without declaration and DOCTYPE; None when it cannot be read."""
    parser = etree.XMLParser(recover=recover, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        # What lxml takes is well-formed, knows its prefixes and is not too deep; Expat tells how it is written.
        root = etree.fromstring(text.strip(), parser)
        if recover:
            tree = root.getroottree()
            has_doctype = tree.docinfo.internalDTD is not None
            text = etree.tostring(root if has_doctype else tree, encoding="unicode")
        return _Reading().of(text.strip())
    except (etree.LxmlError, ValueError, TypeError, AttributeError, expat.ExpatError):
        return None


def write_xml(document: XmlDocument) -> str:
    lines: tuple[Child, ...] = (*document.before, document.root, *document.after)
    return "\n".join("".join(_written(child)) for child in lines)


def joined(children: Iterator[Child]) -> tuple[Child, ...]:
    """Children with neighbouring texts made one, and empty ones left out."""
    found: list[Child] = []
    for is_text, group in groupby(children, lambda child: isinstance(child, str)):
        run = list(group)
        found += ["".join(map(str, run))] if is_text else run
    return tuple(child for child in found if child != "")


def appended(node: Node, more: Sequence[Child], *, depth: int) -> Node:
    """More children after those that are there, each on a line of its own, as far in as the others."""
    if not more:
        return node
    children = list(node.children)
    last = str(children.pop()) if children and is_blank(children[-1]) else "\n" + "  " * depth
    first = node.children[0] if len(node.children) > 1 and is_blank(node.children[0]) else last + "  "
    for child in more:
        children += [first, child]
    return replace(node, children=joined(iter([*children, last])))


def is_blank(child: Child) -> bool:
    """Whether it is only white space, which is there for the eye."""
    return isinstance(child, str) and not child.strip()


@dataclass(slots=True)
class _Open:
    name: str
    attributes: Attributes
    children: list[Child] = field(default_factory=list)


class _Reading:
    """What Expat tells, put together."""

    def __init__(self) -> None:
        self._open = [_Open("", ())]

    def of(self, text: str) -> XmlDocument:
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._put
        parser.CommentHandler = lambda data: self._put(Aside(data))
        parser.ProcessingInstructionHandler = lambda target, data: self._put(Aside(data, target))
        parser.Parse(text.encode(), True)
        outermost = self._open[0].children
        place = next(number for number, child in enumerate(outermost) if isinstance(child, Node))
        before, after = (
            tuple(child for child in part if isinstance(child, Aside))
            for part in (outermost[:place], outermost[place:])
        )
        root = outermost[place]
        assert isinstance(root, Node)
        return XmlDocument(root, before, after)

    def _start(self, name: str, attributes: list[str]) -> None:
        self._open.append(_Open(name, tuple(zip(attributes[::2], attributes[1::2], strict=True))))

    def _end(self, _: str) -> None:
        done = self._open.pop()
        self._put(Node(done.name, done.attributes, joined(iter(done.children))))

    def _put(self, child: Child) -> None:
        self._open[-1].children.append(child)


def _written(child: Child) -> Iterator[str]:
    if isinstance(child, str):
        yield child.translate(_TEXT)
    elif isinstance(child, Aside):
        yield f"<?{f'{child.target} {child.text}'.rstrip()}?>" if child.target else f"<!--{child.text}-->"
    else:
        yield f"<{child.name}"
        yield from (f' {name}="{value.translate(_VALUE)}"' for name, value in child.attributes)
        if child.children:
            yield ">"
            for inner in child.children:
                yield from _written(inner)
            yield f"</{child.name}>"
        else:
            yield "/>"
