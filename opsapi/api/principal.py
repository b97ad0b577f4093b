"""The caller of a request: the protocol that `accesslist` implements as `request.auth`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from opsapi.roles import Grant, Role, Scope


class ActorKind(StrEnum):
    """What kind of caller acted."""

    KEY = "key"
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something: what services take and events keep. Never a request.

    `name` is a key's public key or a user's username; the system has neither id nor name. `revocations` says
    how often something of the key or user had been revoked when they were let in; None where nothing can be.
    """

    kind: ActorKind
    id: str | None = None
    name: str | None = None
    is_global_admin: bool = False
    remote_address: str | None = None
    revocations: int | None = None


SYSTEM = Actor(ActorKind.SYSTEM)


@dataclass(frozen=True, slots=True)
class Group:
    """The project a path names."""

    id: str
    name: str
    org_id: str


@dataclass(frozen=True, slots=True)
class VisibleScope:
    """What a caller may read: everything, or what is of these organizations and projects.

    They hold ORG_MEMBER in the one and GROUP_READ_ONLY in the other, directly or implied.
    """

    everything: bool = False
    org_ids: frozenset[str] = frozenset()
    group_ids: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return self.everything or bool(self.org_ids or self.group_ids)


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


class Operator(Principal, Protocol):
    """A user who has logged in to the console: `request.auth` behind the console's permission."""

    grants: Sequence[Grant]

    def visible_scope(self) -> VisibleScope:
        """What they may read."""

    def groups(self, *, ids: Collection[str] | None = None, name: str | None = None) -> Sequence[Group]:
        """Return readable projects with these IDs, or with this name, or the first 200, sorted by name."""

    def holds_somewhere(self, roles: Sequence[Role]) -> bool:
        """Whether one of the roles is held, directly or implied, wherever that is."""

    def authorise_at(self, roles: Sequence[Role], scope: Scope) -> None:
        """As `authorise_group` where the scope names a project, `authorise_org` where an organization.

        Raises:
            ApiError: as they do.
        """
