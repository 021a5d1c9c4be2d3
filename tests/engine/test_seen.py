"""Repeats, edits and news: the vectorised judge against a dictionary."""

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.engine.seen import Keys, Seen, SeenLog, Sightings, keys_of

Sighting = tuple[str, int]

sightings = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2)), max_size=40)
batches = st.lists(sightings, max_size=6)


class Dictionary:
    """The obvious meaning: remember the last fingerprint and the revision of everything."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, int]] = {}

    def judge(self, batch: list[Sighting]) -> list[tuple[bool, int | None]]:
        verdicts: list[tuple[bool, int | None]] = []
        for identity, fingerprint in batch:
            previous, revision = self.known.get(identity, (None, -1))
            if fingerprint == previous:
                verdicts.append((False, None))
            else:
                self.known[identity] = (fingerprint, revision + 1)
                verdicts.append((True, revision + 1))
        return verdicts


def judged(seen: Seen, batch: list[Sighting]) -> tuple[list[tuple[bool, int | None]], Seen]:
    keys = keys_of(["s"] * len(batch), [identity for identity, _ in batch])
    verdict = seen.judge(keys, np.array([fingerprint for _, fingerprint in batch], np.int64))
    pairs = zip(verdict.is_news.tolist(), verdict.revisions.tolist(), strict=True)
    answers = [(is_news, revision if is_news else None) for is_news, revision in pairs]
    return answers, seen.after(verdict.sightings)


@given(batches)
def test_news_and_revisions_are_those_of_a_dictionary(history: list[list[Sighting]]) -> None:
    model, seen = Dictionary(), Seen()
    for batch in history:
        answers, seen = judged(seen, batch)
        assert answers == model.judge(batch)


@given(batches)
def test_the_cut_into_batches_does_not_matter(history: list[list[Sighting]]) -> None:
    whole, _ = judged(Seen(), [sighting for batch in history for sighting in batch])
    seen, pieces = Seen(), []
    for batch in history:
        answers, seen = judged(seen, batch)
        pieces += answers
    assert pieces == whole


@given(batches)
def test_runs_stay_few(history: list[list[Sighting]]) -> None:
    seen = Seen()
    for batch in history * 3:
        _, seen = judged(seen, batch)
    sizes = [len(run) for run in seen.runs]
    assert all(older > 2 * newer for older, newer in itertools.pairwise(sizes))


def test_a_repeated_batch_finds_what_it_found_the_first_time(tmp_path: Path) -> None:
    fingerprint = np.array([7], np.int64)
    keys = keys_of(["s"], ["a"])
    for _ in range(2):
        log = SeenLog(tmp_path)
        verdict = log.state([3], batch=0)[3].judge(keys, fingerprint)
        assert verdict.is_news.tolist() == [True]
        log.write(1, 3, {3: verdict.sightings})
    assert log.state([3], batch=1)[3].judge(keys, fingerprint).is_news.tolist() == [False]
    assert log.state([3], batch=0)[3].judge(keys, fingerprint).is_news.tolist() == [True]
    assert log.state([2, 4], batch=1)[2].judge(keys, fingerprint).is_news.tolist() == [True]


def described(state: dict[int, Seen]) -> dict[int, list[tuple[int, int, int, int]]]:
    """By part everything that is known, in the order of the keys."""
    flat = {part: seen.flat() for part, seen in state.items()}
    return {
        part: sorted(
            zip(
                all_.keys.high.tolist(),
                all_.keys.low.tolist(),
                all_.fingerprints.tolist(),
                all_.revisions.tolist(),
                strict=True,
            )
        )
        for part, all_ in flat.items()
    }


asked = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), st.integers(0, 6)), max_size=8
)


@given(batches, asked)
@settings(max_examples=50)
def test_a_log_that_was_read_before_knows_what_a_new_one_reads(
    history: list[list[Sighting]], questions: list[tuple[list[int], int]]
) -> None:
    with TemporaryDirectory() as directory:
        log, writer = SeenLog(Path(directory)), SeenLog(Path(directory))
        for number, batch in enumerate(history, start=1):
            part = number % 4
            seen = writer.state([part], number - 1)[part]
            keys = keys_of(["s"] * len(batch), [identity for identity, _ in batch])
            verdict = seen.judge(keys, np.array([fingerprint for _, fingerprint in batch], np.int64))
            writer.write(number, part, {part: verdict.sightings})
        for parts, upto in questions:
            assert described(log.state(parts, upto)) == described(SeenLog(Path(directory)).state(parts, upto))


small = st.integers(0, 3).map(np.uint64)
runs = st.dictionaries(st.tuples(small, small), st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8)


def run_of(known: dict[tuple[np.uint64, np.uint64], tuple[int, int]]) -> Sightings:
    rows = sorted(known)
    return Sightings(
        Keys(*(np.array([key[half] for key in rows], np.uint64) for half in (0, 1))),
        np.array([known[key][0] for key in rows], np.int64),
        np.array([known[key][1] for key in rows], np.int32),
    )


@given(st.lists(runs, max_size=5), runs)
def test_keys_that_share_a_half_are_told_apart(
    history: list[dict[tuple[np.uint64, np.uint64], tuple[int, int]]],
    wanted: dict[tuple[np.uint64, np.uint64], tuple[int, int]],
) -> None:
    known: dict[tuple[np.uint64, np.uint64], tuple[int, int]] = {}
    seen = Seen()
    for run in history:
        known |= run
        seen = seen.after(run_of(run))
    assert described({0: seen})[0] == sorted((int(high), int(low), *known[high, low]) for high, low in known)
    fingerprints = run_of(wanted).fingerprints
    news = seen.judge(run_of(wanted).keys, fingerprints).is_news.tolist()
    assert news == [known.get(key, (None, 0))[0] != wanted[key][0] for key in sorted(wanted)]


def test_compaction_keeps_everything_in_few_files(tmp_path: Path) -> None:
    log = SeenLog(tmp_path)
    for batch in range(1, 31):
        keys = keys_of(["s"], [str(batch)])
        verdict = log.state([0], batch - 1)[0].judge(keys, np.array([batch], np.int64))
        log.write(batch, 0, {0: verdict.sightings})
        SeenLog(tmp_path).compact(range(2), batch - 1, most_files=4)
    keys = keys_of(["s"] * 31, [str(batch) for batch in range(31)])
    for reader in (log, SeenLog(tmp_path)):
        is_news = reader.state([0], 30)[0].judge(keys, np.arange(31)).is_news
        assert np.flatnonzero(is_news).tolist() == [0]
    assert len(list(tmp_path.glob("*.arrow"))) <= 6


def test_keys_of_different_sources_differ() -> None:
    keys = keys_of(["a", "b"], ["x", "x"])
    assert keys.high[0] != keys.high[1]
    assert keys.low[0] != keys.low[1]
