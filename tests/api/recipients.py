"""Users with roles, and the events about them."""

from collections.abc import Iterable
from typing import Any

from accesslist.models import Project, RoleGrant, User
from events.models import Event
from opsapi.roles import Grant, Role
from tests.client import ApiClient
from tests.factories.accesslist import UserFactory, make_key


def refusal(answer: Any) -> tuple[int, str]:
    """Status and code."""
    return answer.status_code, answer.json()["errorCode"]


def fields(answer: Any) -> list[str]:
    """The wrong fields."""
    return [bad["field"] for bad in answer.json()["badFields"]]


def org(role: Role, project: Project) -> Grant:
    """The role in the project's organization."""
    return Grant(role, org_id=project.org_id)


def group(role: Role, project: Project) -> Grant:
    """The role in the project."""
    return Grant(role, group_id=project.id)


def make_user(*grants: Grant, **fields: Any) -> User:
    """A user with these roles."""
    user: User = UserFactory.create(password=None, **fields)
    for grant in grants:
        user.grants.create(role=grant.role.value, org_id=grant.org_id, project_id=grant.group_id)
    return user


def client(*grants: Grant) -> ApiClient:
    """A key with these roles."""
    return ApiClient(make_key(*grants))


def wire(*grants: Grant) -> list[dict[str, str]]:
    """Roles as documents show them."""
    places = [{"groupId": grant.group_id, "orgId": grant.org_id} for grant in grants]
    return [
        {"roleName": grant.role.value, **{name: value for name, value in place.items() if value}}
        for grant, place in zip(grants, places, strict=True)
    ]


def held(user: User) -> set[Grant]:
    """The roles the user holds."""
    rows = RoleGrant.objects.filter(user=user).values_list("role", "org", "project")
    return {Grant(Role(role), org_id, group_id) for role, org_id, group_id in rows}


def since(before: int) -> list[Event]:
    """The events recorded since there were that many, oldest first."""
    return list(Event.objects.order_by("id")[before:])


def statuses(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Type and status of each diff."""
    return [(diff["type"], diff["status"]) for event in events for diff in event.diffs]


def recorded(events: Iterable[Event]) -> list[tuple[str, str | None, str | None]]:
    """Type and scope of events."""
    return [(event.event_type, event.group_id, event.org_id) for event in events]


def named(events: Iterable[Event]) -> list[tuple[str, str | None]]:
    """The type and the target user of each event."""
    return [(event.event_type, event.details.get("targetUsername")) for event in events]


def is_member(user: User, project: Project) -> bool:
    """Whether the user is ORG_MEMBER of the project's organization, and nothing else there."""
    roles = RoleGrant.objects.filter(user=user, org_id=project.org_id).values_list("role", flat=True)
    return list(roles) == ["ORG_MEMBER"]
