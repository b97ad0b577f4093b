"""A scraper as the principal of a request (opsapi.api.principal; decisions 2, row 15)."""

from collections.abc import Sequence

from integrations.models import Integration
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind, Group
from opsapi.roles import IMPLIED, Role


class ScraperPrincipal:
    """A scraper with the credentials of a project's SCRAPER integration; it can read only that project."""

    def __init__(self, scraper: Integration, username: str, remote_address: str | None) -> None:
        """`scraper` comes with its project, which is not deleted."""
        project = scraper.group
        self._group = Group(project.id, project.name, project.org_id or "")
        self._actor = Actor(ActorKind.AGENT, scraper.id, username, remote_address=remote_address)

    def actor(self) -> Actor:
        """The scraper."""
        return self._actor

    def authorise(self, roles: Sequence[Role]) -> None:
        """See `opsapi.api.principal.Principal`."""
        raise _unauthorized(roles)

    def authorise_group(self, roles: Sequence[Role], group_id: str) -> Group:
        """See `opsapi.api.principal.Principal`."""
        if group_id != self._group.id:
            raise ApiError(ErrorCode.NOT_IN_GROUP, group_id)
        if not IMPLIED[Role.GROUP_READ_ONLY] & frozenset(roles):
            raise _unauthorized(roles)
        return self._group

    def authorise_org(self, roles: Sequence[Role], org_id: str) -> None:
        """See `opsapi.api.principal.Principal`."""
        raise _unauthorized(roles)


def _unauthorized(roles: Sequence[Role]) -> ApiError:
    return ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(role.value for role in roles))
