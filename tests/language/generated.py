"""Trees of every kind that text can say, for property tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, time, timedelta

from hypothesis import strategies as st

from feedweir.channel_kinds import WRITTEN_CHANNELS
from feedweir.items.attributes import ATTRIBUTES, AttributeType
from feedweir.items.rdf_values import XSD
from feedweir.language.feed_statements import VOCABULARY
from feedweir.language.queries import BlockJoin, Condition, Group, Join, Member, Named, PathBlock, Query, Xscl
from feedweir.language.schedule_clauses import REMOVABLE
from feedweir.language.statements import (
    SHOWN,
    AlterFeed,
    AlterSubscription,
    Ask,
    CreateFeed,
    DefineWindow,
    Describe,
    DropFeed,
    DropSubscription,
    Explain,
    ExplainPlan,
    RegisterFeed,
    Show,
    Statement,
    Subscribe,
)
from feedweir.language.word_conditions import each_once
from feedweir.plan.graph_variables import names_bound, names_in
from feedweir.plan.predicates import (
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
    Triple,
    Variable,
)
from feedweir.plan.window_lengths import STORY, STORY_ALIKE, LastItems, TimeSpan
from feedweir.schedules import QuietHours, RateCap, Schedule, parse_cron
from feedweir.text.analyser import words as analysed


def attributes(*types: AttributeType) -> st.SearchStrategy[str]:
    return st.sampled_from([a.name for a in ATTRIBUTES if a.type in types])


TEXT, HTML, STRING = AttributeType.TEXT, AttributeType.HTML, AttributeType.STRING
LINK, TIME, NUMBER = AttributeType.LINK, AttributeType.TIME, AttributeType.NUMBER

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
words = st.one_of(
    st.sampled_from(
        ["rock", "Muse", "e-mail", "it's", 'say "x"', "naïve", "年", "a'b", "2020", "not", "C++"]
    ),
    st.text("ab'\"-é$[;", min_size=1, max_size=5).filter(lambda text: any(c.isalnum() for c in text)),
)
extension_names = st.sampled_from(["media:rating", "dc:subject", "itunes:author"])
names = st.one_of(
    st.sampled_from(
        ["A", "B", "News", "bbc-news", "x.y", "from", "Rock Concerts", "9gag", "now", "été", "a'b"]
    ),
    texts.filter(lambda text: bool(text.strip()) and "://" not in text and text != "*"),
)
variables = st.sampled_from(["a", "b", "main", "x_1", "ca"])
urls = st.sampled_from(["http://example.org/a?b=c,d", "https://muse.mu/rss/news", "ftp://x.y/z'"])
hosts_and_urls = st.one_of(urls, st.sampled_from(["example.org", "localhost"]))
lengths = st.one_of(
    st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=3650)),
    st.integers(1, 500).map(lambda days: timedelta(days=days)),
)
windows = st.one_of(lengths.map(TimeSpan), st.integers(1, 10**6).map(LastItems))
numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(float),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
)
moments = st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(fold=0))
comparisons = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
nows = st.timedeltas(min_value=timedelta(days=-400), max_value=timedelta(days=400)).map(Now)


def clean(text: str) -> str:
    """A term as the parser leaves it: without stars and spaces at its ends."""
    return text.strip().rstrip("* ")


terms = st.builds(
    Term,
    st.one_of(words, st.lists(words, min_size=2, max_size=3).map(" ".join)).map(clean),
    st.booleans(),
)
text_subjects = st.one_of(st.none(), attributes(TEXT, HTML, STRING, LINK), extension_names)


def meant(term: Term) -> tuple[tuple[str, ...], bool]:
    """What makes two terms one."""
    return tuple(analysed(term.text)), term.is_prefix


@st.composite
def contains(draw: st.DrawFn) -> Contains:
    found = tuple(draw(st.lists(terms, min_size=1, max_size=4, unique_by=meant)))
    return Contains(draw(text_subjects), found, draw(st.integers(0, len(found) + 1)))


@st.composite
def compares(draw: st.DrawFn) -> Compare:
    op = draw(comparisons)
    kind = draw(st.sampled_from(["text", "extension", "number", "time", "part", "date"]))
    if kind == "text":
        return Compare(draw(attributes(TEXT, STRING, LINK)), op, draw(texts))
    if kind == "extension":
        return Compare(draw(extension_names), op, draw(st.one_of(texts, numbers)))
    if kind == "number":
        return Compare(draw(attributes(NUMBER)), op, draw(numbers))
    about = draw(attributes(TIME))
    if kind == "time":
        return Compare(about, op, draw(st.one_of(moments, nows)))
    if kind == "part":
        part, high = draw(st.sampled_from([("year", 9999), ("month", 12), ("hour", 23), ("weekday", 6)]))
        return Compare(about, op, float(draw(st.integers(1, high))), part)
    day = draw(moments).replace(hour=0, minute=0, second=0, microsecond=0)
    return Compare(about, op, draw(st.one_of(st.just(day), nows)), "date")


thresholds = st.floats(0.01, 1.0)
element_names = st.sampled_from(["book", "author", "dc:title", "a-b", "*", "@id", "@*", "from", "as"])
pattern_variables = st.sampled_from(["", "", "x1", "x2'", "author_1"])


def pattern_nodes(
    names_of_variables: st.SearchStrategy[str] = pattern_variables,
) -> st.SearchStrategy[PatternNode]:
    conditions = st.one_of(st.just((None, None)), st.tuples(comparisons, st.one_of(texts, numbers)))

    def node(below: st.SearchStrategy[tuple[PatternNode, ...]]) -> st.SearchStrategy[PatternNode]:
        return st.builds(
            lambda axis, name, children, variable, condition: PatternNode(
                axis, name, children, variable, *condition
            ),
            st.sampled_from(["/", "//"]),
            element_names,
            below,
            names_of_variables,
            conditions,
        )

    leaves = node(st.just(()))
    return st.recursive(leaves, lambda parts: node(st.lists(parts, max_size=2).map(tuple)), max_leaves=4)


graph_variables = st.sampled_from(["x", "y", "o1"])
iris = st.sampled_from(["http://purl.org/dc/elements/1.1/title", "urn:a:b"]).map(Iri)
rdf_literals = st.one_of(
    st.builds(RdfLiteral, texts, st.sampled_from([f"{XSD}string", f"{XSD}int", "urn:own:type"])),
    st.builds(RdfLiteral, texts, st.just(""), st.sampled_from(["en", "fr-be"])),
)
graph_constants = st.one_of(iris, st.one_of(texts, numbers).map(Constant), rdf_literals)
graph_terms = st.one_of(graph_variables.map(Variable), graph_constants)


def graph_constraints(known: st.SearchStrategy[str]) -> st.SearchStrategy[GraphConstraint]:
    equal = st.sampled_from(["=", "!="])
    operands = st.one_of(texts, numbers, known.map(Variable))
    single = st.one_of(
        st.builds(Constraint, known, comparisons, operands),
        st.builds(Constraint, known, comparisons, operands),
        st.builds(Constraint, known, equal, iris),
        st.builds(Constraint, known, st.just("is"), graph_constants, st.just(""), st.booleans()),
        st.builds(
            Constraint,
            known,
            st.sampled_from(["contains", "starts", "ends"]),
            texts,
            st.sampled_from(["", "text"]),
            st.booleans(),
        ),
        st.builds(Constraint, known, equal, st.sampled_from(["", "en"]), st.just("language")),
        st.builds(Constraint, known, equal, iris, st.just("datatype")),
        st.builds(
            Constraint, known, st.just("kind"), st.sampled_from(["iri", "blank"]), st.just(""), st.booleans()
        ),
    )
    several = st.lists(single, min_size=2, max_size=3, unique=True).map(tuple)
    return st.one_of(single, single, several.map(AnyConstraint))


@st.composite
def graphs(draw: st.DrawFn, around: tuple[str, ...] = ()) -> GraphPattern:
    triples = tuple(
        draw(
            st.lists(
                st.builds(Triple, graph_terms, graph_terms, graph_terms), min_size=1, max_size=3, unique=True
            )
        )
    )
    own = sorted(names_bound(GraphPattern(triples)))
    known = sorted({*own, *around})
    if not known:
        return GraphPattern(triples)
    kept = draw(st.lists(graph_constraints(st.sampled_from(known)), max_size=2, unique=True))
    pattern = GraphPattern(triples, tuple(kept))
    if around or not own:
        return pattern
    absent = draw(st.lists(graphs(tuple(own)), max_size=1))
    shared = tuple(one for one in absent if names_in(one).intersection(own))
    selected = draw(st.one_of(st.just([]), st.lists(st.sampled_from(own), unique=True)))
    return replace(pattern, absent=shared, selected=tuple(selected))


link_subjects = st.one_of(st.none(), attributes(LINK))
similars = st.builds(
    Similar, st.one_of(st.none(), attributes(TEXT, HTML, STRING), extension_names), words, thresholds
)
links = st.one_of(
    st.builds(References, link_subjects, hosts_and_urls),
    st.builds(Extends, link_subjects, hosts_and_urls),
    st.builds(SharesLink, link_subjects, st.lists(hosts_and_urls, min_size=1, max_size=3).map(tuple)),
)
regexes = st.builds(
    Matches,
    text_subjects,
    st.sampled_from(
        ["a/b", r"\\", r"\n", "[/]", "it's", 'x"', "^a|b$", r"(?i)é\.", "$x", "a b", r"\\/", "#--", "/*"]
    ),
    st.sampled_from(["", "i", "ims", "s"]),
)
item_atoms = st.one_of(
    contains(),
    compares(),
    similars,
    links,
    regexes,
    st.lists(names, min_size=1, max_size=3).map(tuple).map(FromFeeds),
)
atoms = st.one_of(item_atoms, pattern_nodes().map(TreePattern), graphs())


def combined(leaves: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    def node(parts: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        several = st.lists(parts, max_size=3).map(tuple)
        some = st.lists(parts, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            several.map(And),
            several.map(Or),
            parts.map(Not),
            st.builds(AtLeast, st.integers(0, 4), some.map(each_once)),
        )

    return st.recursive(leaves, node, max_leaves=6)


predicates = combined(atoms)


# Statements

members: st.SearchStrategy[Member] = st.deferred(lambda: st.one_of(named, named, grouped(), patterns()))
labels = st.one_of(st.just(""), variables)
named = st.builds(Named, st.one_of(names, st.just("*")), labels)


@st.composite
def grouped(draw: st.DrawFn) -> Group:
    inside = tuple(draw(st.lists(named, min_size=2, max_size=3)))
    if draw(st.booleans()):
        return Group(inside, draw(labels))
    alike = draw(st.just(STORY_ALIKE) | st.floats(0.01, 1).map(lambda x: round(x, 4)))
    return Group(inside, draw(labels), draw(st.just(STORY) | windows), alike)


@st.composite
def blocks(draw: st.DrawFn, variable: str) -> PathBlock:
    unnamed = draw(pattern_nodes(st.just("")))
    child = PatternNode("//", draw(element_names), (), variable)
    return PathBlock(
        draw(names),
        PatternNode(unnamed.axis, unnamed.name, (*unnamed.children, child), "", unnamed.op, unnamed.value),
    )


@st.composite
def patterns(draw: st.DrawFn) -> Xscl:
    body: PathBlock | BlockJoin = draw(blocks("v0"))
    for number in range(1, 1 + draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["join", "followed by"]))
        pairs = ((f"v{draw(st.integers(0, number - 1))}", f"v{number}"),)
        equalities = pairs * draw(st.integers(0, 1))
        body = BlockJoin(kind, body, draw(blocks(f"v{number}")), equalities, draw(windows))
    select = draw(st.sampled_from(["", "", "<pair>{$v0} 'and'</pair>", "<a b='{$v0}'/>"]))
    return Xscl(body, select, draw(labels))


relations = st.one_of(
    st.builds(Relates, attributes(TEXT, STRING), comparisons, attributes(TEXT, STRING)),
    st.builds(Relates, attributes(TIME), comparisons, attributes(TIME)),
    st.builds(
        Relates,
        st.one_of(st.none(), attributes(TEXT, HTML)),
        st.just("similar"),
        st.one_of(st.none(), attributes(TEXT, HTML)),
        thresholds,
    ),
    st.builds(Relates, link_subjects, st.just("shares-link"), link_subjects),
    st.builds(Relates, link_subjects, st.just("extends"), attributes(LINK)),
    st.builds(Relates, attributes(LINK), st.just("extended by"), attributes(LINK)),
    st.builds(
        Relates, attributes(TEXT, HTML), st.sampled_from(["contains", "contained in"]), attributes(TEXT, HTML)
    ),
    st.builds(Relates, st.none(), st.just("contains"), attributes(TEXT, STRING)),
    item_atoms.map(OfItem),
    atoms.map(OfWindow),
)


def join_node(parts: st.SearchStrategy[JoinPredicate]) -> st.SearchStrategy[JoinPredicate]:
    several = st.lists(parts, max_size=3).map(tuple)
    return st.one_of(several.map(JoinAnd), several.map(JoinOr), parts.map(JoinNot))


join_predicates: st.SearchStrategy[JoinPredicate] = st.recursive(relations, join_node, max_leaves=4)
joins = st.builds(Join, windows, members, labels, join_predicates)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    conditions = draw(st.lists(st.builds(Condition, variables, predicates), max_size=2))
    if draw(st.booleans()):
        conditions.append(Condition("", draw(predicates)))
    return Query(draw(members), tuple(draw(st.lists(joins, max_size=2))), tuple(conditions))


stylesheets = st.sampled_from(["", "Title.xml", "it's.xsl"])
intervals = st.one_of(st.none(), lengths)
optional_names = st.one_of(st.none(), names)
paused = st.one_of(st.none(), st.booleans())


waits = st.one_of(st.none(), st.integers(1, 366 * 86_400).map(lambda seconds: timedelta(seconds=seconds)))
schedules = st.builds(
    Schedule,
    every=waits,
    at=st.lists(st.sampled_from(["0 8 * * mon-fri", "08:30", "daily"]).map(parse_cron), max_size=2).map(
        tuple
    ),
    count=st.integers(0, 1_000),
    longest_wait=waits,
    zone=st.sampled_from(["", "Europe/Paris", "UTC"]),
    quiet=st.lists(
        st.sampled_from([QuietHours(time(22), time(7)), QuietHours(time(12), time(12, 30))]), max_size=2
    ).map(tuple),
    mute_until=st.one_of(st.none(), st.datetimes()),
    cap=st.one_of(st.none(), st.builds(RateCap, st.integers(1, 100), waits.filter(bool))),
    per_message=st.integers(0, 1_000),
)


owners = st.sampled_from(["", "ann", "acme/ann", "for", "acme/the editors/ann", "Åse", "from"])


@st.composite
def subscriptions(draw: st.DrawFn) -> Subscribe:
    channel = draw(st.sampled_from(WRITTEN_CHANNELS))
    is_stream = channel == "stream"
    return Subscribe(
        draw(names),
        channel,
        "" if is_stream else draw(words),
        draw(stylesheets),
        Schedule() if is_stream else draw(schedules),
        draw(st.one_of(st.just(""), names)),
        draw(st.sampled_from(["", "whsec_it's"])) if channel == "webhook" else "",
        draw(owners),
        draw(st.booleans()),
    )


@st.composite
def alterations(draw: st.DrawFn) -> AlterFeed | AlterSubscription:
    channel = draw(st.sampled_from(WRITTEN_CHANNELS))
    feed = AlterFeed(
        draw(names),
        draw(optional_names),
        draw(st.one_of(st.none(), urls)),
        draw(st.one_of(intervals, st.just(timedelta()))),
        draw(paused),
        draw(st.one_of(st.none(), queries())),
        draw(st.one_of(st.none(), owners)),
        draw(st.one_of(st.none(), st.just(""), urls)),
        draw(st.sampled_from([None, "", "//order/@number", "per subject", "per urn:a:b"])),
    )
    subscription = AlterSubscription(
        draw(names),
        draw(optional_names),
        draw(st.sampled_from([None, "", "T.xsl"])),
        channel,
        "" if channel == "stream" else "t",
        draw(schedules),
        draw(st.lists(st.sampled_from(sorted(REMOVABLE)), max_size=2).map(tuple)),
        True,
        draw(st.sampled_from([None, "whsec_a"])) if channel == "webhook" else None,
        draw(st.one_of(st.none(), owners)),
        draw(st.sampled_from([None, True, False])),
    )
    nothing = feed == AlterFeed(feed.name)
    return subscription if nothing or draw(st.booleans()) else feed


statements: st.SearchStrategy[Statement] = st.one_of(
    st.builds(CreateFeed, names, queries(), st.booleans(), owners),
    st.builds(Ask, queries()),
    st.builds(Explain, st.builds(CreateFeed, names, queries())),
    st.builds(ExplainPlan, st.one_of(st.just(""), names)),
    st.builds(
        lambda name, url, every, owner, hub, path: RegisterFeed(
            name, url, every=every, owner=owner, hub=hub, id_path=path
        ),
        names,
        urls,
        intervals,
        owners,
        st.just("") | urls,
        st.sampled_from(["", "//order/@number", "/*/dc:identifier", "//@*"]),
    ),
    st.builds(lambda name, feed, apply: RegisterFeed(name, "", feed, apply), names, names, stylesheets),
    st.builds(
        lambda name, url, every, owner, hub, says: RegisterFeed(
            name, url, every=every, owner=owner, hub=hub, id_path=VOCABULARY, saying="\n".join(says)
        ),
        names,
        urls,
        intervals,
        owners,
        st.just("") | urls,
        st.lists(st.sampled_from(["class urn:it's urn:b urn:c", "property urn:--d urn:/*e"]), max_size=3),
    ),
    subscriptions(),
    alterations(),
    st.builds(DropFeed, names, st.booleans()),
    st.builds(DropSubscription, names, st.booleans()),
    st.builds(Describe, names, st.sampled_from(["feed", "subscription"])),
    st.builds(
        Show,
        st.sampled_from(SHOWN),
        st.one_of(st.just(""), words),
        owners,
        st.one_of(st.none(), st.integers(1, 999_999_999)),
    ),
    st.builds(DefineWindow, names, windows),
)
