"""Measurements of a host, or of one of its databases, over time."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ
from automation.measurement_query import PARAMETERS, read_series_query
from automation.retention import measurement_retention
from automation.serializers.databases import database_path
from automation.serializers.hosts import host_path
from automation.serializers.measurements import MeasurementsDocument, present_measurements
from automation.series import measured_series
from automation.views.databases import OfDatabase
from opsapi.api.catalogue import ErrorCode


class MeasurementViewSet(OfDatabase):
    """`/groups/{id}/hosts/{host_id}/measurements` and `…/databases/{name}/measurements`."""

    access = {"of_host": READ, "of_database": READ}
    parameters = {"of_host": PARAMETERS, "of_database": PARAMETERS}
    answers = {"of_host": MeasurementsDocument, "of_database": MeasurementsDocument}
    refusals = {
        "of_host": (ErrorCode.MISSING_QUERY_PARAMETER,),
        "of_database": (ErrorCode.MISSING_QUERY_PARAMETER, ErrorCode.DATABASE_NOT_FOUND),
    }

    def of_host(self, request: Request, group_id: str, host_id: str) -> Response:
        """Measurements of the host: the mean of each bucket of time."""
        return self._measured()

    def of_database(self, request: Request, group_id: str, host_id: str, database_name: str) -> Response:
        """Measurements of the database: the mean of each bucket of time."""
        return self._measured(database_name)

    def _measured(self, database: str | None = None) -> Response:
        query = read_series_query(self.query, now=self.now, retention=measurement_retention())
        series = measured_series(self.host.id, query, database=database)
        links = self._related(database)
        return Response(present_measurements(self.host, query, series, links, database=database))

    def _related(self, database: str | None) -> list[dict[str, str]]:
        """Links to the same query, and to the project, host and database."""
        relations = {"group": f"/groups/{self.group.id}", "host": host_path(self.host)}
        place = host_path(self.host)
        if database is not None:
            place = relations["database"] = database_path(self.host, database)
        return self.links.related(f"{place}/measurements?{self.http_request.GET.urlencode()}", relations)
