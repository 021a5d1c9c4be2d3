"""Small items and queries of every kind over few words, values and links, so that they meet often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from feedweir.items.model import Enclosure, Item
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Constant,
    Constraint,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Iri,
    Matches,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    SharesLink,
    Similar,
    Term,
    TreePattern,
    Triple,
    Variable,
)
from feedweir.plan.query import Query

_DC = "http://purl.org/dc/elements/1.1/"
START = datetime(2020, 2, 28, 22, 30, tzinfo=UTC)
SOURCES = ("s1", "s2", "s3", "sø")
WORDS = ("a", "ab", "abc", "b", "Bc", "straße", "東京", "сон", "שלום")
URLS = (
    "http://x.org/",
    "https://www.x.org/a",
    "x.org/a/b",
    "x.org/a?q=1&r=2",
    "n.x.org/c",
    "mailto:me@x.org",
    "#",
)
HOSTS = ("x.org", "n.x.org", "org", "www.x.org")
TEXT_ATTRIBUTES = (
    "title",
    "summary",
    "author",
    "category",
    "link",
    "language",
    "e:x",
    "e:y",
    "published",
    "nothing",
)

texts = st.lists(st.sampled_from((*WORDS, "<b>", "a-b", "!")), max_size=6).map(" ".join)
times = st.integers(0, 40).map(lambda hours: START + timedelta(hours=hours * 7, microseconds=hours % 3))
values = st.sampled_from(("a", " AB ", "a b", "12", "12.5", "1e400", "nan", "", " "))


@st.composite
def items(draw: st.DrawFn) -> Item:
    return Item(
        source=draw(st.sampled_from(SOURCES)),
        identity=draw(st.sampled_from(("1", "x", "a b"))),
        revision=draw(st.integers(0, 3)),
        title=draw(texts | values),
        summary=draw(texts),
        content=draw(texts),
        link=draw(st.sampled_from(("", *URLS))),
        links=tuple(draw(st.lists(st.sampled_from(URLS), max_size=3, unique=True))),
        authors=tuple(draw(st.lists(texts, max_size=2))),
        categories=tuple(draw(st.lists(values, max_size=2))),
        published=draw(st.none() | times),
        updated=draw(st.none() | times),
        arrived=draw(times),
        language=draw(st.sampled_from(("", "en", "FR"))),
        enclosures=tuple(Enclosure(url=url) for url in draw(st.lists(st.sampled_from(URLS), max_size=1))),
        extensions=tuple(draw(st.lists(st.tuples(st.sampled_from(("e:x", "e:y")), texts), max_size=2))),
        raw=draw(
            st.sampled_from(
                ("", "{}", "<item><title>a b</title><g k='1'><title>12</title></g></item>", "<item>")
            )
        ),
    )


term_texts = st.sampled_from((*WORDS, "!", "")) | st.lists(
    st.sampled_from(WORDS), min_size=2, max_size=3
).map(" ".join)
terms = st.builds(Term, term_texts, st.booleans() | st.just(False))
comparisons = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
link_attributes = st.none() | st.sampled_from(("link", "links", "enclosure", "nothing", "guid"))


@st.composite
def contains(draw: st.DrawFn) -> Contains:
    wanted = tuple(draw(st.lists(terms, max_size=4)))
    attribute = draw(st.none() | st.sampled_from(TEXT_ATTRIBUTES))
    return Contains(attribute, wanted, draw(st.just(len(wanted)) | st.integers(0, len(wanted) + 1)))


@st.composite
def time_comparisons(draw: st.DrawFn) -> Compare:
    attribute, op = draw(st.sampled_from(("published", "updated", "arrived", "date"))), draw(comparisons)
    part = draw(st.none() | st.sampled_from(("year", "month", "day", "hour", "minute", "weekday", "date")))
    if part in (None, "date"):
        spans = st.integers(-9, 9).map(lambda hours: Now(timedelta(hours=7 * hours)))
        return Compare(attribute, op, draw(times | spans), part)
    numbers = st.integers(0, 31) | st.sampled_from((2020, 2020.5, 1.5, float("inf")))
    return Compare(attribute, op, draw(times | numbers | times.map(lambda _: Now())), part)


@st.composite
def value_comparisons(draw: st.DrawFn) -> Compare:
    attribute = draw(
        st.sampled_from(("title", "category", "language", "source", "guid", "revision", "e:x", "nothing"))
    )
    return Compare(
        attribute, draw(comparisons), draw(values | st.sampled_from(("en", "S1", 12, 1, 12.5, float("nan"))))
    )


atoms = (
    contains()
    | contains()
    | time_comparisons()
    | value_comparisons()
    | st.builds(
        Similar, st.none() | st.sampled_from(("title", "e:x")), texts, st.sampled_from((0.0, 0.3, 0.5, 1.0))
    )
    | st.builds(References, link_attributes, st.sampled_from(URLS + HOSTS))
    | st.builds(Extends, link_attributes, st.sampled_from(URLS + HOSTS))
    | st.builds(SharesLink, link_attributes, st.lists(st.sampled_from(URLS), max_size=2).map(tuple))
    | st.builds(FromFeeds, st.lists(st.sampled_from(SOURCES), max_size=2).map(tuple))
)

_names = st.sampled_from(("item", "title", "g", "*", "category"))


@st.composite
def tree_patterns(draw: st.DrawFn) -> TreePattern:
    op, value = draw(st.sampled_from(((None, None), ("=", "a b"), (">", 11.0), ("!=", "12"))))
    leaf = PatternNode(draw(st.sampled_from(("/", "//"))), draw(_names), op=op, value=value)
    key = PatternNode("/", draw(st.sampled_from(("@k", "@*"))))
    below = tuple(draw(st.lists(st.sampled_from((leaf, key)), max_size=2)))
    return TreePattern(PatternNode("//", draw(_names), below))


_graph_terms = st.sampled_from(
    (Variable("x"), Variable("y"), Constant("a"), Constant(12.0), Constant("title"))
)
_predicates = st.sampled_from((Variable("p"), Constant("title"), Constant("subject"), Iri(f"{_DC}creator")))


@st.composite
def graph_patterns(draw: st.DrawFn) -> GraphPattern:
    triples = draw(
        st.lists(st.builds(Triple, _graph_terms, _predicates, _graph_terms), min_size=1, max_size=2)
    )
    bound = [t.name for triple in triples for t in (triple.subject, triple.object) if isinstance(t, Variable)]
    constraints = st.builds(
        Constraint, st.sampled_from(bound or ["x"]), comparisons, st.sampled_from(("a", 12.0))
    )
    return GraphPattern(tuple(triples), tuple(draw(st.lists(constraints, max_size=1))) if bound else ())


_pieces = st.sampled_from(
    (
        "a b",
        "ab",
        "abc b",
        "straße",
        "bc",
        "BC",
        "東京 a",
        "1",
        r"\d",
        r"\w+",
        ".",
        "[ab]",
        "[^a]",
        "b*",
        "c?",
        " ",
    )
)


@st.composite
def regexes(draw: st.DrawFn) -> Matches:
    """Expressions of which a piece is needed, one of several is, or none is."""
    sequence = st.lists(_pieces, min_size=1, max_size=3).map("".join)
    several = st.lists(sequence, min_size=1, max_size=3).map("|".join)
    whole = draw(
        several
        | st.tuples(sequence, several, st.sampled_from(("", "?", "+", "{0,2}"))).map(
            lambda parts: f"{parts[0]}(?:{parts[1]}){parts[2]}"
        )
    )
    begun, ended = draw(st.sampled_from((("", ""), ("^", ""), ("", "$"), ("^(", ")$"), (r"\b", ""))))
    flags = draw(st.sampled_from(("", "i", "s", "is")))
    return Matches(draw(st.none() | st.sampled_from(TEXT_ATTRIBUTES)), begun + whole + ended, flags)


atoms |= tree_patterns() | graph_patterns() | regexes()


def _compound(parts: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    several = st.lists(parts, max_size=3).map(tuple)
    return (
        st.builds(And, several)
        | st.builds(Or, several)
        | st.builds(Not, parts)
        | st.builds(AtLeast, st.integers(-1, 4), st.lists(parts, max_size=4).map(tuple))
    )


predicates: st.SearchStrategy[Predicate] = st.recursive(atoms, _compound, max_leaves=8)
queries = st.builds(
    Query,
    st.integers(-5, 30),
    st.just(()) | st.lists(st.sampled_from(SOURCES), max_size=2).map(tuple),
    predicates,
    st.sampled_from(("", "ann", "bob")),
)
