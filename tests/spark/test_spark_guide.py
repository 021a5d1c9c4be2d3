"""The programs of `docs/spark.md` are run as they stand, with the tables that they speak of."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

GUIDE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
QUERIES = 100_000
WORDS = [f"{start}{end}" for start in ("riv", "stor", "coa", "mark", "har") for end in map(str, range(400))]


def write_tables(place: Path, chance: random.Random) -> tuple[list[set[str]], list[tuple[str, str]]]:
    """The three tables and the stream's directory; the words of each article and of each query."""
    titles = [chance.choices(WORDS, k=8) for _ in range(200)]
    bodies = [chance.choices(WORDS, k=60) for _ in titles]
    noon = datetime(2026, 3, 1, tzinfo=UTC)
    articles = pa.table(
        {
            "url": [f"https://press.example/{number}" for number in range(len(titles))],
            "headline": [" ".join(words) for words in titles],
            "body": [" ".join(words) for words in bodies],
            "press": chance.choices(["Daily Post", "Herald"], k=len(titles)),
            "published": [noon + timedelta(hours=number) for number in range(len(titles))],
        }
    )
    pairs = [(chance.choice(WORDS), chance.choice(WORDS)) for _ in range(QUERIES)]
    ids = pa.array(range(1, QUERIES + 1))
    pq.write_table(articles, place / "articles.parquet")
    pq.write_table(
        pa.table({"id": ids, "query": [f"{one} {other}" for one, other in pairs]}), place / "searches.parquet"
    )
    pq.write_table(
        pa.table({"search": ids, "customer": [f"customer {number % 999}" for number in range(QUERIES)]}),
        place / "customers.parquet",
    )
    (place / "incoming").mkdir()
    pq.write_table(articles.slice(0, 50), place / "incoming" / "first.parquet")
    return [{*title, *body} for title, body in zip(titles, bodies, strict=True)], pairs


def test_the_programs_of_the_guide_do_what_it_says(tmp_path: Path) -> None:
    texts, pairs = write_tables(tmp_path, random.Random(3))
    (tmp_path / "guide.py").write_text("\n".join(PROGRAMS), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "guide.py"],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("|wanted_by|") == done.stdout.count("|search|") == 1

    wanted = {
        (f"customer {number % 999}", f"https://press.example/{article}")
        for number, (one, other) in enumerate(pairs)
        for article, text in enumerate(texts)
        if one in text and other in text
    }
    alerts = pq.read_table(tmp_path / "alerts.parquet").to_pydict()
    assert {*zip(alerts["customer"], alerts["url"], strict=True)} == wanted
    assert len(wanted) > 10_000
    streamed = pq.read_table(tmp_path / "outgoing", columns=["url"]).column("url").unique()
    assert 0 < len(streamed) <= 50
