"""The same engine, wide: session, landing source, pipeline, stores; and its matcher as functions of Spark."""

from feedweir.spark.dataframes import CompiledQueries, compile_queries, match, register

__all__ = ["CompiledQueries", "compile_queries", "match", "register"]
