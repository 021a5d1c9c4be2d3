-- The first document of a source that brought items: what it brought was there before anybody subscribed. Sources that are
-- known already had theirs; no document has the number 0.
CREATE TABLE first_document (
    feed_id BIGINT NOT NULL PRIMARY KEY,
    document BIGINT NOT NULL
);
INSERT INTO first_document SELECT feed_id, 0 FROM source;
