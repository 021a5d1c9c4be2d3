"""Prometheus: what the door counts itself, and what the library counts behind it. One registry per app."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from feedweir.web.library import Library, Measure


class Meter:
    """The registry of one app."""

    def __init__(self, library: Library) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "feedweir_http_requests",
            "Answered requests.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "feedweir_http_request_seconds", "Time to answer a request.", ["route"], registry=self.registry
        )
        self.registry.register(_LibraryCollector(library))

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        self.requests.labels(route, method, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def exposition(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


class _LibraryCollector(Collector):
    def __init__(self, library: Library) -> None:
        self._library = library

    def collect(self) -> Iterable[Metric]:
        return [_family(measure) for measure in self._library.measures()]

    def describe(self) -> Iterable[Metric]:
        """Nothing: the library is asked when Prometheus asks, not when the app is made."""
        return []


def _family(measure: Measure) -> Metric:
    names = [name for name, _ in measure.samples[0].labels] if measure.samples else []
    family: CounterMetricFamily | GaugeMetricFamily
    if measure.kind == "counter":
        family = CounterMetricFamily(measure.name, measure.help, labels=names)
    else:
        family = GaugeMetricFamily(measure.name, measure.help, labels=names)
    for sample in measure.samples:
        family.add_metric([value for _, value in sample.labels], sample.value)
    return family
