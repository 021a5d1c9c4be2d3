"""The statements of the sample: its sources, and virtual feeds made of them."""

from __future__ import annotations

from collections.abc import Mapping

_FEEDS = """\
create feed HighWater
from (RiverPost | TownCrier) as $r
where $r[title contains 'river' or title contains 'flood' or title contains 'high water'];

create feed Music
from (KawaNotes as $k | Kafeneio as $c | TownCrier as $t | PetitPont as $p | Almanaque as $a | Nahr as $n) as $all
where $k[category = 'music' or category = '音楽'] and $c[category = 'μουσική'] and $t[title contains 'music']
  and $p[title contains 'concert'] and $a[category = 'música'] and $n[category = 'موسيقى'];

create feed StableReleases
from Tidewater as $t
where $t[category = 'release' or category = 'security'] and not $t[title contains 'beta' or title contains 'rc'];

create feed ScienceNotes
from (RiverPost as $r | Nordlicht as $n)
where $r[category = 'science' or category = 'birds'] and $n[category = 'Wissenschaft' or category = 'Tiere'];

create feed Water
from (HighWater | PetitPont as $p | Nordlicht as $n | Almanaque as $a | Kafeneio as $c | Nahr as $h)
where $p[title contains 'rivière'] and $n[category = 'Wasser'] and $a[category = 'río']
  and $c[category = 'ποτάμι'] and $h[category = 'نهر'];

-- One for each story: the wire repeats what the post reported, and readers see it once, with both sources.
create feed OneOfEach
from distinct (RiverPost | ValleyWire);

-- A join: what the post reports about the river, with what else was reported in its category in the last hour.
create feed RiverInContext
from RiverPost as $r
join last 1 hour on (RiverPost | TownCrier) with $r[category = window.category];

-- XSCL: two documents that say the same become a third.
SELECT <item><title>Told twice: {$post}</title></item>
FROM RiverPost//title->post JOIN{post=wire, 1 hour} ValleyWire//title->wire PUBLISH ToldTwice;

-- A graph pattern, on the triples of items.
create feed FieldNotes
from (Nordlicht | RiverPost) as $n
where $n[graph { (?item, dc:creator, ?who) and (?item, dc:subject, Wissenschaft) }];

-- A source made from a feed by a stylesheet: each item with the links of those that it was joined with.
register feed RiverInContext apply 'IncludePhotos' as RiverDossier;

-- A subscription: the file data/outputs/releases.atom, always up to date.
subscribe to StableReleases as Releases output file 'releases.atom';

create feed Corrections
from (RiverPost | TownCrier | Tidewater | Almanaque | KawaNotes) as $r
where $r[revision > 0];
"""


def sample_statements(urls: Mapping[str, str]) -> str:
    """Statements for an origin whose channels are at these addresses (`Origin.urls`)."""
    sources = "".join(f"register feed {url} as {name};\n" for name, url in sorted(urls.items()))
    return f"{sources}\n{_FEEDS}"
