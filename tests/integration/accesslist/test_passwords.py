"""Passwords that were forgotten (accesslist.login.changes)."""

import secrets
from datetime import UTC, datetime
from typing import Any

import pytest

from accesslist.login.changes import user_password_reset
from accesslist.login.store import has_second_factor
from accesslist.models import Project, Team, User
from accesslist.users.checks import random_password
from events.models import Event
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.each import each
from tests.factories.accesslist import PASSWORD
from tests.factories.second_factors import acting, make_second_factor

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
OTHER = "quite another passphrase"
OWNER = [Grant(Role.GLOBAL_OWNER)]
pytestmark = pytest.mark.django_db


def _reset(user: User, **changes: Any) -> None:
    grace = User(id=new_id(), username="grace")
    called = {"password": OTHER, "by": OWNER, "actor": acting(grace), "now": NOW, **changes}
    user_password_reset(user_id=user.id, **called)


def _stored(user: User) -> User:
    return User.objects.get(id=user.id)


def test_a_reset_replaces_the_password_and_ends_sessions(ada: User) -> None:
    begun = ada.get_session_auth_hash()
    _reset(ada)
    assert _stored(ada).check_password(OTHER)
    assert not _stored(ada).check_password(PASSWORD)
    assert _stored(ada).get_session_auth_hash() != begun
    event = Event.objects.get()
    assert event.event_type == "USER_PASSWORD_RESET_AUDIT"
    assert (event.details["username"], event.details["targetUsername"]) == ("grace", "ada")
    assert OTHER not in str((event.details, event.diffs, event.raw))


def test_a_second_factor_stays(ada: User) -> None:
    make_second_factor(ada, NOW)
    _reset(ada)
    assert has_second_factor(ada.id)


@each(
    ("held", "by", "allowed"),
    [
        (None, Role.GLOBAL_OWNER, True),
        (None, Role.GLOBAL_USER_ADMIN, True),
        (None, Role.GLOBAL_READ_ONLY, False),
        (None, Role.GLOBAL_MONITORING_ADMIN, False),
        (Role.GLOBAL_READ_ONLY, Role.GLOBAL_OWNER, True),
        (Role.GLOBAL_READ_ONLY, Role.GLOBAL_USER_ADMIN, False),
        (Role.GLOBAL_OWNER, Role.GLOBAL_USER_ADMIN, False),
    ],
)
def test_user_admins_set_it_and_owners_that_of_global_roles(
    held: Role | None, by: Role, allowed: bool, ada: User
) -> None:
    if held:
        ada.grants.create(role=held.value)
    if allowed:
        _reset(ada, by=[Grant(by)])
    else:
        with pytest.raises(ApiError, match="USER_UNAUTHORIZED"):
            _reset(ada, by=[Grant(by)])
    assert _stored(ada).check_password(OTHER) is allowed
    assert Event.objects.exists() is allowed


@each("role", [Role.GROUP_OWNER, Role.ORG_OWNER])
def test_administrators_of_a_project_or_organization_cannot_reset_passwords(
    role: Role, ada: User, project: Project
) -> None:
    place = {"group_id": project.id} if role.is_group else {"org_id": project.org_id}
    ada.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    with pytest.raises(ApiError, match="USER_UNAUTHORIZED"):
        _reset(ada, by=[Grant(role, **place)])
    assert _stored(ada).check_password(PASSWORD)


@each(
    ("changes", "code"),
    [
        ({"password": "short"}, "WEAK_PASSWORD"),
        ({"password": ""}, "WEAK_PASSWORD"),
        ({"password": "password123"}, "WEAK_PASSWORD"),
        ({"password": "lovelace"}, "WEAK_PASSWORD"),
        ({"actor": None}, "INVALID_ATTRIBUTE"),
    ],
    ids=["short", "empty", "common", "like the name", "one's own"],
)
def test_it_refuses_a_weak_password_and_the_callers_own(
    changes: dict[str, Any], code: str, ada: User
) -> None:
    arguments = {**changes, "actor": acting(ada)} if "actor" in changes else changes
    with pytest.raises(ApiError, match=code):
        _reset(ada, **arguments)
    assert _stored(ada).check_password(PASSWORD)
    assert not Event.objects.exists()


def test_it_refuses_an_unknown_user() -> None:
    with pytest.raises(ApiError, match="USER_NOT_FOUND"):
        _reset(User(id=new_id()), actor=SYSTEM)


def test_roles_by_a_team_count(ada: User, project: Project) -> None:
    team = Team.objects.create(org_id=project.org_id, name="on call", created=NOW)
    team.members.add(ada)
    team.grants.create(role=Role.GROUP_OWNER.value, project=project)
    with pytest.raises(ApiError, match="USER_UNAUTHORIZED"):
        _reset(ada, by=[Grant(Role.GLOBAL_USER_ADMIN)])
    assert _stored(ada).check_password(PASSWORD)


class TestRandomPasswords:
    """accesslist.users.checks.random_password: Django refuses many letters of a name, also by chance."""

    ALIKE, OTHER = "abcdefghijklmnopqrst42", "Z9_yX8-wV7_uT6-sR5_qP4"

    def _drawn(self, monkeypatch: pytest.MonkeyPatch, *passwords: str) -> None:
        drawn = iter(passwords)
        monkeypatch.setattr(secrets, "token_urlsafe", lambda _: next(drawn))

    def test_a_random_password_that_resembles_the_name_is_drawn_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._drawn(monkeypatch, self.ALIKE, self.OTHER)
        assert random_password(User(username="tsrqponmlkjihgfedcba")) == self.OTHER

    def test_a_name_that_resembles_each_password_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._drawn(monkeypatch, *[self.ALIKE] * 100)
        with pytest.raises(ApiError) as refused:
            random_password(User(username="tsrqponmlkjihgfedcba"))
        assert [fault.code for fault in refused.value.bad_fields] == ["WEAK_PASSWORD"]
