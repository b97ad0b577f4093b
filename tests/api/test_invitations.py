"""Invitations over the API: who may invite, with which roles, and how the link is handed over."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.mail import EmailMessage
from django.db import OperationalError, connection

from accesslist.invitations import inviting
from accesslist.invitations.rules import LASTS, InvitationOutcome, LinkFault, proof_of
from accesslist.invitations.store import invitation_proved
from accesslist.models import Invitation, Project
from events.models import Event
from opsapi import clock
from opsapi.roles import Grant, Role
from tests.api.recipients import client, fields, group, org, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.receivers import MailReceiver

GRACE = "grace@example.com"
NOTHING = "f" * 24
LINK = re.compile(r"http://testserver/admin/invitation/#([0-9a-f]{24}[A-Za-z0-9_-]{43})")
pytestmark = pytest.mark.django_db


def to_org(project: Project) -> str:
    """The invitations to the organization of the project."""
    return f"/orgs/{project.org_id}/invites"


def to_project(project: Project) -> str:
    """The invitations to the project."""
    return f"/groups/{project.id}/invites"


def by_link(*roles: str, **changes: Any) -> dict[str, Any]:
    """What invites Grace by a link."""
    return {"username": GRACE, "sendEmail": False, "roles": list(roles or ["GROUP_READ_ONLY"]), **changes}


def token_in(answer: Any) -> str:
    """The token of the link in the answer."""
    found = LINK.fullmatch(answer.json()["link"])
    assert found
    return found[1]


def fault_of(token: str) -> LinkFault | None:
    """Why the token does not work; None if it works."""
    proof = proof_of(token)
    assert proof
    found = invitation_proved(proof, clock.now())
    return found if isinstance(found, LinkFault) else None


@pytest.fixture
def lead(project: Project) -> ApiClient:
    """An organization owner."""
    return client(org(Role.ORG_OWNER, project))


class TestInviting:
    """POST."""

    def test_a_link_is_in_the_answer_once(self, lead: ApiClient, project: Project) -> None:
        answer = lead.post(to_project(project), {"roles": ["GROUP_MONITORING_ADMIN"]})
        document = answer.json()
        assert answer.status_code == 201
        assert LINK.fullmatch(document.pop("link"))
        assert document["roles"] == ["GROUP_MONITORING_ADMIN"]
        assert (document["groupId"], document["groupName"]) == (project.id, project.name)
        assert not {"username", "emailSentAt", "emailError"} & document.keys()
        row = Invitation.objects.get()
        assert row.expires - row.created == LASTS
        assert lead.get(f"{to_project(project)}/{document['id']}").json() == document
        (listed,) = lead.get(to_project(project)).json()["results"]
        assert "link" not in listed
        assert (listed["id"], listed["inviterUsername"]) == (document["id"], row.inviter_name)

    def test_an_invitation_to_an_organization_names_it(self, lead: ApiClient, project: Project) -> None:
        answer = lead.post(to_org(project), by_link("ORG_MEMBER", "ORG_READ_ONLY"))
        document = answer.json()
        assert answer.status_code == 201
        assert (document["orgId"], document["username"]) == (project.org_id, GRACE)
        assert project.org
        assert document["orgName"] == project.org.name
        assert lead.get(to_project(project)).json()["totalCount"] == 0
        assert lead.get(to_org(project)).json()["totalCount"] == 1

    def test_a_message_has_the_link(
        self, lead: ApiClient, project: Project, mail_receiver: MailReceiver
    ) -> None:
        document = lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"], "username": GRACE}).json()
        assert not {"link", "emailError"} & document.keys()
        assert "emailSentAt" in document
        (mail,) = mail_receiver.mails
        assert mail.recipients == (GRACE,)
        text = mail.message.get_content()
        found = LINK.search(text)
        assert found
        assert fault_of(found[1]) is None
        assert project.name in mail.message["Subject"]
        assert "Reader: read the project" in text

    def test_without_a_mail_server_the_answer_has_the_link_and_the_reason(
        self, lead: ApiClient, project: Project, mail_receiver: MailReceiver
    ) -> None:
        mail_receiver.recipient_answer = f"550 5.1.1 no mailbox {GRACE}"
        answer = lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"], "username": GRACE})
        assert answer.status_code == 201
        assert answer.json()["emailError"] == "the mail server answered 550"
        assert fault_of(token_in(answer)) is None
        assert "emailSentAt" not in lead.get(to_project(project)).json()["results"][0]

    @each(
        ("roles", "code"),
        [
            (["GLOBAL_READ_ONLY"], "INVALID_ENUM_VALUE"),
            (["ORG_MEMBER"], "INVALID_ENUM_VALUE"),
            (["GROUP_AGENT"], "INVALID_ENUM_VALUE"),
            ([], "MISSING_ATTRIBUTE"),
            (["GROUP_READ_ONLY", "GROUP_READ_ONLY"], "INVALID_ATTRIBUTE"),
        ],
    )
    def test_it_refuses_roles_that_no_invitation_gives(
        self, lead: ApiClient, project: Project, roles: list[str], code: str
    ) -> None:
        answer = lead.post(to_project(project), {"roles": roles})
        assert refusal(answer) == (400, code)
        assert not Invitation.objects.exists()

    @each(
        ("role", "wanted", "status"),
        [
            (Role.GROUP_OWNER, "GROUP_MONITORING_ADMIN", 201),
            (Role.GROUP_OWNER, "GROUP_OWNER", 201),
            (Role.GROUP_USER_ADMIN, "GROUP_READ_ONLY", 201),
            (Role.GROUP_USER_ADMIN, "GROUP_USER_ADMIN", 201),
            (Role.GROUP_USER_ADMIN, "GROUP_MONITORING_ADMIN", "ROLE_NOT_HELD"),
            (Role.GROUP_USER_ADMIN, "GROUP_OWNER", "ROLE_NOT_HELD"),
            (Role.GROUP_MONITORING_ADMIN, "GROUP_READ_ONLY", "USER_UNAUTHORIZED"),
        ],
    )
    def test_inviters_give_only_roles_that_they_have(
        self, project: Project, role: Role, wanted: str, status: int | str
    ) -> None:
        answer = client(group(role, project)).post(to_project(project), {"roles": [wanted]})
        assert status == (answer.status_code if isinstance(status, int) else answer.json()["errorCode"])
        assert Invitation.objects.exists() is (answer.status_code == 201)

    def test_a_global_user_administrator_invites_everywhere(self, project: Project) -> None:
        admin = client(Grant(Role.GLOBAL_USER_ADMIN))
        assert admin.post(to_org(project), by_link("ORG_MEMBER")).status_code == 201
        assert admin.post(to_project(project), by_link("GROUP_READ_ONLY")).status_code == 201
        assert refusal(admin.post(to_org(project), {"roles": ["ORG_OWNER"]})) == (403, "ROLE_NOT_HELD")

    def test_an_address_has_one_open_invitation_in_a_scope(self, lead: ApiClient, project: Project) -> None:
        first = lead.post(to_project(project), by_link()).json()
        again = lead.post(to_project(project), by_link(username=GRACE.upper()))
        assert refusal(again) == (409, "INVITATION_ALREADY_EXISTS")
        assert again.json()["parameters"] == [GRACE.upper(), first["id"]]
        assert lead.post(to_org(project), by_link("ORG_MEMBER")).status_code == 201
        assert [lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"]}).status_code for _ in "ab"] == [
            201,
            201,
        ]
        Invitation.objects.filter(id=first["id"]).update(expires=clock.now())
        assert lead.post(to_project(project), by_link()).status_code == 201

    def test_a_message_needs_an_address(self, lead: ApiClient, project: Project) -> None:
        answer = lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"], "sendEmail": True})
        assert refusal(answer) == (400, "MISSING_ATTRIBUTE")
        assert fields(answer) == ["username"]

    def test_invitations_are_limited(self, lead: ApiClient, project: Project, settings: LazySettings) -> None:
        settings.OPSAPI_RATE_INVITATIONS = 1
        document = lead.post(to_project(project), by_link()).json()
        answer = lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"]})
        assert refusal(answer) == (429, "RATE_LIMITED")
        path = f"{to_project(project)}/{document['id']}/resend"
        assert refusal(lead.post(path, None)) == (429, "RATE_LIMITED")
        assert (
            client(org(Role.ORG_OWNER, project)).post(to_org(project), by_link("ORG_MEMBER")).status_code
            == 201
        )

    def test_an_inviter_with_many_scopes_is_limited(
        self, project: Project, settings: LazySettings, mail_receiver: MailReceiver
    ) -> None:
        settings.OPSAPI_RATE_INVITATIONS = 2
        creator = client(org(Role.ORG_GROUP_CREATOR, project))
        statuses = []
        for number in range(3):
            created = creator.post("/groups", {"name": f"shop {number}", "orgId": project.org_id}).json()
            body = {"roles": ["GROUP_READ_ONLY"], "username": GRACE}
            statuses.append(creator.post(f"/groups/{created['id']}/invites", body).status_code)
        assert statuses == [201, 201, 429]
        assert len(mail_receiver.mails) == 2

    def test_an_address_that_is_too_long_in_its_canonical_form_is_refused(
        self, lead: ApiClient, project: Project
    ) -> None:
        address = f"a@{'.'.join(['㌖' * 7] * 31)}.jp"
        assert len(address) <= 254
        answer = lead.post(to_project(project), by_link(username=address))
        assert refusal(answer) == (400, "INVALID_EMAIL_ADDRESS")
        assert fields(answer) == ["username"]
        assert not Invitation.objects.exists()

    def test_a_failure_of_the_database_does_not_hide_that_the_message_was_sent(
        self, lead: ApiClient, project: Project, mail_receiver: MailReceiver
    ) -> None:
        def fails(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
            if mail_receiver.mails and "accesslist_invitation" in sql:
                raise OperationalError("the server ended")
            return execute(sql, *arguments)

        with connection.execute_wrapper(fails):
            answer = lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"], "username": GRACE})
        assert answer.status_code == 201
        assert answer.json().keys() >= {"id", "emailSentAt"}
        assert len(mail_receiver.mails) == 1

    def test_an_invitation_that_is_accepted_while_its_message_is_sent_is_answered(
        self, lead: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def accepted(message: EmailMessage) -> None:
            Invitation.objects.update(outcome=InvitationOutcome.ACCEPTED.value, ended=clock.now())

        monkeypatch.setattr(inviting, "mail_send", accepted)
        answer = lead.post(to_project(project), {"roles": ["GROUP_READ_ONLY"], "username": GRACE})
        assert (answer.status_code, answer.json()["username"]) == (201, GRACE)

    def test_events_name_the_invited_and_show_no_token(self, lead: ApiClient, project: Project) -> None:
        tokens = [token_in(lead.post(to_org(project), by_link("ORG_MEMBER")))]
        tokens.append(token_in(lead.post(to_project(project), by_link())))
        in_org, in_project = Event.objects.filter(event_type__startswith="INVITED").order_by("id")
        assert (in_org.event_type, in_org.org_id, in_org.group_id) == (
            "INVITED_TO_ORG",
            project.org_id,
            None,
        )
        assert (in_project.event_type, in_project.group_id) == ("INVITED_TO_GROUP", project.id)
        assert in_org.details["targetUsername"] == in_project.details["targetUsername"] == GRACE
        row = Invitation.objects.first()
        assert row
        shown = "".join(f"{event.details}{event.diffs}{event.raw}" for event in Event.objects.all())
        for secret in (*(token[24:] for token in tokens), row.token_hash):
            assert secret not in shown
        stored = str(list(Invitation.objects.values()))
        assert not any(token[24:] in stored for token in tokens)


class TestChanging:
    """PATCH, DELETE and resend."""

    @pytest.fixture(autouse=True)
    def _invited(self, lead: ApiClient, project: Project) -> None:
        self.lead, self.project = lead, project
        answer = lead.post(to_project(project), by_link("GROUP_MONITORING_ADMIN"))
        self.token, self.id = token_in(answer), answer.json()["id"]
        self.path = f"{to_project(project)}/{self.id}"

    def test_roles_are_replaced_and_the_link_stays(self) -> None:
        answer = self.lead.patch(self.path, {"roles": ["GROUP_READ_ONLY"]})
        assert answer.json()["roles"] == ["GROUP_READ_ONLY"]
        assert fault_of(self.token) is None
        event = Event.objects.latest("id")
        assert (event.event_type, event.group_id) == ("INVITATION_CHANGED_AUDIT", self.project.id)

    def test_a_document_that_was_read_can_be_written_back(self) -> None:
        before, count = self.lead.get(self.path).json(), Event.objects.count()
        assert self.lead.patch(self.path, before).json() == before
        assert Event.objects.count() == count

    def test_who_changes_an_invitation_needs_all_its_roles_and_becomes_the_inviter(self) -> None:
        admin = client(group(Role.GROUP_USER_ADMIN, self.project))
        answer = admin.patch(self.path, {"roles": ["GROUP_OWNER"]})
        assert refusal(answer) == (403, "ROLE_NOT_HELD")
        answer = admin.patch(self.path, {"roles": ["GROUP_READ_ONLY"]})
        assert admin.key
        assert answer.json()["inviterUsername"] == admin.key.public_key

    def test_who_sends_an_invitation_again_needs_all_its_roles(self) -> None:
        """The answer contains the link, with which the caller could accept."""
        admin = client(group(Role.GROUP_USER_ADMIN, self.project))
        assert refusal(admin.post(f"{self.path}/resend", None)) == (403, "ROLE_NOT_HELD")
        assert fault_of(self.token) is None

    def test_a_new_link_replaces_the_old_one(self, mail_receiver: MailReceiver) -> None:
        mail_receiver.recipient_answer = "550 no"
        Invitation.objects.update(expires=clock.now() - timedelta(days=1))
        answer = self.lead.post(f"{self.path}/resend", None)
        assert answer.status_code == 200
        assert fault_of(token_in(answer)) is None
        assert fault_of(self.token) is LinkFault.REPLACED
        assert Event.objects.latest("id").event_type == "INVITATION_RESENT_AUDIT"
        mail_receiver.recipient_answer = "250 OK"
        assert "link" not in self.lead.post(f"{self.path}/resend", None).json()
        assert [mail.recipients for mail in mail_receiver.mails] == [(GRACE,)]

    def test_a_revoked_invitation_is_gone(self) -> None:
        assert self.lead.delete(self.path).status_code == 204
        assert fault_of(self.token) is LinkFault.REVOKED
        assert refusal(self.lead.get(self.path)) == (404, "INVITATION_NOT_FOUND")
        assert refusal(self.lead.delete(self.path)) == (404, "INVITATION_NOT_FOUND")
        assert refusal(self.lead.post(f"{self.path}/resend", None)) == (404, "INVITATION_NOT_FOUND")
        assert self.lead.get(to_project(self.project)).json()["totalCount"] == 0
        assert Event.objects.latest("id").event_type == "INVITATION_REVOKED_AUDIT"

    def test_an_expired_invitation_stays_in_the_list(self) -> None:
        Invitation.objects.update(expires=clock.now())
        assert fault_of(self.token) is LinkFault.EXPIRED
        assert self.lead.get(to_project(self.project)).json()["totalCount"] == 1

    def test_an_invitation_is_found_only_in_its_scope(self) -> None:
        sibling = ProjectFactory.create(org=self.project.org)
        for path in (f"{to_project(sibling)}/{self.id}", f"{to_org(self.project)}/{self.id}"):
            assert refusal(self.lead.get(path)) == (404, "INVITATION_NOT_FOUND")
            assert refusal(self.lead.delete(path)) == (404, "INVITATION_NOT_FOUND")
        assert refusal(self.lead.get(f"{to_project(self.project)}/{NOTHING}"))[1] == "INVITATION_NOT_FOUND"
        assert refusal(self.lead.get(f"{to_project(self.project)}/x"))[1] == "INVALID_INVITATION_ID"

    def test_readers_of_the_project_see_no_invitations(self) -> None:
        reader = client(group(Role.GROUP_MONITORING_ADMIN, self.project))
        assert refusal(reader.get(to_project(self.project))) == (403, "USER_UNAUTHORIZED")
        assert refusal(client(Grant(Role.GLOBAL_READ_ONLY)).get(self.path)) == (403, "USER_UNAUTHORIZED")

    def test_a_deleted_project_revokes_its_invitations(self) -> None:
        assert self.lead.delete(f"/groups/{self.project.id}").status_code == 204
        assert fault_of(self.token) is LinkFault.REVOKED
