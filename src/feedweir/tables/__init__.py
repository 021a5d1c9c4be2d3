"""The logs as open tables: Delta tables over the very files that batches write, for whatever reads Delta."""
