"""The event log in the console: finding, going on, reading one, and the file."""

import csv
import html
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accesslist.models import Organization, Project, User
from alerting.models import Alert, AlertConfig
from automation.models import Host
from events import csv as events_file
from events import search_pages
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.models import Event
from events.services import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.roles import Role
from tests.admin.rows import fill
from tests.factories.accesslist import ProjectFactory, UserFactory

pytestmark = pytest.mark.django_db

LIST = "/admin/events/event/"
CSV = "/admin/events/event/csv/"
ADA = Actor(ActorKind.USER, "0" * 24, "ada@example.com", remote_address="192.0.2.7")
KEY = Actor(ActorKind.KEY, "1" * 24, "k3yp7b", remote_address="198.51.100.1")


def record(
    project: Project | None = None,
    event_type: EventType = EventType.HOST_DOWN,
    actor: Actor = SYSTEM,
    *,
    ago: timedelta = timedelta(0),
    hostname: str | None = None,
    **scope: Any,
) -> Event:
    facts = EventFacts(hostname=hostname, port=27017) if hostname else None
    with transaction.atomic():
        return event_record(
            event_type=event_type,
            actor=actor,
            now=clock.now() - ago,
            group_id=project.id if project else None,
            facts=facts,
            **scope,
        )


def browser(role: Role, **place: Any) -> Client:
    user: User = UserFactory.create()
    user.grants.create(role=role.value, **place)
    client = Client()
    client.force_login(user)
    return client


def listed(client: Client, **query: str) -> list[str]:
    """The ids of the events on the page, in its order."""
    answer = client.get(LIST, query)
    assert answer.status_code == 200, answer.content
    return re.findall(r"/admin/events/event/([0-9a-f]{24})/change/", answer.content.decode())


def link(client: Client, text: str, **query: str) -> dict[str, str] | None:
    """The query of the link of that text; None when there is none."""
    page = client.get(LIST, query).content.decode()
    found = re.search(rf'href="\?([^"]*)"[^>]*>{text}</a>', page)
    if found is None:
        return None
    pairs = (pair.split("=") for pair in html.unescape(found[1]).split("&"))
    return dict(pairs)


def rows(client: Client, **query: str) -> list[dict[str, str]]:
    answer: Any = client.get(CSV, query)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "text/csv; charset=utf-8; header=present"
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(StringIO(text, newline="")))


def test_every_filter_finds_what_it_names_and_nothing_else(console: Client, project: Project) -> None:
    other: Project = ProjectFactory.create(name="other one")
    down = record(project, hostname="db1.example.com")
    joined = record(other, EventType.JOINED_GROUP, ADA, ago=timedelta(hours=2))
    restarted = record(other, EventType.HOST_RESTARTED, KEY, ago=timedelta(days=3), alert_id="2" * 24)
    for query, found in [
        ({}, [down, joined, restarted]),
        ({"project": project.name}, [down]),
        ({"project": other.id}, [joined, restarted]),
        ({"category": "HOST"}, [down, restarted]),
        ({"category": "USER"}, [joined]),
        ({"type": "HOST_RESTARTED"}, [restarted]),
        ({"category": "HOST", "type": "HOST_DOWN"}, [down]),
        ({"who": "ada@example.com"}, [joined]),
        ({"who": "k3yp7b"}, [restarted]),
        ({"who": "ada"}, []),
        ({"address": "192.0.2.7"}, [joined]),
        ({"host": "db1.example.com"}, [down]),
        ({"last": "hour"}, [down]),
        ({"last": "day"}, [down, joined]),
        ({"last": "week"}, [down, joined, restarted]),
        ({"end": f"{clock.now() - timedelta(hours=1):%Y-%m-%dT%H:%M}"}, [joined, restarted]),
        ({"start": f"{clock.now() - timedelta(days=1):%Y-%m-%dT%H:%M:%S}"}, [down, joined]),
        ({"q": down.id}, [down]),
        ({"q": other.id}, [joined, restarted]),
        ({"q": "2" * 24}, [restarted]),
        ({"q": "3" * 24}, []),
        ({"project": other.id, "who": "k3yp7b", "last": "week", "category": "HOST"}, [restarted]),
        ({"project": "", "who": ""}, [down, joined, restarted]),
    ]:
        assert listed(console, **query) == [event.id for event in found], query
        assert [row["id"] for row in rows(console, **query)] == [event.id for event in found], query


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"project": "nothing"}, "You can read no project of this name or id."),
        ({"project": "0" * 24}, "You can read no project of this name or id."),
        ({"category": "NOTHING"}, "NOTHING is not one of the available choices"),
        ({"type": "NOTHING"}, "NOTHING is not one of the available choices"),
        ({"category": "HOST", "type": "JOINED_GROUP"}, "This type is not of the category."),
        ({"start": "never"}, "Not a date and time"),
        ({"end": "9999999-01-01"}, "Not a date and time"),
        ({"start": "2026-02-02", "end": "2026-02-01"}, "This must not be after the end."),
        ({"q": "HOST_DOWN"}, "An id has 24 characters"),
        ({"before": "0" * 24}, "before: there is no such event"),
        ({"after": "x"}, "after: there is no such event"),
        ({"last": "year"}, "year is not one of the available choices"),
        ({"who": "x" * 255}, "at most 254 characters"),
        ({"who": "\u0007"}, "must not hold control characters"),
        ({"created__gte": "2026-01-01"}, "There is no filter &#x27;created__gte&#x27;."),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_filter_that_means_nothing_is_told_and_finds_nothing(
    query: dict[str, str], told: str, console: Client, project: Project
) -> None:
    event = record(project)
    for url in (LIST, CSV):
        answer = console.get(url, query)
        page = answer.content.decode()
        assert answer.status_code == 400
        assert told in page.replace("&#39;", "&#x27;")
        assert event.id not in page


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ({"start": "2026-11-21"}, "2026-11-21T00:00:00"),
        ({"end": "2026-11-21"}, "2026-11-21T23:59:59"),
        ({"end": "2026-11-21T07:26:14Z"}, "2026-11-21T07:26:14"),
        ({"start": "2026-11-21T07:26+02:00"}, "2026-11-21T05:26:00"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_a_time_stands_in_its_field_as_the_browser_s_picker_writes_it(
    typed: dict[str, str], shown: str, console: Client, project: Project
) -> None:
    assert f'value="{shown}"' in console.get(LIST, typed).content.decode()


def test_pages_go_on_by_event_in_both_directions(console: Client, project: Project) -> None:
    made = [record(project, ago=timedelta(minutes=number)).id for number in range(120)]
    record(ProjectFactory.create(), ago=timedelta(minutes=60))
    first = listed(console, project=project.id)
    assert first == made[:50]
    assert link(console, "Newer", project=project.id) is None
    to_second = link(console, "Older", project=project.id)
    assert to_second == {"project": project.id, "before": made[49]}
    assert listed(console, **to_second) == made[50:100]
    to_third = link(console, "Older", **to_second)
    assert to_third is not None
    assert listed(console, **to_third) == made[100:]
    assert link(console, "Older", **to_third) is None
    back = link(console, "Newer", **to_third)
    assert back is not None
    assert listed(console, **back) == made[50:100]
    assert link(console, "Older", **back) == {"project": project.id, "before": made[99]}
    assert link(console, "Newest", **back) == {"project": project.id}


def test_a_search_that_ends_before_its_page_is_full_says_how_far_it_looked(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_pages, "LOOKED_BACK", 3)
    made = [record(project, actor=ADA, ago=timedelta(minutes=number)) for number in range(5)]
    wanted = record(project, EventType.JOINED_GROUP, ADA, ago=timedelta(minutes=9))
    query = {"who": "ada@example.com", "type": "JOINED_GROUP"}
    assert listed(console, **query) == []
    assert f"{made[2].created:%Y-%m-%d %H:%M:%S} UTC" in console.get(LIST, query).content.decode()
    on = link(console, "Older", **query)
    assert on == {"who": "ada%40example.com", "type": "JOINED_GROUP", "before": made[2].id}
    assert listed(console, **query, before=made[2].id) == [wanted.id]


def test_a_list_costs_the_same_statements_for_any_number_of_events(console: Client) -> None:
    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            listed(console)
        return [query["sql"] for query in queries]

    record(ProjectFactory.create())
    statements()  # the first visit writes the session
    few = statements()
    for _ in range(60):
        record(ProjectFactory.create(), actor=KEY)
    many = statements()
    assert len(many) == len(few)
    assert not [sql for sql in many if "COUNT(" in sql or "OFFSET" in sql]


class TestReach:
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
            assert answer.status_code == (200 if event.id in found else 302)
        return found

    @pytest.mark.parametrize("role", [Role.GROUP_READ_ONLY, Role.GROUP_OWNER])
    def test_a_project_s_reader_finds_those_of_the_project(self, role: Role) -> None:
        assert self.found(browser(role, project=self.project)) == {self.mine.id}

    def test_a_member_of_an_organization_finds_its_own(self) -> None:
        assert self.found(browser(Role.ORG_MEMBER, org=self.project.org)) == {self.of_my_org.id}

    def test_who_reads_an_organization_finds_its_own_and_its_projects(self) -> None:
        reader = browser(Role.ORG_READ_ONLY, org=self.project.org)
        assert self.found(reader) == {self.mine.id, self.of_my_org.id}

    @pytest.mark.parametrize("role", [Role.GLOBAL_READ_ONLY, Role.GLOBAL_OWNER])
    def test_a_global_role_finds_everything(self, role: Role) -> None:
        assert self.found(browser(role)) == set(Event.objects.values_list("id", flat=True))

    def test_no_filter_leads_beyond_it(self) -> None:
        reader = browser(Role.GROUP_READ_ONLY, project=self.project)
        for query in ({"q": self.theirs.id}, {"q": self.other.id}, {"who": "ada@example.com"}):
            assert listed(reader, **query) == []
        for name in (self.other.id, self.other.name):
            answer = reader.get(LIST, {"project": name})
            assert answer.status_code == 400
            assert "You can read no project of this name or id." in answer.content.decode()

    def test_no_name_of_another_project_is_shown(self) -> None:
        Organization.objects.filter(id=self.other.org_id).update(name="not theirs either")
        moved = record(self.other, EventType.GROUP_CREATED, ADA, org_id=self.project.org_id)
        member = browser(Role.ORG_MEMBER, org=self.project.org)
        assert moved.id in listed(member)
        for url in (LIST, CSV, reverse("admin:events_event_change", args=[moved.id])):
            answer = member.get(url)
            page = b"".join(answer) if answer.streaming else answer.content
            assert b"not theirs" not in page


def test_a_page_shows_what_changed_and_leads_to_what_is_still_there(
    console: Client, project: Project, operator: User
) -> None:
    long = [{"typeName": "EMAIL", "emailAddress": f"<i>{number}</i>@example.com"} for number in range(20)]
    changes = diff(
        DiffType.ALERT_CONFIG, "x", old={"enabled": True, "name": ""}, new={"enabled": False, "list": long}
    )
    actor = Actor(ActorKind.USER, operator.id, operator.username, remote_address="192.0.2.7")
    with transaction.atomic():
        event = event_record(
            event_type=EventType.ALERT_CONFIG_CHANGED_AUDIT,
            actor=actor,
            now=clock.now(),
            group_id=project.id,
            alert_id="2" * 24,
            diffs=changes,
            facts=EventFacts(host_id="4" * 24, hostname="db1", port=27017),
        )
    page = console.get(reverse("admin:events_event_change", args=[event.id])).content.decode()
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "Alert configuration changed" in text or "Alert config changed" in text
    assert "enabled true false" in text
    assert "name empty none" in text
    assert "192.0.2.7" in text
    assert "<i>" not in page
    assert "&lt;i&gt;19&lt;/i&gt;@example.com" in page
    assert reverse("admin:accesslist_project_change", args=[project.id]) in page
    assert reverse("admin:accesslist_user_change", args=[operator.id]) in page
    for gone in ("alerting/alert/" + "2" * 24, "automation/host/" + "4" * 24):
        assert gone not in page


def test_a_page_leads_to_alert_and_host_where_they_exist(console: Client, project: Project) -> None:
    fill(project)
    host, alert = Host.objects.filter(group=project).latest("id"), Alert.objects.get(group=project)
    config = AlertConfig.objects.get(group=project)
    facts = EventFacts(alert_config_id=config.id, host_id=host.id, hostname=host.hostname, port=host.port)
    event = record(project, alert_id=alert.id)
    Event.objects.filter(id=event.id).update(details=facts.document())
    page = console.get(reverse("admin:events_event_change", args=[event.id])).content.decode()
    for named in (
        f"alerting/alert/{alert.id}",
        f"automation/host/{host.id}",
        f"alerting/alertconfig/{config.id}",
    ):
        assert f"/admin/{named}/change/" in page


class TestFile:
    """The list as CSV."""

    def test_a_row_holds_all_of_an_event(self, console: Client, project: Project) -> None:
        event = record(project, EventType.HOST_DOWN, ADA, hostname="db1.example.com", alert_id="2" * 24)
        Event.objects.filter(id=event.id).update(diffs=diff(DiffType.GROUP, "x", new={"name": "é"}))
        (row,) = rows(console)
        assert row == {
            "id": event.id,
            "created": clock.wire_time(event.created),
            "eventTypeName": "HOST_DOWN",
            "groupId": project.id,
            "groupName": project.name,
            "orgId": "",
            "alertId": "2" * 24,
            "who": "ada@example.com",
            "remoteAddress": "192.0.2.7",
            "target": "db1.example.com:27017",
            "details": row["details"],
            "changes": '[{"id":"x","type":"GROUP","params":[{"new":"é","param":"name","display":"name"}],'
            '"status":"NEW"}]',
        }
        assert '"username":"ada@example.com"' in row["details"]

    def test_it_is_a_download_and_nothing_runs_in_it(self, console: Client, project: Project) -> None:
        Project.objects.filter(id=project.id).update(name="=cmd|' /C calc'!A0")
        record(project, actor=Actor(ActorKind.USER, "0" * 24, "+ada;@SUM(A1)", remote_address="192.0.2.7"))
        answer: Any = console.get(CSV)
        assert re.fullmatch(r'attachment; filename="events-\d{8}T\d{6}Z\.csv"', answer["Content-Disposition"])
        text = b"".join(answer.streaming_content).decode()
        assert "\"'=cmd|' /C calc'!A0\"" in text
        assert "\"'+ada;'@SUM(A1)\"" in text
        assert r'""\u002bada;\u0040SUM(A1)""' in text

    def test_no_secret_is_in_it(self, console: Client, project: Project) -> None:
        fill(project)
        assert "canary" not in "".join(str(row) for row in rows(console))

    def test_it_is_read_in_parts_and_no_transaction_stays_open(
        self, console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(events_file, "_AT_ONCE", 2)
        made = [record(project, ago=timedelta(minutes=number)).id for number in range(5)]
        with CaptureQueriesContext(connection) as queries:
            assert [row["id"] for row in rows(console)] == made
        reads = [query["sql"] for query in queries if 'FROM "events_event"' in query["sql"]]
        assert len(reads) == 3
        assert all("LIMIT 3" in sql for sql in reads)
        assert not [query for query in queries if "DECLARE" in query["sql"]]

    def test_one_that_is_cut_says_so_in_its_last_line(
        self, console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(events_file, "_AT_ONCE", 2)
        monkeypatch.setattr(events_file, "MOST_ROWS", 4)
        made = [record(project, ago=timedelta(minutes=number)) for number in range(5)]
        *found, last = rows(console)
        assert [row["id"] for row in found] == [event.id for event in made[:4]]
        assert last["id"].startswith("The file ends after 4 events; there may be more older than ")
        assert set(last.values()) == {last["id"], ""}
        Event.objects.filter(id=made[4].id).delete()
        assert [row["id"] for row in rows(console)] == [event.id for event in made[:4]]

    def test_a_search_of_little_ends_too(
        self, console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (search_pages, events_file):
            monkeypatch.setattr(module, "LOOKED_BACK", 2)
        monkeypatch.setattr(events_file, "MOST_ROWS", 4)
        for number in range(9):
            record(project, actor=ADA, ago=timedelta(minutes=number))
        (last,) = rows(console, who="ada@example.com", type="JOINED_GROUP")
        assert last["id"].startswith("The file ends")


def test_nothing_can_be_posted_to_it(console: Client) -> None:
    assert console.post(LIST, {"action": "delete_selected"}).status_code == 405
