"""Hosts of a project and their databases."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_HOSTS
from automation.addresses import read_address
from automation.choices import HostType
from automation.models import Host
from automation.selectors.hosts import databases_of, has_database, host_at, hosts_of
from automation.serializers.hosts import DatabaseDocument, HostChange, HostDocument, NewHost
from automation.services.hosts import host_change, host_create, host_delete
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID
from opsapi.api.errors import ApiError, T, get_or_404
from opsapi.api.query import LISTING, Parameter, read_identifier
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet
from opsapi.ids import ID_PATTERN

CLUSTER_ID = Parameter(
    "clusterId",
    read_identifier,
    None,
    {"type": "string", "pattern": f"^{ID_PATTERN}$", "examples": [AN_ID]},
    "Only hosts of this cluster.",
)


class OfHost(ApiViewSet):
    """Base of views with a host in the path, by id or by name and port."""

    identifiers = {"host_id": ErrorCode.INVALID_HOST_ID}

    def host_of_path(self) -> QuerySet[Host]:
        """The host of the path: at most one row."""
        if "host_id" in self.kwargs:
            return hosts_of(self.group.id).filter(id=self.kwargs["host_id"])
        return host_at(read_address(self.kwargs["host_name"]), group_id=self.group.id)

    def found_host(self, host: T | None) -> T:
        """The host. Raises HOST_NOT_FOUND for None, with the id or name of the path."""
        name = self.kwargs.get("host_id") or self.kwargs["host_name"]
        return get_or_404(host, ErrorCode.HOST_NOT_FOUND, name, self.group.id)


class HostViewSet(OfHost):
    """`/groups/{id}/hosts`, `…/{host_id}`, `…/byName/{host}:{port}`."""

    access = {
        "index": READ,
        "create": WRITE_HOSTS,
        "by_name": READ,
        "retrieve": READ,
        "update": WRITE_HOSTS,
        "destroy": WRITE_HOSTS,
    }
    parameters = {"index": (*LISTING, CLUSTER_ID)}
    bodies = {"create": NewHost, "update": HostChange}
    answers = {
        "index": [HostDocument],
        "create": HostDocument,
        "by_name": HostDocument,
        "retrieve": HostDocument,
        "update": HostDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (ErrorCode.HOST_ALREADY_EXISTS, ErrorCode.LIMIT_REACHED),
        "by_name": (ErrorCode.HOST_NOT_FOUND,),
        "update": (ErrorCode.HOST_ALREADY_EXISTS,),
    }

    host: Facts

    def load(self) -> None:
        """The host of the path."""
        if self.kwargs.keys() & {"host_id", "host_name"}:
            self.host = self.found_host(HostDocument.first(self.host_of_path()))

    def index(self, request: Request, group_id: str) -> Response:
        """List hosts by name and port."""
        hosts, cluster_id = hosts_of(self.group.id), self.query["clusterId"]
        return self.list_of(HostDocument, hosts if cluster_id is None else hosts.filter(cluster=cluster_id))

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
        """The host of the path, and its database."""
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
