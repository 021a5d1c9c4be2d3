"""From elements to readers: rendering, transforms, channels, digests, the outbox."""
