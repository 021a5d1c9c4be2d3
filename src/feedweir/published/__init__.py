"""The algorithms of the papers as they were printed: oracles for tests, and rivals for benchmarks.

Nothing else in the package imports them. Each task has one interface, which ours fits as well: `factorisation` makes a
filter tree from predicates, `prospective` finds the keyword queries of documents, `joins` runs join queries one by one.
"""
