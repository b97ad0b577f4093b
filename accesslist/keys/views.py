"""Endpoints of API keys."""

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
from accesslist.keys.changes import api_key_delete, api_key_issue, api_key_update, key_facts
from accesslist.keys.resource import ApiKeyChange, ApiKeyDocument, ApiKeyInput
from accesslist.keys.store import keys_in
from accesslist.roles.rules import RoleRequest, asked_roles
from accesslist.views import ROLE_CHANGE_REFUSALS, ROLE_SCOPE_REFUSALS, PlaceViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts
from opsapi.api.views import answers_of, read_write

_GIVING = (*ROLE_SCOPE_REFUSALS, ErrorCode.ROLE_NOT_HELD)


class ApiKeyViewSet(PlaceViewSet):
    """Base of the three views: each shows, grants and revokes only roles in the scope of its path."""

    parameters = {"index": LISTING}
    bodies = {"create": ApiKeyInput, "update": ApiKeyChange}
    answers = answers_of(ApiKeyDocument)
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
        roles = RoleRequest(asked_roles(body.pop("roles")), self.here, self.caller.grants)
        new = api_key_issue(values=body, roles=roles, actor=self.actor, now=self.now)
        return self.alone(ApiKeyDocument, new.facts)

    def update(self, request: Request, **path: str) -> Response:
        """Change the description of a key, or its roles in the scope of the path."""
        body = self.body(stored=self.key)
        roles = body.pop("roles", None)
        api_key_update(
            key_id=self.key["id"],
            here=self.here,
            changes=body,
            asked=None if roles is None else asked_roles(roles),
            by=self.caller.grants,
            actor=self.actor,
            now=self.now,
        )
        return self.alone(ApiKeyDocument, key_facts(self.key["id"], self.here))

    def destroy(self, request: Request, **path: str) -> Response:
        """Revoke the key's roles in the scope of the path. A key without roles is deleted."""
        api_key_delete(key_id=self.key["id"], here=self.here, actor=self.actor, now=self.now)
        return Response()


class GroupKeyViewSet(ApiKeyViewSet):
    """`/groups/{id}/apiKeys`: keys with a role in the project."""

    access = read_write(READ_PROJECT, WRITE_PROJECT_ACCESS)


class OrgKeyViewSet(ApiKeyViewSet):
    """`/orgs/{id}/apiKeys`: keys with a role in the organization or in one of its projects."""

    access = read_write(READ_ORG, WRITE_ORG)


class InstallationKeyViewSet(ApiKeyViewSet):
    """`/admin/apiKeys`: all keys of the installation."""

    access = read_write(READ_GLOBAL, WRITE_GLOBAL)
