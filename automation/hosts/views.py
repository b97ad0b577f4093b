"""Endpoints of hosts, databases and clusters."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_HOSTS
from automation.addresses import read_address
from automation.choices import HostType
from automation.hosts.changes import host_change, host_create, host_delete
from automation.hosts.models import Host
from automation.hosts.resource import ClusterDocument, DatabaseDocument, HostChange, HostDocument, NewHost
from automation.hosts.store import (
    cluster_with_id,
    clusters_of,
    databases_of,
    has_database,
    host_at,
    host_with_id,
    hosts_of,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID
from opsapi.api.errors import ApiError, T, get_or_404
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
