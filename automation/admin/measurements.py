"""Measurements in the console."""

from django.contrib import admin

from automation.models import Measurement
from opsapi.console.display import json_field
from opsapi.console.model_admin import ConsoleAdmin


@admin.register(Measurement)
class MeasurementAdmin(ConsoleAdmin):
    """What reports measured, newest first."""

    group_path = "host__group_id"
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
