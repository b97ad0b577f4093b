"""The page of a host: its measurements, panels and facts."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.http import urlencode

from automation.admin.states import host_state
from automation.host_measurements import Newest, measured_of
from automation.metric_spec import MetricSubject
from automation.metrics import by_subject
from automation.models import Agent, Database, Host
from automation.rules.heartbeats import unheard_for
from events.models import Event
from events.search import EventSearch
from events.search_pages import search_page
from events.wording import in_words
from opsapi.api.principal import VisibleScope
from opsapi.clock import ago_words, time_words
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.registry import host_panels
from opsapi.console.widgets import Cell, Panel
from opsapi.first_rows import first_rows

_SHOWN = 10


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
    """The project, the reporting agent and other facts."""
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
    return [*facts, ("Last report", Cell(last))]


def _panels(host: Host, visible_scope: VisibleScope, now: datetime) -> Iterator[Panel]:
    for contribute in host_panels():
        yield contribute(visible_scope, host, now)
    yield _events(host, visible_scope, now)
    yield _members(host, now)
    yield _databases(host)


def _events(host: Host, visible_scope: VisibleScope, now: datetime) -> Panel:
    search = EventSearch(visible_scope=visible_scope, group_id=host.group_id, hostname=host.hostname)
    page = search_page(search, size=_SHOWN)
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
