"""Hosts of a project, their databases and measurements, and clusters; the closed set of metrics."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_HOSTS
from automation.addresses import read_address
from automation.choices import HostType
from automation.measurement_query import PARAMETERS, read_series_query
from automation.metrics import Metric
from automation.models import Host
from automation.selectors.hosts import (
    cluster_with_id,
    clusters_of,
    databases_of,
    has_database,
    host_at,
    host_with_id,
    hosts_of,
)
from automation.selectors.measurements import measured_series, measurement_retention
from automation.serializers.hosts import (
    ClusterDocument,
    DatabaseDocument,
    HostChange,
    HostDocument,
    MeasurementsDocument,
    MetricDocument,
    NewHost,
    database_path,
    host_path,
)
from automation.services.hosts import host_change, host_create, host_delete
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID
from opsapi.api.errors import ApiError, T, get_or_404
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, identifier_parameter
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet, answers_of, read_write

CLUSTER_ID = identifier_parameter("clusterId", "Only hosts of this cluster.", examples=[AN_ID])


class OfHost(ApiViewSet):
    """Base of views with a host in the path, by id or by name and port."""

    identifiers = {"host_id": ErrorCode.INVALID_HOST_ID}

    def host_of_path(self) -> QuerySet[Host]:
        """The host of the path: at most one row."""
        if "host_id" in self.kwargs:
            return host_with_id(self.kwargs["host_id"], group_id=self.group.id)
        return host_at(read_address(self.kwargs["host_name"]), group_id=self.group.id)

    def found_host(self, host: T | None) -> T:
        """The host. Raises HOST_NOT_FOUND for None, with the id or name of the path."""
        name = self.kwargs.get("host_id") or self.kwargs["host_name"]
        return get_or_404(host, ErrorCode.HOST_NOT_FOUND, name, self.group.id)


class HostViewSet(OfHost):
    """`/groups/{id}/hosts`, `…/{host_id}`, `…/byName/{host}:{port}`."""

    access = {**read_write(READ, WRITE_HOSTS), "by_name": READ}
    parameters = {"index": (*LISTING, CLUSTER_ID)}
    bodies = {"create": NewHost, "update": HostChange}
    answers = {**answers_of(HostDocument), "by_name": HostDocument}
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (ErrorCode.HOST_ALREADY_EXISTS, ErrorCode.LIMIT_REACHED),
        "by_name": (ErrorCode.HOST_NOT_FOUND,),
        "update": (ErrorCode.HOST_ALREADY_EXISTS,),
    }

    host: Facts

    def load(self) -> None:
        if self.kwargs.keys() & {"host_id", "host_name"}:
            self.host = self.found_host(HostDocument.first(self.host_of_path()))

    def index(self, request: Request, group_id: str) -> Response:
        """List hosts by name and port."""
        return self.list_of(HostDocument, hosts_of(self.group.id, cluster_id=self.query["clusterId"]))

    def create(self, request: Request, group_id: str) -> Response:
        """Add a host before an agent reports it."""
        values = self.body(stored={"groupId": self.group.id, "typeName": HostType.NO_DATA.value})
        host = host_create(group_id=self.group.id, values=values, actor=self.actor, now=self.now)
        return self.alone(HostDocument, HostDocument.stored(host))

    def by_name(self, request: Request, group_id: str, host_name: str) -> Response:
        """Get the host at hostname:port, ignoring case. IPv6 addresses can have brackets."""
        return self.alone(HostDocument, self.host)

    def retrieve(self, request: Request, group_id: str, host_id: str) -> Response:
        """Get a host."""
        return self.alone(HostDocument, self.host)

    def update(self, request: Request, group_id: str, host_id: str) -> Response:
        """Change the address of a host. Other facts come from agents."""
        changes = self.body(stored=self.host)
        host_change(group_id=self.group.id, host_id=host_id, changes=changes, actor=self.actor, now=self.now)
        return self.alone(HostDocument, self.found_host(HostDocument.first(self.host_of_path())))

    def destroy(self, request: Request, group_id: str, host_id: str) -> Response:
        """Delete a host and its measurements. An agent that still reports it adds it again."""
        host_delete(group_id=self.group.id, host_id=host_id, actor=self.actor, now=self.now)
        return Response(status=204)


class OfDatabase(OfHost):
    """Base of views with a host, and maybe one of its databases, in the path."""

    host: Host

    def load(self) -> None:
        self.host = self.found_host(self.host_of_path().first())
        name = self.kwargs.get("database_name")
        if name is not None and not has_database(self.host, name):
            raise ApiError(ErrorCode.DATABASE_NOT_FOUND, name, str(self.host.address))


class DatabaseViewSet(OfDatabase):
    """`/groups/{id}/hosts/{host_id}/databases[/{name}]`."""

    access = {"index": READ, "retrieve": READ}
    parameters = {"index": LISTING}
    answers = {"index": [DatabaseDocument], "retrieve": DatabaseDocument}
    refusals = {"retrieve": (ErrorCode.DATABASE_NOT_FOUND,)}

    def index(self, request: Request, group_id: str, host_id: str) -> Response:
        """List databases by name."""
        return self.list_of(DatabaseDocument, databases_of(self.host))

    def retrieve(self, request: Request, group_id: str, host_id: str, database_name: str) -> Response:
        """Get a database."""
        return self.alone(DatabaseDocument, {"databaseName": database_name})


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


class MetricViewSet(ApiViewSet):
    """`/metricNames`."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [MetricDocument]}

    def index(self, request: Request) -> Response:
        """List all metrics with meaning, kind, units and engines."""
        return self.list(PlainRows(Metric), MetricDocument.of)


class ClusterViewSet(ApiViewSet):
    """`/groups/{id}/clusters[/{cluster_id}]`."""

    access = {"index": READ, "retrieve": READ}
    parameters = {"index": LISTING}
    answers = {"index": [ClusterDocument], "retrieve": ClusterDocument}
    identifiers = {"cluster_id": ErrorCode.INVALID_CLUSTER_ID}

    cluster: Facts

    def load(self) -> None:
        if "cluster_id" in self.kwargs:
            cluster_id = self.kwargs["cluster_id"]
            cluster = cluster_with_id(cluster_id, group_id=self.group.id)
            self.cluster = ClusterDocument.found(
                cluster, ErrorCode.CLUSTER_NOT_FOUND, cluster_id, self.group.id
            )

    def index(self, request: Request, group_id: str) -> Response:
        """List clusters by name."""
        return self.list_of(ClusterDocument, clusters_of(self.group.id))

    def retrieve(self, request: Request, group_id: str, cluster_id: str) -> Response:
        """Get a cluster."""
        return self.alone(ClusterDocument, self.cluster)
