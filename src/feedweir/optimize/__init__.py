"""The same answers for less work: one rule a file, a cost model, factorisation."""
