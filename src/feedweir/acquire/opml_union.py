"""Two OPML documents as one: nothing of either is lost but what only one of them can have the last word on."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace

from feedweir.acquire.opml import Opml, is_part, local_name, prefix_of, title_of, url_of
from feedweir.acquire.xml_nodes import Aside, Attributes, Child, Node, appended


def merged(old: Opml, new: Opml) -> Opml:
    """What two documents say together, in the order of the first.

    Outlines of the same feed, and folders of the same name in the same place, become one; the later document has the
    last word on their attributes. Elements of the head are those of the first where it has them. Whatever else the
    first has not comes after what it has, in the same element. Into an empty document everything goes as it is,
    and what is there already changes nothing.
    """
    if old == Opml():
        return new
    return Opml(
        _united(old.root, _aligned(new.root, old.root), old.root, 0),
        _with_asides(old.before, new.before),
        _with_asides(old.after, new.after),
    )


def _with_asides(old: tuple[Aside, ...], new: tuple[Aside, ...]) -> tuple[Aside, ...]:
    known = set(old)
    return old + tuple(aside for aside in new if aside not in known)


def _united(old: Node, new: Node, root: Node, depth: int) -> Node:
    """Each of the new children meets one of the old that means the same, if there is one, or comes after them."""
    children = list(old.children)
    more: list[Child] = []
    free = _places(old, root)
    for child in new.children:
        places = free.get(_meaning(child, old, root))
        if not places:
            more += [] if isinstance(child, str) else [child]
            continue
        place = places.popleft()
        known = children[place]
        if isinstance(known, Node) and isinstance(child, Node) and _is_united(known, root):
            children[place] = _united(known, child, root, depth + 1)
    both = replace(old, attributes=_joined(old.attributes, new.attributes), children=tuple(children))
    return appended(both, [*more, *_missing_lines(old, new)], depth=depth)


def _places(node: Node, root: Node) -> dict[Hashable, deque[int]]:
    """By what they mean the places of an element's children."""
    found: dict[Hashable, deque[int]] = {}
    for place, child in enumerate(node.children):
        found.setdefault(_meaning(child, node, root), deque()).append(place)
    return found


def _meaning(child: Child, parent: Node, root: Node) -> Hashable:
    """What two nodes of one parent have in common when they are to become one."""
    if not isinstance(child, Node):
        return child
    if is_part(child, root, "outline"):
        return ("feed", url_of(child)) if url_of(child) else ("folder", title_of(child))
    if is_part(child, root, "head", "body"):
        return ("part", local_name(child))
    return ("head", child.name) if is_part(parent, root, "head") else child


def _is_united(node: Node, root: Node) -> bool:
    return is_part(node, root, "head", "body", "outline")


def _missing_lines(old: Node, new: Node) -> Iterator[str]:
    """Lines of the text between the new children that the old do not have, each begun anew."""
    known = set(_lines(old))
    yield from (f"\n{line}" for line in dict.fromkeys(_lines(new)) if line not in known)


def _lines(node: Node) -> Iterator[str]:
    texts = (child for child in node.children if isinstance(child, str))
    yield from (line.strip() for text in texts for line in text.split("\n") if line.strip())


def _joined(old: Attributes, new: Attributes) -> Attributes:
    return tuple((dict(old) | dict(new)).items())


# Prefixes of namespaces ---------------------------------------------------------------------------------------


def _aligned(new: Node, old: Node) -> Node:
    """A root under the prefixes of another: the same namespace is written the same, and no prefix means two."""
    own, declared = prefix_of(new.name), _declarations(old)
    by_uri = {uri: prefix for prefix, uri in declared.items() if prefix}
    names = {own: prefix_of(old.name)}
    for prefix, uri in _declarations(new).items():
        if prefix == own or (prefix and declared.get(prefix) == uri):
            continue
        used = {*declared, *names.values()}
        if uri in by_uri:
            names[prefix] = by_uri[uri]
        elif not prefix or prefix in used:
            names[prefix] = _unused(prefix, used)
    kept = tuple(pair for pair in new.attributes if pair[0] != _declaration(own))
    return _renamed(replace(new, attributes=kept), names, is_root=True)


def _declarations(node: Node) -> dict[str, str]:
    """By prefix the namespaces that an element declares."""
    return {
        name.partition(":")[2]: uri
        for name, uri in node.attributes
        if name == "xmlns" or name.startswith("xmlns:")
    }


def _declaration(prefix: str) -> str:
    return f"xmlns:{prefix}" if prefix else "xmlns"


def _unused(prefix: str, used: set[str]) -> str:
    wanted, number = prefix or "ns", 2
    name = wanted
    while name in used:
        name, number = f"{wanted}{number}", number + 1
    return name


def _renamed(node: Node, names: Mapping[str, str], *, is_root: bool = False) -> Node:
    """An element and all below it with other prefixes; a prefix that is declared further down is left alone there."""
    declared = {} if is_root else _declarations(node)
    inside = {p: now for p, now in names.items() if p not in declared} if declared else names
    if all(prefix == now for prefix, now in inside.items()):
        return node
    return Node(
        _name(node.name, inside),
        tuple((_attribute(name, inside), value) for name, value in node.attributes),
        tuple(_renamed(child, inside) if isinstance(child, Node) else child for child in node.children),
    )


def _name(name: str, names: Mapping[str, str]) -> str:
    prefix = prefix_of(name)
    return f"{names.get(prefix, prefix)}:{name.rpartition(':')[2]}".lstrip(":")


def _attribute(name: str, names: Mapping[str, str]) -> str:
    """Attributes without a prefix are in no namespace; declarations are of the root, by the prefix they declare."""
    if name == "xmlns" or name.startswith("xmlns:"):
        prefix = name.partition(":")[2]
        return _declaration(names.get(prefix, prefix))
    return _name(name, names) if prefix_of(name) else name
