"""Scraper discovery: endpoint 15 (decisions 8 "discovery")."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from automation.addresses import Address
from automation.selectors.hosts import hosts_of
from integrations.access import READ
from integrations.authentication import DiscoveryAuthentication
from integrations.discovery import Process, target_groups
from integrations.scraper import DEFAULT_LISTEN_ADDRESS, SCRAPER, exporter_port
from integrations.selectors import integrations_of
from integrations.serializers.discovery import DiscoveryDocument
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
        found = target_groups(self._processes(), group=self.group, exporter_port=self._exporter_port())
        return Response(found[_page(self.query)])

    def _processes(self) -> list[Process]:
        named = ("hostname", "port", "cluster_name", "replica_set_name", "labels")
        rows = hosts_of(self.group.id).order_by().values_list(*named)
        return [Process(Address(hostname, port), *known) for hostname, port, *known in rows]

    def _exporter_port(self) -> int:
        scraper = integrations_of(self.group.id).filter(type=SCRAPER.type).first()
        return exporter_port(scraper.fields["listenAddress"] if scraper else DEFAULT_LISTEN_ADDRESS)


def _page(query: Mapping[str, Any]) -> slice:
    number, size = query["pageNum"], query["itemsPerPage"]
    if number is None and size is None:
        return slice(None)
    size = size or ITEMS_PER_PAGE.default
    start = ((number or PAGE_NUM.default) - 1) * size
    return slice(start, start + size)
