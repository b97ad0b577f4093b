"""Endpoint 5: the first user of an installation, and users who register themselves later."""

from collections.abc import Sequence

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.rules.access_lists import read_asked_range
from accesslist.selectors.users import any_user_exists, users_seen
from accesslist.serializers.keys import ApiKeyDocument
from accesslist.serializers.users import FirstUserInput, NewUserDocument, UserDocument
from accesslist.services.keys import NewKey
from accesslist.services.users import NewUser, unauth_user_create
from accesslist.throttles import throttle
from accesslist.views.base import NEW_USER_REFUSALS
from opsapi.api.addresses import client_address, counted_range
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.permissions import OPEN
from opsapi.api.query import Parameter
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet

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
        """Create a user without a key. The first user becomes Global Owner and gets an API key."""
        body = self.body()
        address = client_address(self.http_request)
        # Absent if a user existed already (`looked_at`).
        access_list = [block for name in _ACCESS_LISTS for block in self.query.get(name, ())]
        user, key = unauth_user_create(
            new=NewUser(**body),
            access_list=access_list,
            remote_address=str(address) if address else None,
            now=self.now,
        )
        new = UserDocument.first(users_seen().filter(id=user.id))
        shown = UserDocument.present(get_or_404(new, ErrorCode.USER_NOT_FOUND, user.id), self.links)
        return Response({**({"programmaticApiKey": self._key_document(key)} if key else {}), "user": shown})

    def _key_document(self, key: NewKey) -> Facts:
        return ApiKeyDocument.present(key.facts, self.links, place={"base": "/admin"}, alone=True)
