"""Measurements over time, and the closed set of metrics, as the API shows them."""

from collections.abc import Iterable

from rest_framework import serializers

from automation.choices import Granularity
from automation.measurement_query import SeriesQuery
from automation.metric_spec import Engine, MetricKind
from automation.metrics import MEASURED_UNITS, Metric, allowed_units, base_unit
from automation.models import Host
from automation.selectors.measurements import MetricSeries
from automation.units import Unit
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, LinkDocument, self_link
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject


class DataPointDocument(Document):
    """The mean of the samples in a bucket."""

    timestamp = serializers.DateTimeField(help_text="Start of the bucket.")
    value = serializers.FloatField()


class SeriesDocument(Document):
    """A metric over time. Buckets without samples are left out."""

    name = serializers.ChoiceField([metric.value for metric in Metric])
    units = serializers.ChoiceField([unit.value for unit in MEASURED_UNITS])
    dataPoints = DataPointDocument(many=True)


class MeasurementsDocument(Document):
    """Measurements of a host or of one of its databases."""

    example = {
        "groupId": ANOTHER_ID,
        "hostId": AN_ID,
        "processId": "db1.example.com:27017",
        "granularity": Granularity.PT1M.value,
        "start": A_TIME,
        "end": A_TIME,
        "measurements": [
            {
                "name": Metric.CONNECTIONS.value,
                "units": Unit.RAW.value,
                "dataPoints": [{"timestamp": A_TIME, "value": 812.0}],
            }
        ],
        "links": self_link(f"/groups/{ANOTHER_ID}/hosts/{AN_ID}/measurements?granularity=PT1M&period=PT1H"),
    }

    groupId = serializers.CharField()
    hostId = serializers.CharField()
    processId = serializers.CharField(help_text="The host's address.")
    databaseName = serializers.CharField(required=False)
    granularity = serializers.ChoiceField([granularity.value for granularity in Granularity])
    start = serializers.DateTimeField(help_text="Start of the first bucket.")
    end = serializers.DateTimeField()
    measurements = SeriesDocument(many=True)
    links = LinkDocument(many=True)


def present_measurements(
    host: Host,
    query: SeriesQuery,
    series: Iterable[MetricSeries],
    links: list[dict[str, str]],
    *,
    database: str | None = None,
) -> JsonObject:
    return {
        "groupId": host.group_id,
        "hostId": host.id,
        "processId": str(host.address),
        **({} if database is None else {"databaseName": database}),
        "granularity": query.granularity.value,
        "start": wire_time(query.start),
        "end": wire_time(query.end),
        "measurements": [_present_series(metric_series) for metric_series in series],
        "links": links,
    }


def _present_series(series: MetricSeries) -> JsonObject:
    return {
        "name": series.metric.value,
        "units": base_unit(series.metric).value,
        "dataPoints": [{"timestamp": moment, "value": value} for moment, value in series.points],
    }


def present_metric(metric: Metric) -> JsonObject:
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
