"""Databases as the API shows them."""

from urllib.parse import quote

from rest_framework import serializers

from automation.models import Host
from automation.serializers.hosts import host_path, last_hour
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import AN_ID, ANOTHER_ID, self_link
from opsapi.api.links import Links
from opsapi.wire_json import JsonObject


class DatabaseDocument(Document):
    """A database of a host."""

    example = {
        "databaseName": "orders",
        "links": self_link(f"/groups/{ANOTHER_ID}/hosts/{AN_ID}/databases/orders"),
    }

    databaseName = serializers.CharField()
    links = LinkDocument(many=True)


def database_path(host: Host, name: str) -> str:
    """Return the path of the database in the API."""
    return f"{host_path(host)}/databases/{quote(name, safe='')}"


def present_database(name: str, host: Host, links: Links, *, alone: bool = False) -> JsonObject:
    """Return the document of a database; `alone` adds its relations."""
    path = database_path(host, name)
    relations = {
        "group": f"/groups/{host.group_id}",
        "host": host_path(host),
        "measurements": last_hour(path),
    }
    return {"databaseName": name, "links": links.related(path, relations if alone else {})}
