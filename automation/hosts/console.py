"""Hosts in the console: forms, actions, and the page of a host."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from accesslist.forms import InProjectForm
from automation.access import WRITE_HOSTS
from automation.agents.models import Agent
from automation.agents.rules import unheard_for
from automation.hosts.changes import host_change, host_create, host_delete
from automation.hosts.chart_pages import ChartPages
from automation.hosts.heartbeats import heartbeats
from automation.hosts.models import Database, Host
from automation.hosts.resource import HostChange, NewHost
from automation.hosts.states import HostColumns, host_state, known_type_words, measured_words, reachable_words
from automation.hosts.store import of_demonstration, without_data
from automation.labels import label_texts
from automation.measurements.store import newest_measurements
from automation.metrics import Metric, MetricSubject, by_subject
from automation.quantities import quantity_of
from automation.wording import ENGINE_WORDS, database_words, type_words
from events.log.search import EventSearch, search_page
from events.models import Event
from events.wording import in_words
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.clock import AHEAD, ago_words, time_words
from opsapi.console.action_pages import to_form
from opsapi.console.actions import Action, ActionCall, ActionOutcome, buttons_of, operator_of
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.changelist import is_too_long
from opsapi.console.display import Context, link, project, short
from opsapi.console.document_forms import DocumentForm
from opsapi.console.earlier import EVENT
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Cell, Panel, host_links, host_panels
from opsapi.first_rows import first_rows
from opsapi.hostnames import name_and_port


class _AddressFields(DocumentForm):
    hostname = forms.CharField(label="Host name", help_text="A name or an IP address.")
    port = forms.IntegerField(initial=27017, help_text="MongoDB listens on 27017, PostgreSQL on 5432.")


class NewHostForm(_AddressFields, InProjectForm):
    """A host in a project."""

    document = NewHost
    field_order = ["group"]

    @property
    def values(self) -> Mapping[str, Any]:
        """The project ID and the values of the document."""
        return {"group_id": self.cleaned_data["group"].id, "host": super().values}


class HostForm(_AddressFields):
    """Change the address."""

    document = HostChange
    from_address = frozenset({EVENT})


_MOST_EVENTS = 10


@dataclass(frozen=True, slots=True)
class Newest:
    """The latest value of a metric, in words."""

    metric: Metric
    value: str


@dataclass(frozen=True, slots=True)
class HostMeasurements:
    """The latest values of a host, and the time of their report; None if there is none."""

    newest: Sequence[Newest]
    reported: datetime | None = None


def host_context(host: Host, visible_scope: VisibleScope, *, now: datetime) -> Mapping[str, Any]:
    """The latest measurements and the panels."""
    measured = measured_of(host, now)
    state, tone = host_state(host, now)
    return {
        "state": state,
        "tone": tone,
        "database": database_words(
            engine=host.engine,
            version=host.version,
            type_name=host.type_name,
            replica_set=host.replica_set_name,
        ),
        "heartbeat": heartbeats([host], now)[host.id],
        "is_old": unheard_for(host.last_report, now) is not None,
        "age": ago_words(measured.reported, now) if measured.reported else "",
        "measured": measured,
        "facts": _facts(host, now),
        "metrics": list(_metric_links(measured.newest)),
        "panels": list(_panels(host, visible_scope, now)),
    }


def _metric_links(newest: Sequence[Newest]) -> Iterator[tuple[MetricSubject, Sequence[tuple[Newest, str]]]]:
    """The latest values by subject, with links to their charts."""
    of = {latest.metric: latest for latest in newest}
    for subject, metrics in by_subject(of):
        yield subject, [(of[metric], "?" + urlencode({"m": metric.value})) for metric in metrics]


_OLD = timedelta(minutes=1)


def _facts(host: Host, now: datetime) -> Sequence[tuple[str, Cell]]:
    """What is known and since when, the project, the reporting agent, the labels and other facts."""
    related = {
        "Project": host.group,
        "Replica set": host.replica_set,
        "Cluster": host.cluster,
        "Reported by": Agent.objects.filter(id=host.reported_by_id).first(),
    }
    facts = [
        ("Reachable", Cell(reachable_words(host, now))),
        ("Measured", Cell(measured_words(host, now))),
        ("Type", Cell(known_type_words(host), hint=host.type_name)),
    ]
    facts += [(name, Cell(str(row), page_url(row))) for name, row in related.items() if row is not None]
    last = (
        f"{time_words(host.last_report)}, {ago_words(host.last_report, now)}" if host.last_report else "never"
    )
    if host.labels:
        facts.append(("Labels from its agent", Cell(", ".join(label_texts(host.labels)))))
    facts.append(("Last report", Cell(last)))
    if host.observed and host.last_report and host.last_report - host.observed >= _OLD:
        observed = f"{time_words(host.observed)}, {ago_words(host.observed, now)}"
        facts.append(("State observed", Cell(f"{observed}: reports of its agent arrive late")))
    return facts


def _panels(host: Host, visible_scope: VisibleScope, now: datetime) -> Iterator[Panel]:
    for contribute in host_panels():
        yield contribute(visible_scope, host, now)
    yield _events(host, visible_scope, now)
    yield _members(host, now)
    yield _databases(host)


def _events(host: Host, visible_scope: VisibleScope, now: datetime) -> Panel:
    search = EventSearch(
        visible_scope=visible_scope, group_id=host.group_id, hostname=host.hostname, port=host.port
    )
    page = search_page(search, size=_MOST_EVENTS)
    url = list_url(Event, host=str(host), project=host.group_id)
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
    """The event; an alert on the host has the type of the event that opened or closed it."""
    words = in_words(event.event_type)
    return [
        Cell(f"{words} (alert)" if event.alert_id else words, page_url(event)),
        Cell(ago_words(event.created, now)),
    ]


def _members(host: Host, now: datetime) -> Panel:
    same = Host.objects.filter(replica_set=host.replica_set_id).order_by("hostname", "port")
    members = first_rows(same.select_related("reported_by") if host.replica_set_id else Host.objects.none())
    return Panel(
        name="members",
        title="Replica set",
        unit="members",
        headers=["Member", "Type", "State"],
        rows=[_member(member, now) for member in members.rows],
        count=members.count,
        url=page_url(host.replica_set) if host.replica_set else list_url(Host),
        empty="This host is not a member of a replica set.",
    )


def _member(host: Host, now: datetime) -> Sequence[Cell]:
    state, tone = host_state(host, now)
    role = Cell(type_words(host.type_name, host.engine), hint=host.type_name)
    return [Cell(str(host), page_url(host)), role, Cell(state, tone=tone)]


def _databases(host: Host) -> Panel:
    databases = first_rows(Database.objects.filter(host=host).order_by("name"))
    return Panel(
        name="databases",
        title="Databases",
        unit="databases",
        headers=["Name"],
        rows=[[Cell(database.name, page_url(database))] for database in databases.rows],
        count=databases.count,
        url=list_url(Database, host__id__exact=host.id),
        empty="Agents report no databases of this host.",
    )


def measured_of(host: Host, now: datetime) -> HostMeasurements:
    """The latest measurements of a host, without values of a clock that was ahead."""
    last = newest_measurements([host.id], until=now + AHEAD).get(host.id)
    if last is None:
        return HostMeasurements([])
    last_of = {metric: last.samples[metric][-1][1] for metric in Metric if metric in last.samples}
    newest = [Newest(metric, quantity_of(metric, value)) for metric, value in last_of.items()]
    return HostMeasurements(newest, last.at.reported)


_AS_REPORTED = (
    "No hosts yet. Hosts appear with the first report of an agent. You can also add a host by hand."
)


def _create(call: ActionCall) -> ActionOutcome:
    values = call.values
    host = host_create(group_id=values["group_id"], values=values["host"], actor=call.actor, now=call.now)
    return ActionOutcome(row=host)


def _change(call: ActionCall) -> None:
    host = call.row
    host_change(group_id=host.group_id, host_id=host.id, changes=call.values, actor=call.actor, now=call.now)


_UNKNOWN = "unknown"


class DataFilter(ChoiceFilter):
    """Filter by whether the state is known, and whether reachable hosts are measured."""

    title = "data"
    parameter_name = "data"
    offered = (
        ("none", "No data"),
        ("current", "Current"),
        ("unmeasured", "Not measured"),
        ("demonstration", "Demonstration"),
    )

    def chosen(self, rows: QuerySet[Host], value: str) -> QuerySet[Host]:
        now = clock.now()
        unknown, demonstrated = without_data(now), of_demonstration(now)
        match value:
            case "none":
                return rows.filter(unknown)
            case "unmeasured":
                return rows.exclude(unknown | demonstrated).filter(not_measured=True, down=False)
            case "demonstration":
                return rows.filter(demonstrated)
        return rows.exclude(unknown | demonstrated)


class EngineFilter(ChoiceFilter):
    """Filter by engine, and by whether the engine is known."""

    title = "engine"
    parameter_name = "engine"
    offered = (*((engine.value, words) for engine, words in ENGINE_WORDS.items()), (_UNKNOWN, "Unknown"))

    def chosen(self, rows: QuerySet[Host], value: str) -> QuerySet[Host]:
        return rows.filter(engine=None) if value == _UNKNOWN else rows.filter(engine=value)


@admin.register(Host)
class HostAdmin(HostColumns, ChartPages):
    """Hosts with their last reported state."""

    help = "reference/metrics#metrics-of-hosts"
    is_live = True
    group_path = "group_id"
    add_action = Action(
        label="New host",
        done="Created",
        text="The host has no data until an agent reports it.",
        run=_create,
        access=WRITE_HOSTS,
        form=NewHostForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            done="Changed",
            text="This cancels the alerts about the old address.",
            run=_change,
            access=WRITE_HOSTS,
            form=HostForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Deletes its measurements and cancels its alerts. If an agent reports the host again, "
            "it is added again.",
            run=lambda call: host_delete(
                group_id=call.row.group_id, host_id=call.row.id, actor=call.actor, now=call.now
            ),
            access=WRITE_HOSTS,
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }
    list_display = ["address", "state", "last_measured", "reported", "database", "set_name", project]
    list_filter = [
        ("down", admin.BooleanFieldListFilter),
        DataFilter,
        EngineFilter,
        "type_name",
        "version_behind",
        ("reported_by", RelatedFilter),
        ("group", RelatedFilter),
    ]
    list_select_related = ["group", "replica_set", "reported_by"]
    palette_fields = ("hostname",)
    search_fields = [
        "hostname",
        "replica_set_name",
        "cluster_name",
        "engine",
        "version",
        "group__name",
        "group__id__exact",
    ]
    search_help_text = (
        "Part of the name of a host, replica set, cluster, project or engine, or of a version; a label, such "
        "as env=prod; or a project ID."
    )
    ordering = ["group__name", "hostname", "port"]
    fields = [
        "id",
        "group",
        "hostname",
        "port",
        "role",
        "shown_engine",
        "shown_version",
        "replica_set",
        "cluster",
        "shard_name",
        "uptime_seconds",
        "reported",
        "reported_by",
        "created",
    ]
    empty_text = _AS_REPORTED
    filled_by = "automation.agent"

    class Media:
        css = {"all": ["console/overview.css", "console/fleet.css"]}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Words with `=` are labels, such as `env=prod`."""
        words = [] if is_too_long(search_term) else search_term.split()
        labels = [word for word in words if "=" in word]
        if labels:
            search_term = " ".join(word for word in words if word not in labels)
            queryset = queryset.filter(labels__contains=dict(label.split("=", 1) for label in labels))
        return super().get_search_results(request, queryset, search_term)

    def palette_condition(self, words: Sequence[str], fields: Sequence[str]) -> Q:
        """A port after a name, as in `db1:27017`, is the beginning of the host's port."""
        names = [name_and_port(word) for word in words]
        of_names = super().palette_condition([name for name, _ in names], fields)
        return Q(of_names, *(Q(port__startswith=port) for _, port in names if port is not None))

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the links of other apps."""
        operator = operator_of(request)
        links = [link for link in host_links() if operator.holds_somewhere(link.access.roles)]
        return {
            **super().get_actions(request),
            **{link.name: (to_form(link), link.name, link.label) for link in links},
        }

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        context = host_context(row, operator_of(request).visible_scope(), now=clock.now())
        return {**super().page_context(request, row), **context}

    def row_actions(self, request: HttpRequest, row: Any) -> list[Context]:
        """Adds the links of other apps."""
        links = buttons_of(host_links(), operator_of(request), [row], self.scope_of(row))
        return [*links, *super().row_actions(request, row)]

    def charted_hosts(self, row: Any) -> Sequence[Host]:
        """The host itself."""
        return [row]

    @admin.display(description="host", ordering="hostname")
    def address(self, host: Host) -> str | SafeString | None:
        return short(str(host))

    @admin.display(description="replica set", ordering="replica_set_name")
    def set_name(self, host: Host) -> str | SafeString | None:
        """The replica set, linked to its page."""
        name = short(host.replica_set_name)
        return link(page_url(host.replica_set), name) if host.replica_set else name


@admin.register(Database)
class DatabaseAdmin(ConsoleAdmin):
    """Databases of all hosts."""

    help = "reference/metrics#metrics-of-hosts"
    group_path = "host__group_id"
    list_display = ["name", "host"]
    list_filter = [("host", RelatedFilter)]
    list_select_related = ["host"]
    search_fields = ["name", "host__hostname"]
    ordering = ["name", "id"]
    fields = ["name", "host"]
    filled_by = "automation.agent"
    empty_text = "No databases yet. Databases appear when an agent reports them with their hosts."
