"""The closed set of metrics."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.serializers.metrics import METRIC_ROWS, MetricDocument
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet


class MetricViewSet(ApiViewSet):
    """`/metricNames`."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [MetricDocument]}

    def index(self, request: Request) -> Response:
        """Every metric with its meaning, kind, units and engines."""
        return self.list(PlainRows(METRIC_ROWS), lambda row: row)
