"""Words of queries in columns: counted, numbered, found again, and translated from one dictionary to another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.match import Frequencies, KeywordQueries
from feedweir.match.index.keywords import keywords_of
from feedweir.match.sets.query_store import table_of
from feedweir.match.words import dictionary
from feedweir.match.words.dictionary import dictionary_of, find_tokens, known_tokens
from feedweir.match.words.dictionary_kernels import Dictionary
from feedweir.match.words.lexicon import Lexicon, lexicon_of
from feedweir.match.words.shared_words import LookedUp, known_in, translated_entries, translation_of
from feedweir.text.analyser import Tokens, analyse

WORDS = ("a", "of", "storm", "harbour", "überfahrt", "internationalisation", "internationalisations", "海")
some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
some_texts = st.lists(st.lists(st.sampled_from((*WORDS, "unknown")), max_size=6).map(" ".join), max_size=5)
subsets = st.sets(st.sampled_from(WORDS)).map(sorted)


def lexicon(
    queries: list[list[str]], others: list[str], seen: Frequencies | None = None
) -> tuple[Lexicon, pa.Array]:
    table = table_of(KeywordQueries(pa.array(range(len(queries)), pa.int64()), pa.array(queries)))
    keywords = keywords_of(table)
    return lexicon_of(keywords, others, len(table), seen), keywords.words


@settings(max_examples=60, deadline=None)
@given(st.lists(some_words, min_size=1, max_size=8), st.lists(st.sampled_from(WORDS), max_size=5))
def test_a_lexicon_numbers_words_by_how_often_queries_name_them(
    queries: list[list[str]], others: list[str]
) -> None:
    found, plain = lexicon(queries, others)
    counts = Counter(word for query in queries for word in set(query)) + Counter(others)
    texts = found.texts.to_pylist()
    assert sorted(texts) == sorted(counts)
    assert [counts[word] for word in texts] == sorted(counts.values(), reverse=True)
    assert [texts[number] for number in found.of_keywords.tolist()] == plain.to_pylist()
    assert {word: texts[number] for word, number in found.named.items()} == {word: word for word in others}
    entries = entries_of(found.dictionary(), analyse(pa.array(texts)))
    assert entries == list(range(len(texts)))


def test_words_that_items_were_seen_to_have_come_first_however_often_queries_name_them() -> None:
    queries = [["storm", "coast"], ["storm", "calm"], ["storm"]]
    found, _ = lexicon(queries, ["prow"], Frequencies(99, {"coast": 50, "prow": 20, "elsewhere": 7}))
    assert found.texts.to_pylist() == ["coast", "prow", "storm", "calm"]
    assert found.probabilities.round(2).tolist() == [0.5, 0.2, 0.0, 0.0]


def entries_of(words: Dictionary, tokens: Tokens) -> list[int]:
    entries = np.empty(len(tokens.hashes), np.int32)
    find_tokens(words, tokens, entries)
    return entries.tolist()


def texts_of(tokens: Tokens, places: list[int]) -> list[str]:
    data = tokens.text.tobytes()
    return [data[tokens.starts[i] : tokens.starts[i] + tokens.lengths[i]].decode() for i in places]


def expected(known: list[str], texts: list[str]) -> list[list[int]]:
    return [[known.index(word) for word in text.split() if word in known] for text in texts]


@settings(max_examples=100, deadline=None)
@given(subsets, subsets, some_texts)
def test_what_a_filter_or_a_translation_finds_is_what_looking_up_finds(
    few: list[str], many: list[str], texts: list[str]
) -> None:
    small, large = (dictionary_of([word.encode() for word in each]) for each in (few, many))
    tokens = analyse(pa.array(texts, pa.string()))
    translation = translation_of(large, known_in(large, small))
    translated = translated_entries(small, translation, LookedUp(large, (tokens,)))
    assert translated.tolist() == entries_of(small, tokens)
    if few:
        offsets, entries, places = known_tokens(small, tokens)
        assert [entries[start:end].tolist() for start, end in pairwise(offsets)] == expected(few, texts)
        assert texts_of(tokens, places.tolist()) == [few[entry] for entry in entries.tolist()]
        others = [word if word not in many else "" for word in few]
        _, entries, _ = known_tokens(small, tokens, LookedUp(large, (tokens,)).entries())
        assert entries.tolist() == [entry for row in expected(others, texts) for entry in row]


def test_large_dictionaries_have_no_filter_and_translate_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dictionary, "_FILTERED", 2)
    small, large = (
        dictionary_of([b"storm", b"sea", b"prow"]),
        dictionary_of([b"sea", b"calm", b"a", b"storm"]),
    )
    assert not len(small.filter)
    tokens = analyse(pa.array(["calm sea prow", "", "storm storm x"]))
    translation = translation_of(large, known_in(large, small))
    assert translated_entries(small, translation, LookedUp(large, (tokens,))).tolist() == [
        -1,
        1,
        2,
        0,
        0,
        -1,
    ]
