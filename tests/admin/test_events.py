"""The event log in the console: finding, going on, reading one."""

import re
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accesslist.kiosks.changes import kiosk_create
from accesslist.models import Project, User
from alerting.models import Alert, AlertConfig
from automation.models import Host
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log import search as searching
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from integrations.credentials.changes import integration_create
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from opsapi import clock
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.clock import parse_time, time_words
from opsapi.console.admin_urls import page_url
from opsapi.roles import Scope
from tests.admin.event_pages import ADA, CSV, KEY, LIST, link, listed, record, rows
from tests.admin.rows import fill
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, make_config

pytestmark = pytest.mark.django_db


@pytest.mark.slow
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
        ({"host": "db1.example.com:27017"}, [down]),
        ({"host": "db1.example.com:27018"}, []),
        ({"host": "db1.example.com:27017", "category": "USER"}, []),
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
        # Without a project, the project of the query before stays chosen.
        asked = {"project": "", **query}
        assert listed(console, **asked) == [event.id for event in found], query
        assert [row["id"] for row in rows(console, **asked)] == [event.id for event in found], query


@pytest.mark.slow
@each(
    ("query", "message"),
    [
        ({"project": "nothing"}, "no project with this name or ID"),
        ({"project": "0" * 24}, "no project with this name or ID"),
        ({"category": "NOTHING"}, "NOTHING is not one of the available choices"),
        ({"type": "NOTHING"}, "NOTHING is not one of the available choices"),
        ({"category": "HOST", "type": "JOINED_GROUP"}, "not in the selected category"),
        ({"start": "never"}, "Enter a date and time"),
        ({"end": "9999999-01-01"}, "Enter a date and time"),
        ({"start": "2026-02-02", "end": "2026-02-01"}, "before the end"),
        ({"q": "HOST_DOWN"}, "An ID has 24 characters"),
        ({"before": "0" * 24}, "before: this event does not exist"),
        ({"after": "x"}, "after: this event does not exist"),
        ({"last": "year"}, "year is not one of the available choices"),
        ({"who": "x" * 255}, "at most 254 characters"),
        ({"who": "\u0007"}, "control characters"),
        ({"created__gte": "2026-01-01"}, "There is no filter &#x27;created__gte&#x27;."),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_filter_that_means_nothing_is_reported_and_finds_nothing(
    query: dict[str, str], message: str, console: Client, project: Project
) -> None:
    event = record(project)
    for url in (LIST, CSV):
        answer = console.get(url, query)
        page = answer.content.decode()
        assert answer.status_code == 400
        assert message in page.replace("&#39;", "&#x27;")
        assert event.id not in page


@each(
    ("typed", "shown"),
    [
        ({"start": "2026-11-21"}, "2026-11-21 00:00"),
        ({"end": "2026-11-21"}, "2026-11-21 23:59:59"),
        ({"end": "2026-11-21T07:26:14Z"}, "2026-11-21 07:26:14"),
        ({"start": "2026-11-21T07:26+02:00"}, "2026-11-21 05:26"),
        ({"start": "2026-11-21 07:26"}, "2026-11-21 07:26"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_a_time_is_in_its_field_as_people_type_it(
    typed: dict[str, str], shown: str, console: Client, project: Project
) -> None:
    assert f'value="{shown}"' in console.get(LIST, typed).content.decode()


@each(
    ("name", "typed", "searched", "shown"),
    [
        ("start", "2026-07-01 02:00", "2026-07-01T00:00:00Z", "2026-07-01 02:00"),
        ("start", "2026-07-01", "2026-06-30T22:00:00Z", "2026-07-01 00:00"),
        ("end", "2026-07-01", "2026-07-01T21:59:59Z", "2026-07-01 23:59:59"),
        ("end", "2026-07-01T02:00:00Z", "2026-07-01T02:00:00Z", "2026-07-01 04:00"),
    ],
)
def test_times_are_read_and_shown_in_the_zone_of_the_operator(
    name: str, typed: str, searched: str, shown: str, console: Client
) -> None:
    User.objects.update(time_zone="Europe/Berlin")
    page = console.get(LIST, {name: typed})
    form = page.context["form"]
    assert form.cleaned_data[name] == parse_time(searched)
    assert str(form[name].label).endswith("(Europe/Berlin)")
    assert f'value="{shown}"' in page.content.decode()


@pytest.mark.slow
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
    monkeypatch.setattr(searching, "LOOKED_BACK", 3)
    made = [record(project, actor=ADA, ago=timedelta(minutes=number)) for number in range(5)]
    wanted = record(project, EventType.JOINED_GROUP, ADA, ago=timedelta(minutes=9))
    query = {"who": "ada@example.com", "type": "JOINED_GROUP"}
    assert listed(console, **query) == []
    assert time_words(made[2].created) in console.get(LIST, query).content.decode()
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
    assert "Alert configuration changed" in text
    assert "Enabled true false" in text
    assert "Name empty none" in text
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


def test_nothing_can_be_posted_to_it(console: Client) -> None:
    assert console.post(LIST, {"action": "delete_selected"}).status_code == 405


def test_people_and_fleet_divide_the_events(console: Client, project: Project) -> None:
    down = record(project)
    reported = record(project, EventType.HOST_RESTARTED, KEY)
    added = record(project, EventType.ADD_HOST_AUDIT, ADA)
    by_key = record(project, EventType.ALERT_CONFIG_ADDED_AUDIT, KEY)
    for query, events in [
        ({"by": "people"}, [added]),
        ({"by": "fleet"}, [reported, down]),
        ({}, [by_key, added, reported, down]),
        ({"by": "fleet", "type": "HOST_DOWN"}, [down]),
        ({"by": "people", "type": "HOST_DOWN"}, []),
    ]:
        asked = {"project": project.id, **query}
        ids = {event.id for event in events}
        assert set(listed(console, **asked)) == ids, query
        assert {row["id"] for row in rows(console, **asked)} == ids, query
    page = console.get(LIST, {"project": project.id}).content.decode()
    assert "by=people" in page
    assert "by=fleet" in page


@each(
    "query", [{"by": "nobody"}, {"by": "fleet", "category": "USER"}, {"by": "fleet", "type": "JOINED_GROUP"}]
)
def test_a_view_without_events_is_refused(query: dict[str, str], console: Client) -> None:
    assert console.get(LIST, query).status_code == 400


def test_a_modified_object_says_its_first_fields_in_the_list(console: Client, project: Project) -> None:
    changes = diff(
        DiffType.GROUP, project.id, old={"name": "a", "b": 1, "c": 2}, new={"name": "x", "b": 3, "c": 4}
    )
    record(project, EventType.GROUP_CHANGED_AUDIT, ADA, diffs=changes)
    record(
        project, EventType.GROUP_CREATED, ADA, diffs=diff(DiffType.GROUP, project.id, new={"name": "later"})
    )
    page = console.get(LIST).content.decode()
    assert "Name: a → x; B: 1 → 3; …" in page
    assert "Name: later" not in page


def abouts(console: Client) -> dict[str, str]:
    """What each listed event is about, by type."""
    return {event["event_type"]: event["about"] for event in console.get(LIST).context["events"]}


def test_events_name_the_rows_and_documents_that_they_are_about(
    console: Client, operator: User, project: Project
) -> None:
    actor = Actor(ActorKind.USER, operator.id, operator.username, True, "192.0.2.1")
    now = clock.now()
    config = make_config(project, name="Cache", notifications=[EMAIL])
    details = EventFacts(alert_config_id=config.id)
    tested = EventType.ALERT_CONFIG_TESTED_AUDIT
    event_record(event_type=tested, actor=actor, now=now, group_id=project.id, facts=details)
    values = {"teamChatWebhookUrl": "https://chat.example.com/hook"}
    integration_create(
        group_id=project.id, integration_type="TEAM_CHAT_SERVICE", values=values, actor=actor, now=now
    )
    here = Scope(group_id=project.id, org_id=project.org_id)
    kiosk_create(here=here, desc="wall", lasts=timedelta(days=1), actor=actor, now=now)
    about = abouts(console)
    assert about[tested] == str(config)
    assert page_url(config) in console.get(LIST).content.decode()
    label = INTEGRATION_TYPES["TEAM_CHAT_SERVICE"].label
    assert about[EventType.INTEGRATION_ADDED_AUDIT] == label
    assert about[EventType.KIOSK_CREATED_AUDIT] == "wall"
    Integration.objects.all().delete()
    config.delete()
    about = abouts(console)
    assert about[EventType.INTEGRATION_ADDED_AUDIT] == "Team chat service"
    assert about[tested] == ""


def test_a_metric_is_named_in_words(console: Client, operator: User, project: Project) -> None:
    facts = EventFacts(metric_name="OPLOG_SLAVE_LAG_MASTER_TIME", hostname="db1", port=1)
    event_record(
        event_type=EventType.OUTSIDE_METRIC_THRESHOLD,
        actor=SYSTEM,
        now=clock.now(),
        group_id=project.id,
        facts=facts,
    )
    (event,) = console.get(LIST).context["events"]
    assert event["about"] == "db1:1, Replication lag"
