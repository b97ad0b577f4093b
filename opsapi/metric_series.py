"""The series of `/metrics`, each declared once: docs/reference/metrics.md lists them.

Processes count in COUNTED. Gauges are queried at each scrape and not stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily

COUNTED = CollectorRegistry()
"""The counters of this process. Under gunicorn they are in files that all processes of the machine share."""


class SeriesType(StrEnum):
    """The Prometheus types in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Series:
    """A declared series, by its scraped name."""

    name: str
    type: SeriesType
    labels: tuple[str, ...]
    help: str


DECLARED: dict[str, Series] = {}
"""All series, by name."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A series whose values are queried at each scrape."""

    series: Series

    def of(self, value: float) -> GaugeMetricFamily:
        """A value of a series without labels."""
        return GaugeMetricFamily(self.series.name, self.series.help, value=value)

    def family(self) -> GaugeMetricFamily:
        """No value yet, for a series with labels."""
        return GaugeMetricFamily(self.series.name, self.series.help, labels=self.series.labels)


def counter(name: str, help_text: str, *labels: str) -> Counter:
    """A counter of each process, scraped as `<name>_total`."""
    _declare(f"{name}_total", SeriesType.COUNTER, labels, help_text)
    return Counter(name, help_text, labels, registry=COUNTED)


def histogram(name: str, help_text: str, *labels: str, buckets: Sequence[float]) -> Histogram:
    """A histogram of each process, with these upper bounds."""
    _declare(name, SeriesType.HISTOGRAM, labels, help_text)
    return Histogram(name, help_text, labels, buckets=buckets, registry=COUNTED)


def gauge(name: str, help_text: str, *labels: str) -> Gauge:
    """A series that is queried from the database at each scrape."""
    return Gauge(_declare(name, SeriesType.GAUGE, labels, help_text))


def _declare(name: str, kind: SeriesType, labels: tuple[str, ...], help_text: str) -> Series:
    DECLARED[name] = Series(name, kind, labels, help_text)
    return DECLARED[name]
