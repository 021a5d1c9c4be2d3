-- A lease is kept whole in what the refresh policy remembers; nobody reads these.
ALTER TABLE source DROP COLUMN moved_count;
ALTER TABLE source DROP COLUMN hub;
ALTER TABLE source DROP COLUMN hub_topic;
ALTER TABLE source DROP COLUMN hub_secret;
ALTER TABLE source DROP COLUMN hub_lease_until;
