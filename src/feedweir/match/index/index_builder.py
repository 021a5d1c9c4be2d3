"""From queries to an index: plain keyword queries by whole columns, all others formula by formula."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from feedweir.items.attributes import attribute_named
from feedweir.items.gc_pause import gc_paused
from feedweir.match.arrays import Array, frozen, starts_of
from feedweir.match.atom_shares import SCOPED, Frequencies, Rarity, probability_of_unseen
from feedweir.match.atoms import Ask, Axis, Every, Leaf, Ordered, Phrase, Prefix, Within, Word
from feedweir.match.conjunctions import Conjunction, conjunctions_of, normal_form_size
from feedweir.match.families import FAMILY_NAMED
from feedweir.match.formula import All, AnyOf, Count, Formula, Without, leaves_of, placed
from feedweir.match.index.atom_numbers import Numbering, ScopedWords, numbered, texts_in, vocabulary_of
from feedweir.match.index.filter_forest import (
    DraftTree,
    SourceTree,
    forest_of,
    read_trees,
    sources_in_trees,
)
from feedweir.match.index.index_arrays import Index
from feedweir.match.index.keywords import Keywords, keywords_of
from feedweir.match.index.programs import Programs
from feedweir.match.index.query_formulas import Note, Progress, formulas_of
from feedweir.match.index.trie import MAX_DEPTH, trie_of
from feedweir.match.matching.match_kernels import Checks
from feedweir.match.ranges.range_index import range_index
from feedweir.match.ranges.segment_trees import (
    cuts_of,
    range_between,
    segments_of,
    segments_of_range,
)
from feedweir.match.ranges.value_order import bounds_of, text_orders
from feedweir.match.values.value_family import Origin
from feedweir.match.words.dictionary import dictionary_of, prefix_length_masks
from feedweir.match.words.lexicon import Lexicon, lexicon_of
from feedweir.match.words.scopes import MAX_FIELDS, Scopes
from feedweir.plan.predicates import Contains, Term

_WIDE_FORM = 256


@dataclass(slots=True)
class _Draft:
    """What has been decided about the queries that are compiled one by one."""

    formulas: dict[int, Formula]
    notes: list[Note]
    trees: list[DraftTree]
    found: list[tuple[int, Conjunction]] = field(default_factory=list)
    cuts: dict[Axis, Array] = field(default_factory=dict)
    orders: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each attribute the texts that it is compared with by order."""


def build_index(
    table: pa.Table,
    frequencies: Frequencies | None = None,
    progress: Progress | None = None,
    trees: Iterable[SourceTree] = (),
) -> tuple[Index, list[Note]]:
    """The index of a sorted table of queries, with trees for some of the sources, and notes about some queries."""
    with gc_paused():
        return _built(table, frequencies, progress, trees)


def _built(
    table: pa.Table, frequencies: Frequencies | None, progress: Progress | None, trees: Iterable[SourceTree]
) -> tuple[Index, list[Note]]:
    keys = table.column("key").to_numpy()
    keywords, draft, scopes = _read(table, read_trees(trees), progress)
    if len(scopes.fields) == MAX_FIELDS:
        draft.formulas = {row: _rescoped(formula, scopes) for row, formula in draft.formulas.items()}
        draft.trees = [tree.mapped(lambda formula: _rescoped(formula, scopes)) for tree in draft.trees]
    _place_texts(draft)
    named, prefixes = texts_in(_leaves(draft))
    lexicon = lexicon_of(keywords, named, len(table), frequencies)
    rarity = _rarity(lexicon, len(table), frequencies)
    _find_conjunctions(draft, keys, rarity)
    _find_by_segments(draft)
    numbering = numbered(
        len(lexicon), lexicon.named, sorted(set(prefixes)), _scoped_words(keywords, lexicon, scopes)
    )
    index = _assembled(keys, keywords, draft, lexicon, numbering, scopes, rarity)
    if progress:
        progress(len(table), len(table))
    return index, draft.notes


def _read(
    table: pa.Table, trees: list[DraftTree], progress: Progress | None, with_attributes: bool = True
) -> tuple[Keywords, _Draft, Scopes]:
    """The plain queries, all others, and the attributes that get a bit."""
    in_trees = sources_in_trees(trees)
    keywords = keywords_of(table, in_trees, with_attributes=with_attributes)
    read = formulas_of(table, keywords.rows, in_trees, progress)
    draft = _Draft(read.formulas, read.notes, trees)
    named = (scope for leaf in _leaves(draft) for scope in _named_scope(leaf))
    scopes = Scopes.of((*keywords.scope_names, *named))
    if not set(keywords.scope_names) <= set(scopes.fields):
        return _read(table, trees, progress, with_attributes=False)
    return keywords, draft, scopes


# Decisions about single queries


def _leaves(draft: _Draft) -> Iterator[Leaf]:
    for formula in draft.formulas.values():
        yield from leaves_of(formula)
    for tree in draft.trees:
        yield from tree.leaves()


def _named_scope(leaf: Leaf) -> tuple[str, ...]:
    is_scoped = isinstance(leaf, (Word, Prefix, Phrase)) and leaf.scope is not None
    return (leaf.scope,) if is_scoped else ()  # type: ignore[union-attr, return-value]


def _rescoped(formula: Formula, scopes: Scopes) -> Formula:
    """Words in an attribute that has no bit are found in the whole text and then verified by `meaning`."""
    match formula:
        case All(parts):
            return All(tuple(_rescoped(part, scopes) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(_rescoped(part, scopes) for part in parts))
        case Count(least, parts):
            return Count(least, tuple(_rescoped(part, scopes) for part in parts))
        case Without(part):
            return Without(_rescoped(part, scopes))
        case Word(scope, text) if scope not in (None, *scopes.fields):
            return _asked(scope, Word(None, text), Term(text))
        case Prefix(scope, text) if scope not in (None, *scopes.fields):
            return _asked(scope, Prefix(None, text), Term(text, is_prefix=True))
        case Phrase(scope, texts, is_prefix) if scope not in (None, *scopes.fields):
            return _asked(scope, Phrase(None, texts, is_prefix), Term(" ".join(texts), is_prefix))
        case _:
            return formula


def _asked(scope: str | None, anywhere: Formula, term: Term) -> Formula:
    question = Ask(Contains(scope, (term,), 1))
    attribute = attribute_named(scope or "")
    is_in_text = attribute is not None and attribute.column == "extensions"
    return All((anywhere, question)) if is_in_text else question


def _place_texts(draft: _Draft) -> None:
    """Turn comparisons of texts into intervals between the places of all texts that are compared."""
    draft.orders = text_orders(leaf for leaf in _leaves(draft) if isinstance(leaf, Ordered))
    if draft.orders:
        draft.formulas = {row: _placed(formula, draft.orders) for row, formula in draft.formulas.items()}
        draft.trees = [tree.mapped(lambda formula: _placed(formula, draft.orders)) for tree in draft.trees]


def _placed(formula: Formula, orders: dict[str, dict[str, int]]) -> Formula:
    if not any(isinstance(leaf, Ordered) for leaf in leaves_of(formula)):
        return formula
    return placed(formula, lambda leaf: bounds_of(leaf, orders))


def _rarity(lexicon: Lexicon, n_queries: int, observed: Frequencies | None) -> Rarity:
    seen = {word: float(lexicon.probabilities[number]) for word, number in lexicon.named.items()}
    unseen = probability_of_unseen(n_queries, observed)
    if observed is None or observed.sources is None:
        return Rarity(seen, unseen)
    shares = {name: count / (observed.documents + 1.0) for name, count in observed.sources.items()}
    return Rarity(seen, unseen, shares)


def _find_conjunctions(draft: _Draft, keys: Array, rarity: Rarity) -> None:
    for row, formula in draft.formulas.items():
        found = conjunctions_of(formula, rarity)
        draft.found += [(row, one) for one in found]
        draft.notes += _notes(int(keys[row]), formula, found)


def _notes(key: int, formula: Formula, found: tuple[Conjunction, ...]) -> Iterator[Note]:
    size = normal_form_size(formula)
    if size > _WIDE_FORM and size > len(found):
        text = f"it would expand to {size} conjunctions; it is found by {len(found)} and then verified as a whole"
        yield Note(key, "wide", text)
    if not found:
        yield Note(key, "never", "no item can satisfy it")
    if any(not one.atoms and not _intervals(one) for one in found):
        yield Note(key, "costly", "it requires no word, value or range, so it is evaluated on every item")


def _intervals(one: Conjunction) -> list[Within]:
    return [part for part in one.rest if isinstance(part, Within)]


def _find_by_segments(draft: _Draft) -> None:
    """Find conjunctions without an atom by their interval if they have one, else by every item."""
    by_axis: dict[Axis, list[Within]] = {}
    for _, one in draft.found:
        if not one.atoms and (intervals := _intervals(one)):
            interval = range_between(intervals) or intervals[0]
            by_axis.setdefault(interval.axis, []).append(interval)
    draft.cuts = {axis: cuts_of(intervals) for axis, intervals in by_axis.items()}
    draft.found = [(row, one) for row, bare_one in draft.found for one in _with_atoms(bare_one, draft.cuts)]


def _with_atoms(one: Conjunction, cuts: dict[Axis, Array]) -> Iterator[Conjunction]:
    if one.atoms:
        yield one
    elif (intervals := _intervals(one)) and (between := range_between(intervals)):
        for segment in segments_of_range(between, cuts[between.axis]):
            yield Conjunction((segment,), one.rest)
    elif intervals:
        rest = tuple(part for part in one.rest if part is not intervals[0])
        for segment in segments_of(intervals[0], cuts[intervals[0].axis]):
            yield Conjunction((segment,), rest)
    else:
        yield Conjunction((Every(),), one.rest)


# Arrays


def _assembled(
    keys: Array,
    keywords: Keywords,
    draft: _Draft,
    lexicon: Lexicon,
    numbering: Numbering,
    scopes: Scopes,
    rarity: Rarity,
) -> Index:
    programs = Programs(numbering.atom_id)
    paths, entries, checked = _paths(draft, numbering, programs, rarity)
    forest = forest_of(draft.trees, numbering.atom_id, programs, rarity)
    offsets, atoms = _plain_paths(keywords, lexicon, numbering)
    lengths = np.concatenate([np.diff(offsets), [len(path) for path in paths]]).astype(np.int64)
    others = np.array([atom for path in paths for atom in path], np.int32)
    trie = trie_of(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([atoms, others]),
        np.concatenate([keywords.rows, np.array(entries, np.int64)]),
        _probabilities(lexicon, numbering, rarity),
    )
    prefix_strings = [prefix.encode() for prefix in numbering.prefixes]
    return Index(
        keys=frozen(keys),
        scopes=scopes,
        words=lexicon.dictionary(),
        prefixes=dictionary_of(prefix_strings),
        prefix_masks=frozen(prefix_length_masks(prefix_strings)),
        vocabulary=vocabulary_of(numbering, scopes),
        trie=trie,
        checks=_checks(checked, programs, numbering, scopes),
        ranges=range_index(programs.axes, draft.cuts, numbering.segments(), draft.orders),
        families=numbering.of_families(_sources_asking(draft)),
        forest=forest,
        trees=tuple((one.tree.source, one.tree.plan) for one in draft.trees),
    )


def _sources_asking(draft: _Draft) -> dict[str, list[str] | None]:
    """By family the sources of whose items its atoms are asked; None for all."""
    names: dict[str, set[str] | None] = {}
    for formula in draft.formulas.values():
        origins = _origins_of(formula)
        for family in _families_in(leaves_of(formula)):
            _add_sources(names, family, origins)
    for tree in draft.trees:
        for family in _families_in(tree.leaves()):
            _add_sources(names, family, (tree.tree.source,))
    return {family: None if found is None else sorted(found) for family, found in names.items()}


def _add_sources(names: dict[str, set[str] | None], family: str, sources: tuple[str, ...] | None) -> None:
    known = names.setdefault(family, set())
    names[family] = None if known is None or sources is None else known.union(sources)


def _families_in(leaves: Iterable[Leaf]) -> set[str]:
    kinds = {type(leaf) for leaf in leaves}
    return {family.name for family in FAMILY_NAMED.values() if not kinds.isdisjoint(family.atoms)}


def _origins_of(formula: Formula) -> tuple[str, ...] | None:
    """The sources that an item must come from; None when it may come from any."""
    parts = formula.parts if isinstance(formula, All) else (formula,)
    return next((part.names for part in parts if isinstance(part, Origin)), None)


def _scoped_words(keywords: Keywords, lexicon: Lexicon, scopes: Scopes) -> ScopedWords:
    """The words of plain queries that are looked for in attributes."""
    bits = np.array([scopes.whole, *map(scopes.bit, keywords.scope_names)], np.uint64)
    first = keywords.n_whole
    return ScopedWords(lexicon.of_keywords[keywords.leaf_words[first:]], bits[keywords.leaf_scopes[first:]])


def _plain_paths(keywords: Keywords, lexicon: Lexicon, numbering: Numbering) -> tuple[Array, Array]:
    """(offsets, atoms) of the conjunctions of plain queries: their words, and at last their sources."""
    whole = lexicon.of_keywords[keywords.leaf_words[: keywords.n_whole]]
    scoped = numbering.n_entries + np.arange(len(numbering.scoped.entries))
    words = np.concatenate([whole, scoped]).astype(np.int32)[keywords.leaves]
    origins = np.array([numbering.atom_id(Origin(names)) for names in keywords.source_names], np.int32)
    has_origin = keywords.origins >= 0
    before = np.concatenate([[0], np.cumsum(has_origin)])
    offsets = keywords.offsets + before
    atoms = np.empty(len(words) + int(before[-1]), np.int32)
    atoms[np.arange(len(words)) + np.repeat(before[:-1], np.diff(keywords.offsets))] = words
    atoms[offsets[1:][has_origin] - 1] = origins[keywords.origins[has_origin]]
    return offsets, atoms


def _probabilities(lexicon: Lexicon, numbering: Numbering, rarity: Rarity) -> Array:
    """Of all atoms, by number."""
    prefixes = [rarity(Prefix(None, prefix)) for prefix in numbering.prefixes]
    scoped = lexicon.probabilities[numbering.scoped.entries] * SCOPED
    others = [rarity(atom) for atom in numbering.others]
    return np.concatenate([lexicon.probabilities, prefixes, scoped, others])


def _paths(
    draft: _Draft, numbering: Numbering, programs: Programs, rarity: Rarity
) -> tuple[list[list[int]], list[int], list[tuple[int, int]]]:
    """(atoms of each conjunction, its entry in the trie, (query, program) of each check)."""
    paths: list[list[int]] = []
    entries: list[int] = []
    checked: list[tuple[int, int]] = []
    for row, one in draft.found:
        atoms = sorted(one.atoms, key=rarity)
        paths.append([numbering.atom_id(atom) for atom in atoms[:MAX_DEPTH]])
        longer = tuple(numbering.atom_id(atom) for atom in atoms[MAX_DEPTH:])
        if not longer and not one.rest:
            entries.append(row)
            continue
        entries.append(~len(checked))
        checked.append((row, programs.add(longer, one.rest)))
    return paths, entries, checked


def _checks(
    checked: list[tuple[int, int]], programs: Programs, numbering: Numbering, scopes: Scopes
) -> Checks:
    phrases = list(programs.phrases)
    phrase_entries = [[numbering.entry_of(part) for part in phrase.parts()] for phrase in phrases]
    arrays = (
        np.array([query for query, _ in checked], np.int32),
        np.array([program for _, program in checked], np.int32),
        np.array(programs.code, np.int32),
        np.array(programs.starts, np.int32),
        starts_of(np.array([len(entries) for entries in phrase_entries], np.int64)),
        np.array([entry for entries in phrase_entries for entry in entries], np.int32),
        np.array([scopes.bit(phrase.scope) for phrase in phrases], np.uint64),
        np.array([low for low, _ in programs.bounds], np.int64),
        np.array([high for _, high in programs.bounds], np.int64),
    )
    return Checks(*map(frozen, arrays))
