"""The tables as the queries see them. The migrations make them; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, MetaData, Table, Text

from feedweir.catalog.column_types import Flag, Header, Json, JsonTuple, Moment, Prose

metadata = MetaData()

counter = Table("counter", metadata, Column("name", Text, primary_key=True), Column("value", BigInteger))

feed = Table(
    "feed",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text),
    Column("folded", Text),
    Column("kind", Text),
    Column("statement", Text),
    Column("owner", Text),
    Column("created_at", Moment),
    Column("version", BigInteger),
)

feed_read = Table(
    "feed_read",
    metadata,
    Column("reader_id", BigInteger, primary_key=True),
    Column("place", BigInteger, primary_key=True),
    Column("used_id", BigInteger),
)

source = Table(
    "source",
    metadata,
    Column("feed_id", BigInteger, primary_key=True, autoincrement=False),
    Column("url", Prose),
    Column("status", Text),
    Column("etag", Header),
    Column("last_modified", Header),
    Column("next_check_at", Moment),
    Column("last_success_at", Moment),
    Column("failures", BigInteger),
    Column("moved_to", Prose),
    Column("description", Json),
    Column("validated_url", Prose),
    Column("body_hash", Text),
    Column("not_before", Moment),
    Column("failure", Prose),
    Column("is_unreadable", Flag),
    Column("page", Prose),
    Column("hosts", JsonTuple),
    Column("pushed_until", Moment),
    Column("pushed_since", Moment),
    Column("every_s", Float),
    Column("id_path", Prose),
    Column("ttl_s", BigInteger),
    Column("skip_hours", JsonTuple),
    Column("skip_days", JsonTuple),
    Column("history", Json),
    Column("hub", Prose),
    Column("lease", Json),
    Column("imported_from", JsonTuple),
)

first_document = Table(
    "first_document",
    metadata,
    Column("feed_id", BigInteger, primary_key=True, autoincrement=False),
    Column("document", BigInteger),
)

change = Table(
    "change",
    metadata,
    Column("version", BigInteger, primary_key=True),
    Column("id", BigInteger, primary_key=True),
    Column("action", Text),
    Column("kind", Text),
    Column("name", Text),
    Column("statement", Text),
    Column("detail", Json),
)

subscription = Table(
    "subscription",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("feed_id", BigInteger),
    Column("statement", Text),
    Column("channel", Text),
    Column("target", Text),
    Column("schedule", Json),
    Column("options", Json),
    Column("status", Text),
    Column("owner", Text),
    Column("created_at", Moment),
    Column("version", BigInteger),
)

rhythm = Table(
    "rhythm",
    metadata,
    Column("subscription_id", BigInteger, primary_key=True, autoincrement=False),
    Column("next_due_at", Moment),
    Column("last_sent_at", Moment),
    Column("state", Json),
    Column("channel", Text),
    Column("hears", BigInteger),
)

feed_statistics = Table(
    "feed_statistics",
    metadata,
    Column("feed_id", BigInteger, primary_key=True, autoincrement=False),
    Column("items", BigInteger),
    Column("hits", BigInteger),
    Column("candidates", BigInteger),
    Column("last_hit_at", Moment),
    Column("recent_items", Float(53)),
    Column("recent_hits", Float(53)),
    Column("recent_candidates", Float(53)),
    Column("recent_at", BigInteger),
)
"""`recent_at` stays a number: SQL computes with it."""

atom_statistics = Table(
    "atom_statistics",
    metadata,
    Column("source_id", BigInteger, primary_key=True),
    Column("atom", Text, primary_key=True),
    Column("times", BigInteger),
    Column("weight", Float(53)),
)

failure = Table(
    "failure",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text),
    Column("resource", Prose),
    Column("at", Moment),
    Column("reason", Prose),
    Column("batch", Text),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription_id", BigInteger),
    Column("element_key", Text),
    Column("payload", Json),
    Column("state", Text),
    Column("attempts", BigInteger),
    Column("due_at", Moment),
    Column("worker", Text),
    Column("reason", Prose),
    Column("created_at", Moment),
    Column("settled_at", Moment),
)

forgotten = Table(
    "forgotten",
    metadata,
    Column("subscription_id", BigInteger, primary_key=True, autoincrement=False),
    Column("mark", BigInteger, primary_key=True, autoincrement=False),
)

delivery = Table(
    "delivery",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription_id", BigInteger),
    Column("outbox_id", BigInteger),
    Column("element_key", Text),
    Column("at", Moment),
    Column("outcome", Text),
    Column("attempt", BigInteger),
    Column("worker", Text),
    Column("reason", Prose),
)

secret = Table("secret", metadata, Column("name", Text, primary_key=True), Column("value", Text))

outline = Table("outline", metadata, Column("name", Text, primary_key=True), Column("document", Text))

batch = Table(
    "batch",
    metadata,
    Column("id", Text, primary_key=True),
    Column("ordinal", BigInteger),
    Column("version", BigInteger),
    Column("committed_at", Moment),
    Column("detail", Json),
)
