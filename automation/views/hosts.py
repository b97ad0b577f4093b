"""Hosts: listed, created, read, renamed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_HOSTS
from automation.addresses import read_address
from automation.reports import Address
from automation.selectors.hosts import HostRow, host_row, host_row_at, host_rows
from automation.serializers.hosts import HostChange, HostDocument, NewHost, present_host, unreported
from automation.services.hosts import host_change, host_create, host_delete
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.examples import AN_ID
from opsapi.api.query import LISTING, Parameter, read_identifier
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
    """What has a host in its path: by id, or by name and port."""

    identifiers = {"host_id": ErrorCode.INVALID_HOST_ID}

    host: HostRow

    def load(self) -> None:
        """The host of the path."""
        if "host_id" in self.kwargs:
            self.host = self.host_now(self.kwargs["host_id"])
        elif "host_name" in self.kwargs:
            self.host = self._host_at(self.kwargs["host_name"])

    def host_now(self, host_id: str) -> HostRow:
        """The host as it is in the database now."""
        row = host_row(host_id, group_id=self.group.id)
        return found(row, ErrorCode.HOST_NOT_FOUND, host_id, self.group.id)

    def _host_at(self, text: str) -> HostRow:
        address = read_address(text)
        row = host_row_at(address, group_id=self.group.id) if address else None
        return found(row, ErrorCode.HOST_NOT_FOUND, text, self.group.id)


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

    def index(self, request: Request, group_id: str) -> Response:
        """Hosts by name and port."""
        rows = host_rows(self.group.id, cluster_id=self.query["clusterId"])
        return self.list(rows, lambda row: present_host(row, self.links))

    def create(self, request: Request, group_id: str) -> Response:
        """Adds a host before any agent reports it."""
        values = self.body(stored=unreported(self.group.id))
        address = Address(values["hostname"], values["port"])
        host = host_create(group_id=self.group.id, address=address, actor=self.actor, now=self.now)
        return Response(present_host(self.host_now(host.id), self.links, alone=True))

    def by_name(self, request: Request, group_id: str, host_name: str) -> Response:
        """The host at hostname:port, IPv6 in brackets or without; the case of the name does not matter."""
        return Response(present_host(self.host, self.links, alone=True))

    def retrieve(self, request: Request, group_id: str, host_id: str) -> Response:
        """One host."""
        return Response(present_host(self.host, self.links, alone=True))

    def update(self, request: Request, group_id: str, host_id: str) -> Response:
        """Gives it another address; agents say the rest."""
        changes = self.body(stored=present_host(self.host, self.links, alone=True))
        host_change(group_id=self.group.id, host_id=host_id, changes=changes, actor=self.actor, now=self.now)
        return Response(present_host(self.host_now(host_id), self.links, alone=True))

    def destroy(self, request: Request, group_id: str, host_id: str) -> Response:
        """Deletes it with what was measured on it; an agent that goes on reporting it adds it anew."""
        host_delete(group_id=self.group.id, host_id=host_id, actor=self.actor, now=self.now)
        return Response(status=204)
