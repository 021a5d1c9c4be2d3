"""Messages for people."""

from __future__ import annotations

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as MAIL_POLICY

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

from feedweir.deliver.address import Address
from feedweir.deliver.channels.mail import MailOptions, compose, quoted
from feedweir.deliver.render.digest import Foot, digest, subject_of
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.deliver.send.parcel import Destination, Parcel
from feedweir.deliver.transforms.transformer import Transformed
from feedweir.items.model import Item
from tests.deliver.musical import NOON, WITH_PHOTOS, feed_of, numbered
from tests.deliver.nasty_items import nasty_text

HERE = Address("http://weir.example")


def test_a_digest_reads_from_the_oldest_to_the_newest() -> None:
    made = digest(feed_of(*numbered(3)), HERE)
    assert made.subject == "MuseNews: 3 new"
    assert made.text.index("Story 1") < made.text.index("Story 2") < made.text.index("Story 3")
    assert made.html.index("Story 1") < made.html.index("Story 2") < made.html.index("Story 3")


def test_one_entry_gives_its_title_to_the_subject() -> None:
    assert subject_of(WITH_PHOTOS) == "MusePhotoStream: Muse in Paris"


def test_partners_stand_in_both_parts() -> None:
    made = digest(WITH_PHOTOS, HERE)
    assert "photos: Muse live (MusicPhotos) http://photos.example/1?a=b&c=d" in made.text
    assert '<a href="http://photos.example/1?a=b&amp;c=d">Muse live</a> (MusicPhotos)' in made.html


def test_the_way_out_is_in_both_parts() -> None:
    foot = Foot(unsubscribe="http://weir.example/unsubscribe/x", log="http://weir.example/subscriptions/y")
    made = digest(feed_of(*numbered(1)), HERE, foot=foot)
    assert "Unsubscribe: http://weir.example/unsubscribe/x" in made.text
    for link in (foot.unsubscribe, foot.log):
        assert link in made.text
        assert f'href="{link}"' in made.html


def test_times_are_those_of_the_clock_that_the_reader_lives_by() -> None:
    item = Item(source="s", identity="i", title="t", published=NOON, arrived=NOON)
    for zone, shown in (("UTC", "12:00 UTC"), ("Europe/Paris", "14:00 CEST"), ("No/Where", "12:00 UTC")):
        made = digest(feed_of(item), HERE, foot=Foot(zone=zone))
        assert f"2024-05-01 {shown}" in made.text
        assert f"2024-05-01 {shown}" in made.html


def test_text_from_a_stylesheet_is_sent_as_it_is() -> None:
    made = digest(feed_of(*numbered(2)), HERE, transformed=Transformed("Story 1\nStory 2\n", "text/plain"))
    assert (made.text, made.html) == ("Story 1\nStory 2\n", "")


def test_html_from_a_stylesheet_gets_a_text_beside_it() -> None:
    made = digest(
        feed_of(*numbered(1)), HERE, transformed=Transformed("<p>Hello <b>you</b></p>", "text/html")
    )
    assert made.text == "Hello you\n"
    assert made.html == "<p>Hello <b>you</b></p>"


@settings(max_examples=40, deadline=None)
@given(nasty_text, nasty_text, nasty_text, st.sampled_from(["javascript:alert(1)", "http://x.example/", ""]))
def test_no_text_breaks_a_message_or_smuggles_markup(title: str, body: str, name: str, link: str) -> None:
    item = Item(source="s", identity="i", title=title, summary=body, link=link, arrived=NOON)
    view = FeedView(name="x", title=name, updated=NOON, entries=(EntryView(item=item),))
    made = digest(view, HERE)
    assert len(made.subject.splitlines()) <= 1
    page = lxml_html.fromstring(made.html)
    assert not page.xpath("//script | //@onclick | //a[starts-with(@href, 'javascript:')]")
    destination = Destination(subscription=1, target="a@b.example", address=HERE)
    parcel = Parcel(key="0" * 32, destination=destination, made_at=NOON, view=view)
    message = compose(parcel, MailOptions())
    headers = message.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert all(b":" in line or line[:1] in b" \t" for line in headers)
    assert all(len(line) <= 998 for line in message.split(b"\r\n"))
    read = message_from_bytes(message, policy=MAIL_POLICY)
    assert isinstance(read, EmailMessage)
    assert read["Subject"] == made.subject
    for kind, sent in (("plain", made.text), ("html", made.html)):
        part = read.get_body((kind,))
        assert part is not None
        lines = sent.replace("\r\n", "\n").replace("\r", "\n")
        assert part.get_content().replace("\r\n", "\n").rstrip("\n") == lines.rstrip("\n")


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), max_size=300).map(lambda text: text + "\n"), st.text(max_size=40)
)
def test_pieces_are_quoted_as_the_whole_would_be(piece: str, rest: str) -> None:
    assert quoted(piece) + quoted(rest) == quoted(piece + rest)
    assert all(len(line) <= 76 for line in quoted(piece + rest).split(b"\r\n"))
