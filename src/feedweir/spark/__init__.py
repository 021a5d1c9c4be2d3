"""The same engine, wide: session, landing source, pipeline, stores."""
