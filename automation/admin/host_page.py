"""The page of a host: its measurements with a plot of a metric, its panels and its facts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.http import urlencode

from automation.admin.states import host_state
from automation.choices import Granularity
from automation.measurement_query import SeriesQuery, bucket_start, span_of
from automation.metric_spec import MetricSubject
from automation.metrics import Metric, base_unit, by_subject
from automation.models import Agent, Database, Host
from automation.quantities import best_unit, quantity_of, unit_words
from automation.rules.heartbeats import unheard_for
from automation.selectors.measurements import newest_measurements
from automation.series import measured_series
from automation.units import convert
from events.models import Event
from events.search import EventSearch, search_page
from events.wording import in_words
from opsapi.api.principal import VisibleScope
from opsapi.clock import ago_words, parse_time, time_words
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.widgets import Cell, Panel, Plot, host_panels
from opsapi.first_rows import first_rows

_MOST_EVENTS = 10
SHOWN = timedelta(days=1)
_GRAIN = Granularity.PT5M
_FIRST = Metric.CONNECTIONS


@dataclass(frozen=True, slots=True)
class Newest:
    """The latest value of a metric, in words."""

    metric: Metric
    value: str


@dataclass(frozen=True, slots=True)
class HostMeasurements:
    """The measurements of a host: the latest values, and a `metric` over the last 24 hours.

    `plot` is None without measurements; `words` describes the plot. `reported` is the time of the latest
    values.
    """

    newest: Sequence[Newest]
    metric: Metric | None
    plot: Plot | None
    words: str
    reported: datetime | None = None


def host_context(host: Host, visible_scope: VisibleScope, *, wanted: str, now: datetime) -> Mapping[str, Any]:
    """The measurements, with a plot of the metric `wanted`, and the panels."""
    measured = measured_of(host, wanted, now=now)
    state, tone = host_state(host, now)
    return {
        "state": state,
        "tone": tone,
        "is_old": unheard_for(host.last_report, now) is not None,
        "age": ago_words(measured.reported, now) if measured.reported else "",
        "measured": measured,
        "facts": _facts(host, now),
        "metrics": list(_metric_links(measured.newest)),
        "panels": list(_panels(host, visible_scope, now)),
    }


def _metric_links(newest: Sequence[Newest]) -> Iterator[tuple[MetricSubject, Sequence[tuple[Newest, str]]]]:
    """The latest values by subject, with links to their plots."""
    of = {latest.metric: latest for latest in newest}
    for subject, metrics in by_subject(of):
        yield subject, [(of[metric], "?" + urlencode({"metric": metric.value})) for metric in metrics]


def _facts(host: Host, now: datetime) -> Sequence[tuple[str, Cell]]:
    """The project, the reporting agent, the labels and other facts."""
    related = {
        "Project": host.group,
        "Replica set": host.replica_set,
        "Cluster": host.cluster,
        "Reported by": Agent.objects.filter(id=host.reported_by_id).first(),
    }
    facts = [(name, Cell(str(row), page_url(row))) for name, row in related.items() if row is not None]
    last = (
        f"{time_words(host.last_report)}, {ago_words(host.last_report, now)}" if host.last_report else "never"
    )
    if host.labels:
        labels = ", ".join(f"{name}={value}" for name, value in sorted(host.labels.items()))
        facts.append(("Labels from its agent", Cell(labels)))
    return [*facts, ("Last report", Cell(last))]


def _panels(host: Host, visible_scope: VisibleScope, now: datetime) -> Iterator[Panel]:
    for contribute in host_panels():
        yield contribute(visible_scope, host, now)
    yield _events(host, visible_scope, now)
    yield _members(host, now)
    yield _databases(host)


def _events(host: Host, visible_scope: VisibleScope, now: datetime) -> Panel:
    search = EventSearch(visible_scope=visible_scope, group_id=host.group_id, hostname=host.hostname)
    page = search_page(search, size=_MOST_EVENTS)
    url = list_url(Event, host=host.hostname, project=host.group_id)
    return Panel(
        name="events",
        title="Latest events",
        unit="events",
        headers=["Event", "When"],
        rows=[_event(event, now) for event in page.events],
        # The total is not counted, only whether there are more.
        count=len(page.events) + (page.next is not None),
        at_least=True,
        url=url,
        empty="No events about this host.",
        remedy=Cell("All events of this host", url),
    )


def _event(event: Event, now: datetime) -> Sequence[Cell]:
    return [
        Cell(in_words(event.event_type), page_url(event)),
        Cell(ago_words(event.created, now)),
    ]


def _members(host: Host, now: datetime) -> Panel:
    same = Host.objects.filter(replica_set=host.replica_set_id).order_by("hostname", "port")
    found = first_rows(same if host.replica_set_id else Host.objects.none())
    return Panel(
        name="members",
        title="Replica set",
        unit="members",
        headers=["Member", "Type", "State"],
        rows=[_member(member, now) for member in found.rows],
        count=found.count,
        url=page_url(host.replica_set) if host.replica_set else list_url(Host),
        empty="This host is not a member of a replica set.",
    )


def _member(host: Host, now: datetime) -> Sequence[Cell]:
    state, tone = host_state(host, now)
    return [Cell(str(host), page_url(host)), Cell(host.type_name), Cell(state, tone=tone)]


def _databases(host: Host) -> Panel:
    found = first_rows(Database.objects.filter(host=host).order_by("name"))
    return Panel(
        name="databases",
        title="Databases",
        unit="databases",
        headers=["Name"],
        rows=[[Cell(database.name, page_url(database))] for database in found.rows],
        count=found.count,
        url=list_url(Database, q=host.hostname),
        empty="Agents report no databases of this host.",
    )


def measured_of(host: Host, wanted: str, *, now: datetime) -> HostMeasurements:
    """The measurements of a host; plots the metric `wanted`, otherwise the first available metric."""
    last = newest_measurements([host.id]).get(host.id)
    samples = last.samples if last else {}
    last_of = {metric: samples[metric][-1][1] for metric in Metric if metric in samples}
    newest = [Newest(metric, quantity_of(metric, value)) for metric, value in last_of.items()]
    metric = _chosen(wanted, [latest.metric for latest in newest])
    if last is None or metric is None:
        return HostMeasurements(newest, None, None, "No measurements yet.")
    points = _points(host, metric, now)
    if not points:
        words = f"{metric}: no measurements in the last 24 hours."
        return HostMeasurements(newest, metric, None, words, last.at.reported)
    plot, words = _plot(metric, points, now), _plot_words(metric, points)
    return HostMeasurements(newest, metric, plot, words, last.at.reported)


def _chosen(wanted: str, there: Sequence[Metric]) -> Metric | None:
    chosen = [metric for metric in there if metric.value == wanted]
    usual = [_FIRST] if _FIRST in there else there[:1]
    return next(iter([*chosen, *usual]), None)


def _points(host: Host, metric: Metric, now: datetime) -> list[tuple[str, float]]:
    start = bucket_start(now - SHOWN, span_of(_GRAIN))
    (series,) = measured_series(host.id, SeriesQuery(_GRAIN, start, now, [metric]))
    return series.points


def _plot(metric: Metric, points: Sequence[tuple[str, float]], now: datetime) -> Plot:
    unit = best_unit(metric, max(abs(value) for _, value in points))
    base = base_unit(metric)
    return Plot(
        label=metric.value,
        units=unit_words(unit),
        since=now - SHOWN,
        until=now,
        points=[(parse_time(at), round(convert(value, base, unit), 3)) for at, value in points],
    )


def _plot_words(metric: Metric, points: Sequence[tuple[str, float]]) -> str:
    values = [value for _, value in points]
    least, most = quantity_of(metric, min(values)), quantity_of(metric, max(values))
    return f"{metric}, last 24 hours: {least} to {most}, latest {quantity_of(metric, values[-1])}."
