"""Random damages to the files of logs: whether each is told, and what can be made again."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from feedweir.logs.landing import Landed
from feedweir.service.installation import Weir

_log = logging.getLogger(__name__)

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TABLE_LOG = "_delta_log"
LOGS = ("landing", "items", "elements", "annotations", "made", "seen", "batches", "joins")
STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
create feed Water from Post as $r where $r[title contains 'river'];
create feed Markets from (Post | Crier) as $r where $r[title contains 'market'];
create feed Once from distinct (Post | Crier);
create feed Echo from Post as $p join last 10 days on Crier as $c with $p[title similar window.title];
"""
PATTERN = """
SELECT <pair>{$a}</pair> FROM Post//item[title->a] FOLLOWED BY{a=b, 3 days} Crier//item[title->b] PUBLISH Pairs;
"""
WORDS = ("river", "market", "otter", "bridge", "music", "flood")
BATCHES = 12

Feeds: TypeAlias = dict[str, list[tuple[int, str]]]


def damage_report(n: int, seed: int) -> dict[str, int]:
    """`n` damages to copies of one installation: how many were told, how many changed an answer in silence, how many
    could be repaired to what was there before, and how many could not (documents that are lost)."""
    chance = random.Random(seed)
    counts = dict.fromkeys(("damages", "told", "silent", "repaired", "unrepairable", "down"), 0)
    with TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole"
        _build(whole, chance)
        truth, before = _read(whole), _contents(whole)
        for _ in range(n):
            copy = Path(scratch) / "copy"
            shutil.copytree(whole, copy)
            _damage(copy, chance)
            for name, count in _judged(copy, truth, before).items():
                counts[name] += count
            counts["damages"] += 1
            shutil.rmtree(copy)
    return counts


def _goes_on(directory: Path) -> bool:
    """Whether what lands now is published, whatever is damaged."""
    with Weir.open(directory, clock=lambda: NOON + timedelta(days=1)) as weir:
        for source in ("Post", "Crier"):
            body = (
                b"<rss><channel><item><guid>new</guid><title>otter river news</title></item></channel></rss>"
            )
            weir.log.append([Landed(source=source, arrived=weir.clock(), body=body)])
        weir.run()
        return all(weir.items(feed, 1)[0].identity == "new" for feed in ("Post", "Water", "Late"))


def _judged(copy: Path, truth: Feeds, before: dict[str, bytes]) -> dict[str, int]:
    later = copy.with_name("later")
    shutil.copytree(copy, later)
    try:
        shown, goes_on = _read(copy), _goes_on(later)
    except Exception:  # whatever it is: a reader was refused, or the next batch could not be run
        _log.exception("down")
        return {"down": 1}
    finally:
        shutil.rmtree(later)
    with Weir.open(copy, clock=lambda: NOON) as weir:
        is_told = bool(weir.damages())
        lost = weir.repair_logs().lost
    is_same = _read(copy) == truth and _contents(copy) == before
    return {
        "down": int(not goes_on),
        "told": int(is_told),
        "silent": int(not is_told and shown != truth),
        "repaired": int(is_same),
        "unrepairable": int(not is_same and bool(lost)),
    }


def _build(directory: Path, chance: random.Random) -> None:
    now = NOON
    with Weir.open(directory, clock=lambda: now) as weir:
        weir.execute(STATEMENTS)
        weir.execute(PATTERN)
        for batch in range(BATCHES):
            now = NOON + timedelta(hours=batch)
            for source in ("Post", "Crier"):
                weir.log.append([Landed(source=source, arrived=now, body=_document(source, batch, chance))])
            if batch == BATCHES // 2:
                weir.execute("create feed Late from Crier as $r where $r[title contains 'otter']")
            weir.run()
        # Files that were merged into others are read by nobody, and would be deleted an hour later.
        weir.store.remove_leftovers(datetime.now(UTC))


def _document(source: str, batch: int, chance: random.Random) -> bytes:
    items = "".join(
        f"<item><guid>{batch * 3 + place}</guid><title>{' '.join(chance.sample(WORDS, 3))}</title></item>"
        for place in range(-2, 3)
        if batch * 3 + place >= 0
    )
    return f"<rss version='2.0'><channel><title>{source}</title>{items}</channel></rss>".encode()


def _read(directory: Path) -> Feeds:
    """All feeds as a reader sees them."""
    with Weir.open(directory, clock=lambda: NOON) as weir:
        return {
            feed.name: [(item.seq, item.title) for item in weir.items(feed.name, 1_000)]
            for feed in weir.catalog.feeds.all()
        }


def _contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in _files(directory)}


def _files(directory: Path) -> list[Path]:
    """Those that answers come from; open tables only follow them, and are made anew from manifests."""
    paths = (path for log in LOGS for path in (directory / log).rglob("*") if path.is_file())
    return sorted(path for path in paths if not path.name.startswith("_") and TABLE_LOG not in path.parts)


def _damage(directory: Path, chance: random.Random) -> None:
    path = chance.choice(_files(directory))
    KINDS[chance.choice(sorted(KINDS))](path, chance)


def _truncate(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data))])


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _swap(path: Path, chance: random.Random) -> None:
    others = [other for other in path.parent.iterdir() if other.is_file() and other != path]
    if not others:
        _flip(path, chance)
        return
    other = chance.choice(sorted(others))
    ours, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(ours)


KINDS: dict[str, Callable[[Path, random.Random], object]] = {
    "delete": lambda path, _: path.unlink(),
    "empty": lambda path, _: path.write_bytes(b""),
    "truncate": _truncate,
    "flip": _flip,
    "swap": _swap,
}
