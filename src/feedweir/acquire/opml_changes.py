"""What becomes of the feeds of an OPML document that is kept: they move, are renamed, go and come.

Everything else in it stays as it is written, down to the white space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeGuard

from feedweir.acquire.opml import (
    Opml,
    Subscription,
    is_part,
    prefix_of,
    subscription_of,
    title_of,
)
from feedweir.acquire.xml_nodes import Child, Node, appended, is_blank, joined
from feedweir.items.xml_characters import legal


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """What outlines are to say now."""

    feed: Callable[[Subscription], Subscription | None] = lambda said: said
    """A feed with its address and title; None when it is gone."""
    folder: Callable[[tuple[str, ...]], str] = lambda path: path[-1]
    """The name of the folder that the outline has at this path, outermost first."""


def with_feeds(opml: Opml, today: Today, more: Iterable[Subscription] = ()) -> Opml:
    """The document as it is today, and more feeds at its end. What was inside an outline that goes takes its place."""
    root = opml.root
    feeds = [_feed_outline(feed, root) for feed in more]
    last = next(child for child in reversed(root.children) if _holds_outlines(child, root))
    parts: list[Child] = []
    for child in root.children:
        part = _brought_up(child, root, today, ()) if _holds_outlines(child, root) else child
        parts.append(appended(part, feeds, depth=1) if child is last and isinstance(part, Node) else part)
    return replace(opml, root=replace(root, children=tuple(parts)))


def _holds_outlines(child: Child, root: Node) -> TypeGuard[Node]:
    return isinstance(child, Node) and is_part(child, root, "outline", "body")


def _brought_up(node: Node, root: Node, today: Today, path: tuple[str, ...]) -> Node:
    """A body or an outline with everything below it as it is today."""
    children: list[Child] = []
    for child in node.children:
        if not _holds_outlines(child, root):
            children.append(child)
        elif is_part(child, root, "body"):
            children.append(_brought_up(child, root, today, path))
        elif feed := subscription_of(child):
            inside, becomes = _brought_up(child, root, today, path), today.feed(feed)
            if becomes is None:
                _put_inside(children, inside.children)
            else:
                children.append(_rewritten(inside, feed, becomes))
        else:
            below = (*path, title_of(child))
            said = Subscription(url="", title=below[-1])
            inside = _brought_up(child, root, today, below)
            children.append(_rewritten(inside, said, replace(said, title=today.folder(below))))
    return replace(node, children=joined(iter(children)))


def _put_inside(before: list[Child], inside: tuple[Child, ...]) -> None:
    """What was inside an element that goes follows what was before it; white space does not pile up."""
    kept = list(inside)
    if kept and is_blank(kept[-1]):
        kept.pop()
    if not kept and before and is_blank(before[-1]):
        before.pop()
    elif kept and is_blank(kept[0]):
        kept.pop(0)
    before += kept


def _rewritten(outline: Node, said: Subscription, becomes: Subscription) -> Node:
    """Attributes that say the address or the title say the new one; others are not touched."""
    if said == becomes:
        return outline
    attributes = tuple((name, _said_now(name, value, said, becomes)) for name, value in outline.attributes)
    if title_of(Node("", attributes)) != becomes.title:
        attributes = (("text", legal(becomes.title)), *(pair for pair in attributes if pair[0] != "text"))
    return replace(outline, attributes=attributes)


def _said_now(name: str, value: str, said: Subscription, becomes: Subscription) -> str:
    if said.url and value.strip() == said.url:
        return becomes.url if value.strip() != becomes.url else value
    is_title = name.lower() in ("text", "title") and value == said.title
    return legal(becomes.title) if is_title else value


def _feed_outline(feed: Subscription, root: Node) -> Node:
    title = feed.title or feed.url
    known = (("type", "rss"), ("text", title), ("title", title), ("xmlUrl", feed.url), ("htmlUrl", feed.site))
    attributes = tuple((name, legal(value)) for name, value in known if value)
    return Node(f"{prefix_of(root.name)}:outline".lstrip(":"), attributes)
