"""What `distinct` takes for one story, compared with what a reader says, on real news or on made-up ones.

Everything goes through an installation: statements as text, documents landed, batches run; a pair counts as one story
when the element log has both in one element. `stories.csv` has items of four days of one set of real news by their ids,
about a thousand of each day, all of them read and put together by what they report: is it the same event, so that who
has read the one need not read the other? An item without a story was alone. All pairs of a day count. The `tuning` days
were looked at when the way of comparing was chosen, the `held-out` ones were not, and only those are reported. Without
`--items` stories are made up and told again in other words.
"""

from __future__ import annotations

import argparse
import csv
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks._streams import Story, documents_of, stories_of, vocabulary, zipf_ranks
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

START = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 4_000
LABELS = Path(__file__).parent / "stories.csv"
OTHERS = (0.3, 0.36, 0.5, 0.6)
"""Thresholds that are measured beside the usual one, with `--full`."""


@dataclass(frozen=True, slots=True)
class Label:
    one: str
    other: str
    is_same: bool


Groups = Mapping[str, int]
"""By item which element it is, or is listed with."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--items", type=Path, help="a Parquet file with id, source, title, summary, published"
    )
    parser.add_argument("--limit", type=int, help="so many items only")
    parser.add_argument("--half", default="held-out", help="which labels: held-out or tuning")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Precision and recall over all pairs of items that were read, and what it costs."""
    limit = options.limit or (None if options.items else 100_000 if options.full else 20_000)
    told = list(stories_of(options.items)) if options.items else list(retold(limit or 0))
    stream = sorted(told, key=lambda story: story.published)[:limit]
    labels = _labels(options.half, {story.identity for story in stream}) if options.items else _known(stream)
    with tempfile.TemporaryDirectory() as scratch, Weir.open(Path(scratch)) as weir:
        feeds = {"Stories": "distinct *"}
        feeds |= {f"At{how * 100:.0f}": f"distinct at least {how} *" for how in OTHERS if options.full}
        spent = _carry_out(weir, feeds, stream)
        groups = {name: _groups(weir, name) for name in feeds}
    return {
        "items": len(stream),
        "pairs": sum(label.is_same for label in labels),
        **_judged(groups["Stories"], labels),
        "elements": len(set(groups["Stories"].values())),
        "items_per_s": round(len(stream) / spent),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **{name: _judged(groups[name], labels) for name in feeds if name != "Stories"},
    }


def _carry_out(weir: Weir, feeds: Mapping[str, str], stream: Sequence[Story]) -> float:
    """Processor seconds for all batches but the first, as for all."""
    names = sorted({story.source for story in stream})
    called = {name: f"S{number}" for number, name in enumerate(names)}
    weir.execute("".join(f"register feed http://example.org/{one} as {one};" for one in called.values()))
    weir.execute("".join(f"create feed {name} from {query};" for name, query in feeds.items()))
    weir.refresh_set()
    for first in range(0, len(stream), BATCH):
        some = [replace(story, source=called[story.source]) for story in stream[first : first + BATCH]]
        weir.log.append(documents_of(some, some[-1].published))
    runner = LocalRunner(weir.directory, weir.commit, max_segments=1)
    first_batch = runner.run_batch()
    begun = time.process_time()
    runner.run_available()
    counted = len(stream) - (first_batch.item_count if first_batch else 0)
    return (time.process_time() - begun) * len(stream) / max(counted, 1)


def _groups(weir: Weir, name: str) -> Groups:
    """From the element log: every element, and what is listed with it."""
    feed = weir.catalog.feeds.named(name).id
    seqs = sorted(weir.store.seqs(feed).tolist())
    listed = weir.store.joined.annotations(feed, seqs)
    element = {seq: seq for seq in seqs}
    for seq in seqs:
        for partners in listed.get(seq, {}).values():
            element |= dict.fromkeys(partners, seq)
    table = weir.store.items(sorted(element))
    columns = (table.column(name).to_pylist() for name in ("identity", "seq"))
    return {identity: element[seq] for identity, seq in zip(*columns, strict=True)}


def _labels(half: str, known: set[str]) -> list[Label]:
    """All pairs of a day."""
    days: dict[str, list[tuple[str, str]]] = {}
    with LABELS.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["half"] == half and row["item"] in known:
                days.setdefault(row["day"], []).append((row["item"], row["story"]))
    return [
        Label(one, other, bool(story) and story == of_other)
        for read in days.values()
        for (one, story), (other, of_other) in combinations(read, 2)
    ]


def _known(stream: Iterable[Story]) -> list[Label]:
    """Of made-up news all pairs of one story, and for each pair two that have only their topic in common."""
    by_story: dict[str, list[Story]] = {}
    for story in stream:
        by_story.setdefault(story.identity.split("/")[0], []).append(story)
    pairs = [
        Label(one.identity, other.identity, True)
        for tellers in by_story.values()
        for one, other in combinations(tellers, 2)
        if one.source != other.source
    ]
    firsts = [tellers[0].identity for tellers in by_story.values()]
    # Stories of one topic are made one after the other.
    near = [Label(a, b, False) for k in (1, 2) for a, b in zip(firsts, firsts[k:], strict=False)]
    return pairs + near[: 2 * len(pairs)]


def _judged(groups: Groups, labels: Sequence[Label]) -> dict[str, float]:
    taken = [label.is_same for label in labels if groups.get(label.one, -1) == groups.get(label.other, -2)]
    there = sum(label.is_same for label in labels)
    return {
        "precision": round(sum(taken) / len(taken), 3) if taken else 1.0,
        "recall": round(sum(taken) / there, 3) if there else 1.0,
    }


def retold(count: int, *, seed: int = 3) -> Iterator[Story]:
    """Stories of topics, each told by up to four sources within a day, in words of which some are their own."""
    chance = np.random.default_rng(seed)
    lexicon = np.array(vocabulary(30_000))
    number = made = 0
    while made < count:
        topic = chance.choice(lexicon, 6)
        for _ in range(4):
            title = np.concatenate([chance.choice(topic, 3), chance.choice(lexicon, 6)])
            summary = np.concatenate([chance.choice(topic, 3), lexicon[zipf_ranks(chance, len(lexicon), 17)]])
            first = START + timedelta(minutes=number)
            for teller in range(int(chance.integers(1, 5))):
                own = chance.choice([0.1, 0.3, 0.5])
                yield Story(
                    source=f"s{int(chance.integers(200))}",
                    identity=f"{number}/{teller}",
                    title=_reworded(chance, title, lexicon, own),
                    summary=_reworded(chance, summary, lexicon, own),
                    published=first + timedelta(hours=float(chance.random() * 24)),
                )
                made += 1
            number += 1


def _reworded(chance: np.random.Generator, text: np.ndarray, lexicon: np.ndarray, own: float) -> str:
    other = lexicon[zipf_ranks(chance, len(lexicon), len(text))]
    return " ".join(np.where(chance.random(len(text)) < own, other, text).tolist()).capitalize()
