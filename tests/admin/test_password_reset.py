"""Setting another password for who forgot theirs, on their page."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import PASSWORD, UserFactory

OTHER = "quite another passphrase"
pytestmark = pytest.mark.django_db


@pytest.fixture
def grace(project: Project) -> User:
    """A reader of the project."""
    user: User = UserFactory.create(username="grace")
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    return user


def _reset(browser: Client, user: User, **changes: str) -> Any:
    typed = {"password": OTHER, "again": OTHER, **changes}
    return confirm(browser, action_url(user, "reset_password"), **typed)


def _has(user: User, password: str) -> bool:
    return User.objects.get(id=user.id).check_password(password)


def test_a_reset_sets_the_password_and_ends_the_sessions(
    console: Client, operator: User, grace: User
) -> None:
    theirs = Client()
    theirs.force_login(grace)
    assert theirs.get("/admin/").status_code == 200
    assert "Set a new password" in console.get(page_of(grace)).content.decode()
    with leaves_events(operator, EventType.USER_PASSWORD_RESET_AUDIT) as events:
        assert _reset(console, grace)["Location"] == page_of(grace)
    assert events[0].details["targetUsername"] == "grace"
    assert _has(grace, OTHER)
    assert theirs.get("/admin/").status_code == 302


@each(
    ("typed", "field", "message"),
    [
        ({"password": "short", "again": "short"}, "password", "too short"),
        ({"password": "lovelace", "again": "lovelace"}, "password", "too similar"),
        ({"again": "another one"}, "again", "do not match"),
        ({"password": ""}, "password", "required"),
    ],
)
def test_a_refusal_is_shown_next_to_its_field(
    typed: dict[str, str], field: str, message: str, console: Client, grace: User
) -> None:
    with leaves_events(User.objects.get(username="ada")):
        answer = _reset(console, grace, **typed)
    assert message in str(answer.context["form"].errors[field])
    assert OTHER not in answer.content.decode()
    assert _has(grace, PASSWORD)


@each(
    ("role", "may"),
    [
        (Role.GLOBAL_OWNER, True),
        (Role.GLOBAL_USER_ADMIN, True),
        (Role.GLOBAL_MONITORING_ADMIN, False),
        (Role.GROUP_OWNER, False),
        (Role.ORG_OWNER, False),
    ],
)
def test_roles_that_reset_passwords(role: Role, may: bool, grace: User, project: Project) -> None:
    place = {"project": project} if role.is_group else {"org": project.org} if role.is_org else {}
    user, browser = operator_with(role, **place)
    assert ("Set a new password" in browser.get(page_of(grace)).content.decode()) is may
    message = [EventType.USER_PASSWORD_RESET_AUDIT] if may else []
    with leaves_events(user, *message, as_owner=role is Role.GLOBAL_OWNER):
        assert _reset(browser, grace).status_code == (302 if may else 403)
    assert _has(grace, OTHER) is may


def test_resetting_a_user_with_a_global_role_needs_a_global_owner(grace: User) -> None:
    grace.grants.create(role=Role.GLOBAL_READ_ONLY.value)
    _, browser = operator_with(Role.GLOBAL_USER_ADMIN)
    assert _reset(browser, grace).status_code == 403
    assert _has(grace, PASSWORD)


def test_operators_cannot_reset_their_own_password(console: Client, operator: User) -> None:
    with leaves_events(operator):
        answer = _reset(console, operator)
    assert "your account page" in str(answer.context["form"].non_field_errors())
    assert _has(operator, PASSWORD)
