"""The discovery of scrapers (endpoint 15)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from integrations.access import READ
from integrations.credentials.store import integration_of
from integrations.discovery.authentication import DiscoveryAuthentication
from integrations.discovery.resource import DiscoveryDocument
from integrations.discovery.rules import target_groups
from integrations.discovery.store import processes_of
from integrations.types import DEFAULT_LISTEN_ADDRESS, SCRAPER, exporter_port
from opsapi.api.query import ITEMS_PER_PAGE, PAGE_NUM, Parameter
from opsapi.api.views import ApiViewSet


def _optional(parameter: Parameter) -> Parameter:
    """The parameter without default: the whole list is returned unless a page is requested."""
    schema = {name: value for name, value in (parameter.schema or {}).items() if name != "default"}
    return replace(parameter, default=None, schema=schema)


class DiscoveryViewSet(ApiViewSet):
    """`/groups/{id}/discovery` below the scrapers' base."""

    authentication_classes = [DiscoveryAuthentication]
    security = ("digest", "basic")
    access = {"retrieve": READ}
    parameters = {"retrieve": (_optional(PAGE_NUM), _optional(ITEMS_PER_PAGE))}
    answers = {"retrieve": DiscoveryDocument}
    linked = False

    def retrieve(self, request: Request, group_id: str) -> Response:
        """The exporters of the project's hosts, for Prometheus' HTTP service discovery.

        In addition to an API key with HTTP Digest, it accepts the user name and password of the project's
        SCRAPER integration with HTTP Basic, sent preemptively.
        """
        scraper = integration_of(self.group.id, SCRAPER.type)
        port = exporter_port(scraper.fields["listenAddress"] if scraper else DEFAULT_LISTEN_ADDRESS)
        targets = target_groups(processes_of(self.group.id), group=self.group, exporter_port=port)
        return Response(targets[_page(self.query)])


def _page(query: Mapping[str, Any]) -> slice:
    number, size = query["pageNum"], query["itemsPerPage"]
    if number is None and size is None:
        return slice(None)
    size = size or ITEMS_PER_PAGE.default
    start = ((number or PAGE_NUM.default) - 1) * size
    return slice(start, start + size)
