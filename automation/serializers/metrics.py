"""The closed set of metrics as the API shows it (decisions 1 "The catalogue is published")."""

from typing import Any

from rest_framework import serializers

from automation.metrics import Metric, allowed_units, base_unit
from opsapi.api.documents import Document


class MetricDocument(Document):
    """One metric with its units."""

    example = {"metricName": Metric.CONNECTIONS.value, "units": "RAW", "allowedUnits": ["RAW"]}

    metricName = serializers.CharField()
    units = serializers.CharField(help_text="What a report without units means, and what is stored.")
    allowedUnits = serializers.ListField(child=serializers.CharField())


METRIC_ROWS: list[dict[str, Any]] = [
    {
        "metricName": metric.value,
        "units": base_unit(metric).value,
        "allowedUnits": [unit.value for unit in allowed_units(metric)],
    }
    for metric in Metric
]
