-- Senders find what is due by reading this index from its beginning, and nothing else: `next_due_at` is when a
-- subscription wants to be looked at, and none while nothing of it can go.
ALTER TABLE rhythm ADD COLUMN channel {text} NOT NULL DEFAULT '';
-- Whether what arrives makes it due at once. Not while only time can.
ALTER TABLE rhythm ADD COLUMN hears BIGINT NOT NULL DEFAULT 1;
UPDATE rhythm SET next_due_at = NULL, channel = (SELECT channel FROM subscription WHERE id = subscription_id);
INSERT INTO rhythm (subscription_id, next_due_at, last_sent_at, state, channel, hears)
    SELECT id, NULL, NULL, '{{}}', channel, 1 FROM subscription
    WHERE id NOT IN (SELECT subscription_id FROM rhythm);
UPDATE rhythm SET next_due_at = 0 WHERE subscription_id IN (SELECT id FROM subscription WHERE status = 'active');
DROP INDEX rhythm_due;
CREATE INDEX rhythm_due ON rhythm (channel, next_due_at, subscription_id) WHERE next_due_at IS NOT NULL;
