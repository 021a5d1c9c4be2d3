"""The obvious, slow meaning of the language: every construct evaluated item by item, with nothing clever.

Every fast path of the project is compared with this file. When the two disagree, read this one first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from typing import Any

from lxml import etree

from feedweir.items.attributes import WHOLE_TEXT, AttributeType, attribute_named, values_of
from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.items.model import Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.tree import tree_of
from feedweir.items.triples import triples_of
from feedweir.join.constructed import item_of, under_a_root
from feedweir.join.windows.story_vectors import SCALE, TITLE_SCALE, whole_weight
from feedweir.logs.joined_log import Construction
from feedweir.plan.construction import filled
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    Union,
    Window,
    WindowSpec,
)
from feedweir.plan.predicates import (
    AllConstraints,
    And,
    AnyConstraint,
    AtLeast,
    Compare,
    Constant,
    Constraint,
    Contains,
    Extends,
    FromFeeds,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Iri,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    Matches,
    Not,
    Now,
    OfItem,
    OfWindow,
    Or,
    PatternNode,
    Predicate,
    RdfLiteral,
    References,
    Relates,
    SharesLink,
    Similar,
    Term,
    TreePattern,
    Variable,
)
from feedweir.plan.taxonomies import packaged_taxonomy
from feedweir.text.analyser import fold, words, words_of_html
from feedweir.text.html import text_of

LONG_AGO = datetime(1000, 1, 1, tzinfo=UTC)
XSD = NAMESPACES["xsd"]
RDF = NAMESPACES["rdf"]
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


def holds(predicate: Predicate, item: Item) -> bool:
    """Whether an item satisfies a predicate."""
    match predicate:
        case And(parts):
            return all(holds(part, item) for part in parts)
        case Or(parts):
            return any(holds(part, item) for part in parts)
        case Not(part):
            return not holds(part, item)
        case AtLeast(count, parts):
            return sum(holds(part, item) for part in parts) >= count
        case Contains():
            return (
                sum(_has_term(term, predicate.attribute, item) for term in predicate.terms)
                >= predicate.at_least
            )
        case Compare(op="!="):
            return not holds(Compare(predicate.attribute, "=", predicate.value, predicate.part), item)
        case Compare():
            return any(_compares(value, predicate, item) for value in values_of(item, predicate.attribute))
        case Similar(attribute, text, threshold):
            return jaccard(bag_of(item, attribute), set(words(text))) >= threshold
        case References(attribute, url):
            return any(_references(link, url) for link in links_of(item, attribute))
        case Extends(attribute, url):
            return any(_extends(link, url) for link in links_of(item, attribute))
        case SharesLink(attribute, urls):
            wanted = {canonical_url(url) for url in urls}
            return any(canonical_url(link) in wanted for link in links_of(item, attribute))
        case Matches(attribute, pattern, flags):
            return any(has_match(pattern, flags, text) for text in plain_texts_of(item, attribute))
        case FromFeeds(names):
            return item.source in names
        case TreePattern():
            return has_tree_pattern(predicate, item)
        case GraphPattern():
            return has_graph_pattern(predicate, item)


# Words


def texts_of(item: Item, attribute: str | None) -> list[list[str]]:
    """The words of every value of an attribute, one list a value; of the item when it is None."""
    if attribute is None:
        found = [text for name in WHOLE_TEXT for text in texts_of(item, name)]
        return found + [list(words(value)) for _, value in item.extensions]
    kind = attribute_named(attribute)
    if kind is None or kind.type in (AttributeType.TIME, AttributeType.NUMBER):
        return []
    read = words_of_html if kind.type is AttributeType.HTML else words
    return [list(read(str(value))) for value in values_of(item, attribute)]


def bag_of(item: Item, attribute: str | None) -> set[str]:
    """The words of an attribute (all its values together), or of the whole item."""
    return {word for text in texts_of(item, attribute) for word in text}


def jaccard(one: set[str], other: set[str]) -> float:
    """How much two sets overlap; nothing overlaps with nothing by 0."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _has_term(term: Term, attribute: str | None, item: Item) -> bool:
    return any(_stands_in(term, text) for text in texts_of(item, attribute))


def _stands_in(term: Term, text: list[str]) -> bool:
    wanted = list(words(term.text))
    if not wanted:
        return False
    starts = range(len(text) - len(wanted) + 1)
    if term.is_prefix:
        head, last = wanted[:-1], wanted[-1]
        return any(
            text[at : at + len(head)] == head and text[at + len(head)].startswith(last) for at in starts
        )
    return any(text[at : at + len(wanted)] == wanted for at in starts)


def plain_texts_of(item: Item, attribute: str | None) -> list[str]:
    """Every value of an attribute as people read it; of the item's text when it is None."""
    if attribute is None:
        found = [text for name in WHOLE_TEXT for text in plain_texts_of(item, name)]
        return found + [value for _, value in item.extensions]
    kind = attribute_named(attribute)
    if kind is None or kind.type in (AttributeType.TIME, AttributeType.NUMBER):
        return []
    read = text_of if kind.type is AttributeType.HTML else str
    return [read(str(value)) for value in values_of(item, attribute)]


def has_match(pattern: str, flags: str, text: str) -> bool:
    """By Python's expressions, which mean the same as far as tests write them."""
    return re.search(_in_python(pattern), text, sum(_FLAGS[flag] for flag in flags)) is not None


_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


def _in_python(pattern: str) -> str:
    for ours, theirs in {r"\d": "[0-9]", r"\w": "[0-9A-Za-z_]", r"\s": "[\\t\\n\\f\\r ]"}.items():
        pattern = pattern.replace(ours, theirs)
    return pattern


# Values


def _compares(found: str | float | datetime, wanted: Compare, item: Item) -> bool:
    """Values of different kinds never compare; text compares with a number when it reads as one."""
    compare = COMPARISONS[wanted.op]
    value = item.arrived + wanted.value.offset if isinstance(wanted.value, Now) else wanted.value
    if isinstance(found, datetime) and wanted.part is not None:
        part = part_of(found, wanted.part)
        return compare(part, part_of(value, wanted.part) if isinstance(value, datetime) else value)
    if isinstance(found, str) and isinstance(value, (int, float)):
        number = number_in(found)
        return number is not None and compare(number, value)
    if isinstance(found, str) and isinstance(value, str):
        return compare(fold(found).strip(), fold(value).strip())
    if isinstance(found, datetime) and isinstance(value, datetime):
        return compare(found, value)
    if isinstance(found, (int, float)) and isinstance(value, (int, float)):
        return compare(found, value)
    return False


def part_of(time: datetime, part: str) -> float | datetime:
    """A part of a date, in UTC; `weekday` counts from Monday = 0, `date` is the midnight before."""
    utc = time.astimezone(UTC)
    if part == "date":
        return utc.replace(hour=0, minute=0, second=0, microsecond=0)
    return utc.weekday() if part == "weekday" else getattr(utc, part)


def number_in(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) != float("inf") and number == number else None


# Links


def links_of(item: Item, attribute: str | None) -> tuple[str, ...]:
    """The URLs of an attribute; every link of the item when `attribute` is None."""
    return tuple(str(value) for value in values_of(item, attribute or "links"))


def _references(link: str, url: str) -> bool:
    return host_of(link) == host_of(url) if is_host(url) else canonical_url(link) == canonical_url(url)


def _extends(link: str, url: str) -> bool:
    return host_of(url) in domains_of(link) if is_host(url) else canonical_url(url) in openings_of(link)


# Trees and graphs


def has_tree_pattern(pattern: TreePattern, item: Item) -> bool:
    """Whether the item's XML tree has the pattern."""
    return bool(witnesses(pattern, item))


def witnesses(pattern: TreePattern, item: Item) -> list[dict[str, str]]:
    """Every way the pattern lies in the item: its variables with the string values of their nodes, each way once."""
    document = etree.Element("document")
    document.append(tree_of(item))
    found = _embeddings(pattern.root, document)
    return [dict(pairs) for pairs in dict.fromkeys(tuple(sorted(way.items())) for way in found)]


def _embeddings(step: PatternNode, above: Any) -> list[dict[str, str]]:
    """The ways a step and its branches lie below a node: branches are independent of each other."""
    return [way for node in _reached(step, above) for way in _ways(step, node)]


def _reached(step: PatternNode, above: Any) -> list[Any]:
    if not hasattr(above, "iter"):
        return []
    if step.name.startswith("@"):
        owners = [above] if step.axis == "/" else list(above.iter(etree.Element))
        return [
            value
            for owner in owners
            for name, value in owner.attrib.items()
            if step.name in ("@*", "@" + written(owner, name))
        ]
    below = (
        list(above.iter(etree.Element))[1:] if step.axis == "//" else list(above.iterchildren(etree.Element))
    )
    return [node for node in below if step.name in ("*", written(node, node.tag))]


def written(node: Any, name: str) -> str:
    """A qualified name as the document writes it."""
    if not name.startswith("{"):
        return name
    uri, _, local = name[1:].partition("}")
    if uri == "http://www.w3.org/XML/1998/namespace":
        return f"xml:{local}"
    if name == node.tag:
        return f"{node.prefix}:{local}" if node.prefix else local
    prefixes = sorted(prefix for prefix, known in node.nsmap.items() if prefix and known == uri)
    return f"{prefixes[0]}:{local}" if prefixes else local


def string_value(node: Any) -> str:
    """The string value of an element or attribute, as XPath defines it."""
    return node if isinstance(node, str) else str(node.xpath("string()"))


def _ways(step: PatternNode, node: Any) -> list[dict[str, str]]:
    value = string_value(node)
    if step.op is not None and step.value is not None and not xpath_compares(value, step.op, step.value):
        return []
    ways: list[dict[str, str]] = [{step.variable: value} if step.variable else {}]
    for branch in step.children:
        ways = [{**way, **more} for way in ways for more in _embeddings(branch, node)]
    return ways


def xpath_compares(found: str, op: str, wanted: str | float) -> bool:
    """XPath's comparison: texts for = and !=, numbers for the rest; what is not a number compares with nothing."""
    if isinstance(wanted, str) and op in ("=", "!="):
        return (found == wanted) == (op == "=")
    left, right = xpath_number(found), xpath_number(wanted) if isinstance(wanted, str) else wanted
    return left != right if op == "!=" else COMPARISONS[op](left, right)


def xpath_number(text: str) -> float:
    """A text as XPath reads a number, by lxml: exponents are read, too, and what is no number is NaN."""
    return float(_XPATH_NUMBER(etree.Element("any"), text=text))


_XPATH_NUMBER = etree.XPath("number($text)")


def has_graph_pattern(pattern: GraphPattern, item: Item) -> bool:
    """Whether the item's triples have a subgraph that matches the pattern."""
    return has_subgraph(pattern, facts_of(item))


GraphNode = tuple[str, ...]
"""("iri" | "literal" | "blank", text, datatype, language): terms are equal when all of it is."""


def facts_of(item: Item) -> list[tuple[GraphNode, GraphNode, GraphNode]]:
    """The item as RDF."""
    return [(tuple(fact.subject), tuple(fact.predicate), tuple(fact.object)) for fact in triples_of(item)]


def has_subgraph(pattern: GraphPattern, triples: Iterable[tuple[GraphNode, GraphNode, GraphNode]]) -> bool:
    """Whether every triple of the pattern is one of the triples, under one binding that keeps the constraints and
    under which no absent pattern is there."""
    return bool(solutions_of(pattern, list(triples), {}))


def solutions_of(
    pattern: GraphPattern,
    facts: Sequence[tuple[GraphNode, GraphNode, GraphNode]],
    given: dict[str, GraphNode],
) -> list[dict[str, GraphNode]]:
    """All bindings under which a pattern is there that agree with what is bound around it."""
    ways = [given]
    for wanted in pattern.triples:
        terms = (wanted.subject, wanted.predicate, wanted.object)
        ways = [
            more
            for way in ways
            for fact in facts
            if (more := _bound(_loosened(terms, fact, pattern), fact, way)) is not None
        ]
    return [
        way
        for way in ways
        if all(_keeps(constraint, way) for constraint in pattern.constraints)
        and not any(solutions_of(absent, facts, way) for absent in pattern.absent)
    ]


def _loosened(
    terms: tuple[GraphTerm, ...], fact: tuple[GraphNode, ...], pattern: GraphPattern
) -> tuple[GraphTerm, ...]:
    """A fact with a narrower property, or about a narrower class, is what the terms ask for."""
    subject, predicate, wanted = terms
    if pattern.is_exact or not isinstance(predicate, Iri):
        return terms
    known = packaged_taxonomy()
    if (
        predicate.iri == RDF + "type"
        and isinstance(wanted, Iri)
        and is_narrower(fact[2], wanted, known.classes)
    ):
        return subject, predicate, Iri(fact[2][1])
    if predicate.iri != RDF + "type" and is_narrower(fact[1], predicate, known.properties):
        return subject, Iri(fact[1][1]), wanted
    return terms


def is_narrower(node: GraphNode, wanted: Iri, narrower: Mapping[str, Sequence[str]]) -> bool:
    """Whether one gets from a term to another by going up, step by step."""
    reached, before = {node[1]}, set[str]()
    while reached != before:
        before = set(reached)
        reached |= {broad for broad, below in narrower.items() if reached & set(below)}
    return node[0] == "iri" and wanted.iri in reached


def _bound(
    terms: tuple[GraphTerm, ...], fact: tuple[GraphNode, ...], way: dict[str, GraphNode]
) -> dict[str, GraphNode] | None:
    """The binding with what this fact adds; None when it does not fit."""
    for term, node in zip(terms, fact, strict=True):
        if isinstance(term, Variable):
            if way.get(term.name, node) != node:
                return None
            way = {**way, term.name: node}
        elif not _is(term, node):
            return None
    return way


def _is(term: GraphTerm, node: GraphNode) -> bool:
    """A constant is a literal of that text or number, or an IRI that ends with it after `/`, `#` or `:`."""
    kind, text, datatype, language = (*node, "", "")[:4]
    if isinstance(term, Iri):
        return kind == "iri" and text == term.iri
    if isinstance(term, RdfLiteral):
        typed = "" if language else datatype or XSD + "string"
        return kind == "literal" and (text, typed, language) == (term.text, term.datatype, term.language)
    if isinstance(term, Constant) and isinstance(term.value, str):
        if kind == "literal":
            return text == term.value
        return kind == "iri" and (text == term.value or any(text.endswith(s + term.value) for s in "/#:"))
    return isinstance(term, Constant) and _graph_number(node) == term.value


def _keeps(constraint: GraphConstraint, way: dict[str, GraphNode]) -> bool:
    match constraint:
        case AllConstraints(parts):
            return all(_keeps(part, way) for part in parts)
        case AnyConstraint(parts):
            return any(_keeps(part, way) for part in parts)
    passed = _test(way[constraint.variable], constraint, way)
    return passed is not None and passed != constraint.is_negated


def _test(node: GraphNode, wanted: Constraint, way: dict[str, GraphNode]) -> bool | None:
    """Whether a term passes a test; None if it cannot be asked."""
    kind, text, datatype, language = (*node, "", "")[:4]
    if wanted.part == "datatype":
        own = "rdf:langString" if language else datatype or XSD + "string"
        same = wanted.value == Iri(own.replace("rdf:", RDF))
        return None if kind != "literal" else same == (wanted.op == "=")
    if wanted.part == "language":
        return _text_test(language, wanted) if kind == "literal" else None
    if wanted.part == "text":
        return _text_test(text, wanted) if kind != "blank" else None
    if wanted.op in ("contains", "starts", "ends"):
        return _text_test(text, wanted) if kind == "literal" else None
    if wanted.op == "is":
        return _is(wanted.value, node)
    if wanted.op == "kind":
        return kind == wanted.value or (wanted.value == "number" and _graph_number(node) is not None)
    other = way[wanted.value.name] if isinstance(wanted.value, Variable) else wanted.value
    if wanted.op == "!=":
        return not _compared(node, "=", other)
    return _compared(node, wanted.op, other)


def _text_test(text: str, wanted: Constraint) -> bool:
    value = wanted.value
    if wanted.op == "contains":
        return value in text
    if wanted.op == "starts":
        return text[: len(value)] == value
    if wanted.op == "ends":
        return len(text) >= len(value) and text[len(text) - len(value) :] == value
    if wanted.op == "speaks":
        return (value == "*" and text != "") or (text + "-").startswith(value + "-")
    return text != value if wanted.op == "!=" else COMPARISONS[wanted.op](text, value)


def _compared(node: GraphNode, op: str, other: Any) -> bool:
    """Numbers compare with numbers, times with times, else texts with texts; a blank node compares with nothing."""
    kind, text, datatype, language = (*node, "", "")[:4]
    compare = COMPARISONS[op]
    if isinstance(other, tuple):
        ours, theirs = _value_of(node), _value_of(other)
        if _graph_number(node) is not None and _graph_number(other) is not None:
            return compare(_graph_number(node), _graph_number(other))
        if _graph_moment(node) is not None and _graph_moment(other) is not None:
            return compare(_graph_moment(node), _graph_moment(other))
        if op == "=":
            return node == other
        return isinstance(ours, str) and isinstance(theirs, str) and compare(ours, theirs)
    if isinstance(other, Iri):
        return op == "=" and _is(other, node)
    if isinstance(other, RdfLiteral):
        name = other.datatype.removeprefix(XSD)
        truths = {"true": 1, "1": 1, "false": 0, "0": 0}
        if name in ("int", "integer", "decimal", "double") and _number_written(other.text) is not None:
            return _graph_number(node) is not None and compare(
                _graph_number(node), _number_written(other.text)
            )
        if name in ("date", "dateTime", "gYear") and _moment(other.text) is not None:
            return _graph_moment(node) is not None and compare(_graph_moment(node), _moment(other.text))
        if name == "boolean" and other.text in truths:
            is_truth = kind == "literal" and datatype == other.datatype and text in truths
            return is_truth and compare(truths[text], truths[other.text])
        if name == "string":
            return kind == "literal" and not datatype and not language and compare(text, other.text)
        return op == "=" and _is(other, node)
    if kind == "blank":
        return False
    if not isinstance(other, str):
        return _graph_number(node) is not None and compare(_graph_number(node), other)
    if _graph_moment(node) is not None and _moment(other) is not None:
        return compare(_graph_moment(node), _moment(other))
    return compare(text, other)


def _value_of(node: GraphNode) -> str | None:
    """The text of a literal that is neither a number nor a time."""
    is_text = node[0] == "literal" and _graph_number(node) is None and _graph_moment(node) is None
    return node[1] if is_text else None


def _graph_number(node: GraphNode) -> float | None:
    return _number_written(node[1]) if node[0] == "literal" else None


def _number_written(text: str) -> float | None:
    """A number in the digits of XML Schema, which Python would read more of."""
    return number_in(text) if re.fullmatch(r"[0-9.eE+\- \t\r\n]{1,1000}", text) else None


def _graph_moment(node: GraphNode) -> datetime | None:
    is_typed = node[2].removeprefix(XSD) in ("date", "dateTime", "gYear") if len(node) > 2 else False
    is_long = re.match(r"\d{4}-\d\d-\d\d", node[1]) is not None
    return _moment(node[1]) if node[0] == "literal" and (is_typed or is_long) else None


def _moment(text: str) -> datetime | None:
    """A time as XML Schema writes it; of a year, a month or a day the first moment; UTC where no zone is named."""
    zone = re.search(r"(?<=[\d:])(Z|[+-]\d\d:\d\d)$", text) if text.count("-") >= 2 else None
    local = text[: zone.start()] if zone else text
    for shape in ("%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            moment = datetime.strptime(local, shape)
        except ValueError:
            continue
        if any(len(part) != size for part, size in zip(re.split("[-T]", local), (4, 2, 2), strict=False)):
            return None
        return datetime.fromisoformat(f"{moment.isoformat()}{zone[0] if zone else 'Z'}")
    return None


# Feeds: a plan over the items of the whole history, in the order of the stream

Place = tuple[int, tuple[int, ...], str]
"""Where an item, or a document that was constructed of items, stands in the stream."""


@dataclass(frozen=True)
class Element:
    """An item in a feed, and for every join the numbers of the items it was joined with."""

    item: Item
    annotation: tuple[tuple[str, tuple[int, ...]], ...] = ()


def elements_of(node: Node, items: Sequence[Item], feeds: Mapping[str, Node] | None = None) -> list[Element]:
    """What a plan gives over these items. `feeds` are the plans of the virtual feeds that it names."""
    feeds = feeds or {}
    match node:
        case Source("*"):
            return [Element(item) for item in items]
        case Source(name):
            return [Element(item) for item in items if item.source == name]
        case Feed(name):
            return elements_of(feeds[name], items, feeds)
        case Filter(input, predicate):
            return [e for e in elements_of(input, items, feeds) if holds(predicate, e.item)]
        case Union(inputs):
            return merged([e for input in inputs for e in elements_of(input, items, feeds)])
        case AnnotationJoin(identifier, primary, Window(input, spec), predicate):
            window = [element.item for element in elements_of(input, items, feeds)]
            found = [
                (element, partners(element.item, window_at(element.item, window, spec, items), predicate))
                for element in elements_of(primary, items, feeds)
            ]
            return [annotated(element, identifier, joined) for element, joined in found if joined]
        case Distinct(identifier, input, spec, predicate):
            return first_of_stories(elements_of(input, items, feeds), identifier, spec, predicate, items)
        case Block(input, pattern, ""):
            return [e for e in elements_of(input, items, feeds) if has_tree_pattern(pattern, e.item)]
        case Block(select=select) | PatternJoin(select=select):
            return merged(
                Element(constructed(documents, select, way, items))
                for documents, way in pattern_matches(node, items, feeds)
            )
    raise TypeError(f"{node} gives no elements of its own")


def first_of_stories(
    elements: Sequence[Element],
    identifier: str,
    spec: WindowSpec,
    predicate: JoinPredicate,
    items: Sequence[Item],
) -> list[Element]:
    """Each element is compared with those that came out before it; what tells a story again is noted with the one
    of them that it is most like, or the earliest of those."""
    out: list[Element] = []
    for element in elements:
        window = story_window(element.item, [first.item for first in out], spec, items)
        told = [other for other in window if relates(predicate, element.item, other)]
        own = [o for o in told if (o.source, o.identity) == (element.item.source, element.item.identity)]
        if own or not told:
            out.append(element)
            continue
        closest = max(told, key=lambda other: degree(predicate, element.item, other))
        place = next(n for n, first in enumerate(out) if first.item.place == closest.place)
        out[place] = annotated(out[place], identifier, [element.item.seq])
    return out


def merged(elements: Iterable[Element]) -> list[Element]:
    """Each item once, in the order of the stream, with all that any way to it has joined."""
    found: dict[Place, Element] = {}
    for element in elements:
        known = found.get(element.item.place, Element(element.item))
        for identifier, partner_seqs in element.annotation:
            known = annotated(known, identifier, partner_seqs)
        found[element.item.place] = known
    return [found[place] for place in sorted(found)]


def as_read(elements: Iterable[Element], items: Sequence[Item]) -> list[Element]:
    """As a reader sees a feed, newest first: each item once, as it was worded last, with what any of its wordings was
    joined with; of an edited partner the last of those wordings."""
    name = {item.seq: (item.source, item.identity) for item in items}
    latest: dict[tuple[str, str], Item] = {}
    joined: dict[tuple[str, str], dict[str, dict[tuple[str, str], int]]] = {}
    for element in elements:
        own = element.item.source, element.item.identity
        latest[own] = element.item
        for identifier, seqs in element.annotation:
            of_join = joined.setdefault(own, {}).setdefault(identifier, {})
            for seq in seqs:
                of_join[name[seq]] = max(seq, of_join.get(name[seq], 0))
    found = sorted(latest.items(), key=lambda pair: pair[1].seq, reverse=True)
    return [
        Element(
            item, tuple((join, tuple(seqs.values())) for join, seqs in sorted(joined.get(own, {}).items()))
        )
        for own, item in found
    ]


def constructed(
    documents: Sequence[Item], select: str, way: Mapping[str, str], items: Iterable[Item]
) -> Item:
    """The document that a match makes: SELECT with the values of its variables, or the documents under a new root."""
    by_number = {item.seq: item for item in items}
    made_of = tuple(seq for document in documents for seq in (document.made_of or (document.seq,)))
    if select:
        return item_of(Construction(made_of, filled(select, way), is_selected=True), by_number)
    is_plain = not any(document.made_of for document in documents)
    return item_of(Construction(made_of, "" if is_plain else under_a_root(documents)), by_number)


def annotated(element: Element, identifier: str, partner_seqs: Iterable[int]) -> Element:
    """The element with more partners under a join's identifier."""
    annotation = {name: set(seqs) for name, seqs in element.annotation}
    annotation.setdefault(identifier, set()).update(partner_seqs)
    return Element(
        element.item, tuple(sorted((name, tuple(sorted(seqs))) for name, seqs in annotation.items()))
    )


def window_at(item: Item, window: Sequence[Item], spec: WindowSpec, items: Sequence[Item] = ()) -> list[Item]:
    """The items of a window when an item arrives: those that came not later, within the length or number.

    What was forgotten before it arrived is not in the window: its arrival may lie long before that of others.
    """
    arrived = sorted((other for other in window if other.place <= item.place), key=lambda other: other.place)
    if isinstance(spec, LastItems):
        return arrived[-spec.count :]
    return [
        other
        for other in arrived
        if other.time > item.arrived - spec.length
        and other.time > highest_clock(items, other.seq, item.seq) - LATENESS - spec.length
    ]


def story_window(item: Item, window: Sequence[Item], spec: WindowSpec, items: Sequence[Item]) -> list[Item]:
    """The items that told stories so far, within the length or number: those published less than the length apart,
    of which it is still remembered that they arrived."""
    if isinstance(spec, LastItems):
        return window_at(item, window, spec, items)
    return [
        other
        for other in window
        if abs(item.time - other.time) < spec.length
        and other.arrived > highest_clock(items, other.seq, item.seq) - LATENESS - spec.length
    ]


def partners(item: Item, window: Sequence[Item], predicate: JoinPredicate) -> list[int]:
    """The items of a window that an item is joined with; never itself."""
    return [other.seq for other in window if other.place != item.place and relates(predicate, item, other)]


def relates(predicate: JoinPredicate, item: Item, other: Item) -> bool:
    """Whether a join predicate holds of an item and an item of the window."""
    match predicate:
        case JoinAnd(parts):
            return all(relates(part, item, other) for part in parts)
        case JoinOr(parts):
            return any(relates(part, item, other) for part in parts)
        case JoinNot(part):
            return not relates(part, item, other)
        case Relates(attribute, "similar", window_attribute, threshold):
            return jaccard(bag_of(item, attribute), bag_of(other, window_attribute)) >= threshold
        case Relates(None, "tells", None, threshold):
            return alike(item, other) >= threshold
        case OfItem(condition):
            return holds(condition, item)
        case OfWindow(condition):
            return holds(condition, other)
        case Relates(attribute, "contains", window_attribute):
            return contains_one_of(item, attribute, other, window_attribute)
        case Relates(attribute, "contained in", window_attribute):
            return contains_one_of(other, window_attribute, item, attribute)
        case Relates(attribute, "extends", window_attribute):
            return continues(item, attribute, other, window_attribute)
        case Relates(attribute, "extended by", window_attribute):
            return continues(other, window_attribute, item, attribute)
        case Relates(attribute, "shares-link", window_attribute):
            theirs = {canonical_url(link) for link in links_of(other, window_attribute)}
            return any(canonical_url(link) in theirs for link in links_of(item, attribute))
        case Relates(attribute, "!=", window_attribute):
            return not relates(Relates(attribute, "=", window_attribute), item, other)
        case Relates(attribute, op, window_attribute):
            return any(
                _compares(value, Compare("", op, wanted), item)  # type: ignore[arg-type]
                for value in values_of(item, attribute or "")
                for wanted in values_of(other, window_attribute or "")
            )


def degree(predicate: JoinPredicate, item: Item, other: Item) -> float:
    """How surely what makes two items one story holds of them: a likeness counts as far as it goes, all else wholly."""
    match predicate:
        case JoinAnd(parts):
            return min(degree(part, item, other) for part in parts)
        case JoinOr(parts):
            return max(degree(part, item, other) for part in parts)
        case Relates(None, "tells", None) if relates(predicate, item, other):
            return alike(item, other)
    return float(relates(predicate, item, other))


def alike(item: Item, other: Item) -> float:
    """How much two items tell the same: the cosine of the weights of their words, less when they were published some
    time apart, but never less than half."""
    mine, theirs = telling(item), telling(other)
    norms = sum(w * w for w in mine.values()) * sum(w * w for w in theirs.values())
    if not norms:
        return 0.0
    common = sum(weight * theirs.get(word, 0) for word, weight in mine.items())
    two_days = timedelta(days=2)
    return common / math.sqrt(norms) * (two_days / (two_days + min(abs(item.time - other.time), two_days)))


def telling(item: Item) -> dict[str, int]:
    """The first words of the title and of the summary, or else of the content, with what each weighs."""
    weights = {word: whole_weight(word, SCALE) for word in words_of_html(item.summary or item.content)[:60]}
    return weights | {word: whole_weight(word, TITLE_SCALE) for word in words(item.title)[:60]}


def contains_one_of(item: Item, attribute: str | None, other: Item, named: str | None) -> bool:
    """Whether an attribute of one item has all words of one of the values of another's."""
    found = bag_of(item, attribute)
    return any(text and found.issuperset(text) for text in texts_of(other, named))


def continues(item: Item, attribute: str | None, other: Item, named: str | None) -> bool:
    """Whether a link of one item is a link of another, or lies below it."""
    theirs = {canonical_url(link) for link in links_of(other, named)}
    return any(theirs.intersection(openings_of(link)) for link in links_of(item, attribute))


# Pattern joins

LATENESS = timedelta(days=7)
"""What is older than the clock by more than a window and this is forgotten."""
STEP = timedelta(hours=12)
"""What a step from one arrival to the next counts for at most."""
TRUSTED_HOURS = 72


def highest_clock(items: Iterable[Item], first: int, last: int) -> datetime:
    """How far the clock ever was from one item to another: what is forgotten stays so when it goes back."""
    clocks = clocks_of(tuple((item.seq, item.time, item.arrived) for item in items))
    return max((clock for seq, clock in clocks if first <= seq <= last), default=LONG_AGO)


@lru_cache(maxsize=64)
def clocks_of(items: tuple[tuple[int, datetime, datetime], ...]) -> list[tuple[int, datetime]]:
    """The clock at each item (its number, time and arrival): the latest time so far, but not later than what has surely
    passed, which is the earliest arrival of the last three days of arrivals.

    Those are counted by how far arrivals went on from the latest before; where they fall back, from there.
    """
    found: list[tuple[int, datetime]] = []
    hours: list[int] = []
    passed, latest, clock = timedelta(), items[0][2] if items else LONG_AGO, LONG_AGO
    for place, (seq, time, arrived) in enumerate(items):
        passed += min(max(arrived - latest, timedelta()), STEP)
        latest = arrived if arrived < latest - STEP else max(arrived, latest)
        hours.append(passed // timedelta(hours=1))
        lately = [n for n in range(place + 1) if hours[n] > hours[place] - TRUSTED_HOURS]
        clock = min(max(clock, time), *(items[n][2] for n in lately))
        found.append((seq, clock))
    return found


def pattern_matches(
    node: Block | PatternJoin, items: Sequence[Item], feeds: Mapping[str, Node] | None = None
) -> list[tuple[tuple[Item, ...], dict[str, str]]]:
    """Every combination of documents, one a block, with one way to bind the variables."""
    if isinstance(node, Block):
        read = [element.item for element in elements_of(node.input, items, feeds)]
        return [((item,), way) for item in read for way in witnesses(node.pattern, item)]
    left = pattern_matches(node.left, items, feeds)
    right = pattern_matches(node.right, items, feeds)
    streams = events_of(node.left, items, feeds), events_of(node.right, items, feeds)
    return [
        ((*documents, other), {**one, **two})
        for documents, one in left
        for (other,), two in right
        if all(one[x] == two[y] for x, y in node.equalities)
        and other.place not in {document.place for document in documents}
        and _within(node, documents, other, *streams, items)
    ]


def events_of(
    node: Block | PatternJoin, items: Sequence[Item], feeds: Mapping[str, Node] | None = None
) -> set[Place]:
    """What a window of so many items counts: a block's documents, or those that completed a join."""
    if isinstance(node, Block):
        return {element.item.place for element in elements_of(node.input, items, feeds)}
    return {event_place(node, documents) for documents, _ in pattern_matches(node, items, feeds)}


def completing(documents: Sequence[Item]) -> Item:
    """The document that came last and so completed a match."""
    return max(documents, key=lambda document: document.place)


def event_place(node: Block | PatternJoin, documents: Sequence[Item]) -> Place:
    """Where a side's event stands: a join's comes after everything that its completing item gave rise to."""
    if isinstance(node, Block):
        return documents[0].place
    return (completing(documents).seq, (1 << 62,), "")


def _within(
    node: PatternJoin,
    documents: Sequence[Item],
    other: Item,
    lefts: set[Place],
    rights: set[Place],
    items: Sequence[Item],
) -> bool:
    """Whether two events are in order and near enough: by their times, or by how many events lie between."""
    last = event_place(node.left, documents)
    if isinstance(node.window, LastItems):
        low, high = sorted((last, other.place))
        between = [place for place in (lefts if last < other.place else rights) if low < place < high]
        return len(between) < node.window.count and (node.kind == "join" or last < other.place)
    time = max(document.time for document in documents)
    earlier = time if last < other.place else other.time
    low, high = sorted((last, other.place))
    if highest_clock(items, low[0], high[0]) - earlier > node.window.length + LATENESS:
        return False
    if node.kind == "followed by":
        return timedelta() < other.time - time <= node.window.length
    return abs(other.time - time) <= node.window.length
