"""Integrations of a project (endpoints 12 to 14)."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from integrations.access import READ, WRITE
from integrations.credentials.changes import integration_create, integration_delete, integration_put
from integrations.credentials.models import Integration
from integrations.credentials.resource import IntegrationDocument
from integrations.credentials.store import integration_of, integrations_of
from integrations.redaction import Secrets
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.query import LISTING, PAGING
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
