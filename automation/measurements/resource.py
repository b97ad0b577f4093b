"""Measurements and metrics as the API shows them."""

from functools import lru_cache

import numpy as np
from rest_framework import serializers

from automation.choices import Granularity, Tier
from automation.hosts.resource import last_hour
from automation.measurements.fleet_series import FleetSeries
from automation.metrics import MEASURED_UNITS, Engine, Metric, MetricKind, allowed_units, base_unit
from automation.units import Unit
from opsapi.api.answers import Answer
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, links_of
from opsapi.api.fields import ShownChoice, ShownId, ShownText, ShownTime
from opsapi.wire_json import JsonObject


class DataPointDocument(Document):
    """The mean of the samples in a bucket."""

    timestamp = serializers.DateTimeField(help_text="Start of the bucket.")
    value = serializers.FloatField()


class SeriesDocument(Answer):
    """A metric over time. Buckets without samples are left out."""

    computed = {
        "units": lambda series: base_unit(series.metric),
        "dataPoints": lambda series: [
            {"timestamp": moment, "value": value} for moment, value in series.points
        ],
    }

    name = serializers.ChoiceField([metric.value for metric in Metric], source="metric")
    units = serializers.ChoiceField([unit.value for unit in MEASURED_UNITS])
    dataPoints = DataPointDocument(many=True)


class MeasurementsDocument(Answer):
    """Measurements of a host or of one of its databases."""

    groupId = ShownId(example=ANOTHER_ID)
    hostId = ShownId()
    processId = ShownText(help_text="The host's address.", example="db1.example.com:27017")
    databaseName = serializers.CharField(required=False)
    granularity = ShownChoice(
        [granularity.value for granularity in Granularity], example=Granularity.PT1M.value
    )
    start = ShownTime(help_text="Start of the first bucket.")
    end = ShownTime()
    measurements = SeriesDocument(
        many=True,
        example={
            "name": Metric.CONNECTIONS.value,
            "units": Unit.RAW.value,
            "dataPoints": [{"timestamp": A_TIME, "value": 812.0}],
        },
    )
    links = links_of(last_hour(f"/groups/{ANOTHER_ID}/hosts/{AN_ID}"))


class FleetPointDocument(Document):
    """The values in a bucket. With an aggregate, each number is the aggregate of the hosts' numbers."""

    timestamp = serializers.DateTimeField(help_text="Start of the bucket.")
    value = serializers.FloatField(help_text="Mean.")
    minimum = serializers.FloatField()
    maximum = serializers.FloatField()


@lru_cache(maxsize=4)
def _wire_times(buckets: bytes) -> list[str]:
    """The starts of buckets. The series of an answer usually have the same."""
    moments = np.datetime_as_string(np.frombuffer(buckets, "datetime64[s]")).tolist()
    return [f"{moment}Z" for moment in moments]


def _fleet_points(series: FleetSeries) -> list[JsonObject]:
    points = series.points
    columns = (column.tolist() for column in (points.means, points.minimums, points.maximums))
    return [
        {"timestamp": moment, "value": value, "minimum": minimum, "maximum": maximum}
        for moment, value, minimum, maximum in zip(
            _wire_times(points.buckets.tobytes()), *columns, strict=True
        )
    ]


class FleetSeriesDocument(Answer):
    """A metric of a host over time, or of all hosts together. Buckets without samples are left out."""

    computed = {
        "hostId": lambda series: series.host and series.host.id,
        "hostname": lambda series: series.host and series.host.hostname,
        "port": lambda series: series.host and series.host.port,
        "units": lambda series: base_unit(series.metric),
        "dataPoints": _fleet_points,
    }

    hostId = serializers.CharField(
        required=False, help_text="Absent with an aggregate, as hostname and port."
    )
    hostname = serializers.CharField(required=False)
    port = serializers.IntegerField(required=False)
    metricName = serializers.ChoiceField([metric.value for metric in Metric], source="metric")
    units = serializers.ChoiceField([unit.value for unit in MEASURED_UNITS])
    dataPoints = FleetPointDocument(many=True)


class FleetMeasurementsDocument(Answer):
    """Measurements of several hosts of a project."""

    start = ShownTime(help_text="Start of the first bucket.")
    end = ShownTime()
    granularity = ShownChoice(
        [granularity.value for granularity in Granularity], example=Granularity.PT1M.value
    )
    tier = ShownChoice(
        [tier.value for tier in Tier],
        example=Tier.RAW.value,
        help_text="The stored values that the answer is computed from: as measured, or of five minutes or an "
        "hour. Days without such rollups are computed from the values as measured.",
    )
    series = FleetSeriesDocument(
        many=True,
        example={
            "hostId": AN_ID,
            "hostname": "db1.example.com",
            "port": 27017,
            "metricName": Metric.CONNECTIONS.value,
            "units": Unit.RAW.value,
            "dataPoints": [{"timestamp": A_TIME, "value": 812.0, "minimum": 790.0, "maximum": 845.0}],
        },
    )
    links = links_of(f"/groups/{ANOTHER_ID}/measurements?period=PT1H&m={Metric.CONNECTIONS.value}")


class MetricDocument(Answer):
    """A metric: its meaning, engines and units."""

    computed = {"units": base_unit, "allowedUnits": allowed_units}

    metricName = serializers.CharField(source="value")
    units = serializers.CharField(help_text="The unit of stored values and of reports without units.")
    allowedUnits = serializers.ListField(child=serializers.CharField())
    meaning = serializers.CharField(source="spec.meaning")
    kind = serializers.ChoiceField(
        [kind.value for kind in MetricKind],
        source="spec.kind",
        help_text="RATE: increase of a counter per second, computed by the agent.",
    )
    engines = serializers.ListField(
        child=serializers.ChoiceField([engine.value for engine in Engine]),
        source="spec.engines",
        help_text="Engines that the metric is measured on.",
    )
    deprecated = serializers.BooleanField(
        source="spec.deprecated",
        help_text="Servers no longer have this metric. Reports can still contain it.",
    )

    @classmethod
    def sample(cls) -> JsonObject:
        return cls.of(Metric.CONNECTIONS)
