"""What must survive a restart: sources, feeds, subscriptions, statistics, the outbox."""
