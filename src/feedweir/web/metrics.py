"""Prometheus metrics: requests, and what the installation counts. One registry for each application."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from feedweir.web.backend import Backend, Measure


class Meter:
    """The registry of one application."""

    def __init__(self, backend: Backend) -> None:
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
        self.registry.register(_BackendCollector(backend))

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        self.requests.labels(route, method, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def exposition(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


class _BackendCollector(Collector):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def collect(self) -> Iterable[Metric]:
        return [_family(measure) for measure in self._backend.measures()]

    def describe(self) -> Iterable[Metric]:
        """Nothing: values are read when Prometheus scrapes, not when the application is created."""
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
