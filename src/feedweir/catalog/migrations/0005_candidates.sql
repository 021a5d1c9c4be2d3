-- What a feed costs is how often it was a candidate; time was never counted by feed.
ALTER TABLE feed_statistics RENAME COLUMN cost_ns TO candidates;
ALTER TABLE feed_statistics RENAME COLUMN recent_cost_ns TO recent_candidates;
