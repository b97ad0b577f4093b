"""The fleet in the console: to be read, it is as agents report it."""

from django.contrib import admin

from automation.models import Agent, Cluster, Database, Host, Measurement, ProcessStatus
from opsapi.console.display import json_field
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline

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
        "replica_set_name",
        "cluster_name",
        "shard_name",
        "uptime_seconds",
        "created",
        "last_report",
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
    """Agents and when each last reported."""

    list_display = ["hostname", "agent_type", "version", "group", "last_report"]
    list_filter = ["agent_type", "last_report"]
    list_select_related = ["group"]
    search_fields = ["hostname", "group__name"]
    ordering = ["-last_report"]
    fields = ["id", "group", "agent_type", "hostname", "version", "created", "last_report"]
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
