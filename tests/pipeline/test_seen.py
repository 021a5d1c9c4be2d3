"""Repeats, edits and news: the vectorised judge against a dictionary."""

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.logs.files import replace_arrow
from feedweir.pipeline.seen import PARTS, Keys, Seen, SeenLog, Sightings, keys_of
from feedweir.pipeline.stage import Judged
from feedweir.pipeline.stage import judged as judged_in_parts

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
        log = log_in(tmp_path)
        (part,) = keys.parts().tolist()
        verdict = log.state([part], batch=0)[part].judge(keys, fingerprint)
        assert verdict.is_news.tolist() == [True]
        log.write("000000000001-003", {part: verdict.sightings})
    assert log.state([part], batch=1)[part].judge(keys, fingerprint).is_news.tolist() == [False]
    assert log.state([part], batch=0)[part].judge(keys, fingerprint).is_news.tolist() == [True]
    other = (part + 1) % PARTS
    assert log.state([other], batch=1)[other].judge(keys, fingerprint).is_news.tolist() == [True]


def judge_all(log: SeenLog, batch: int, identities: list[str], fingerprints: list[int]) -> Judged:
    """Judge items by what was seen before a batch."""
    keys = keys_of(["s"] * len(identities), identities)
    return judged_in_parts(keys, np.array(fingerprints, np.int64), log.state(range(PARTS), batch - 1))


def log_in(directory: Path) -> SeenLog:
    """The log of a directory in which manifests name every file."""
    return SeenLog(directory, lambda: (path.name for path in directory.glob("[0-9]*-*.arrow")))


def test_what_an_attempt_wrote_that_no_manifest_names_was_not_seen(tmp_path: Path) -> None:
    named: list[str] = []
    log = SeenLog(tmp_path, lambda: named)
    fingerprint = np.array([7], np.int64)
    keys = keys_of(["s"], ["a"])
    (part,) = keys.parts().tolist()

    def is_news() -> bool:
        state = SeenLog(tmp_path, lambda: named).state([part], 1)
        return bool(state[part].judge(keys, fingerprint).is_news[0])

    verdict = log.state([part], batch=0)[part].judge(keys, fingerprint)
    lost, kept = (log.write(f"000000000001-003-{attempt}", {part: verdict.sightings}) for attempt in "ab")
    assert is_news()
    named.append(kept)
    assert not is_news()
    (tmp_path / lost).write_bytes(b"half a file")
    assert SeenLog(tmp_path, lambda: named).missing(1) == []


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
    st.tuples(st.lists(st.integers(0, PARTS - 1), min_size=1, max_size=4, unique=True), st.integers(0, 6)),
    max_size=8,
)


@given(batches, asked)
@settings(max_examples=50)
def test_a_log_that_was_read_before_knows_what_a_new_one_reads(
    history: list[list[Sighting]], questions: list[tuple[list[int], int]]
) -> None:
    with TemporaryDirectory() as directory:
        log, writer = log_in(Path(directory)), log_in(Path(directory))
        for number, batch in enumerate(history, start=1):
            verdict = judge_all(writer, number, *([one[at] for one in batch] for at in (0, 1)))  # type: ignore[arg-type]
            writer.write(f"{number:012d}-000", verdict.sightings)
        for parts, upto in questions:
            assert described(log.state(parts, upto)) == described(log_in(Path(directory)).state(parts, upto))


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
    log = log_in(tmp_path)
    for batch in range(1, 31):
        verdict = judge_all(log, batch, [str(batch)], [batch])
        log.write(f"{batch:012d}-000", verdict.sightings)
        log_in(tmp_path).compact(range(PARTS), batch - 1, most_files=4)
    for reader in (log, log_in(tmp_path)):
        is_news = judge_all(reader, 31, [str(batch) for batch in range(31)], list(range(31))).is_news
        assert np.flatnonzero(is_news).tolist() == [0]
    assert len(list(tmp_path.glob("*.arrow"))) <= 6


def test_keys_of_different_sources_differ() -> None:
    keys = keys_of(["a", "b"], ["x", "x"])
    assert keys.high[0] != keys.high[1]
    assert keys.low[0] != keys.low[1]


def test_what_an_older_version_wrote_by_parts_of_the_sources_is_read(tmp_path: Path) -> None:
    identities = [str(number) for number in range(40)]
    keys = keys_of(["s"] * 40, identities)
    part = np.arange(40) % 7  # they had nothing to do with keys
    order = np.lexsort((keys.low, keys.high, part))
    columns = {
        "part": part[order].astype(np.int16),
        "high": keys.high[order],
        "low": keys.low[order],
        "fingerprint": np.arange(40)[order],
        "revision": np.zeros(40, np.int32),
    }
    replace_arrow(tmp_path / "000000000001-000.arrow", pa.table(columns))
    log = log_in(tmp_path)
    assert not judge_all(log, 2, identities, list(range(40))).is_news.any()
    assert judge_all(log, 2, ["40"], [0]).is_news.all()
    log.write("000000000002-000", judge_all(log, 2, ["40"], [0]).sightings)
    log_in(tmp_path).compact(range(PARTS), 2, most_files=0)
    assert not judge_all(log_in(tmp_path), 3, [*identities, "40"], [*range(40), 0]).is_news.any()
