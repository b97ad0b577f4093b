"""Users, as user admins and members of the same organization see them."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import WRITE_USERS
from accesslist.rules.administering import ADMINISTRATORS, administers_somewhere
from accesslist.rules.granting import RoleRequest, asked_roles
from accesslist.selectors.users import UserRow, user_rows, visible_user_named, visible_user_rows
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
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING
from opsapi.roles import INSTALLATION


class UserViewSet(UserPresentingViewSet):
    """`/users`, `/users/{id}` and `/users/byName/{name}`."""

    access = {
        "index": ANY_KEY,
        "create": WRITE_USERS,
        "retrieve": ANY_KEY,
        "update": ANY_KEY,
        "destroy": WRITE_USERS,
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
    changed: UserRow | None
    """The user to be changed; None where the caller is shown none, and may invite one by the id."""

    def load(self) -> None:
        """The user of the path."""
        if "username" in self.kwargs:
            name = self.kwargs["username"]
            self.user = found(visible_user_named(name, self.seen_in), ErrorCode.USERNAME_NOT_FOUND, name)
        elif "user_id" in self.kwargs:
            user_id = self.kwargs["user_id"]
            row = visible_user_rows(self.seen_in).filter(id=user_id).first()
            if self.action == "update":
                self._load_changed(row, user_id)
            else:
                self.user = found(row, ErrorCode.USER_NOT_FOUND, user_id)

    def _load_changed(self, row: UserRow | None, user_id: str) -> None:
        """Whether an id that is not shown is that of a user is told when a role is given, not before."""
        if not administers_somewhere(self.caller.grants):
            raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(ADMINISTRATORS))
        seen_all = self.seen_in.everything
        self.changed = found(row, ErrorCode.USER_NOT_FOUND, user_id) if seen_all else row

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
        body = self.body(stored=self.present(self.changed) if self.changed else {"id": user_id})
        roles = RoleRequest(asked_roles(body["roles"]), INSTALLATION, self.caller.grants)
        user_roles_replace(user_id=user_id, roles=roles, seen_in=self.seen_in, actor=self.actor, now=self.now)
        # A user who was shown is shown once more, with the last role gone.
        rows = user_rows(self.seen_in) if self.changed else visible_user_rows(self.seen_in)
        row = rows.filter(id=user_id).first()
        return Response(self.present(found(row, ErrorCode.USER_NOT_FOUND, user_id)))

    def destroy(self, request: Request, user_id: str) -> Response:
        """Deletes the user."""
        user_delete(user_id=user_id, by=self.caller.grants, actor=self.actor, now=self.now)
        return Response()

    def _answer(self, user_id: str) -> Response:
        row = user_rows().filter(id=user_id).first()
        return Response(self.present(found(row, ErrorCode.USER_NOT_FOUND, user_id)))
