"""The caller of a request: the protocol of `request.auth`, which `accesslist` implements."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from opsapi.roles import Grant, Role, Scope


class ActorKind(StrEnum):
    """The kind of a caller."""

    KEY = "key"
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller of a service, as events record it.

    `name` is the public key of a key or the username of a user; the system has neither ID nor name.
    `revocations`: how often rights of the key or user had been revoked when the caller was authenticated;
    None for callers whose rights cannot be revoked. `hostnames`: the names, in lower case, of the machine
    that the key of an agent is for; empty for callers that are not restricted to a machine.
    """

    kind: ActorKind
    id: str | None = None
    name: str | None = None
    is_global_admin: bool = False
    remote_address: str | None = None
    revocations: int | None = None
    hostnames: frozenset[str] = frozenset()


SYSTEM = Actor(ActorKind.SYSTEM)


@dataclass(frozen=True, slots=True)
class Group:
    """The project of a path."""

    id: str
    name: str
    org_id: str


@dataclass(frozen=True, slots=True)
class VisibleScope:
    """What a caller can read: everything, or these organizations and projects.

    The caller has ORG_MEMBER in the organizations and GROUP_READ_ONLY in the projects, directly or implied.
    """

    everything: bool = False
    org_ids: frozenset[str] = frozenset()
    group_ids: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether the caller can read anything."""
        return self.everything or bool(self.org_ids or self.group_ids)


class Principal(Protocol):
    """An authenticated caller."""

    def actor(self) -> Actor:
        """Return the caller for services and events."""

    def authorise(self, roles: Sequence[Role]) -> None:
        """Require any of the roles in the installation. Raises ApiError: USER_UNAUTHORIZED."""

    def authorise_group(self, roles: Sequence[Role], group_id: str) -> Group:
        """Require any of the roles in the project, and return the project.

        Raises: ApiError: INVALID_GROUP_ID, NOT_IN_GROUP, USER_UNAUTHORIZED, GROUP_NOT_FOUND.
        """

    def authorise_org(self, roles: Sequence[Role], org_id: str) -> None:
        """Require any of the roles in the organization.

        Raises: ApiError: INVALID_ORG_ID, USER_UNAUTHORIZED, ORG_NOT_FOUND.
        """


class Operator(Principal, Protocol):
    """A user logged in to the console: `request.auth` in console views."""

    grants: Sequence[Grant]
    time_zone: str
    """The zone in which the operator reads and types times: an IANA name."""

    def visible_scope(self) -> VisibleScope:
        """Return what the operator can read."""

    def groups(self, *, ids: Collection[str] | None = None, name: str | None = None) -> Sequence[Group]:
        """Return readable projects with these IDs, or with this name, or the first 200, sorted by name."""

    def holds_somewhere(self, roles: Sequence[Role]) -> bool:
        """Whether the operator has any of the roles in any scope, directly or implied."""

    def authorise_at(self, roles: Sequence[Role], scope: Scope) -> None:
        """Require any of the roles in the scope, by the method for its kind.

        Raises: ApiError: see the three methods.
        """
