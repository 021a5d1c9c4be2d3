"""A set over its life: changed, merged beside the changes, pruned and opened again, in all orders."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from feedweir.items.schema import batch_of
from feedweir.match import (
    PreparedMerge,
    apply_changes,
    forget_merge,
    open_version,
    prepare_merge,
    prune,
    verify_version,
    versions_of,
    write_version,
)
from feedweir.plan.predicates import And, Contains, Not, Or, Predicate, Term
from feedweir.plan.query import Query
from tests.match.test_matching import naive_pairs, pairs_of
from tests.match.test_segments import news

BATCH = news("storm at sea", "calm sea", "storm tide", "nothing", "sea")
WORDS = ("storm", "sea", "calm", "tide", "other")


def word(text: str) -> Contains:
    return Contains(None, (Term(text),), 1)


simple = st.sampled_from(WORDS).map(word)
wanted: st.SearchStrategy[Predicate] = st.one_of(
    simple,
    st.tuples(simple, simple).map(And),
    st.tuples(simple, simple).map(Or),
    st.tuples(simple, simple.map(Not)).map(And),
    st.just(Contains(None, (Term("storm tide"),), 1)),
    st.just(Contains("title", (Term("se", True),), 1)),
)
keys = st.integers(0, 12)
some_queries = st.lists(
    st.builds(Query, keys, st.just(()) | st.just(("s",)) | st.just(("t",)), wanted), max_size=4
)


class LifeOfASet(RuleBasedStateMachine):
    """`known` is what each version must answer; a merge may be at work meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(mkdtemp())
        write_version(self.root, 1, [])
        self.known: dict[int, list[Query]] = {1: []}
        self.prepared: PreparedMerge | None = None

    @property
    def newest(self) -> int:
        return max(self.known)

    @rule(added=some_queries, removed=st.lists(keys, max_size=3))
    def change(self, added: list[Query], removed: list[int]) -> None:
        kept = [query for query in self.known[self.newest] if query.key not in removed]
        changed = apply_changes(self.root, added, removed)
        self.known[changed.version] = [*kept, *added]

    @precondition(lambda self: self.prepared is None)
    @rule()
    def begin_a_merge(self) -> None:
        self.prepared = prepare_merge(self.root)

    @precondition(lambda self: self.prepared is not None)
    @rule(added=some_queries)
    def put_the_merge_in_place(self, added: list[Query]) -> None:
        changed = apply_changes(self.root, added, prepared=self.prepared)
        self.known[changed.version] = [*self.known[self.newest], *added]
        self.prepared = None

    @precondition(lambda self: self.prepared is not None)
    @rule()
    def the_merge_dies(self) -> None:
        forget_merge(self.root)
        self.prepared = None

    @precondition(lambda self: self.prepared is None)
    @rule(queries=some_queries)
    def write_all_anew(self, queries: list[Query]) -> None:
        version = self.newest + 1
        write_version(self.root, version, queries)
        self.known[version] = queries

    @rule(data=st.data())
    def prune_some(self, data: st.DataObject) -> None:
        keep = data.draw(st.sets(st.sampled_from(sorted(self.known))))
        prune(self.root, keep)
        newest = self.newest
        self.known = {version: known for version, known in self.known.items() if version in {*keep, newest}}

    @rule(data=st.data())
    def an_older_version_answers_as_it_did(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.known)))
        verify_version(self.root, version)
        opened = open_version(self.root, version)
        assert pairs_of(opened.match(batch_of(BATCH))) == naive_pairs(self.known[version], BATCH)
        assert len(opened) == len(self.known[version])

    @invariant()
    def versions_are_those_that_were_kept(self) -> None:
        assert versions_of(self.root) == sorted(self.known)

    @invariant()
    def the_newest_answers_as_its_queries_do(self) -> None:
        opened = open_version(self.root)
        assert pairs_of(opened.match(batch_of(BATCH))) == naive_pairs(self.known[self.newest], BATCH)

    @invariant()
    def keys_are_explained_as_they_are_matched(self) -> None:
        opened = open_version(self.root)
        for key in {query.key for query in self.known[self.newest]}:
            told = opened.explain(BATCH[0], key)
            assert told.is_match == ((0, key) in naive_pairs(self.known[self.newest], BATCH))

    def teardown(self) -> None:
        rmtree(self.root)


TestLifeOfASet = LifeOfASet.TestCase
TestLifeOfASet.settings = settings(max_examples=6, stateful_step_count=12, deadline=None)
