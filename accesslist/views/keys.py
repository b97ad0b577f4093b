"""API keys of a project, of an organization and of the installation."""

from collections.abc import Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import (
    READ_GLOBAL,
    READ_ORG,
    READ_PROJECT,
    WRITE_GLOBAL,
    WRITE_ORG,
    WRITE_PROJECT_ACCESS,
)
from accesslist.rules.role_requests import RoleRequest, asked_roles
from accesslist.selectors.keys import keys_in
from accesslist.serializers.keys import ApiKeyChange, ApiKeyDocument, ApiKeyInput
from accesslist.services.keys import api_key_delete, api_key_issue, api_key_update, key_facts
from accesslist.views.base import (
    ROLE_CHANGE_REFUSALS,
    ROLE_SCOPE_REFUSALS,
    InGroup,
    InInstallation,
    InOrg,
    PlaceViewSet,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import Access
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts

_GIVING = (*ROLE_SCOPE_REFUSALS, ErrorCode.ROLE_NOT_HELD)


def _access(read: Access, write: Access) -> Mapping[str, Access]:
    return {"index": read, "retrieve": read, "create": write, "update": write, "destroy": write}


class ApiKeyViewSet(PlaceViewSet):
    """Base of the three views: each shows, grants and revokes only roles in the scope of its path."""

    parameters = {"index": LISTING}
    bodies = {"create": ApiKeyInput, "update": ApiKeyChange}
    answers = {
        "index": [ApiKeyDocument],
        "retrieve": ApiKeyDocument,
        "create": ApiKeyDocument,
        "update": ApiKeyDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": _GIVING,
        "update": (*_GIVING, *ROLE_CHANGE_REFUSALS),
        "destroy": ROLE_CHANGE_REFUSALS,
    }
    identifiers = {"key_id": ErrorCode.INVALID_API_KEY_ID}

    key: Facts

    def load(self) -> None:
        """The key of the path, which must have a role in the scope."""
        if "key_id" in self.kwargs:
            self.key = key_facts(self.kwargs["key_id"], self.here)

    def index(self, request: Request, **path: str) -> Response:
        """List the keys with a role in the scope of the path."""
        return self.list_of(ApiKeyDocument, keys_in(self.here))

    def retrieve(self, request: Request, **path: str) -> Response:
        """Get a key."""
        return self.alone(ApiKeyDocument, self.key)

    def create(self, request: Request, **path: str) -> Response:
        """Create a key. Only this response contains the complete private key."""
        body = self.body()
        roles = RoleRequest(asked_roles(body["roles"]), self.here, self.caller.grants)
        new = api_key_issue(desc=body["desc"], roles=roles, actor=self.actor, now=self.now)
        return self.alone(ApiKeyDocument, new.facts)

    def update(self, request: Request, **path: str) -> Response:
        """Change the description of a key, or its roles in the scope of the path."""
        body = self.body(stored=self.key)
        api_key_update(
            key_id=self.key["id"],
            here=self.here,
            desc=body.get("desc"),
            asked=asked_roles(body["roles"]) if "roles" in body else None,
            by=self.caller.grants,
            actor=self.actor,
            now=self.now,
        )
        return self.alone(ApiKeyDocument, key_facts(self.key["id"], self.here))

    def destroy(self, request: Request, **path: str) -> Response:
        """Revoke the key's roles in the scope of the path. A key without roles is deleted."""
        api_key_delete(key_id=self.key["id"], here=self.here, actor=self.actor, now=self.now)
        return Response()


class GroupKeyViewSet(InGroup, ApiKeyViewSet):
    """`/groups/{id}/apiKeys`: keys with a role in the project."""

    access = _access(READ_PROJECT, WRITE_PROJECT_ACCESS)


class OrgKeyViewSet(InOrg, ApiKeyViewSet):
    """`/orgs/{id}/apiKeys`: keys with a role in the organization or in one of its projects."""

    access = _access(READ_ORG, WRITE_ORG)


class InstallationKeyViewSet(InInstallation, ApiKeyViewSet):
    """`/admin/apiKeys`: all keys of the installation."""

    access = _access(READ_GLOBAL, WRITE_GLOBAL)
