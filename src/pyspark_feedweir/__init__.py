"""Spark looks for packages with such names, so that `spark.read.format("feedweir")` needs no import."""

from feedweir.spark.table_source import TableSource as DefaultSource

__all__ = ["DefaultSource"]
