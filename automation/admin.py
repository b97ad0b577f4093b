"""The fleet in the console: to be read, it is as agents report it."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from automation.document.beside import MOST_LINES, beside
from automation.document.secrets import redacted
from automation.document.text import write
from automation.models import (
    Agent,
    AutomationRevision,
    Cluster,
    Database,
    FleetWatch,
    Host,
    Measurement,
    ProcessStatus,
    ReplicaSet,
)
from automation.selectors import document_at, revision_document
from opsapi.console.display import EMPTY, json_field
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline

_COLUMNS = ("Process", "Status", "Field", "Before", "After")
_MOST_PARAMS = 1000
_MOST_ROWS = 2_000
_LONGEST_DOCUMENT = 200_000  # characters: what a page can show
_AS_REPORTED = "Hosts appear here with the first report of an agent."


class DatabaseInline(ConsoleInline):
    """The databases of a host."""

    model = Database
    fields = ["name"]
    ordering = ["name"]


@admin.register(Host)
class HostAdmin(ConsoleAdmin):
    """Hosts with their state as last reported."""

    list_display = ["__str__", "type_name", "down", "version", "replica_set_name", "group", "last_report"]
    list_filter = ["down", "type_name"]
    list_select_related = ["group"]
    search_fields = ["hostname", "replica_set_name", "cluster_name", "group__name", "group__id__exact"]
    search_help_text = "Part of a host's, replica set's, cluster's or project's name, or a project's id."
    ordering = ["group__name", "hostname", "port"]
    fields = [
        "id",
        "group",
        "hostname",
        "port",
        "type_name",
        "down",
        "version",
        "version_behind",
        "replica_set_name",
        "cluster_name",
        "shard_name",
        "uptime_seconds",
        "created",
        "last_report",
        "reported_by",
    ]
    inlines = [DatabaseInline]
    empty_text = _AS_REPORTED


@admin.register(Cluster)
class ClusterAdmin(ConsoleAdmin):
    """Clusters as agents name them."""

    list_display = ["name", "group", "created"]
    list_select_related = ["group"]
    search_fields = ["name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = ["id", "group", "name", "created"]
    empty_text = "Clusters appear here when agents report hosts with a cluster name."


@admin.register(ReplicaSet)
class ReplicaSetAdmin(ConsoleAdmin):
    """Replica sets as agents name them, and how they stand."""

    list_display = ["name", "cluster", "group", "primaries", "healthy", "unhealthy"]
    list_select_related = ["cluster", "group"]
    search_fields = ["name", "cluster__name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = [
        "id",
        "group",
        "name",
        "cluster",
        "shard_name",
        "primaries",
        "healthy",
        "unhealthy",
        "created",
    ]
    empty_text = "Replica sets appear here when agents report hosts with a replica set name."


@admin.register(Database)
class DatabaseAdmin(ConsoleAdmin):
    """Databases of all hosts."""

    list_display = ["name", "host"]
    list_select_related = ["host"]
    search_fields = ["name", "host__hostname"]
    ordering = ["name", "id"]
    fields = ["name", "host"]
    empty_text = _AS_REPORTED


@admin.register(Agent)
class AgentAdmin(ConsoleAdmin):
    """Agents, when each last reported, and which have fallen silent."""

    list_display = ["hostname", "agent_type", "down", "version", "group", "last_report"]
    list_filter = ["down", "agent_type", "last_report"]
    list_select_related = ["group"]
    search_fields = ["hostname", "group__name"]
    ordering = ["-last_report"]
    fields = [
        "id",
        "group",
        "agent_type",
        "hostname",
        "version",
        "version_behind",
        "created",
        "last_report",
        "down",
        "returned",
    ]
    empty_text = "No agent has reported yet. An agent needs an API key with the role GROUP_AGENT."


@admin.register(Measurement)
class MeasurementAdmin(ConsoleAdmin):
    """What reports measured, newest first."""

    list_display = ["reported", "host", "metric_names"]
    list_select_related = ["host"]
    search_fields = ["host__id__exact"]
    search_help_text = "A whole id of a host."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["host", "reported", "metrics_json", "databases_json"]
    empty_text = "No report has measured anything yet."

    metrics_json = staticmethod(json_field("metrics"))
    databases_json = staticmethod(json_field("databases"))

    @admin.display(description="metrics")
    def metric_names(self, measurement: Measurement) -> str | None:
        """Which metrics of the host were measured."""
        return ", ".join(measurement.metrics) or None


@admin.register(ProcessStatus)
class ProcessStatusAdmin(ConsoleAdmin):
    """How far automation has brought each process."""

    list_display = ["name", "hostname", "goal_version", "error", "group", "reported"]
    list_select_related = ["group"]
    search_fields = ["name", "hostname", "group__name"]
    ordering = ["name", "id"]
    fields = ["group", "name", "hostname", "goal_version", "error", "reported"]
    empty_text = "No automation agent has reported a process yet."


@admin.register(FleetWatch)
class FleetWatchAdmin(ConsoleAdmin):
    """Since when silence counts."""

    list_display = ["counting_since", "swept"]
    ordering = ["id"]
    fields = ["counting_since", "swept"]
    empty_text = "No worker has looked for silent hosts and agents yet."


@admin.register(AutomationRevision)
class AutomationRevisionAdmin(ConsoleAdmin):
    """Published automation configurations, secrets redacted, each beside what it was before."""

    list_display = ["__str__", "group", "created", "actor_name", "what_changed", "restored_from"]
    list_select_related = ["group"]
    search_fields = ["group__name", "group__id__exact"]
    search_help_text = "Part of a project's name, or its id."
    ordering = ["-created", "-id"]
    fields = [
        "group",
        "number",
        "created",
        "actor_kind",
        "actor_name",
        "restored_from",
        "side_by_side",
        "beside_previous",
        "document_json",
    ]
    empty_text = "No automation configuration has been published yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Documents are large: only the page of one reads it."""
        return super().get_queryset(request).defer("document", "diffs", "processes")

    @admin.display(description="changed processes")
    def what_changed(self, revision: AutomationRevision) -> str:
        """How many, by what happened to them."""
        return ", ".join(f"{count} {status.lower()}" for status, count in revision.changes.items()) or EMPTY

    @admin.display(description="changes")
    def side_by_side(self, revision: AutomationRevision) -> SafeString | str:
        """Every changed field, as it was and as it became."""
        rows = list(islice(_changed_params(revision), _MOST_PARAMS))
        if not rows:
            return EMPTY
        heads = format_html_join("", "<th>{}</th>", [(name,) for name in _COLUMNS])
        body = format_html_join("", f"<tr>{'<td>{}</td>' * len(_COLUMNS)}</tr>", rows)
        return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", heads, body)

    @admin.display(description="beside the version before")
    def beside_previous(self, revision: AutomationRevision) -> SafeString | str:
        """All that differs in the whole document, line by line."""
        before = document_at(revision.number - 1, group_id=revision.group_id)
        if before is None:
            return EMPTY
        rows = beside(_text(before), _text(revision_document(revision)))
        if rows is None:
            return f"Too large to compare here: more than {MOST_LINES:,} lines."
        sides = [(row.kind.value, row.old or "", row.kind.value, row.new or "") for row in rows[:_MOST_ROWS]]
        lines = format_html_join(
            "", '<tr><td class="{}"><pre>{}</pre></td><td class="{}"><pre>{}</pre></td></tr>', sides
        )
        cut = "" if len(rows) <= _MOST_ROWS else f"and {len(rows) - _MOST_ROWS:,} lines more"
        heads = f"Version {revision.number - 1}", f"Version {revision.number}"
        return format_html(
            '<table class="beside"><thead><tr><th>{}</th><th>{}</th></tr></thead><tbody>{}</tbody></table>{}',
            *heads,
            lines,
            cut,
        )

    @admin.display(description="document")
    def document_json(self, revision: AutomationRevision) -> SafeString:
        """What it holds; of a very large one the beginning."""
        text = _text(revision_document(revision))
        shown = text if len(text) <= _LONGEST_DOCUMENT else text[:_LONGEST_DOCUMENT] + "\n…"
        return format_html('<pre class="json">{}</pre>', shown)


def _text(document: Mapping[str, Any]) -> str:
    """As people read it, secrets redacted."""
    return write(redacted(document), pretty=True)


def _changed_params(revision: AutomationRevision) -> Iterator[tuple[str, ...]]:
    for changed in revision.diffs:
        for param in changed["params"]:
            sides = param.get("old", EMPTY), param.get("new", EMPTY)
            yield changed["id"], changed["status"].lower(), param["param"], *sides
