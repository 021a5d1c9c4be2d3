"""Small items and predicates over a few words, values and links, so that they meet often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import strategies as st

from feedweir.items.model import Enclosure, Item
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    Not,
    Now,
    Or,
    References,
    SharesLink,
    Similar,
    Term,
)

EPOCH = datetime(2020, 11, 1, 12, tzinfo=UTC)
SOURCES = ("s1", "s2", "s3")
WORDS = ("a", "ab", "abc", "b", "c")
URLS = (
    "http://x.org/",
    "https://www.x.org/a",
    "x.org/a/b",
    "x.org/a?q=1&r=2",
    "n.x.org/c",
    "x.org&y",
    "mailto:me@x.org",
)
HOSTS = ("x.org", "n.x.org", "org", "www.x.org")

texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
times = st.integers(0, 30).map(lambda hours: EPOCH + timedelta(hours=hours * 7))


def item(random: Random, seq: int = 0) -> Item:
    """An item in which every attribute is often empty, and often shares its values with other items."""

    def text() -> str:
        return " ".join(random.choices(WORDS, k=random.randint(0, 3)))

    def urls(most: int) -> list[str]:
        return random.sample(URLS, random.randint(0, most))

    def time() -> datetime:
        return EPOCH + timedelta(hours=7 * random.randint(0, 30))

    return Item(
        source=random.choice(SOURCES),
        identity=str(seq),
        seq=seq,
        title=text(),
        summary=text(),
        link=random.choice(("", *URLS)),
        links=tuple(urls(2)),
        authors=tuple(text() for _ in range(random.randint(0, 2))),
        categories=tuple(random.choices(("1", "2", "3", "a", "b"), k=random.randint(0, 2))),
        published=random.choice((None, time(), time())),
        arrived=time(),
        language=random.choice(("", "en", "fr")),
        enclosures=tuple(Enclosure(url=url) for url in urls(1)),
        extensions=(("e:x", text()),) if random.random() < 0.3 else (),
        revision=random.randint(0, 3),
    )


def stream(seed: int, count: int) -> tuple[Item, ...]:
    """Items in the order of the stream."""
    random = Random(seed)
    return tuple(item(random, seq) for seq in range(1, count + 1))


ITEMS = stream(7, 150)


terms = st.builds(Term, st.lists(st.sampled_from(WORDS), min_size=0, max_size=3).map(" ".join), st.booleans())
text_attributes = st.sampled_from((None, "title", "summary", "description", "author", "category", "e:x"))
link_attributes = st.sampled_from((None, "links", "link", "enclosure"))
orders = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))


@st.composite
def contains(draw: st.DrawFn) -> Contains:
    chosen = tuple(draw(st.lists(terms, min_size=1, max_size=3)))
    return Contains(draw(text_attributes), chosen, draw(st.integers(0, len(chosen) + 1)))


comparisons = st.one_of(
    st.builds(Compare, st.just("revision"), orders, st.integers(0, 3).map(float)),
    st.builds(Compare, st.just("category"), orders, st.sampled_from((1.0, 2.0, 3.0, "a", "B"))),
    st.builds(Compare, st.just("language"), orders, st.sampled_from(("en", "FR "))),
    st.builds(Compare, st.sampled_from(("published", "arrived", "date")), orders, times),
    st.builds(
        Compare,
        st.just("published"),
        orders,
        st.integers(-20, 5).map(lambda hours: Now(timedelta(hours=hours))),
    ),
    st.builds(
        Compare, st.just("published"), orders, st.integers(0, 12).map(float), st.sampled_from(("hour", "day"))
    ),
    st.builds(Compare, st.just("published"), orders, times, st.sampled_from(("date", "hour"))),
)
link_atoms = st.one_of(
    st.builds(References, link_attributes, st.sampled_from(URLS + HOSTS)),
    st.builds(Extends, link_attributes, st.sampled_from(URLS + HOSTS)),
    st.builds(
        SharesLink,
        link_attributes,
        st.lists(st.sampled_from(URLS + HOSTS), min_size=1, max_size=2).map(tuple),
    ),
)
atoms = st.one_of(
    contains(),
    comparisons,
    link_atoms,
    st.builds(Similar, text_attributes, texts, st.sampled_from((0.3, 0.5, 0.9))),
    st.builds(FromFeeds, st.lists(st.sampled_from(SOURCES), max_size=2).map(tuple)),
)
words_only = st.builds(
    Contains,
    st.sampled_from((None, "title", "summary")),
    st.builds(Term, st.sampled_from(WORDS)).map(lambda term: (term,)),
    st.just(1),
)


def predicates(of: st.SearchStrategy = atoms, leaves: int = 6) -> st.SearchStrategy:
    return st.recursive(
        of,
        lambda inner: st.one_of(
            st.builds(And, st.lists(inner, max_size=3).map(tuple)),
            st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
            st.builds(Not, inner),
            st.builds(AtLeast, st.integers(0, 4), st.lists(inner, max_size=3).map(tuple)),
        ),
        max_leaves=leaves,
    )
