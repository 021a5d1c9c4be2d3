"""One name for each element, whatever prefix a document gives its namespace."""

from __future__ import annotations

from lxml import etree

_RSS_CORE = (
    "http://purl.org/rss/1.0/",
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://channel.netscape.com/rdf/simple/0.9/",
    "http://backend.userland.com/rss",
    "http://backend.userland.com/rss2",
    "http://backend.userland.com/RSS2",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://purl.org/net/rss1.1#",
    "http://purl.org/rss/2.0/",
)
PREFIXES = {
    "http://www.w3.org/2005/Atom": "atom",
    "http://purl.org/atom/ns#": "atom",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://purl.org/rss/1.0/modules/slash/": "slash",
    "http://purl.org/rss/1.0/modules/taxonomy/": "taxo",
    "http://purl.org/rss/1.0/modules/threading/": "thr",
    "http://purl.org/syndication/thread/1.0": "thr",
    "http://purl.org/rss/1.0/modules/company": "company",
    "http://purl.org/rss/1.0/modules/event/": "ev",
    "http://prismstandard.org/namespaces/basic/2.0/": "prism",
    "http://prismstandard.org/namespaces/1.2/basic/": "prism",
    "http://wellformedweb.org/CommentAPI/": "wfw",
    "http://search.yahoo.com/mrss/": "media",
    "http://search.yahoo.com/mrss": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://www.itunes.com/DTDs/Podcast-1.0.dtd": "itunes",
    "http://www.google.com/schemas/play-podcasts/1.0": "googleplay",
    "https://podcastindex.org/namespace/1.0": "podcast",
    "http://www.georss.org/georss": "georss",
    "http://www.georss.org/georss/10": "georss",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://www.opengis.net/gml": "gml",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://creativecommons.org/ns#": "cc",
    "http://web.resource.org/cc/": "cc",
    "http://backend.userland.com/creativeCommonsRssModule": "creativecommons",
    "http://cyber.law.harvard.edu/rss/creativeCommonsRssModule.html": "creativecommons",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://a9.com/-/spec/opensearch/1.1/": "opensearch",
    "http://a9.com/-/spec/opensearchrss/1.0/": "opensearch",
    "http://schemas.google.com/g/2005": "gd",
    "http://www.youtube.com/xml/schemas/2015": "yt",
    "http://gdata.youtube.com/schemas/2007": "yt",
    "http://activitystrea.ms/spec/1.0/": "activity",
    "http://www.w3.org/2007/app": "app",
    "http://purl.org/atom/app#": "app",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://webns.net/mvcb/": "admin",
    "http://madskills.com/public/xml/rss/module/trackback/": "trackback",
    "http://madskills.com/public/xml/rss/module/pingback/": "pingback",
    "com-wordpress:feed-additions:1": "wp",
} | dict.fromkeys(_RSS_CORE, "")
"""Namespaces to the prefix they are known by here; the elements of RSS itself have none."""

_STANDARD = frozenset(PREFIXES.values())


class Names:
    """The names of one document's elements: `prefix:name` for people, and lower-cased for decisions, because
    publishers are careless with case."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def of(self, element: etree._Element) -> tuple[str, str]:
        """(key, name) of an element; ("", "") for comments and the like."""
        tag = element.tag
        known = self._known.get(tag)
        if known is None:
            known = self._known[tag] = _names(tag, element.prefix)
        return known


def _names(tag: object, prefix: str | None) -> tuple[str, str]:
    if not isinstance(tag, str):
        return "", ""
    namespace, _, local = tag[1:].rpartition("}") if tag[0] == "{" else ("", "", tag)
    known = PREFIXES.get(namespace, PREFIXES.get(namespace.rstrip("/"))) if namespace else ""
    if known is None:
        # a prefix that means something else here must not be taken for it
        known = prefix if prefix and prefix.lower() not in _STANDARD else "x"
    name = f"{known}:{local}" if known else local
    return name.lower(), name
