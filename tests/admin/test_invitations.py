"""The pages of invitations: for inviters, and for the people who open a link."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.core import signing
from django.test import Client

from accesslist.invitations.changes import IssuedInvitation, invitation_resend, invitation_revoke
from accesslist.invitations.pages import COOKIE
from accesslist.invitations.rules import KEPT, LASTS, LinkFault
from accesslist.models import Invitation, Organization, Project, RoleGrant, User
from accesslist.principal import UserPrincipal
from accesslist.purge import expired_rows_purge
from accesslist.roles.changes import users_revoke
from events.models import Event
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.page_paths import INVITATION_PATH
from opsapi.roles import Grant, Role
from tests.admin.logging_in import errors_of
from tests.admin.operators import action_url, browser_with, operator_with, page_of
from tests.admin.times import NOON
from tests.each import each
from tests.factories.accesslist import PASSWORD, OrganizationFactory, ProjectFactory, UserFactory
from tests.factories.invitations import issue
from tests.factories.second_factors import code_at, make_second_factor
from tests.racing import THREADS, at_once
from tests.receivers import MailReceiver, mail_receiver

__all__ = ["mail_receiver"]

TOKEN, EXISTING = f"{INVITATION_PATH}token/", f"{INVITATION_PATH}existing/"
USERS, INVITATIONS = "/admin/accesslist/user/", "/admin/accesslist/invitation/"
CHOOSE = f"{INVITATIONS}invite/"
GRACE = "grace@example.com"
NEW = {
    "username": "grace",
    "password": "correct horse battery",
    "again": "correct horse battery",
    "firstName": "Grace",
    "lastName": "Hopper",
}
pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(project: Project) -> User:
    """An organization owner."""
    user, _ = operator_with(Role.ORG_OWNER, org=project.org)
    return user


def opened(issued: IssuedInvitation, browser: Client | None = None) -> Client:
    """A browser in which the link was opened."""
    browser = browser or Client()
    answer = browser.post(TOKEN, {"token": issued.token})
    assert (answer.status_code, answer["Location"]) == (302, INVITATION_PATH)
    return browser


def fault_in(answer: Any) -> LinkFault:
    """Why the link did not work."""
    assert COOKIE not in answer.cookies or not answer.cookies[COOKIE].value
    return LinkFault(answer.context["fault"])


def sent(token: str) -> Any:
    """The answer to the token of an opened link."""
    return Client().post(TOKEN, {"token": token})


def held(user: User) -> set[Grant]:
    """The user's roles."""
    return {row.grant for row in RoleGrant.objects.filter(user=user)}


def types() -> list[str]:
    """The types of all events, oldest first."""
    return list(Event.objects.order_by("id").values_list("event_type", flat=True))


class TestInviting:
    """The form and its result."""

    def test_the_users_page_leads_an_owner_to_the_form(self, lead: User, project: Project) -> None:
        browser = Client()
        browser.force_login(lead)
        page = browser.get(USERS)
        assert [button["url"] for button in page.context["list_actions"]] == [CHOOSE]
        assert page.context["list_note"] == ""
        assert browser.get(CHOOSE)["Location"] == action_url(project.org, "invite")

    def test_other_users_read_who_can_invite(self, project: Project) -> None:
        page = browser_with(Role.GROUP_MONITORING_ADMIN, project=project).get(USERS)
        assert page.context["list_actions"] == []
        for name in ("Organization owner", "Project owner", "User administrator"):
            assert name in page.context["list_note"]
        assert page.context["list_note"] in page.content.decode()

    def test_with_several_places_the_operator_chooses(self, project: Project) -> None:
        user, browser = operator_with(Role.GROUP_OWNER, project=project)
        assert browser.get(CHOOSE)["Location"] == action_url(project, "invite")
        other = ProjectFactory.create()
        user.grants.create(role=Role.GROUP_USER_ADMIN.value, project=other)
        ProjectFactory.create()
        form = browser.get(CHOOSE).context["place_form"]
        ((_, offered),) = form.fields["place"].choices
        assert {value for value, _ in offered} == {f"group:{project.id}", f"group:{other.id}"}
        answer = browser.get(CHOOSE, {"place": f"group:{other.id}"})
        assert answer["Location"] == action_url(other, "invite")

    @each(
        ("role", "offered"),
        [
            (Role.GROUP_USER_ADMIN, {"GROUP_READ_ONLY", "GROUP_USER_ADMIN"}),
            (
                Role.GROUP_OWNER,
                {role.value for role in Role if role.is_group} - {"GROUP_AGENT"},
            ),
        ],
    )
    def test_only_roles_that_the_operator_can_give_are_offered(
        self, project: Project, role: Role, offered: set[str]
    ) -> None:
        page = browser_with(role, project=project).get(action_url(project, "invite"))
        assert {value for value, _ in page.context["form"].fields["roles"].choices} == offered

    def test_a_link_is_shown_once(self, lead: User, project: Project) -> None:
        browser = Client()
        browser.force_login(lead)
        answer = self._send(browser, project, way="link")
        invited = answer.context["invited"]
        assert invited.link in answer.content.decode()
        token = invited.link.partition("#")[2]
        assert sent(token).status_code == 302
        row = Invitation.objects.get()
        assert row.mailed is None
        assert row.project == project
        for url in (page_of(row), INVITATIONS):
            page = browser.get(url)
            assert page.status_code == 200
            assert token[24:] not in page.content.decode()

    def test_a_message_is_sent_after_the_invitation_is_stored(
        self, lead: User, project: Project, mail_receiver: MailReceiver
    ) -> None:
        browser = Client()
        browser.force_login(lead)
        answer = self._send(browser, project, emailAddress=GRACE)
        row = Invitation.objects.get()
        assert answer["Location"] == page_of(row)
        assert row.mailed is not None
        assert [mail.recipients for mail in mail_receiver.mails] == [(GRACE,)]

    def test_an_invitation_to_a_project_is_no_event_of_the_organization(
        self, lead: User, project: Project
    ) -> None:
        browser = Client()
        browser.force_login(lead)
        self._send(browser, project, way="link")
        event = Event.objects.get(event_type="INVITED_TO_GROUP")
        assert (event.group_id, event.org_id) == (project.id, None)

    def test_a_refused_message_shows_link_and_reason(
        self, lead: User, project: Project, mail_receiver: MailReceiver
    ) -> None:
        mail_receiver.recipient_answer = "550 no"
        browser = Client()
        browser.force_login(lead)
        invited = self._send(browser, project, emailAddress=GRACE).context["invited"]
        assert invited.fault == "the mail server answered 550"
        assert sent(invited.link.partition("#")[2]).status_code == 302

    @each(
        ("typed", "field"),
        [
            ({"way": "email", "emailAddress": ""}, "emailAddress"),
            ({"way": "link", "emailAddress": "nobody"}, "emailAddress"),
            ({"way": "link", "roles": []}, "roles"),
            ({"way": "link", "roles": ["GROUP_AGENT"]}, "roles"),
            ({"way": ""}, "way"),
        ],
    )
    def test_wrong_input_is_shown_at_its_field(
        self, lead: User, project: Project, typed: Mapping[str, Any], field: str
    ) -> None:
        browser = Client()
        browser.force_login(lead)
        assert list(errors_of(self._send(browser, project, **typed))) == [field]
        assert not Invitation.objects.exists()

    def test_an_invited_address_is_shown_at_its_field(self, lead: User, project: Project) -> None:
        issue(lead, project, to=GRACE)
        browser = Client()
        browser.force_login(lead)
        answer = self._send(browser, project, way="link", emailAddress=GRACE)
        assert list(errors_of(answer)) == ["emailAddress"]

    def test_operators_see_and_change_the_invitations_of_their_scopes(
        self, lead: User, project: Project
    ) -> None:
        issued = issue(lead, project, Role.GROUP_READ_ONLY, to=GRACE)
        other, browser = operator_with(Role.GROUP_USER_ADMIN, project=project)
        row = issued.invitation
        assert [each.pk for each in browser.get(INVITATIONS).context["cl"].result_list] == [row.pk]
        stranger = browser_with(Role.GROUP_OWNER, project=ProjectFactory.create())
        assert stranger.get(INVITATIONS).context["cl"].result_list.count() == 0
        assert stranger.get(page_of(row)).status_code == 404
        assert stranger.post(action_url(row, "revoke"), {"confirmed": "yes"}).status_code == 404
        for role in (Role.GROUP_MONITORING_ADMIN, Role.GROUP_READ_ONLY):
            assert browser_with(role, project=project).get(INVITATIONS).status_code == 403
        assert browser_with(Role.GLOBAL_READ_ONLY).get(page_of(row)).status_code in {403, 404}
        assert browser.post(action_url(row, "revoke"), {"confirmed": "yes"}).status_code == 302
        assert fault_in(sent(issued.token)) is LinkFault.REVOKED
        event = Event.objects.latest("id")
        assert (event.event_type, event.details["username"]) == ("INVITATION_REVOKED_AUDIT", other.username)

    def test_an_invitation_is_sent_again(
        self, lead: User, project: Project, mail_receiver: MailReceiver
    ) -> None:
        issued = issue(lead, project, to=GRACE)
        browser = Client()
        browser.force_login(lead)
        url = action_url(issued.invitation, "send-again")
        once = browser.get(url).context["token"]
        answer = browser.post(url, {"confirmed": "yes", "once": once})
        assert answer["Location"] == page_of(issued.invitation)
        assert [mail.recipients for mail in mail_receiver.mails] == [(GRACE,)]
        assert fault_in(sent(issued.token)) is LinkFault.REPLACED

    def _send(self, browser: Client, project: Project, **typed: Any) -> Any:
        url = action_url(project, "invite")
        once = browser.get(url).context["token"]
        usual = {"way": "email", "emailAddress": "", "roles": ["GROUP_MONITORING_ADMIN"]}
        return browser.post(url, {"confirmed": "yes", "once": once, **usual, **typed})


class TestAccepting:
    """The person who opens the link."""

    def test_a_new_person_sets_name_and_password_and_is_logged_in(self, lead: User, project: Project) -> None:
        issued = issue(lead, project, to=GRACE)
        browser = opened(issued)
        page = browser.get(INVITATION_PATH)
        assert page.context["form"]["username"].value() == GRACE
        assert "emailAddress" not in page.context["form"].fields
        answer = browser.post(INVITATION_PATH, {**NEW, "mobileNumber": "+12025550100"})
        assert (answer.status_code, answer["Location"]) == (302, "/admin/")
        user = User.objects.get(username="grace")
        assert (user.email_address, user.mobile_number) == (GRACE, "+12025550100")
        assert (user.password_given, user.self_registered) == (False, False)
        assert held(user) == {Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id)}
        assert browser.get("/admin/").status_code == 200
        assert Client().login(username="grace", password=NEW["password"])
        assert types() == [
            "INVITED_TO_GROUP",
            "USER_CREATED_AUDIT",
            "USER_ROLES_CHANGED_AUDIT",
            "JOINED_GROUP",
            "INVITATION_ACCEPTED_AUDIT",
        ]
        joined = Event.objects.get(event_type="JOINED_GROUP")
        assert (joined.group_id, joined.details["targetUsername"]) == (project.id, "grace")

    def test_without_an_address_the_person_gives_one(self, lead: User, project: Project) -> None:
        browser = opened(issue(lead, project, in_org=True))
        browser.post(INVITATION_PATH, {**NEW, "emailAddress": "hopper@example.com"})
        user = User.objects.get(username="grace")
        assert user.email_address == "hopper@example.com"
        assert held(user) == {Grant(Role.ORG_MEMBER, org_id=project.org_id)}
        assert types()[0] == "INVITED_TO_ORG"
        assert "JOINED_ORG" in types()

    @each(
        ("typed", "fields"),
        [
            ({"password": "short", "again": "short"}, ["password"]),
            ({"again": "another horse"}, ["again"]),
            ({"username": "taken"}, ["username"]),
            ({"username": ""}, ["username"]),
            ({"firstName": ""}, ["firstName"]),
            ({"mobileNumber": "x"}, ["mobileNumber"]),
        ],
    )
    def test_wrong_input_creates_nothing_and_leaves_the_link(
        self, lead: User, project: Project, typed: Mapping[str, str], fields: list[str]
    ) -> None:
        UserFactory.create(username="taken")
        browser = opened(issue(lead, project))
        count = User.objects.count()
        answer = browser.post(INVITATION_PATH, {**NEW, **typed})
        assert answer.status_code == 200
        assert list(errors_of(answer)) == fields
        assert User.objects.count() == count
        assert browser.post(INVITATION_PATH, NEW).status_code == 302

    def test_somebody_who_is_logged_in_gets_the_roles(self, lead: User, project: Project) -> None:
        user, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
        opened(issue(lead, project), browser)
        assert browser.get(INVITATION_PATH).status_code == 200
        assert browser.post(INVITATION_PATH)["Location"] == "/admin/"
        assert {grant.role for grant in held(user)} == {Role.GROUP_READ_ONLY, Role.GROUP_MONITORING_ADMIN}
        assert types() == ["INVITED_TO_GROUP", "USER_ROLES_CHANGED_AUDIT", "INVITATION_ACCEPTED_AUDIT"]

    def test_somebody_without_roles_logs_in_with_the_link(self, lead: User, project: Project) -> None:
        """A user without roles cannot log in otherwise."""
        user = UserFactory.create(username="ada")
        browser = opened(issue(lead, project))
        typed = {"username": "Ada", "password": PASSWORD}
        wrong = browser.post(EXISTING, {**typed, "password": "wrong"})
        assert wrong.status_code == 200
        assert not held(user)
        assert browser.post(EXISTING, typed)["Location"] == "/admin/"
        assert {grant.role for grant in held(user)} == {Role.GROUP_MONITORING_ADMIN}
        assert browser.get("/admin/").status_code == 200

    def test_a_second_factor_is_asked_for(self, lead: User, project: Project) -> None:
        user = UserFactory.create(username="ada")
        with time_machine.travel(NOON, tick=False):
            secret, _ = make_second_factor(user, NOON - timedelta(hours=1))
            browser = opened(issue(lead, project, now=NOON))
            typed = {"username": "ada", "password": PASSWORD}
            for code in ("", "000000"):
                assert list(errors_of(browser.post(EXISTING, {**typed, "code": code}))) == ["code"]
            assert not held(user)
            assert browser.post(EXISTING, {**typed, "code": code_at(secret, NOON)}).status_code == 302
        assert held(user)

    def test_wrong_passwords_are_limited(self, lead: User, project: Project, settings: LazySettings) -> None:
        settings.OPSAPI_LOGIN_ATTEMPTS = 2
        UserFactory.create(username="ada")
        browser = opened(issue(lead, project))
        typed = {"username": "ada", "password": "wrong"}
        assert [browser.post(EXISTING, typed).status_code for _ in range(3)] == [200, 200, 429]
        assert browser.post(EXISTING, {**typed, "password": PASSWORD}).status_code == 429

    def test_nobody_accepts_their_own_invitation(self, lead: User, project: Project) -> None:
        browser = Client()
        browser.force_login(lead)
        opened(issue(lead, project), browser)
        before = held(lead)
        assert browser.post(INVITATION_PATH).status_code == 200
        assert held(lead) == before
        assert Invitation.objects.get().outcome is None

    def test_a_link_works_once(self, lead: User, project: Project) -> None:
        issued = issue(lead, project)
        first, second = opened(issued), opened(issued)
        assert first.post(INVITATION_PATH, NEW).status_code == 302
        answer = second.post(INVITATION_PATH, {**NEW, "username": "eve"})
        assert (answer.status_code, fault_in(answer)) == (410, LinkFault.USED)
        assert fault_in(sent(issued.token)) is LinkFault.USED
        assert not User.objects.filter(username="eve").exists()

    def test_a_link_expires_after_a_week(self, lead: User, project: Project) -> None:
        with time_machine.travel(NOON, tick=False) as traveller:
            issued = issue(lead, project, now=NOON)
            traveller.move_to(NOON + LASTS - timedelta(minutes=1))
            browser = opened(issued)
            traveller.move_to(NOON + LASTS)
            assert fault_in(browser.post(INVITATION_PATH, NEW)) is LinkFault.EXPIRED
            assert fault_in(sent(issued.token)) is LinkFault.EXPIRED
            expired_rows_purge(now=NOON + LASTS + KEPT)
            assert Invitation.objects.exists()
            expired_rows_purge(now=NOON + LASTS + KEPT + timedelta(seconds=1))
            assert not Invitation.objects.exists()

    def test_a_link_that_is_revoked_after_it_was_opened_says_so(self, lead: User, project: Project) -> None:
        issued = issue(lead, project)
        browser, row = opened(issued), issued.invitation
        actor = UserPrincipal(lead, None).actor()
        invitation_revoke(invitation_id=row.id, here=row.scope, actor=actor, now=clock.now())
        answer = browser.post(INVITATION_PATH, NEW)
        assert (answer.status_code, fault_in(answer)) == (410, LinkFault.REVOKED)
        assert not User.objects.filter(username="grace").exists()

    def test_a_link_that_is_replaced_after_it_was_opened_says_so(self, lead: User, project: Project) -> None:
        issued = issue(lead, project)
        browser, row, by = opened(issued), issued.invitation, UserPrincipal(lead, None)
        again = invitation_resend(
            invitation_id=row.id, here=row.scope, by=by.grants, actor=by.actor(), now=clock.now()
        )
        answer = browser.post(INVITATION_PATH, NEW)
        assert (answer.status_code, fault_in(answer)) == (410, LinkFault.REPLACED)
        assert opened(again).post(INVITATION_PATH, NEW).status_code == 302

    @each("token", ["x", "f" * 24 + "secret", "", "a" * 90])
    def test_other_tokens_say_nothing(self, lead: User, project: Project, token: str) -> None:
        issue(lead, project)
        answer = sent(token)
        assert (answer.status_code, fault_in(answer)) == (404, LinkFault.UNKNOWN)

    def test_attempts_are_limited(self, project: Project, settings: LazySettings) -> None:
        settings.OPSAPI_LOGIN_ATTEMPTS = 1
        assert sent("x").status_code == 404
        limited = sent("x")
        assert limited.status_code == 429
        assert "Retry-After" in limited.headers

    def test_attempts_to_find_names_of_accounts_are_limited(
        self, lead: User, project: Project, settings: LazySettings
    ) -> None:
        settings.OPSAPI_LOGIN_ATTEMPTS = 1
        UserFactory.create(username="taken")
        browser = opened(issue(lead, project))
        taken = browser.post(INVITATION_PATH, {**NEW, "username": "taken"})
        assert (taken.status_code, list(errors_of(taken))) == (200, ["username"])
        for name in ("taken", "grace"):
            limited = browser.post(INVITATION_PATH, {**NEW, "username": name})
            assert (limited.status_code, "Retry-After" in limited.headers) == (429, True)
            assert "username" not in errors_of(limited)
        assert not User.objects.filter(username="grace").exists()

    def test_without_a_link_there_is_only_the_form_of_the_token(self, project: Project) -> None:
        for url in (INVITATION_PATH, EXISTING):
            assert list(Client().get(url).context["form"].fields) == ["token"]
            assert Client().post(url, NEW).status_code == 403
        forged = Client()
        forged.cookies[COOKIE] = f"{'f' * 24}.{'0' * 64}:forged"
        assert forged.post(INVITATION_PATH, NEW).status_code == 403

    def test_roles_that_the_inviter_lost_are_not_given(self, lead: User, project: Project) -> None:
        issued = issue(lead, project, Role.GROUP_READ_ONLY, Role.GROUP_MONITORING_ADMIN)
        browser = opened(issued)
        lead.grants.all().delete()
        lead.grants.create(role=Role.GROUP_USER_ADMIN.value, project=project)
        page = browser.get(INVITATION_PATH)
        assert [role.name for role in page.context["given"]] == ["Reader"]
        assert [role.name for role in page.context["lost"]] == ["Operator"]
        followed = browser.post(INVITATION_PATH, NEW, follow=True)
        assert any("Operator" in str(message) for message in followed.context["messages"])
        assert held(User.objects.get(username="grace")) == {Grant(Role.GROUP_READ_ONLY, None, project.id)}

    def test_an_invitation_whose_inviter_can_give_nothing_is_refused(
        self, lead: User, project: Project
    ) -> None:
        browser = opened(issue(lead, project))
        lead.grants.all().delete()
        users_revoke(ids=[lead.id], actor=SYSTEM, now=clock.now())
        answer = browser.post(INVITATION_PATH, NEW)
        assert fault_in(answer) is LinkFault.ROLES_LOST
        lead.delete()
        assert fault_in(opened_anew().post(INVITATION_PATH, NEW)) is LinkFault.ROLES_LOST
        assert not User.objects.filter(username="grace").exists()

    def test_without_a_project_nobody_is_logged_in(self, db: None) -> None:
        org: Organization = OrganizationFactory.create()
        owner = UserFactory.create()
        owner.grants.create(role=Role.ORG_OWNER.value, org=org)
        browser = opened(issue(owner, Project(org=org), in_org=True))
        browser.post(INVITATION_PATH, NEW)
        assert held(User.objects.get(username="grace"))
        assert browser.get("/admin/")["Location"].startswith("/admin/login/")


def opened_anew() -> Client:
    """Another browser with the only invitation, whose link it has a proof of."""
    invitation = Invitation.objects.get()
    browser = Client()
    answer = browser.get(INVITATION_PATH)
    assert answer.status_code == 200
    issued_cookie = _signed(f"{invitation.id}.{invitation.token_hash}")
    browser.cookies[COOKIE] = issued_cookie
    return browser


def _signed(value: str) -> str:
    return signing.get_cookie_signer(salt=f"{COOKIE}accesslist.invitations").sign(value)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_many_people_with_one_link_one_gets_an_account() -> None:
    project = ProjectFactory.create()
    lead, _ = operator_with(Role.ORG_OWNER, org=project.org)
    issued = issue(lead, project)
    browsers = [opened(issued) for _ in range(THREADS)]
    answers = at_once(
        lambda number: browsers[number].post(INVITATION_PATH, {**NEW, "username": f"grace{number}"})
    )
    assert sorted(answer.status_code for answer in answers) == [302, *[410] * (THREADS - 1)]
    assert User.objects.filter(username__startswith="grace").count() == 1
    assert types().count("INVITATION_ACCEPTED_AUDIT") == types().count("JOINED_GROUP") == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_revoked_meanwhile_is_used_or_revoked_and_not_both() -> None:
    project = ProjectFactory.create()
    lead, _ = operator_with(Role.ORG_OWNER, org=project.org)
    issued = issue(lead, project)
    browser = opened(issued)
    browsers = [Client() for _ in range(THREADS)]
    for each_browser in browsers:
        each_browser.force_login(lead)

    def act(number: int) -> int:
        if number % 2:
            url = action_url(issued.invitation, "revoke")
            return int(browsers[number].post(url, {"confirmed": "yes"}).status_code)
        return int(browser.post(INVITATION_PATH, {**NEW, "username": f"grace{number}"}).status_code)

    at_once(act)
    accepted = User.objects.filter(username__startswith="grace").count()
    ended = Invitation.objects.get().outcome
    assert (accepted, ended) in {(1, "ACCEPTED"), (0, "REVOKED")}
    assert types().count("INVITATION_REVOKED_AUDIT") == 1 - accepted
