-- Lists of feeds go by name, a page at a time.
CREATE INDEX feed_by_name ON feed (name);
CREATE INDEX feed_by_kind ON feed (kind, name);
