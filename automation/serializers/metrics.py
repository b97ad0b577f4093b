"""The closed set of metrics as the API shows it."""

from rest_framework import serializers

from automation.metric_spec import Engine, MetricKind
from automation.metrics import Metric, allowed_units, base_unit
from opsapi.api.documents import Document
from opsapi.wire_json import JsonObject


def present_metric(metric: Metric) -> JsonObject:
    """Return the document of a metric."""
    spec = metric.spec
    return {
        "metricName": metric.value,
        "units": base_unit(metric).value,
        "allowedUnits": [unit.value for unit in allowed_units(metric)],
        "meaning": spec.meaning,
        "kind": spec.kind.value,
        "engines": [engine.value for engine in spec.engines],
        "deprecated": spec.deprecated,
    }


class MetricDocument(Document):
    """A metric: its meaning, engines and units."""

    example = present_metric(Metric.CONNECTIONS)

    metricName = serializers.CharField()
    units = serializers.CharField(help_text="The unit of stored values and of reports without units.")
    allowedUnits = serializers.ListField(child=serializers.CharField())
    meaning = serializers.CharField()
    kind = serializers.ChoiceField(
        [kind.value for kind in MetricKind],
        help_text="RATE: increase of a counter per second, computed by the agent.",
    )
    engines = serializers.ListField(
        child=serializers.ChoiceField([engine.value for engine in Engine]),
        help_text="Engines that the metric is measured on.",
    )
    deprecated = serializers.BooleanField(
        help_text="Servers no longer have this metric. Reports can still contain it."
    )


METRIC_ROWS: list[JsonObject] = [present_metric(metric) for metric in Metric]
