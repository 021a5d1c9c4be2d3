-- What was sent and is no longer kept in the outbox: `mark` is a hash of the element's key, so that an edit that comes
-- years later is still not sent again.
CREATE TABLE forgotten (
    subscription_id BIGINT NOT NULL REFERENCES subscription (id),
    mark BIGINT NOT NULL,
    PRIMARY KEY (subscription_id, mark)
) {clustered};
