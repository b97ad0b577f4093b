"""Users as the caller may see them, and users who register themselves (endpoint 5)."""

from collections.abc import Sequence

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_ORG, READ_PROJECT, WRITE_USERS
from accesslist.access_lists.rules import read_asked_range
from accesslist.keys.resource import ApiKeyDocument
from accesslist.roles.changes import user_roles_replace
from accesslist.roles.rules import ADMINISTRATORS, RoleRequest, asked_roles
from accesslist.rows import with_id
from accesslist.throttles import throttle
from accesslist.users.changes import NewUser, unauth_user_create, user_create, user_delete
from accesslist.users.models import User
from accesslist.users.resource import FirstUserInput, NewUserDocument, UserDocument, UserInput, UserRolesInput
from accesslist.users.store import (
    any_user_exists,
    users_of_group,
    users_of_org,
    users_seen,
    visible_users,
    visible_users_named,
)
from accesslist.views import (
    NEW_USER_REFUSALS,
    ROLE_CHANGE_REFUSALS,
    ROLE_SCOPE_REFUSALS,
    UserPresentingViewSet,
)
from opsapi.api.addresses import client_address, counted_range, remote_address
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404, needs_role
from opsapi.api.permissions import ANY_KEY, OPEN
from opsapi.api.query import LISTING, Parameter
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet, answers_of
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
    answers = answers_of(UserDocument)
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (*NEW_USER_REFUSALS, *ROLE_SCOPE_REFUSALS),
        "retrieve": (ErrorCode.USERNAME_NOT_FOUND,),
        "update": (
            ErrorCode.USER_UNAUTHORIZED,
            ErrorCode.CANNOT_ADD_GLOBAL_ROLE,
            ErrorCode.ROLE_NOT_HELD,
            *ROLE_SCOPE_REFUSALS,
            *ROLE_CHANGE_REFUSALS,
        ),
        "destroy": ROLE_CHANGE_REFUSALS,
    }
    identifiers = {"user_id": ErrorCode.INVALID_USER_ID}

    user: Facts
    changed: Facts | None
    """The user to change; None if the caller cannot see the user, but may invite the user by ID."""

    def load(self) -> None:
        """The user of the path."""
        if "username" in self.kwargs:
            name = self.kwargs["username"]
            rows = visible_users_named(name, self.seen_in)
            self.user = UserDocument.found(rows, ErrorCode.USERNAME_NOT_FOUND, name)
        elif "user_id" in self.kwargs:
            user_id = self.kwargs["user_id"]
            user = UserDocument.first(with_id(visible_users(self.seen_in), user_id))
            if self.action == "update":
                self._load_changed(user, user_id)
            else:
                self.user = get_or_404(user, ErrorCode.USER_NOT_FOUND, user_id)

    def _load_changed(self, user: Facts | None, user_id: str) -> None:
        """Load the user to change, without revealing whether an invisible ID exists."""
        if not self.caller.holds_somewhere(ADMINISTRATORS):
            raise needs_role(ADMINISTRATORS)
        seen_all = self.seen_in.everything
        self.changed = get_or_404(user, ErrorCode.USER_NOT_FOUND, user_id) if seen_all else user

    def index(self, request: Request) -> Response:
        """List the users who share an organization with the caller; with a global role, all users."""
        return self.list_of(UserDocument, visible_users(self.seen_in))

    def create(self, request: Request) -> Response:
        """Create a user with roles that the caller has."""
        new = NewUser(**self.body())
        user = user_create(new=new, by=self.caller.grants, actor=self.actor, now=self.now)
        return self._answer(users_seen(), user.id)

    def retrieve(self, request: Request, **_: str) -> Response:
        """Get a user."""
        return self.alone(UserDocument, self.user)

    def update(self, request: Request, user_id: str) -> Response:
        """Replace the user's roles in the scopes that the caller administers.

        The response reveals nothing about an invisible user unless a role is granted, even to a caller who
        guesses the values of read-only fields.
        """
        body = self.body(stored=self.changed or {"id": user_id})
        roles = RoleRequest(asked_roles(body["roles"]), INSTALLATION, self.caller.grants)
        user_roles_replace(user_id=user_id, roles=roles, seen_in=self.seen_in, actor=self.actor, now=self.now)
        # A user who was visible is returned once more, even without roles.
        users = users_seen(self.seen_in) if self.changed else visible_users(self.seen_in)
        return self._answer(users, user_id)

    def destroy(self, request: Request, user_id: str) -> Response:
        """Delete a user."""
        user_delete(user_id=user_id, by=self.caller.grants, actor=self.actor, now=self.now)
        return Response()

    def _answer(self, users: QuerySet[User], user_id: str) -> Response:
        user = UserDocument.found(with_id(users, user_id), ErrorCode.USER_NOT_FOUND, user_id)
        return self.alone(UserDocument, user)


class OrgUserViewSet(UserPresentingViewSet):
    """`/orgs/{id}/users`."""

    access = {"index": READ_ORG}
    parameters = {"index": LISTING}
    answers = {"index": [UserDocument]}

    def index(self, request: Request, org_id: str) -> Response:
        """List the users with a role in the organization or its projects, and the members of its teams."""
        return self.list_of(UserDocument, users_of_org(org_id, self.seen_in))


class GroupUserViewSet(UserPresentingViewSet):
    """`/groups/{id}/users`."""

    access = {"index": READ_PROJECT}
    parameters = {"index": LISTING}
    answers = {"index": [UserDocument]}

    def index(self, request: Request, group_id: str) -> Response:
        """List the users with a role in the project, directly or by a team."""
        return self.list_of(UserDocument, users_of_group(group_id, self.seen_in))


ACCESS_LIST = Parameter(
    "accessList",
    read_asked_range,
    schema={"type": "string"},
    description="Address or range for the global access list. Repeatable. First user only.",
    repeatable=True,
)
OLDER_ACCESS_LIST = Parameter(
    "whitelist",
    read_asked_range,
    schema={"type": "string"},
    description="Older name of accessList.",
    repeatable=True,
    deprecated=True,
)
_ACCESS_LISTS = (ACCESS_LIST.name, OLDER_ACCESS_LIST.name)


class FirstUserViewSet(ApiViewSet):
    """Endpoint 5: the first user of the installation, without an API key."""

    authentication_classes = []
    access = {"create": OPEN}
    parameters = {"create": (ACCESS_LIST, OLDER_ACCESS_LIST)}
    bodies = {"create": FirstUserInput}
    answers = {"create": NewUserDocument}
    statuses = {"create": 201}
    refusals = {
        "create": (
            ErrorCode.RATE_LIMITED,
            ErrorCode.INVITATION_ONLY_MODE_OR_LDAP,
            *NEW_USER_REFUSALS,
            ErrorCode.ROLE_NEEDS_NO_GROUP_ID,
        ),
    }

    def check_throttles(self, request: Request) -> None:
        """Count every call, also calls that are refused."""
        bucket = f"first user {counted_range(client_address(self.http_request))}"
        throttle(bucket, settings.OPSAPI_RATE_FIRST_USER, self.now)

    def load(self) -> None:
        """Refuse all calls if the settings do not allow registration."""
        if not settings.OPSAPI_INVITATION_ONLY or settings.OPSAPI_LDAP:
            raise ApiError(ErrorCode.INVITATION_ONLY_MODE_OR_LDAP)

    def looked_at(self) -> Sequence[Parameter]:
        """Ignore `accessList` once there is a user: only the first call enters addresses."""
        return () if any_user_exists() else super().looked_at()

    def create(self, request: Request) -> Response:
        """Create a user without a key. The first user becomes Global owner and gets an API key."""
        body = self.body()
        # Absent if a user existed already (`looked_at`).
        access_list = [block for name in _ACCESS_LISTS for block in self.query.get(name, ())]
        user, key = unauth_user_create(
            new=NewUser(**body),
            access_list=access_list,
            remote_address=remote_address(self.http_request),
            now=self.now,
        )
        new = UserDocument.found(with_id(users_seen(), user.id), ErrorCode.USER_NOT_FOUND, user.id)
        user_document = UserDocument.present(new, self.links)
        if key is None:
            return Response({"user": user_document})
        issued = ApiKeyDocument.present(key.facts, self.links, place={"base": "/admin"}, alone=True)
        return Response({"programmaticApiKey": issued, "user": user_document})
