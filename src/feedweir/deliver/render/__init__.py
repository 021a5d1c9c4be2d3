"""One entry in every format: feeds, digests, documents, events."""
