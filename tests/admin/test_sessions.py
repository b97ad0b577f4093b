"""How long a session of the console lasts (opsapi.console.sessions)."""

from datetime import timedelta

import pytest
import time_machine
from django.conf import LazySettings
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.test import Client

from accesslist.login.changes import user_password_change, user_sessions_end
from accesslist.models import Project, RoleGrant, User
from accesslist.purge import expired_rows_purge
from opsapi import clock
from opsapi.console.sessions import SessionStore
from opsapi.roles import Role
from tests.admin.reading import is_in
from tests.admin.times import NOON
from tests.client import ApiClient
from tests.factories.accesslist import PASSWORD, ProjectFactory, UserFactory, make_team
from tests.factories.second_factors import acting
from tests.steps import STEPS

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


@pytest.fixture
def browser(operator: User, project: Project) -> Client:
    """The browser of an operator who has just typed name and password."""
    made = Client()
    made.post("/admin/login/", {"username": operator.username, "password": PASSWORD})
    return made


@pytest.mark.parametrize(("idle", "stays"), [(HOUR - SECOND, True), (HOUR, False)])
def test_a_session_ends_after_an_hour_without_a_request(
    idle: timedelta, stays: bool, browser: Client, noon: time_machine.Traveller
) -> None:
    noon.shift(idle)
    assert is_in(browser) is stays


def test_requests_extend_a_session(browser: Client, noon: time_machine.Traveller) -> None:
    for _ in range(3):
        noon.shift(HOUR - SECOND)
        assert is_in(browser)


@pytest.mark.slow
@pytest.mark.parametrize(("left", "stays"), [(SECOND, True), (timedelta(0), False)])
def test_a_session_ends_after_eight_hours_in_any_case(
    left: timedelta, stays: bool, browser: Client, noon: time_machine.Traveller
) -> None:
    for _ in range(15):
        noon.shift(HOUR / 2)
        assert is_in(browser)
    noon.shift(HOUR / 2 - left)
    assert is_in(browser) is stays


def test_automatic_refreshes_do_not_extend_a_session(browser: Client, noon: time_machine.Traveller) -> None:
    for _ in range(5):
        noon.shift(HOUR / 6)
        assert is_in(browser, **{"X-Console-Refresh": "1"})
    noon.shift(HOUR / 6)
    assert not is_in(browser)


def test_a_page_that_refreshes_itself_writes_nothing(browser: Client, noon: time_machine.Traveller) -> None:
    before = Session.objects.values().get()
    noon.shift(HOUR / 2)
    answer = browser.get("/admin/", headers={"X-Console-Refresh": "1"})
    assert Session.objects.values().get() == before
    assert "Set-Cookie" not in answer.headers


def test_the_end_of_a_session_is_written_at_most_once_a_minute(
    browser: Client, noon: time_machine.Traveller
) -> None:
    before = Session.objects.values().get()
    noon.shift(timedelta(seconds=59))
    browser.get("/admin/")
    assert Session.objects.values().get() == before
    noon.shift(SECOND)
    browser.get("/admin/")
    assert Session.objects.get().expire_date == clock.now() + HOUR


def test_limits_are_settings(browser: Client, settings: LazySettings, noon: time_machine.Traveller) -> None:
    settings.OPSAPI_SESSION_IDLE_MINUTES, settings.OPSAPI_SESSION_HOURS = 120, 1
    browser.get("/admin/")
    noon.shift(HOUR - SECOND)
    assert is_in(browser)
    noon.shift(SECOND)
    assert not is_in(browser)


def test_the_cookie_ends_with_the_session(browser: Client) -> None:
    assert browser.cookies["sessionid"]["max-age"] == HOUR.total_seconds()
    assert browser.cookies["sessionid"]["httponly"]
    assert browser.cookies["sessionid"]["samesite"] == "Lax"


def test_logging_in_gives_the_session_another_key(operator: User, project: Project) -> None:
    planted = Client()
    session = planted.session
    session["planted"] = True
    session.save()
    planted.cookies["sessionid"] = key = session.session_key or ""
    planted.post("/admin/login/", {"username": operator.username, "password": PASSWORD})
    assert is_in(planted)
    assert planted.session.session_key != key
    assert not Session.objects.filter(session_key=key).exists()


def test_the_worker_deletes_ended_sessions(browser: Client, noon: time_machine.Traveller) -> None:
    noon.shift(HOUR)
    expired_rows_purge(now=clock.now())
    assert Session.objects.count() == 1
    noon.shift(SECOND)
    expired_rows_purge(now=clock.now())
    assert not Session.objects.exists()


@pytest.mark.parametrize("how", ["password", "sessions"])
def test_all_sessions_end_with_another_password_or_when_asked(
    how: str, browser: Client, operator: User
) -> None:
    assert is_in(browser)
    if how == "password":
        new = "quite another passphrase"
        user_password_change(old_password=PASSWORD, password=new, actor=acting(operator), now=NOON)
    else:
        user_sessions_end(actor=acting(operator), now=NOON)
    assert not is_in(browser)


def test_requests_with_keys_use_no_sessions(browser: Client, owner: ApiClient) -> None:
    before = Session.objects.values().get()
    owner.http.cookies = browser.cookies
    answer = owner.get("/groups")
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers
    assert Session.objects.values().get() == before


@pytest.mark.slow
def test_a_new_log_in_starts_the_time_again(
    browser: Client, operator: User, noon: time_machine.Traveller
) -> None:
    for _ in range(15):
        noon.shift(HOUR / 2)
        assert is_in(browser)
    browser.post("/admin/login/", {"username": operator.username, "password": PASSWORD})
    for _ in range(2):
        noon.shift(HOUR - SECOND)
        assert is_in(browser)


class TestConcurrentRequests:
    """Each writes what it changed, and undoes nothing of the others."""

    @pytest.fixture
    def key(self, browser: Client) -> str:
        """The key of a session that two requests are about to read."""
        session = SessionStore(browser.cookies["sessionid"].value)
        session.update({"same": 1, "changed": 1, "removed": 1})
        session.save()
        return str(session.session_key)

    @pytest.fixture
    def slow(self, key: str) -> SessionStore:
        """The session as a request read it before another one wrote it."""
        session = SessionStore(key)
        assert session["changed"] == 1
        quick = SessionStore(key)
        quick["changed"] = quick["added"] = 2
        del quick["removed"]
        quick.save()
        return session

    def test_a_save_keeps_changes_of_other_requests(self, slow: SessionStore, key: str) -> None:
        slow["own"] = 3
        del slow["same"]
        slow.save()
        for session in (slow, SessionStore(key)):
            names = ("same", "changed", "removed", "added", "own")
            assert [session.get(name) for name in names] == [None, 2, None, 2, 3]

    def test_the_last_write_of_a_value_counts(self, slow: SessionStore, key: str) -> None:
        slow["changed"] = 3
        slow.save()
        slow.save()
        assert SessionStore(key)["changed"] == 3

    def test_a_new_key_keeps_changes_of_other_requests(self, slow: SessionStore, key: str) -> None:
        slow.cycle_key()
        slow["own"] = 3
        slow.save()
        assert not SessionStore().exists(key)
        again = SessionStore(slow.session_key)
        assert [again.get(name) for name in ("same", "changed", "removed", "own")] == [1, 2, None, 3]

    def test_an_ended_session_is_not_saved_again(self, slow: SessionStore) -> None:
        Session.objects.all().delete()
        slow["own"] = 3
        with pytest.raises(UpdateError):
            slow.save()
        with pytest.raises(SessionInterrupted):
            slow.cycle_key()
        assert not Session.objects.exists()


class TestLastRole:
    """A session ends with the last role, and does not come back with the next one."""

    @pytest.fixture
    def user(self, project: Project) -> User:
        """Project Owner."""
        user: User = UserFactory.create()
        user.grants.create(role=Role.GROUP_OWNER.value, project=project)
        return user

    @pytest.fixture
    def session(self, user: User) -> Client:
        """The browser of the user."""
        made = Client()
        made.force_login(user)
        return made

    def give_again(self, user: User, project: Project) -> None:
        """Grant the revoked role again."""
        RoleGrant.objects.get_or_create(user=user, role=Role.GROUP_OWNER.value, project=project)

    def test_a_session_ends_when_the_last_role_is_revoked(
        self, owner: ApiClient, user: User, session: Client, project: Project
    ) -> None:
        assert is_in(session)
        assert owner.patch(f"/users/{user.id}", {"roles": []}).status_code == 200
        self.give_again(user, project)
        assert not is_in(session)

    def test_a_session_ends_when_the_user_leaves_the_last_team(
        self, owner: ApiClient, user: User, session: Client, project: Project
    ) -> None:
        team = make_team(project, user)
        owner.patch(f"/users/{user.id}", {"roles": []})
        assert is_in(session)
        assert owner.delete(f"/orgs/{project.org_id}/teams/{team.id}/users/{user.id}").status_code == 204
        self.give_again(user, project)
        assert not is_in(session)

    def test_a_session_ends_when_the_last_project_is_deleted(
        self, owner: ApiClient, user: User, session: Client, project: Project
    ) -> None:
        assert owner.delete(f"/groups/{project.id}").status_code == 204
        self.give_again(user, ProjectFactory.create())
        assert not is_in(session)

    def test_a_session_continues_while_the_user_has_a_role(
        self, owner: ApiClient, user: User, session: Client, project: Project
    ) -> None:
        user.grants.create(role=Role.ORG_MEMBER.value, org=project.org)
        owner.patch(f"/users/{user.id}", {"roles": [{"roleName": "ORG_MEMBER", "orgId": project.org_id}]})
        assert is_in(session)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_log_in_while_the_clock_was_wrong_lasts_no_longer_than_others(
    step: timedelta, browser: Client, noon: time_machine.Traveller
) -> None:
    noon.shift(-step)
    assert is_in(browser) is (-HOUR < step <= HOUR)
    for _ in range(15):
        noon.shift(HOUR / 2)
        is_in(browser)
    noon.shift(HOUR / 2)
    is_in(browser)
    noon.shift(HOUR)
    assert not is_in(browser)


def test_a_session_that_lies_ahead_is_deleted(browser: Client, noon: time_machine.Traveller) -> None:
    noon.shift(-timedelta(days=1))
    expired_rows_purge(now=clock.now())
    assert not Session.objects.exists()
