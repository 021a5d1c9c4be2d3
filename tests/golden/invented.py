"""Three thousand invented items, told by seven sources over three days: pure functions of a few numbers.

Every choice is drawn by a hash of what it is for, so that adding a source or a story changes no other story.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import blake2b
from typing import TypeVar
from xml.sax.saxutils import escape, quoteattr

BEGINNING = datetime(2026, 3, 2, 6, tzinfo=UTC)
STEPS = 12
STEP = timedelta(hours=6)
STORIES = 42
"""That a source tells at each step."""

SUBJECTS = ("river", "bridge", "market", "concert", "otter", "harbour", "library", "mill", "flood", "railway")
VERBS = (
    "opens",
    "closes",
    "grows",
    "returns",
    "rises",
    "is painted",
    "is sold",
    "is measured",
    "falls silent",
)
PLACES = ("Ashford", "Brackwater", "Cold Weir", "Dunmere", "Eastlock", "Zürich", "Αθήνα", "京都")
ADJECTIVES = ("old", "new", "small", "long-awaited", "muddy", "quiet", "record-breaking", "second")
AUTHORS = ("Ann Broder", "Ben Okafor", "Chloé Martin", "Dana Weir", "Emil Å. Sand")
CATEGORIES = ("water", "music", "trade", "nature", "science", "sport", "release", "security")
HOSTS = ("river.example", "www.market.example", "photos.river.example", "music.example")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is told, before it is written in the format of a source."""

    source: str
    number: int
    title: str
    text: str
    """HTML."""
    link: str
    author: str
    categories: tuple[str, ...]
    published: datetime | None
    rating: str
    language: str

    @property
    def guid(self) -> str:
        return f"{self.source.lower()}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A document, as a source shows it at a step."""

    source: str
    media_type: str
    body: bytes
    is_pushed: bool = False
    """As programs push documents that are no feeds; all others are as if they had been fetched."""
    id_path: str = ""
    """Where its registration says that ids are."""


def draw(most: int, *purpose: object) -> int:
    """A number below `most`, always the same for the same purpose."""
    text = "/".join(map(str, purpose)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") % most


def pick(options: Sequence[T], *purpose: object) -> T:
    return options[draw(len(options), *purpose)]


def time_of(step: int) -> datetime:
    """When the documents of a step arrive."""
    return BEGINNING + step * STEP


def documents(step: int) -> list[Told]:
    """What all sources show at a step, in the order in which it lands."""
    shown = [
        Told(source=source, media_type=media_type, body=write(stories_shown(source, step)))
        for source, media_type, write in (
            ("Post", "application/rss+xml", rss),
            ("Wire", "application/rss+xml", rss),
            ("Crier", "application/atom+xml", atom),
            ("Notes", "application/rdf+xml", rdf),
            ("Gazette", "application/feed+json", json_feed),
            ("Photos", "application/rss+xml", rss),
        )
    ]
    return [*shown, *(order(number) for number in range(3 * step, 3 * step + 4)), person(step)]


def stories_shown(source: str, step: int) -> list[Story]:
    """Newest first: the stories of this step, then those of the last one that were corrected since."""
    first = step * STORIES
    new = [story(source, number) for number in range(first, first + STORIES)]
    earlier = range(max(0, first - STORIES), first)
    corrected = [story(source, number, is_corrected=True) for number in earlier if number % 11 == 0]
    return [*corrected, *new][::-1]


def story(source: str, number: int, *, is_corrected: bool = False) -> Story:
    # The wire tells every other story of the post again, in words of its own.
    teller = "Post" if source == "Wire" and number % 2 == 0 else source
    subject = pick(SUBJECTS, teller, number, "subject")
    place = pick(PLACES, teller, number, "place")
    verb = pick(VERBS, teller, number, "verb")
    title = f"{pick(ADJECTIVES, teller, number, 'adjective')} {subject} {verb} in {place}"
    if teller != source:
        title = f"{title}, {pick(('witnesses say', 'agencies report', 'at last'), source, number)}"
    if is_corrected:
        title = f"Corrected: {title}"
    return Story(
        source=source,
        number=number,
        title=f"{title} [{teller.lower()} {number}]",
        text=_text(source, number, subject, place),
        link=_link(source, teller, number),
        author="" if number % 7 == 3 else pick(AUTHORS, source, number, "author"),
        categories=tuple(
            sorted({pick(CATEGORIES, source, number, "category", which) for which in range(number % 3)})
        ),
        published=_published(source, number),
        rating=str(draw(60, source, number, "rating") / 10) if number % 4 == 0 else "",
        language=("de" if number % 5 == 0 else "en-GB") if source == "Crier" else "",
    )


def _text(source: str, number: int, subject: str, place: str) -> str:
    other = pick(SUBJECTS, source, number, "other")
    earlier = _link(source, source, max(0, number - 1 - draw(30, source, number, "earlier")))
    return (
        f"<p>The {subject} of {place} was seen beside the <em>{other}</em> at "
        f"{draw(24, source, number, 'hour')}:00; {draw(9_000, source, number, 'people')} people came.</p>"
        f'<p><a href="{escape(earlier)}">What was told before</a>, '
        f'<a href="https://{pick(HOSTS, source, number, "host")}/{subject}/{number % 40}">more</a>.</p>'
        + ("<script>alert('no')</script>" if number % 13 == 0 else "")
    )


def _link(source: str, teller: str, number: int) -> str:
    tracking = f"?utm_source={source.lower()}" if teller != source and number % 4 == 0 else ""
    return f"https://{teller.lower()}.example/{number % 12}/{number}{tracking}"


def _published(source: str, number: int) -> datetime | None:
    """Some time before it arrives; sometimes long before, or later than it can be, or never."""
    arrives = time_of(number // STORIES)
    if number % 17 == 5:
        return None
    if number % 53 == 7:
        return arrives + timedelta(days=2)
    minutes = draw(360, source, number, "published")
    return arrives - timedelta(days=3 if number % 29 == 11 else 0, minutes=minutes)


def rss(stories: Sequence[Story]) -> bytes:
    source = stories[0].source
    items = "".join(
        f'<item><guid isPermaLink="false">{one.guid}</guid><title>{escape(one.title)}</title>'
        f"<link>{escape(one.link)}</link><description>{escape(one.text)}</description>"
        + (f"<author>{escape(one.author)}</author>" if one.author else "")
        + "".join(f"<category>{each}</category>" for each in one.categories)
        + (f"<pubDate>{format_datetime(one.published)}</pubDate>" if one.published else "")
        + (f"<media:rating>{one.rating}</media:rating>" if one.rating else "")
        + (_enclosure(one) if source == "Photos" else "")
        + "</item>"
        for one in stories
    )
    return (
        f'<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>The {source}</title>'
        f"<link>https://{source.lower()}.example/</link><language>en</language>{items}</channel></rss>"
    ).encode()


def _enclosure(one: Story) -> str:
    return (
        f'<enclosure url="https://photos.example/{one.number}.jpg" type="image/jpeg" length="{one.number}"/>'
    )


def atom(stories: Sequence[Story]) -> bytes:
    def entries() -> Iterator[str]:
        for one in stories:
            published = f"<published>{one.published.isoformat()}</published>" if one.published else ""
            author = f"<author><name>{escape(one.author)}</name></author>" if one.author else ""
            terms = "".join(f'<category term="{each}"/>' for each in one.categories)
            yield (
                f'<entry xml:lang="{one.language}"><id>{one.guid}</id><title>{escape(one.title)}</title>'
                f"<link href={quoteattr(one.link)}/>{published}{author}{terms}"
                f'<content type="html">{escape(one.text)}</content></entry>'
            )

    return (
        '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>urn:crier</id><title>The Crier</title>{''.join(entries())}</feed>"
    ).encode()


def rdf(stories: Sequence[Story]) -> bytes:
    items = "".join(
        f'<item rdf:about="urn:notes:{one.number}"><title>{escape(one.title)}</title>'
        f"<link>{escape(one.link)}</link><description>{escape(one.text)}</description>"
        + (f"<dc:creator>{escape(one.author)}</dc:creator>" if one.author else "")
        + "".join(f"<dc:subject>{each}</dc:subject>" for each in one.categories)
        + (f"<dc:date>{one.published.isoformat()}</dc:date>" if one.published else "")
        + f"<foaf:depiction>{one.number % 6}</foaf:depiction></item>"
        for one in stories
    )
    return (
        '<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:foaf="http://xmlns.com/foaf/0.1/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<channel rdf:about="https://notes.example/"><title>Notes</title></channel>' + items + "</rdf:RDF>"
    ).encode()


def json_feed(stories: Sequence[Story]) -> bytes:
    items = [
        {
            "id": one.guid,
            "title": one.title,
            "url": one.link,
            "content_html": one.text,
            "tags": list(one.categories),
            **({"authors": [{"name": one.author}]} if one.author else {}),
            **({"date_published": one.published.isoformat()} if one.published else {}),
        }
        for one in stories
    ]
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "La Gazette",
        "language": "fr",
        "items": items,
    }
    return json.dumps(feed, ensure_ascii=False).encode()


def order(number: int) -> Told:
    """XML that is no feed, whose id is named by the registration; every third is sent again with another sum."""
    item = f"<article>{pick(SUBJECTS, 'article', number)}</article><count>{1 + number % 5}</count>"
    total = (
        f"<total currency={quoteattr('EUR' if number % 2 else 'GBP')}>{draw(500, 'total', number)}</total>"
    )
    body = (
        f'<order number="{number // 3}"><title>Order {number // 3}</title><line>{item}</line>{total}</order>'
    )
    return Told(
        source="Orders",
        media_type="application/xml",
        body=body.encode(),
        is_pushed=True,
        id_path="//order/@number",
    )


def person(step: int) -> Told:
    """RDF that is no feed."""
    name = pick(AUTHORS, "person", step)
    body = f"""@prefix foaf: <http://xmlns.com/foaf/0.1/> .
<urn:person:{step}> foaf:name "{name}" ; foaf:age {20 + step} ; foaf:knows <urn:person:{step // 2}> ."""
    return Told(source="People", media_type="text/turtle", body=body.encode(), is_pushed=True)
