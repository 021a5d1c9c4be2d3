"""OPML in and out: nested, tolerant of what people really export, and nothing is lost on the way.

A document is kept as it is written: comments, instructions, unknown elements and attributes, the text between
them, and their order. Only what was not quite OPML is mended; a DOCTYPE goes once its entities are put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from feedweir.acquire.encodings import decoded
from feedweir.acquire.tolerant import with_entities, with_sound_tags
from feedweir.acquire.xml_nodes import Aside, Child, Node, XmlDocument, joined, read_xml, write_xml
from feedweir.errors import DocumentError

_MAX_BYTES = 64 << 20
_DECLARATION = re.compile(r"\A<\?xml\s[^>]*\?>")
_EMPTY = Node("opml", (("version", "2.0"),), ("\n  ", Node("head"), "\n  ", Node("body"), "\n"))


@dataclass(frozen=True, slots=True)
class Opml:
    """A whole document; its root has one `body` at least."""

    root: Node = _EMPTY
    before: tuple[Aside, ...] = ()
    after: tuple[Aside, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A feed that an outline names, and the folders it is in, outermost first."""

    url: str
    title: str = ""
    site: str = ""
    folders: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of the feeds of an outline."""

    registered: tuple[str, ...]
    known: tuple[str, ...]
    """Sources that were there already, by their address."""
    folders: tuple[str, ...]
    """The virtual feeds that folders became."""
    refused: tuple[tuple[str, str], ...]
    """(what the outline calls it, why it was left out)."""


def read_opml(body: bytes) -> Opml:
    """A document; repairs what can be repaired, and raises `DocumentError` when nothing is left."""
    if len(body) > _MAX_BYTES:
        raise DocumentError(f"the OPML file is larger than {_MAX_BYTES >> 20} MB")
    document = _parsed(decoded(body).body.decode())
    name = local_name(document.root)
    if name not in ("opml", "outline", "body"):
        hint = "export the subscriptions as OPML and import that file"
        raise DocumentError(f"this is not OPML: its root element is {name[:40]!r}", hint=hint)
    return Opml(_with_prefixes(_mended(document.root)), document.before, document.after)


def write_opml(opml: Opml) -> bytes:
    """The document as a file."""
    text = write_xml(XmlDocument(opml.root, opml.before, opml.after))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def subscriptions(opml: Opml) -> tuple[Subscription, ...]:
    """Every feed of the outline, in order; one that is in several folders comes several times."""
    bodies = (node for node in opml.root.nodes if is_part(node, opml.root, "body"))
    return tuple(found for body in bodies for found in _feeds_below(body, (), opml.root))


def subscription_of(outline: Node, folders: tuple[str, ...] = ()) -> Subscription | None:
    """The feed that an outline names; None for folders and notes."""
    url = url_of(outline)
    if not url:
        return None
    categories = value_of(outline, "category").split(",")
    return Subscription(
        url=url,
        title=title_of(outline),
        site=value_of(outline, "htmlUrl"),
        folders=folders,
        categories=tuple(part.strip() for part in categories if part.strip()),
    )


def url_of(outline: Node) -> str:
    is_feed = value_of(outline, "type").lower() in ("rss", "atom", "feed")
    return value_of(outline, "xmlUrl", "url" if is_feed else "xmlUrl").strip()


def title_of(outline: Node) -> str:
    return value_of(outline, "text", "title")


def value_of(outline: Node, *names: str) -> str:
    """The first of these attributes that is there and not empty, whatever its case."""
    values = {name.lower(): value for name, value in reversed(outline.attributes)}
    return next((values[name.lower()] for name in names if values.get(name.lower())), "")


def is_part(node: Node, root: Node, *names: str) -> bool:
    """Whether it is one of OPML's own elements; the same names under other prefixes are somebody else's."""
    return prefix_of(node.name) == prefix_of(root.name) and local_name(node) in names


def local_name(node: Node) -> str:
    return node.name.rpartition(":")[2].lower()


def prefix_of(name: str) -> str:
    return name.rpartition(":")[0]


def _feeds_below(parent: Node, folders: tuple[str, ...], root: Node) -> Iterator[Subscription]:
    for node in parent.nodes:
        # Some programs nest bodies.
        if is_part(node, root, "body"):
            yield from _feeds_below(node, folders, root)
        elif is_part(node, root, "outline"):
            feed = subscription_of(node, folders)
            if feed:
                yield feed
            yield from _feeds_below(node, folders if feed else (*folders, title_of(node)), root)


def _parsed(text: str) -> XmlDocument:
    """What the text says: as it is, and mended only where that cannot be read."""
    # What some programs say before the document is no XML; its declaration tells what is known by now.
    plain = _DECLARATION.sub("", text[max(text.find("<"), 0) :], count=1)
    healed = with_entities(plain)
    # A DOCTYPE is never given to a parser.
    found = None if "<!DOCTYPE" in plain else read_xml(plain)
    found = found or read_xml(healed) or read_xml(with_sound_tags(healed), recover=True)
    if found is None:
        hint = "is it the file that was exported?"
        raise DocumentError("this is not OPML: it cannot be read as XML", hint=hint)
    return found


def _mended(root: Node) -> Node:
    """A root with a body, wherever the outlines were written or have ended up."""
    prefix = f"{prefix_of(root.name)}:".lstrip(":")
    if local_name(root) != "opml":
        body = root if local_name(root) == "body" else Node(f"{prefix}body", (), (root,))
        return Node(f"{prefix}opml", (("version", "2.0"),), (Node(f"{prefix}head"), body))
    if any(is_part(node, root, "body") for node in root.nodes):
        return root
    # After repairs the body may have ended up inside something that was never closed.
    without, bodies = _taken(root, root)
    loose = tuple(child for child in without.children if _is_outline(child, root))
    body = bodies[0] if bodies else Node(f"{prefix}body", (), loose)
    kept = (child for child in without.children if bodies or not _is_outline(child, root))
    return replace(without, children=joined(iter((*kept, body))))


def _is_outline(child: Child, root: Node) -> bool:
    return isinstance(child, Node) and is_part(child, root, "outline")


def _taken(node: Node, root: Node) -> tuple[Node, list[Node]]:
    """The node without the bodies below it, and those."""
    bodies: list[Node] = []
    kept: list[Child] = []
    for child in node.children:
        if isinstance(child, Node) and is_part(child, root, "body"):
            bodies.append(child)
        elif isinstance(child, Node):
            inner, found = _taken(child, root)
            kept.append(inner)
            bodies += found
        else:
            kept.append(child)
    return replace(node, children=joined(iter(kept))), bodies


def _with_prefixes(root: Node) -> Node:
    """Prefixes that nobody declared are declared, so that every reader can read what is written."""
    missing = sorted(set(_undeclared(root, frozenset(("", "xml", "xmlns")))))
    return replace(
        root, attributes=root.attributes + tuple((f"xmlns:{p}", f"urn:undeclared:{p}") for p in missing)
    )


def _undeclared(node: Node, known: frozenset[str]) -> Iterator[str]:
    declared = [name.partition(":")[2] for name, _ in node.attributes if name.startswith("xmlns:")]
    inside = known.union(declared) if declared else known
    names = (node.name, *(name for name, _ in node.attributes))
    yield from (prefix for name in names if (prefix := prefix_of(name)) not in inside)
    for child in node.nodes:
        yield from _undeclared(child, inside)
