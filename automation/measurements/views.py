"""Endpoints of measurements and metrics."""

from collections.abc import Sequence

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ
from automation.hosts.models import Host
from automation.hosts.resource import database_path, host_path
from automation.hosts.store import hosts_of, unknown_host_ids
from automation.hosts.views import OfDatabase
from automation.measurements.fleet_query import (
    FLEET_PARAMETERS,
    MOST_SERIES,
    FleetQuery,
    most_hosts,
    read_fleet_query,
    too_many_hosts,
    too_many_series,
)
from automation.measurements.fleet_series import fleet_series
from automation.measurements.query import PARAMETERS, read_series_query
from automation.measurements.resource import FleetMeasurementsDocument, MeasurementsDocument, MetricDocument
from automation.measurements.store import measured_series
from automation.measurements.tiers import kept_tiers, measurement_retention
from automation.metrics import Metric
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet


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
        """Get measurements of the host: the mean of each bucket of time."""
        return self._measured()

    def of_database(self, request: Request, group_id: str, host_id: str, database_name: str) -> Response:
        """Get measurements of the database: the mean of each bucket of time."""
        return self._measured(database_name)

    def _measured(self, database: str | None = None) -> Response:
        query = read_series_query(self.query, now=self.now, retention=measurement_retention())
        series = measured_series(self.host.id, query, database=database)
        links = self._related(database)
        document = MeasurementsDocument.of(
            query,
            groupId=self.host.group_id,
            hostId=self.host.id,
            processId=str(self.host.address),
            databaseName=database,
            measurements=series,
            links=links,
        )
        return Response(document)

    def _related(self, database: str | None) -> list[dict[str, str]]:
        """Links to the same query, and to the project, host and database."""
        relations = {"group": f"/groups/{self.group.id}", "host": host_path(self.host)}
        place = host_path(self.host)
        if database is not None:
            place = relations["database"] = database_path(self.host, database)
        return self.links.related(f"{place}/measurements?{self.http_request.GET.urlencode()}", relations)


class FleetMeasurementViewSet(ApiViewSet):
    """`/groups/{id}/measurements`."""

    access = {"of_group": READ}
    parameters = {"of_group": FLEET_PARAMETERS}
    answers = {"of_group": FleetMeasurementsDocument}
    refusals = {"of_group": (ErrorCode.MISSING_QUERY_PARAMETER, ErrorCode.HOST_NOT_FOUND)}

    def of_group(self, request: Request, group_id: str) -> Response:
        """Get measurements of several hosts: mean, minimum and maximum of each bucket of time."""
        query = read_fleet_query(self.query, now=self.now, kept=kept_tiers())
        hosts = self._hosts(query)
        series = fleet_series(hosts, query)
        if len(hosts) > 1 and len(series) > MOST_SERIES:
            raise too_many_series(len(hosts), len(series))
        path = f"/groups/{self.group.id}"
        links = self.links.related(
            f"{path}/measurements?{self.http_request.GET.urlencode()}", {"group": path}
        )
        return Response(FleetMeasurementsDocument.of(query, series=series, links=links))

    def _hosts(self, query: FleetQuery) -> Sequence[Host]:
        """The hosts of the query, by hostname and port. Raises HOST_NOT_FOUND for a named host."""
        most = most_hosts(query)
        if len(query.host_ids) > most:
            raise too_many_hosts(query)
        for unknown in unknown_host_ids(self.group.id, query.host_ids):
            raise ApiError(ErrorCode.HOST_NOT_FOUND, unknown, self.group.id)
        hosts = hosts_of(
            self.group.id,
            cluster_id=query.cluster_id,
            replica_set_name=query.replica_set_name,
            host_ids=query.host_ids or None,
        )[: most + 1]
        if len(hosts) > most:
            raise too_many_hosts(query)
        return list(hosts)


class MetricViewSet(ApiViewSet):
    """`/metricNames`."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [MetricDocument]}

    def index(self, request: Request) -> Response:
        """List all metrics with meaning, kind, units and engines."""
        return self.list(PlainRows(Metric), MetricDocument.of)
