"""API keys of a project, and of the installation for reading (decisions 3 "keys")."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.principal import KeyPrincipal
from accesslist.selectors.keys import KeyRow, key_row, key_rows
from accesslist.serializers.keys import ApiKeyDocument, ApiKeyInput, present_key
from accesslist.services.keys import api_key_create
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, found
from opsapi.api.permissions import in_group, in_installation
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet
from opsapi.roles import Grant, Role, Scope

_WRITERS = (Role.GROUP_OWNER, Role.GROUP_USER_ADMIN)


class GroupKeyViewSet(ApiViewSet):
    """`/groups/{id}/apiKeys`: keys that hold a role in the project."""

    access = {
        "index": in_group(Role.GROUP_READ_ONLY),
        "retrieve": in_group(Role.GROUP_READ_ONLY),
        "create": in_group(*_WRITERS),
    }
    parameters = {"index": LISTING}
    bodies = {"create": ApiKeyInput}
    answers = {"index": [ApiKeyDocument], "retrieve": ApiKeyDocument, "create": ApiKeyDocument}
    statuses = {"create": 201}
    identifiers = {"key_id": ErrorCode.INVALID_API_KEY_ID}

    key: KeyRow

    def load(self) -> None:
        """The key of the path, which has to hold a role in the project."""
        if "key_id" in self.kwargs:
            key_id = self.kwargs["key_id"]
            row = key_row(key_id, group_id=self.group.id)
            self.key = found(row, ErrorCode.API_KEY_NOT_FOUND, key_id)

    def index(self, request: Request, group_id: str) -> Response:
        """The project's keys."""
        return self.list(key_rows(group_id=self.group.id), self._present)

    def retrieve(self, request: Request, group_id: str, key_id: str) -> Response:
        """One key."""
        return Response(self._present(self.key))

    def create(self, request: Request, group_id: str) -> Response:
        """A new key; its private part is shown in this answer only."""
        body = self.body()
        grants = _grants_in_group(body["roles"], self.group.id)
        self._refuse_roles_not_held(grants)
        new = api_key_create(
            desc=body["desc"], grants=grants, actor=self.actor, now=self.now, group_id=self.group.id
        )
        row = key_rows().get(id=new.key.id)
        return Response(self._present(row, new.private_key), status=201)

    def _refuse_roles_not_held(self, grants: Sequence[Grant]) -> None:
        caller = cast(KeyPrincipal, self.request.auth)
        scope = Scope(org_id=self.group.org_id, group_id=self.group.id)
        for grant in grants:
            if not caller.holds(grant.role, scope):
                raise ApiError(ErrorCode.ROLE_NOT_HELD, grant.role.value)

    def _present(self, row: KeyRow, private_key: str | None = None) -> dict[str, Any]:
        path = f"/groups/{self.group.id}/apiKeys/{row['id']}"
        return {**present_key(row, private_key), "links": self.links.self_only(path)}


class InstallationKeyViewSet(ApiViewSet):
    """`/admin/apiKeys`: every key of the installation."""

    access = {
        "index": in_installation(Role.GLOBAL_READ_ONLY),
        "retrieve": in_installation(Role.GLOBAL_READ_ONLY),
    }
    parameters = {"index": LISTING}
    answers = {"index": [ApiKeyDocument], "retrieve": ApiKeyDocument}
    identifiers = {"key_id": ErrorCode.INVALID_API_KEY_ID}

    key: KeyRow

    def load(self) -> None:
        """The key of the path."""
        if "key_id" in self.kwargs:
            key_id = self.kwargs["key_id"]
            self.key = found(key_row(key_id), ErrorCode.API_KEY_NOT_FOUND, key_id)

    def index(self, request: Request) -> Response:
        """All keys."""
        return self.list(key_rows(), self._present)

    def retrieve(self, request: Request, key_id: str) -> Response:
        """One key."""
        return Response(self._present(self.key))

    def _present(self, row: KeyRow) -> dict[str, Any]:
        return {**present_key(row), "links": self.links.self_only(f"/admin/apiKeys/{row['id']}")}


def _grants_in_group(roles: Sequence[Mapping[str, Any]], group_id: str) -> list[Grant]:
    """The grants asked for; every role that is none of a project's is named.

    Raises:
        ApiError: ROLE_NEEDS_NO_GROUP_ID, INVALID_ATTRIBUTE.
    """
    bad = [fault for place, role in enumerate(roles) if (fault := _fault(place, role, group_id))]
    if bad:
        raise ApiError.of_fields(bad)
    return [Grant(Role(role["roleName"]), group_id=group_id) for role in roles]


def _fault(place: int, role: Mapping[str, Any], group_id: str) -> BadField | None:
    if not Role(role["roleName"]).is_group:
        allowed = [known.value for known in Role if known.is_group]
        path = f"roles[{place}].roleName"
        return BadField(path, ErrorCode.ROLE_NEEDS_NO_GROUP_ID, "is not a role in a project", allowed)
    for name, expected in (("groupId", group_id), ("orgId", None)):
        if role.get(name, expected) != expected:
            message = "a key of a project has roles in that project only"
            return BadField(f"roles[{place}].{name}", ErrorCode.INVALID_ATTRIBUTE, message)
    return None
