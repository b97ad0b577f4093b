"""Who calls: the protocol `accesslist` implements as `request.auth` (architecture, inversion 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from opsapi.roles import Role


class ActorKind(StrEnum):
    """What kind of caller acted."""

    KEY = "key"
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something: what services take and events keep. Never a request.

    `name` is a key's public key or a user's username; the system has neither id nor name.
    """

    kind: ActorKind
    id: str | None = None
    name: str | None = None
    is_global_admin: bool = False
    remote_address: str | None = None


SYSTEM = Actor(ActorKind.SYSTEM)


@dataclass(frozen=True, slots=True)
class Group:
    """The project a path names."""

    id: str
    name: str
    org_id: str


class Principal(Protocol):
    """A caller that has proved who they are."""

    def actor(self) -> Actor:
        """The caller as events name them."""

    def authorise(self, roles: Sequence[Role]) -> None:
        """Answer whether one of the roles is held over the installation.

        Raises:
            ApiError: USER_UNAUTHORIZED.
        """

    def authorise_group(self, roles: Sequence[Role], group_id: str) -> Group:
        """Answer whether one of the roles is held in the project, and which project that is.

        Raises:
            ApiError: INVALID_GROUP_ID, NOT_IN_GROUP, USER_UNAUTHORIZED, GROUP_NOT_FOUND.
        """

    def authorise_org(self, roles: Sequence[Role], org_id: str) -> None:
        """Answer whether one of the roles is held in the organization.

        Raises:
            ApiError: INVALID_ORG_ID, USER_UNAUTHORIZED, ORG_NOT_FOUND.
        """
