"""A feed as the documentation shows it: news of a band, joined with photos."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.items.model import Enclosure, Item

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

PHOTO = Item(
    source="MusicPhotos",
    identity="p1",
    seq=3,
    title="Muse live",
    link="http://photos.example/1?a=b&c=d",
    published=NOON - timedelta(days=1),
    arrived=NOON - timedelta(days=1),
    enclosures=(Enclosure(url="http://photos.example/1.jpg", type="image/jpeg", length=5),),
)
NEWS = Item(
    source="MuseNews",
    identity="n1",
    seq=7,
    title="Muse in Paris",
    summary="<p>A concert</p>",
    link="http://news.example/1",
    links=("http://news.example/1",),
    authors=("Ann",),
    categories=("rock",),
    published=NOON,
    arrived=NOON + timedelta(minutes=3),
    language="en",
    enclosures=(Enclosure(url="http://news.example/1.mp3", type="audio/mpeg", length=1000),),
    extensions=(("media:rating", "nonadult"),),
    raw="<item><title>Muse in Paris</title><link>http://news.example/1</link><guid>n1</guid>"
    '<description>&lt;p&gt;A concert&lt;/p&gt;</description><venue city="Paris"/></item>',
)


def numbered(count: int, source: str = "MuseNews") -> tuple[Item, ...]:
    return tuple(
        Item(
            source=source,
            identity=f"i{number}",
            seq=number,
            title=f"Story {number}",
            summary=f"<p>Text {number}</p>",
            link=f"http://news.example/{number}",
            arrived=NOON,
        )
        for number in range(1, count + 1)
    )


def feed_of(*items: Item, name: str = "MuseNews") -> FeedView:
    """Newest first, as views are."""
    entries = tuple(EntryView(item=item) for item in sorted(items, key=lambda item: -item.seq))
    return FeedView(name=name, updated=NOON, entries=entries)


WITH_PHOTOS = FeedView(
    name="MusePhotoStream",
    updated=NOON,
    entries=(EntryView(item=NEWS, source_title="Muse News", annotation=(("photos", (PHOTO,)),)),),
)
