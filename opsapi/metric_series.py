"""The metrics of the platform for Prometheus: each series declared once, and collected for `/metrics`.

Processes count in COUNTED. Gauges are queried from the database at each scrape: each app contributes them as
`metrics` of its AppConfig. The values of labels are closed sets. docs/reference/metrics.md lists all series.
"""

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from django.db import Error, transaction
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from opsapi.apps import metrics
from opsapi.metric_files import VARIABLE
from opsapi.sql import execute

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


logger = logging.getLogger("opsapi.metrics")

_LONGEST_STATEMENT = "5s"
_DATABASE_UP = gauge("opsapi_database_up", "1 if the database answered this scrape, otherwise 0.")


def exposition() -> bytes:
    """Return all metrics in the Prometheus text format 0.0.4, collected now.

    Without the database, its metrics are left out, and `opsapi_database_up` is 0.
    """
    asked = CollectorRegistry()
    shared = os.environ.get(VARIABLE)
    asked.register(_FromProcesses(Path(shared)) if shared else COUNTED)
    asked.register(_FromDatabase())
    return generate_latest(asked)


class _FromProcesses(Collector):
    """Collects counters of all processes of this machine."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        """Yield the sums, without files that disappear meanwhile, such as files of ended processes."""
        files = [str(file) for file in self._directory.glob("*.db") if _is_begun(file)]
        while True:
            try:
                return _merged(files)
            except FileNotFoundError as error:
                files.remove(error.filename)  # Each pass has one file less.


def _is_begun(file: Path) -> bool:
    """A process killed while it created its file left an empty one."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _merged(files: list[str]) -> Iterable[Metric]:
    merged_metrics: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]  # the library is typed in parts
    return merged_metrics


class _FromDatabase(Collector):
    """Collects metrics from the database."""

    def describe(self) -> Iterable[Metric]:
        """Return nothing: registration must not query the database."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics of every app, and whether they could be queried."""
        try:
            app_metrics = _of_apps()
        except Error as error:
            logger.error("the database failed: %s", str(error).split("\n", maxsplit=1)[0])
            app_metrics = None
        yield _DATABASE_UP.of(0 if app_metrics is None else 1)
        yield from app_metrics or []


@transaction.atomic
def _of_apps() -> list[Metric]:
    execute(f"SET LOCAL statement_timeout = '{_LONGEST_STATEMENT}'")
    return [metric for collect in metrics() for metric in collect()]
