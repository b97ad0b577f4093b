"""Who finds which events in the console."""

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Organization, Project
from events.models import Event
from events.types import EventType
from opsapi.roles import Role
from tests.admin.event_pages import ADA, CSV, LIST, listed, record, rows
from tests.admin.operators import browser_with
from tests.each import each
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db


class TestVisibleEvents:
    """Who finds which events."""

    @pytest.fixture(autouse=True)
    def events(self, project: Project) -> None:
        self.project = project
        self.other: Project = ProjectFactory.create(name="not theirs")
        self.mine = record(project)
        self.theirs = record(self.other, actor=ADA)
        self.of_my_org = record(None, EventType.ORG_RENAMED, ADA, org_id=project.org_id)
        self.of_their_org = record(None, EventType.ORG_RENAMED, ADA, org_id=self.other.org_id)
        self.of_nobody = record(None, EventType.ALERT_CONFIG_CHANGED_AUDIT, ADA)

    def found(self, client: Client) -> set[str]:
        found = set(listed(client))
        assert {row["id"] for row in rows(client)} == found
        for event in Event.objects.all():
            answer = client.get(reverse("admin:events_event_change", args=[event.id]))
            assert answer.status_code == (200 if event.id in found else 404)
        return found

    @each("role", [Role.GROUP_READ_ONLY, Role.GROUP_OWNER])
    def test_a_projects_reader_finds_events_of_the_project(self, role: Role) -> None:
        assert self.found(browser_with(role, project=self.project)) == {self.mine.id}

    def test_a_member_of_an_organization_finds_its_own(self) -> None:
        assert self.found(browser_with(Role.ORG_MEMBER, org=self.project.org)) == {self.of_my_org.id}

    def test_who_reads_an_organization_finds_its_own_and_its_projects(self) -> None:
        reader = browser_with(Role.ORG_READ_ONLY, org=self.project.org)
        assert self.found(reader) == {self.mine.id, self.of_my_org.id}

    @each("role", [Role.GLOBAL_READ_ONLY, Role.GLOBAL_OWNER])
    def test_a_global_role_finds_everything(self, role: Role) -> None:
        assert self.found(browser_with(role)) == set(Event.objects.values_list("id", flat=True))

    @each("name", ["before", "after"])
    def test_no_page_begins_at_an_invisible_event(self, name: str) -> None:
        reader = browser_with(Role.GROUP_READ_ONLY, project=self.project)
        assert reader.get(LIST, {name: self.mine.id}).status_code == 200
        nothing = reader.get(LIST, {name: "f" * 24})
        theirs = reader.get(LIST, {name: self.theirs.id})
        assert (nothing.status_code, theirs.status_code) == (400, 400)
        assert [answer.context["form"].errors for answer in (theirs, nothing)] == [
            {name: [f"{name}: this event does not exist or has been deleted. Start with the newest events."]}
        ] * 2

    def test_an_invisible_id_is_like_an_unknown_id(self) -> None:
        reader = browser_with(Role.GROUP_READ_ONLY, project=self.project)
        for unknown in (self.other.id, self.theirs.id, "f" * 24):
            assert listed(reader, project=self.project.id, q=unknown) == []

    def test_no_filter_leads_beyond_it(self) -> None:
        reader = browser_with(Role.GROUP_READ_ONLY, project=self.project)
        for query in ({"q": self.theirs.id}, {"q": self.other.id}, {"who": "ada@example.com"}):
            assert listed(reader, **query) == []
        for name in (self.other.id, self.other.name):
            answer = reader.get(LIST, {"project": name})
            assert answer.status_code == 400
            assert "no project with this name or ID" in answer.content.decode()

    def test_no_name_of_another_project_is_shown(self) -> None:
        Organization.objects.filter(id=self.other.org_id).update(name="not theirs either")
        moved = record(self.other, EventType.GROUP_CREATED, ADA, org_id=self.project.org_id)
        member = browser_with(Role.ORG_MEMBER, org=self.project.org)
        assert moved.id in listed(member)
        for url in (LIST, CSV, reverse("admin:events_event_change", args=[moved.id])):
            answer = member.get(url)
            page = b"".join(answer) if answer.streaming else answer.content
            assert b"not theirs" not in page
