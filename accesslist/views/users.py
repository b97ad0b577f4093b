"""Users, as user admins and those beside them see them (decisions 2, 3)."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.models import User
from accesslist.rules.administering import ADMINISTRATORS, administers_somewhere
from accesslist.rules.granting import RoleRequest, asked_roles
from accesslist.selectors.users import Orgs, UserRow, user_rows, visible_user_named, visible_user_rows
from accesslist.serializers.users import (
    UserDocument,
    UserInput,
    UserRolesInput,
    new_user,
)
from accesslist.services.user_roles import user_roles_replace
from accesslist.services.users import user_create, user_delete
from accesslist.views.base import (
    NEW_USER_REFUSALS,
    ROLE_CHANGE_REFUSALS,
    ROLE_PLACE_REFUSALS,
    UserPresentingViewSet,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, found
from opsapi.api.permissions import ANY_KEY, in_installation
from opsapi.api.query import LISTING
from opsapi.roles import INSTALLATION, Role


class UserViewSet(UserPresentingViewSet):
    """`/users`, `/users/{id}` and `/users/byName/{name}`."""

    access = {
        "index": ANY_KEY,
        "create": in_installation(Role.GLOBAL_USER_ADMIN),
        "retrieve": ANY_KEY,
        "update": ANY_KEY,
        "destroy": in_installation(Role.GLOBAL_USER_ADMIN),
    }
    parameters = {"index": LISTING}
    bodies = {"create": UserInput, "update": UserRolesInput}
    answers = {
        "index": [UserDocument],
        "create": UserDocument,
        "retrieve": UserDocument,
        "update": UserDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (*NEW_USER_REFUSALS, *ROLE_PLACE_REFUSALS),
        "retrieve": (ErrorCode.USERNAME_NOT_FOUND,),
        "update": (
            ErrorCode.USER_UNAUTHORIZED,
            ErrorCode.CANNOT_ADD_GLOBAL_ROLE,
            ErrorCode.ROLE_NOT_HELD,
            *ROLE_PLACE_REFUSALS,
            *ROLE_CHANGE_REFUSALS,
        ),
        "destroy": ROLE_CHANGE_REFUSALS,
    }
    identifiers = {"user_id": ErrorCode.INVALID_USER_ID}

    user: UserRow

    def load(self) -> None:
        """The user of the path: one the caller is shown, or whom they may give a role."""
        if "username" in self.kwargs:
            name = self.kwargs["username"]
            self.user = found(visible_user_named(name, self.seen_in), ErrorCode.USERNAME_NOT_FOUND, name)
        elif "user_id" in self.kwargs:
            user_id = self.kwargs["user_id"]
            row = self._rows().filter(id=user_id).first()
            self.user = found(row, ErrorCode.USER_NOT_FOUND, user_id)

    def _rows(self) -> QuerySet[User, Any]:
        """A user is invited by their id: whoever administers something finds everybody to change them."""
        if self.action != "update":
            return visible_user_rows(self.seen_in)
        if not administers_somewhere(self.caller.grants):
            raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(ADMINISTRATORS))
        return user_rows(self.seen_in)

    def index(self, request: Request) -> Response:
        """Those who share an organization with the caller; for holders of a global role all."""
        return self.list(visible_user_rows(self.seen_in), self.present)

    def create(self, request: Request) -> Response:
        """A new user, with roles that the caller holds."""
        new = new_user(self.body())
        user = user_create(new=new, by=self.caller.grants, actor=self.actor, now=self.now)
        return self._answer(user.id)

    def retrieve(self, request: Request, **_: str) -> Response:
        """One user."""
        return Response(self.present(self.user))

    def update(self, request: Request, user_id: str) -> Response:
        """Replaces the user's roles in the scopes that the caller administers.

        Of a user they are not shown they learn nothing, unless a role is given: not even by guessing
        what is stored in read-only fields.
        """
        is_visible = self._is_visible(user_id)
        body = self.body(stored=self.present(self.user) if is_visible else {"id": user_id})
        roles = RoleRequest(asked_roles(body["roles"]), INSTALLATION, self.caller.grants)
        user_roles_replace(user_id=user_id, roles=roles, seen_in=self.seen_in, actor=self.actor, now=self.now)
        if not (is_visible or self._is_visible(user_id)):
            raise ApiError(ErrorCode.USER_NOT_FOUND, user_id)
        return self._answer(user_id, self.seen_in)

    def destroy(self, request: Request, user_id: str) -> Response:
        """Deletes the user."""
        user_delete(user_id=user_id, by=self.caller.grants, actor=self.actor, now=self.now)
        return Response()

    def _is_visible(self, user_id: str) -> bool:
        return visible_user_rows(self.seen_in).filter(id=user_id).exists()

    def _answer(self, user_id: str, orgs: Orgs = None) -> Response:
        row = user_rows(orgs).filter(id=user_id).first()
        return Response(self.present(found(row, ErrorCode.USER_NOT_FOUND, user_id)))
