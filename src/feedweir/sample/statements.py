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

create feed Corrections
from (RiverPost | TownCrier | Tidewater | Almanaque | KawaNotes) as $r
where $r[revision > 0];
"""


def sample_statements(urls: Mapping[str, str]) -> str:
    """Statements for an origin whose channels are at these addresses (`Origin.urls`)."""
    sources = "".join(f"register feed {url} as {name};\n" for name, url in sorted(urls.items()))
    return f"{sources}\n{_FEEDS}"
