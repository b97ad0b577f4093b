"""Integrations of a project (endpoints 12 to 14), and the discovery of scrapers (endpoint 15)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from integrations.access import READ, WRITE
from integrations.authentication import DiscoveryAuthentication
from integrations.discovery import target_groups
from integrations.models import Integration
from integrations.redaction import Secrets
from integrations.selectors import integration_of, integrations_of, processes_of
from integrations.serializers import DiscoveryDocument, IntegrationDocument
from integrations.services import integration_create, integration_delete, integration_put
from integrations.types import DEFAULT_LISTEN_ADDRESS, INTEGRATION_TYPES, SCRAPER, exporter_port
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.query import ITEMS_PER_PAGE, LISTING, PAGE_NUM, PAGING, Parameter
from opsapi.api.views import ApiViewSet

_OF_TYPE = (ErrorCode.INVALID_INTEGRATION_TYPE,)
_OF_ONE = (*_OF_TYPE, ErrorCode.INTEGRATION_NOT_CONFIGURED)


class IntegrationViewSet(ApiViewSet):
    """`/groups/{id}/integrations` and `/groups/{id}/integrations/{TYPE}`."""

    access = {"index": READ, "retrieve": READ, "create": WRITE, "replace": WRITE, "destroy": WRITE}
    parameters = {"index": LISTING, "retrieve": PAGING, "destroy": PAGING}
    bodies = {"create": IntegrationDocument, "replace": IntegrationDocument}
    answers = {
        "index": [IntegrationDocument],
        "retrieve": IntegrationDocument,
        "create": IntegrationDocument,
        "replace": IntegrationDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "retrieve": _OF_ONE,
        "create": (*_OF_TYPE, ErrorCode.INTEGRATION_ALREADY_CONFIGURED),
        "replace": _OF_TYPE,
        "destroy": _OF_ONE,
    }

    integration: Integration

    def check_permissions(self, request: Request) -> None:
        """Refuse an unknown type like a malformed id: before checking roles."""
        named = self.kwargs.get("integration_type")
        if named is not None and named not in INTEGRATION_TYPES:
            note = f"Allowed: {', '.join(INTEGRATION_TYPES)}."
            raise ApiError(ErrorCode.INVALID_INTEGRATION_TYPE, named, note=note)
        super().check_permissions(request)

    def load(self) -> None:
        """The integration of the path, if the action needs a stored integration."""
        if self.action in {"retrieve", "destroy"}:
            stored = integration_of(self.group.id, self._type)
            self.integration = get_or_404(
                stored, ErrorCode.INTEGRATION_NOT_CONFIGURED, self._type, self.group.id
            )

    def index(self, request: Request, group_id: str) -> Response:
        """List the integrations of the project, in the order of creation."""
        return self.list(
            integrations_of(self.group.id),
            lambda integration: IntegrationDocument.present(integration, self.links),
        )

    def retrieve(self, request: Request, group_id: str, integration_type: str) -> Response:
        """Get the integration of a type."""
        return self._answer(self.integration)

    def create(self, request: Request, group_id: str, integration_type: str) -> Response:
        """Create the integration of a type. A project has at most one of each type."""
        created = integration_create(
            group_id=self.group.id,
            integration_type=self._type,
            values=self._read({}),
            actor=self.actor,
            now=self.now,
        )
        return self._answer(created)

    def replace(self, request: Request, group_id: str, integration_type: str) -> Response:
        """Create or replace the integration. A redacted secret keeps its stored value."""
        written = integration_put(
            group_id=self.group.id,
            integration_type=self._type,
            read=self._read,
            actor=self.actor,
            now=self.now,
        )
        return self._answer(written)

    def destroy(self, request: Request, group_id: str, integration_type: str) -> Response:
        """Delete the integration and its secrets."""
        integration_delete(
            group_id=self.group.id, integration_type=self._type, actor=self.actor, now=self.now
        )
        return Response()

    @property
    def _type(self) -> str:
        return str(self.kwargs["integration_type"])

    def _read(self, secrets: Secrets) -> Mapping[str, Any]:
        return self.body(type=self._type, secrets=secrets)

    def _answer(self, integration: Integration) -> Response:
        return Response(IntegrationDocument.present(integration, self.links, alone=True))


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
        found = target_groups(processes_of(self.group.id), group=self.group, exporter_port=port)
        return Response(found[_page(self.query)])


def _page(query: Mapping[str, Any]) -> slice:
    number, size = query["pageNum"], query["itemsPerPage"]
    if number is None and size is None:
        return slice(None)
    size = size or ITEMS_PER_PAGE.default
    start = ((number or PAGE_NUM.default) - 1) * size
    return slice(start, start + size)
