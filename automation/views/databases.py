"""Databases of a host: the list, and one database (endpoint 11)."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ
from automation.reports import Address
from automation.selectors.databases import DatabaseRow, database_row, database_rows
from automation.serializers.databases import DatabaseDocument, present_database
from automation.views.hosts import OfHost
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.query import LISTING


class OfDatabase(OfHost):
    """What can have a database of the host in its path."""

    database: DatabaseRow | None = None

    def load(self) -> None:
        """The host of the path, and its database."""
        super().load()
        if "database_name" in self.kwargs:
            name = self.kwargs["database_name"]
            row = database_row(name, host_id=self.host["id"])
            address = str(Address(self.host["hostname"], self.host["port"]))
            self.database = found(row, ErrorCode.DATABASE_NOT_FOUND, name, address)


class DatabaseViewSet(OfDatabase):
    """`/groups/{id}/hosts/{host_id}/databases[/{name}]`."""

    access = {"index": READ, "retrieve": READ}
    parameters = {"index": LISTING}
    answers = {"index": [DatabaseDocument], "retrieve": DatabaseDocument}
    refusals = {"retrieve": (ErrorCode.DATABASE_NOT_FOUND,)}

    def index(self, request: Request, group_id: str, host_id: str) -> Response:
        """Databases by name."""
        rows = database_rows(self.host["id"])
        return self.list(rows, lambda row: present_database(row, self.host, self.links))

    def retrieve(self, request: Request, group_id: str, host_id: str, database_name: str) -> Response:
        """One database."""
        row = {"name": database_name}
        return Response(present_database(row, self.host, self.links, alone=True))
