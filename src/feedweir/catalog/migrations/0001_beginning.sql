-- Words in braces differ between the databases; see migrate.py.
-- Times are microseconds since 1970 in UTC. JSON is text in one canonical spelling, so that both databases keep the
-- same bytes.

-- Every number that must never be given twice, even after what had it is gone.
CREATE TABLE counter (
    name {text} PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counter (name, value) VALUES
    ('version', 0), ('resource', 0), ('batch', 0), ('failure', 0), ('outbox', 0), ('delivery', 0);

CREATE TABLE feed (
    id {id},
    name {text} NOT NULL,
    -- The name without case: names that differ only in case would be taken for each other, so this is what is unique.
    folded {text} NOT NULL UNIQUE,
    kind {text} NOT NULL CHECK (kind IN ('source', 'virtual')),
    statement {text} NOT NULL,
    owner {text} NOT NULL,
    created_at BIGINT NOT NULL,
    -- The version that last changed it.
    version BIGINT NOT NULL
);

CREATE TABLE feed_read (
    reader_id BIGINT NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    used_id BIGINT NOT NULL REFERENCES feed (id),
    PRIMARY KEY (reader_id, place)
) {clustered};
CREATE INDEX feed_read_used ON feed_read (used_id, reader_id);

CREATE TABLE source (
    feed_id {id} REFERENCES feed (id) ON DELETE CASCADE,
    url {text} NOT NULL,
    status {text} NOT NULL CHECK (status IN ('active', 'paused', 'gone')),
    -- Header values, byte for byte.
    etag {bytes} NOT NULL,
    last_modified {bytes} NOT NULL,
    next_check_at BIGINT NOT NULL,
    last_checked_at BIGINT,
    last_success_at BIGINT,
    failures BIGINT NOT NULL,
    moved_to {text} NOT NULL,
    moved_count BIGINT NOT NULL,
    hub {text} NOT NULL,
    hub_topic {text} NOT NULL,
    hub_secret {text} NOT NULL,
    hub_lease_until BIGINT,
    refresh {text} NOT NULL,
    description {text} NOT NULL
);
CREATE INDEX source_due ON source (next_check_at, feed_id) WHERE status = 'active';

-- Append-only: the state at any version is the last row of each resource up to it.
CREATE TABLE change (
    version BIGINT NOT NULL,
    id BIGINT NOT NULL,
    action {text} NOT NULL CHECK (action IN ('create', 'replace', 'drop')),
    kind {text} NOT NULL CHECK (kind IN ('source', 'virtual', 'subscription')),
    name {text} NOT NULL,
    statement {text} NOT NULL,
    detail {text} NOT NULL,
    PRIMARY KEY (version, id)
) {clustered};
CREATE INDEX change_of ON change (id, version);

-- A dropped subscription stays, so that its delivery log can be read and its elements are never sent again.
CREATE TABLE subscription (
    id {id},
    feed_id BIGINT NOT NULL,
    statement {text} NOT NULL,
    channel {text} NOT NULL,
    target {text} NOT NULL,
    schedule {text} NOT NULL,
    options {text} NOT NULL,
    status {text} NOT NULL CHECK (status IN ('active', 'paused', 'dropped')),
    owner {text} NOT NULL,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX subscription_feed ON subscription (feed_id);

CREATE TABLE rhythm (
    subscription_id {id} REFERENCES subscription (id) ON DELETE CASCADE,
    next_due_at BIGINT,
    last_sent_at BIGINT,
    state {text} NOT NULL
);
CREATE INDEX rhythm_due ON rhythm (next_due_at, subscription_id) WHERE next_due_at IS NOT NULL;

CREATE TABLE feed_statistics (
    feed_id {id} REFERENCES feed (id) ON DELETE CASCADE,
    items BIGINT NOT NULL,
    hits BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    cost_ns BIGINT NOT NULL,
    last_hit_at BIGINT,
    recent_items DOUBLE PRECISION NOT NULL,
    recent_hits DOUBLE PRECISION NOT NULL,
    recent_cost_ns DOUBLE PRECISION NOT NULL,
    recent_at BIGINT NOT NULL
);

CREATE TABLE atom_statistics (
    source_id BIGINT NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    atom {text} NOT NULL,
    times BIGINT NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (source_id, atom)
) {clustered};

CREATE TABLE failure (
    id {id},
    kind {text} NOT NULL CHECK (kind IN ('source', 'feed', 'subscription', 'channel')),
    resource {text} NOT NULL,
    at BIGINT NOT NULL,
    reason {text} NOT NULL,
    batch {text} NOT NULL
);
CREATE INDEX failure_of ON failure (kind, resource, id);

-- `due_at` is when a sender may take an entry: its first time, its retry, or the end of the lease that another sender
-- holds. An entry that is settled for good has none, and leaves the index that senders read.
CREATE TABLE outbox (
    id {id},
    subscription_id BIGINT NOT NULL REFERENCES subscription (id),
    element_key {text} NOT NULL,
    payload {text} NOT NULL,
    state {text} NOT NULL CHECK (state IN ('pending', 'claimed', 'sent', 'failed', 'dead')),
    attempts BIGINT NOT NULL,
    due_at BIGINT,
    worker {text} NOT NULL,
    reason {text} NOT NULL,
    created_at BIGINT NOT NULL,
    settled_at BIGINT,
    UNIQUE (subscription_id, element_key)
);
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (subscription_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (subscription_id, id) WHERE state = 'dead';
CREATE INDEX outbox_settled ON outbox (settled_at) WHERE state = 'sent';

CREATE TABLE delivery (
    id {id},
    subscription_id BIGINT NOT NULL REFERENCES subscription (id),
    outbox_id BIGINT NOT NULL,
    element_key {text} NOT NULL,
    at BIGINT NOT NULL,
    outcome {text} NOT NULL CHECK (outcome IN ('sent', 'failed', 'dead', 'replayed')),
    attempt BIGINT NOT NULL,
    worker {text} NOT NULL,
    reason {text} NOT NULL
);
CREATE INDEX delivery_of ON delivery (subscription_id, id);

CREATE TABLE batch (
    id {text} PRIMARY KEY,
    ordinal BIGINT NOT NULL UNIQUE,
    version BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    detail {text} NOT NULL
);
