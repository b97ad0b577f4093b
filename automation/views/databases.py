"""Databases of a host."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ
from automation.models import Host
from automation.selectors.databases import databases_of, has_database
from automation.serializers.databases import DatabaseDocument, present_database
from automation.views.hosts import OfHost
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.query import LISTING


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
        """Databases by name."""
        names = databases_of(self.host).values_list("name", flat=True)
        return self.list(names, lambda name: present_database(name, self.host, self.links))

    def retrieve(self, request: Request, group_id: str, host_id: str, database_name: str) -> Response:
        """One database."""
        return Response(present_database(database_name, self.host, self.links, alone=True))
