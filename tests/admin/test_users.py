"""Users in the console: created, deleted, and their roles granted and revoked."""

from typing import Any, ClassVar

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import action_url, browser_with, no_ticks, operator_with, page_of, ticks
from tests.admin.rows import make_operator
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import PASSWORD, ProjectFactory, UserFactory

pytestmark = pytest.mark.django_db

ADD = "/admin/accesslist/user/add/"
NEW = {"username": "grace", "password": PASSWORD, "firstName": "Grace", "lastName": "Hopper"}
ROLES = EventType.USER_ROLES_CHANGED_AUDIT


@pytest.fixture
def grace(project: Project) -> User:
    """A reader of the project."""
    user: User = UserFactory.create(username="grace")
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    return user


def roles_of(user: User) -> list[tuple[str, str | None, str | None]]:
    """Role, organization, project of each, oldest first."""
    return list(user.grants.order_by("id").values_list("role", "org_id", "project_id"))


def test_a_user_is_created_with_roles(console: Client, operator: User, project: Project) -> None:
    recorded = [EventType.USER_CREATED_AUDIT, ROLES, EventType.JOINED_GROUP, EventType.INVITED_TO_GROUP]
    with leaves_events(operator, *recorded) as events:
        answer = confirm(console, ADD, **NEW, project=project.id, project_roles=["GROUP_READ_ONLY"])
    made = User.objects.get(username="grace")
    assert roles_of(made) == [("GROUP_READ_ONLY", None, project.id)]
    assert made.check_password(PASSWORD)
    assert answer["Location"] == page_of(made)
    assert PASSWORD not in str([event.__dict__ for event in events])
    assert Client().login(username="grace", password=PASSWORD)


@each(
    ("changes", "field", "recorded"),
    [
        ({"username": ""}, "username", "required"),
        ({"username": "ADA"}, "username", "already exists"),
        ({"username": "\u0430da"}, "username", "similar-looking"),
        ({"username": "a\u200bda"}, "username", "U+200B"),
        ({"password": "12345"}, "password", "too short"),
        ({"emailAddress": "nobody"}, "emailAddress", "e-mail address"),
        ({"mobileNumber": "call me"}, "mobileNumber", "number"),
        ({"firstName": "a\x07b"}, "firstName", "control characters"),
        ({"project_roles": ["GROUP_OWNER"]}, "project", "Choose a project"),
    ],
)
def test_an_invalid_user_is_refused_next_to_the_field(
    changes: dict[str, Any], field: str, recorded: str, console: Client, operator: User
) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **{**NEW, **changes})
    assert recorded in str(answer.context["form"].errors[field])
    assert list(User.objects.all()) == [operator]
    assert PASSWORD not in answer.content.decode()


@each(
    ("role", "may"),
    [(Role.GLOBAL_OWNER, True), (Role.GLOBAL_USER_ADMIN, True), (Role.GLOBAL_MONITORING_ADMIN, False)],
)
def test_roles_that_create_and_delete_users(role: Role, may: bool, grace: User) -> None:
    user, browser = operator_with(role)
    recorded = [
        EventType.USER_CREATED_AUDIT,
        ROLES,
        EventType.REMOVED_FROM_GROUP,
        EventType.USER_DELETED_AUDIT,
    ]
    with leaves_events(user, *(recorded if may else []), as_owner=role is Role.GLOBAL_OWNER):
        answers = [
            confirm(browser, ADD, **{**NEW, "username": "joan"}),
            confirm(browser, action_url(grace, "delete")),
        ]
    assert [answer.status_code for answer in answers] == [302 if may else 403] * 2
    assert User.objects.filter(username="joan").exists() is may
    assert User.objects.filter(username="grace").exists() is not may


def test_deleting_users_with_global_roles_needs_a_global_owner(project: Project) -> None:
    other = make_operator(username="other")
    make_operator()
    user, browser = operator_with(Role.GLOBAL_USER_ADMIN)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, action_url(other, "delete"))
    assert "role GLOBAL_OWNER" in answer.content.decode()
    assert User.objects.filter(id=other.id).exists()


def test_operators_cannot_delete_themselves(console: Client, operator: User) -> None:
    make_operator()
    with leaves_events(operator):
        answer = confirm(console, action_url(operator, "delete"))
    assert "cannot change your own roles" in answer.content.decode()
    assert User.objects.filter(id=operator.id).exists()


def test_roles_are_revoked_and_granted(
    console: Client, operator: User, grace: User, project: Project
) -> None:
    with leaves_events(operator, ROLES, EventType.REMOVED_FROM_GROUP, ROLES, EventType.JOINED_ORG):
        confirm(
            console,
            action_url(grace, "roles"),
            **no_ticks(grace),
            org=project.org_id,
            org_roles=["ORG_READ_ONLY"],
        )
    assert roles_of(grace) == [("ORG_READ_ONLY", project.org_id, None)]


def test_an_unchanged_form_changes_nothing(console: Client, operator: User, grace: User) -> None:
    before = roles_of(grace)
    with leaves_events(operator):
        assert confirm(console, action_url(grace, "roles"), **ticks(grace)).status_code == 302
    assert roles_of(grace) == before


@each(
    ("role", "may"),
    [(Role.GROUP_USER_ADMIN, True), (Role.GROUP_OWNER, True), (Role.GROUP_BACKUP_ADMIN, False)],
)
def test_roles_that_change_roles_in_a_project(role: Role, may: bool, grace: User, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    url = action_url(grace, "roles")
    with leaves_events(user, *([ROLES] if may else []), as_owner=False):
        answer = (
            confirm(browser, url, **ticks(grace), project=project.id, project_roles=["GROUP_USER_ADMIN"])
            if role is not Role.GROUP_BACKUP_ADMIN
            else confirm(browser, url, **ticks(grace))
        )
    assert answer.status_code == (302 if may else 403)
    assert (("GROUP_USER_ADMIN", None, project.id) in roles_of(grace)) is may


def test_roles_elsewhere_are_neither_shown_nor_touched(grace: User, project: Project) -> None:
    theirs = ProjectFactory.create(name="theirs")
    grace.grants.create(role=Role.GROUP_OWNER.value, project=theirs)
    grace.grants.create(role=Role.GLOBAL_READ_ONLY.value)
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    for page in (page_of(grace), action_url(grace, "roles"), "/admin/accesslist/user/"):
        text = browser.get(page).content.decode()
        assert "theirs" not in text
        assert "GLOBAL_READ_ONLY in" not in text
    assert "GLOBAL_READ_ONLY" not in browser.get(page_of(grace)).content.decode()
    with leaves_events(user, ROLES, EventType.REMOVED_FROM_GROUP, as_owner=False):
        confirm(browser, action_url(grace, "roles"), **no_ticks(grace))
    assert roles_of(grace) == [("GROUP_OWNER", None, theirs.id), ("GLOBAL_READ_ONLY", None, None)]


def test_a_role_that_the_operator_lacks_is_refused_next_to_its_field(grace: User, project: Project) -> None:
    user, browser = operator_with(Role.GROUP_USER_ADMIN, project=project)
    with leaves_events(user, as_owner=False):
        answer = confirm(
            browser,
            action_url(grace, "roles"),
            **ticks(grace),
            project=project.id,
            project_roles=["GROUP_OWNER"],
        )
    assert "cannot grant the role GROUP_OWNER" in str(answer.context["form"].errors["project_roles"])


def test_operators_cannot_change_their_own_roles(console: Client, operator: User) -> None:
    make_operator()
    with leaves_events(operator):
        answer = confirm(console, action_url(operator, "roles"), **no_ticks(operator))
    assert "cannot change your own roles" in str(answer.context["form"].errors["held"])
    assert roles_of(operator) == [("GLOBAL_OWNER", None, None)]


def test_the_last_global_owner_is_kept(console: Client, operator: User) -> None:
    user, browser = operator_with(Role.GLOBAL_OWNER)
    operator.grants.all().delete()
    other = UserFactory.create()
    with leaves_events(user):
        confirm(browser, action_url(other, "roles"), **no_ticks(other))
    # Whoever acts is one; so only another, at the same moment, could take the last away.
    assert roles_of(user) == [("GLOBAL_OWNER", None, None)]


def test_a_user_of_another_organization_is_not_found(project: Project) -> None:
    stranger: User = UserFactory.create()
    stranger.grants.create(role=Role.GROUP_READ_ONLY.value, project=ProjectFactory.create())
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    with leaves_events(user, as_owner=False):
        assert confirm(browser, action_url(stranger, "roles"), **no_ticks(stranger)).status_code == 404
    assert stranger.username not in browser.get("/admin/accesslist/user/").content.decode()


def test_a_role_granted_since_the_page_was_loaded_stays(
    console: Client, operator: User, grace: User, project: Project
) -> None:
    sent = ticks(grace)
    grace.grants.create(role=Role.GROUP_OWNER.value, project=project)
    with leaves_events(operator):
        confirm(console, action_url(grace, "roles"), **sent)
    assert [role for role, _, _ in roles_of(grace)] == ["GROUP_READ_ONLY", "GROUP_OWNER"]


def test_a_role_revoked_since_the_page_was_loaded_stays_revoked(console: Client, grace: User) -> None:
    sent = ticks(grace)
    grace.grants.all().delete()
    answer = confirm(console, action_url(grace, "roles"), **sent)
    assert "was revoked in the meantime" in str(answer.context["form"].errors["held"])
    assert roles_of(grace) == []


@each(
    ("role", "shown"), [(Role.GROUP_READ_ONLY, False), (Role.GROUP_USER_ADMIN, True), (Role.ORG_OWNER, True)]
)
def test_administrators_see_the_security_settings_of_a_user(
    role: Role, shown: bool, grace: User, project: Project
) -> None:
    place = {"org": project.org} if role.is_org else {"project": project}
    _, browser = operator_with(role, **place)
    assert ("Second factor" in browser.get(page_of(grace)).content.decode()) is shown
    listed = browser.get("/admin/accesslist/user/").content.decode()
    assert "Last login" not in listed


def test_users_see_their_own_security_settings(project: Project) -> None:
    user, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
    assert "Second factor" in browser.get(page_of(user)).content.decode()


def test_the_list_shows_and_filters_self_registered_users(console: Client, grace: User) -> None:
    stranger = UserFactory.create(username="stranger", self_registered=True)
    page = console.get("/admin/accesslist/user/").content.decode()
    assert "Registered itself" in page
    narrowed = console.get("/admin/accesslist/user/?self_registered__exact=1").content.decode()
    assert stranger.username in narrowed
    assert page_of(grace) not in narrowed
    assert "Registered itself" in console.get(page_of(stranger)).content.decode()


class TestWhatOthersSee:
    """What a reader of one project is shown of people."""

    CONTACT: ClassVar[dict[str, str]] = {"email_address": "a@example.com", "mobile_number": "+12025550100"}

    @pytest.fixture
    def sibling(self, project: Project) -> Project:
        """Another project of the organization."""
        made: Project = ProjectFactory.create(org=project.org, name="secret merger")
        return made

    @pytest.fixture
    def person(self, project: Project, sibling: Project) -> User:
        """Somebody with a role in both."""
        user: User = UserFactory.create(username="ada", **self.CONTACT)
        for place in (project, sibling):
            user.grants.create(role=Role.GROUP_OWNER.value, project=place)
        return user

    def shown(self, browser: Client, user: User) -> str:
        """The list of users, and the user's page."""
        pages = [browser.get(reverse("admin:accesslist_user_changelist")), browser.get(page_of(user))]
        assert [page.status_code for page in pages] == [200, 200]
        return "".join(page.content.decode() for page in pages)

    def test_members_see_no_sibling_project_and_no_contact_data(self, project: Project, person: User) -> None:
        text = self.shown(browser_with(Role.GROUP_READ_ONLY, project=project), person)
        assert "ada" in text
        assert [word for word in ("secret merger", *self.CONTACT.values()) if word in text] == []

    def test_a_user_admin_sees_contact_data_and_no_sibling_project(
        self, project: Project, person: User
    ) -> None:
        text = self.shown(browser_with(Role.GROUP_USER_ADMIN, project=project), person)
        assert all(value in text for value in self.CONTACT.values())
        assert "secret merger" not in text

    def test_users_see_their_own_contact_data(self, project: Project) -> None:
        user, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
        User.objects.filter(id=user.id).update(**self.CONTACT)
        assert all(value in self.shown(browser, user) for value in self.CONTACT.values())

    def test_a_search_by_address_finds_no_user(self, project: Project, person: User) -> None:
        browser = browser_with(Role.GROUP_READ_ONLY, project=project)
        page = browser.get(reverse("admin:accesslist_user_changelist"), {"q": "a@example"})
        assert person.username not in [str(user) for user in page.context["cl"].result_list]
