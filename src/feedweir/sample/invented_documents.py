"""The channels as documents: every old and new format, each with its usual illnesses, in its own encoding.

Written by hand, not by a library: libraries do not write undeclared entities or wrong encodings.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from email.utils import format_datetime
from html import escape, unescape
from typing import Any

from feedweir.sample.script import SampleChannel, Story, stories


def document(channel: SampleChannel, now: datetime, base: str) -> bytes:
    """The channel's document at this time; `base` is the origin's URL."""
    text = _WRITERS[channel.format](channel, stories(channel, now), base)
    return text.encode(channel.encoding, "xmlcharrefreplace")


MEDIA_TYPES = {
    "rss091": "text/xml",
    "rss10": "application/rdf+xml",
    "rss20": "application/rss+xml",
    "atom03": "application/xml",
    "atom10": "application/atom+xml; charset=utf-8",
    "json": "application/feed+json",
}


def page(channel: SampleChannel, story: Story) -> bytes:
    """The story as a page of the origin, for those who follow its link."""
    title = _title_text(channel, story)
    body = f"<h1>{_x(title)}</h1><p><small>{_x(channel.title)} · {story.published:%d.%m.%Y %H:%M} UTC</small></p>"
    style = "body{max-width:40rem;margin:3rem auto;padding:0 1rem;font:1.1rem/1.6 Georgia,serif}"
    head = f'<meta charset="utf-8"><title>{_x(title)}</title><style>{style}</style>'
    direction = "rtl" if channel.language == "ar" else "ltr"
    return (
        f'<!doctype html><html lang="{channel.language}" dir="{direction}"><head>{head}</head>'
        f"<body>{body}{story.text}</body></html>"
    ).encode()


def media_url(channel: SampleChannel, story: Story, base: str) -> str:
    suffix = {"chart": "svg", "melody": "wav"}[channel.media]
    return f"{base}/media/{channel.slug}/{story.number}.{suffix}"


def _rss20(channel: SampleChannel, shown: tuple[Story, ...], base: str) -> str:
    items = "\n".join(_rss20_item(channel, story, base) for story in shown)
    return f"""{_declaration(channel)}
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel>
<title>{_x(channel.title)}</title>
<link>{base}/</link>
<description>{_x(channel.description)}</description>
<language>{channel.language}</language>
{items}
</channel>
</rss>
"""


def _rss20_item(channel: SampleChannel, story: Story, base: str) -> str:
    link = _path(channel, story) if channel.has_relative_links else base + _path(channel, story)
    parts = [
        f"<title>{_x(story.title)}</title>",
        f"<link>{link}</link>",
        f'<guid isPermaLink="false">{channel.slug}-{story.number}</guid>',
        f"<pubDate>{format_datetime(story.published)}</pubDate>",
        f"<dc:creator>{_x(story.author)}</dc:creator>",
        *(f"<category>{_x(category)}</category>" for category in story.categories),
        f"<description>{_x(_plain(story.text))}</description>",
        f"<content:encoded><![CDATA[{story.text}]]></content:encoded>",
    ]
    if channel.media:
        url = media_url(channel, story, base)
        parts.append(f'<enclosure url="{url}" type="{_media_type(channel)}" length="0"/>')
    return "<item>\n" + "\n".join(parts) + "\n</item>"


def _rss091(channel: SampleChannel, shown: tuple[Story, ...], base: str) -> str:
    """No dates, no identifiers, and entities that nobody declares."""
    items = "\n".join(
        f"<item><title>{_french(story.title)}</title>\n<link>{base}{_path(channel, story)}</link>\n"
        f"<description>{_french(_plain(story.text))}</description></item>"
        for story in shown
    )
    return f"""{_declaration(channel)}
<rss version="0.91">
<channel>
<title>{_x(channel.title)}</title>
<link>{base}/</link>
<description>{_x(channel.description)}</description>
<language>{channel.language}</language>
{items}
</channel>
</rss>
"""


def _rss10(channel: SampleChannel, shown: tuple[Story, ...], base: str) -> str:
    """In RDF the items stand beside the channel, which only lists them."""
    links = [base + _path(channel, story) for story in shown]
    listed = "".join(f'<rdf:li rdf:resource="{link}"/>' for link in links)
    items = "\n".join(
        f'<item rdf:about="{link}">\n<title>{_x(story.title)}</title>\n<link>{link}</link>\n'
        f"<description>{_x(story.text)}</description>\n<dc:creator>{_x(story.author)}</dc:creator>\n"
        + "".join(f"<dc:subject>{_x(category)}</dc:subject>\n" for category in story.categories)
        + f"<dc:date>{_w3c(story.edited or story.published)}</dc:date>\n</item>"
        for story, link in zip(shown, links, strict=True)
    )
    return f"""{_declaration(channel)}
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="{base}/{channel.path}">
<title>{_x(channel.title)}</title>
<link>{base}/</link>
<description>{_x(channel.description)}</description>
<dc:language>{channel.language}</dc:language>
<items><rdf:Seq>{listed}</rdf:Seq></items>
</channel>
{items}
</rdf:RDF>
"""


def _atom03(channel: SampleChannel, shown: tuple[Story, ...], base: str) -> str:
    entries = "\n".join(
        f'<entry>\n<title mode="escaped" type="text/plain">{_x(story.title)}</title>\n'
        f'<link rel="alternate" type="text/html" href="{base}{_path(channel, story)}"/>\n'
        f"<id>{_tag(channel, story)}</id>\n<author><name>{_x(story.author)}</name></author>\n"
        f"<issued>{_w3c(story.published)}</issued>\n<modified>{_w3c(story.edited or story.published)}</modified>\n"
        + "".join(f"<dc:subject>{_x(category)}</dc:subject>\n" for category in story.categories)
        + f'<content mode="escaped" type="text/html">{_x(story.text)}</content>\n</entry>'
        for story in shown
    )
    return f"""{_declaration(channel)}
<feed version="0.3" xmlns="http://purl.org/atom/ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xml:lang="{channel.language}">
<title>{_x(channel.title)}</title>
<tagline>{_x(channel.description)}</tagline>
<link rel="alternate" type="text/html" href="{base}/"/>
<modified>{_w3c(shown[0].published)}</modified>
{entries}
</feed>
"""


def _atom10(channel: SampleChannel, shown: tuple[Story, ...], base: str) -> str:
    """Links are relative to `xml:base`, in the text as well."""
    entries = "\n".join(
        f'<entry>\n<id>{_tag(channel, story)}</id>\n<title type="text">{_x(story.title)}</title>\n'
        f'<link rel="alternate" href="{story.number}"/>\n<author><name>{_x(story.author)}</name></author>\n'
        f"<published>{_w3c(story.published)}</published>\n"
        f"<updated>{_w3c(story.edited or story.published)}</updated>\n"
        + "".join(f'<category term="{_x(category)}"/>\n' for category in story.categories)
        + f'<content type="html">{_x(story.text)}</content>\n</entry>'
        for story in shown
    )
    return f"""{_declaration(channel)}
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{channel.language}" xml:base="{base}/stories/{channel.slug}/">
<id>tag:{channel.slug}.example,2026:feed</id>
<title>{_x(channel.title)}</title>
<subtitle>{_x(channel.description)}</subtitle>
<link rel="self" href="{base}/{channel.path}"/>
<link rel="alternate" href="{base}/"/>
<updated>{_w3c(shown[0].published)}</updated>
{entries}
</feed>
"""


def _json(channel: SampleChannel, shown: tuple[Story, ...], base: str) -> str:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": channel.title,
        "description": channel.description,
        "home_page_url": f"{base}/",
        "feed_url": f"{base}/{channel.path}",
        "language": channel.language,
        "items": [_json_item(channel, story, base) for story in shown],
    }
    return json.dumps(feed, ensure_ascii=False, indent=1)


def _json_item(channel: SampleChannel, story: Story, base: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": f"{channel.slug}-{story.number}",
        "url": base + _path(channel, story),
        "title": story.title,
        "content_html": story.text,
        "date_published": _w3c(story.published),
        "authors": [{"name": story.author}],
        "tags": list(story.categories),
    }
    if story.edited is not None:
        item["date_modified"] = _w3c(story.edited)
    if channel.media:
        item["attachments"] = [{"url": media_url(channel, story, base), "mime_type": _media_type(channel)}]
    return item


_WRITERS = {
    "rss091": _rss091,
    "rss10": _rss10,
    "rss20": _rss20,
    "atom03": _atom03,
    "atom10": _atom10,
    "json": _json,
}


def _declaration(channel: SampleChannel) -> str:
    return f'<?xml version="1.0" encoding="{channel.declared_encoding or channel.encoding}"?>'


def _path(channel: SampleChannel, story: Story) -> str:
    return f"/stories/{channel.slug}/{story.number}"


def _tag(channel: SampleChannel, story: Story) -> str:
    return f"tag:{channel.slug}.example,2026:{story.number}"


def _media_type(channel: SampleChannel) -> str:
    return {"chart": "image/svg+xml", "melody": "audio/wav"}[channel.media]


def _title_text(channel: SampleChannel, story: Story) -> str:
    return _plain(story.title) if channel.has_html_titles else story.title


def _plain(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", markup).replace("  ", " ")).strip()


def _french(text: str) -> str:
    """French sets a space before a colon, and old French feeds set it as an entity."""
    return re.sub(r" ([:;?!])", r"&nbsp;\1", _x(text))


def _w3c(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def _x(text: str) -> str:
    return escape(text)
