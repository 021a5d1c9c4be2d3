-- Mail that comes back after it was sent is a line of the delivery log, too.
CREATE TABLE delivery_lines (
    id {id},
    subscription_id BIGINT NOT NULL REFERENCES subscription (id),
    outbox_id BIGINT NOT NULL,
    element_key {text} NOT NULL,
    at BIGINT NOT NULL,
    outcome {text} NOT NULL CHECK (outcome IN ('sent', 'failed', 'dead', 'replayed', 'returned')),
    attempt BIGINT NOT NULL,
    worker {text} NOT NULL,
    reason {text} NOT NULL
);
INSERT INTO delivery_lines
SELECT id, subscription_id, outbox_id, element_key, at, outcome, attempt, worker, reason FROM delivery;
DROP TABLE delivery;
ALTER TABLE delivery_lines RENAME TO delivery;
CREATE INDEX delivery_of ON delivery (subscription_id, id);
