"""Pages of rows with hosts: charts, and the JSON that they are drawn from."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, path, reverse

from automation.hosts.charts import (
    RANGES,
    USUAL,
    ChartRequestError,
    chart_metrics,
    chart_period,
    charts_of,
)
from automation.hosts.models import Host
from automation.metrics import Metric, by_subject
from opsapi import clock
from opsapi.console.actions import operator_of
from opsapi.console.display import Context
from opsapi.console.model_admin import ConsoleAdmin


class ChartPages(ConsoleAdmin):
    """A row with hosts: its page shows charts of their measurements."""

    def charted_hosts(self, row: Any) -> Sequence[Host]:
        """The hosts of the row, at most MOST_HOSTS + 1, in the order of their lines."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        """Adds the data of the charts."""
        data = path(
            "<path:object_id>/charts/",
            self.admin_site.admin_view(self.charts_view),
            name=self._name("charts"),
        )
        return [data, *super().get_urls()]

    def charts_view(self, request: HttpRequest, object_id: str) -> JsonResponse:
        """The data of the charts as JSON; 400 with a sentence if the URL asks for anything else."""
        self.require_reading(request)
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise self._missing(unquote(object_id))
        hosts, now = self.charted_hosts(row), clock.now()
        try:
            period, metrics = chart_period(request.GET, now), chart_metrics(request.GET, hosts)
        except ChartRequestError as error:
            return JsonResponse({"detail": str(error)}, status=400)
        return JsonResponse(charts_of(hosts, metrics, period, operator_of(request).visible_scope(), now))

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Adds the address of the data, the ranges, and the metrics that can be added."""
        return {**super().page_context(request, row), "charts": self._charts(row)}

    def _charts(self, row: Any) -> Context:
        return {
            "url": reverse(f"admin:{self._name('charts')}", args=[quote(row.pk)]),
            "ranges": RANGES,
            "usual": USUAL,
            "metrics": list(by_subject(list(Metric))),
        }
