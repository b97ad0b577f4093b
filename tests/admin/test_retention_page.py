"""The retention of events and ended alerts: the page of the console, and the choice in the first set-up."""

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.test import Client

from accesslist.models import Project, User
from alerting.engine.purge import alerts_trim, events_trim
from alerting.retention.store import stored_rows
from events.models import Event, Retention
from events.retention import KeptFor, kept_rows
from events.types import EventType
from opsapi import clock
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.admin.test_first_run import TYPED
from tests.admin.writing import leaves_events, post
from tests.each import each
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.django_db

PAGE = "/admin/retention/"


@pytest.fixture(autouse=True)
def _without_settings(settings: LazySettings) -> None:
    settings.OPSAPI_EVENT_RETENTION_DAYS = settings.OPSAPI_ALERT_RETENTION_DAYS = None


def chosen() -> list[tuple[int, int, str]]:
    return list(Retention.objects.values_list("event_days", "alert_days", "username"))


def test_a_choice_is_stored_with_its_event_and_shown(console: Client, operator: User) -> None:
    assert (kept_rows().events, kept_rows().alerts) == (KeptFor(0), KeptFor(0))
    with leaves_events(operator, EventType.RETENTION_CHANGED_AUDIT) as events:
        assert post(console, PAGE, events="400", alerts="30").status_code == 302
    assert chosen() == [(400, 30, operator.username)]
    new = {param["param"]: param["new"] for change in events[0].diffs for param in change["params"]}
    assert new == {"eventDays": "400", "alertDays": "30"}
    text = shown(console, PAGE)
    assert "for 400 days" in text
    assert operator.username in text
    # The same choice again changes nothing.
    with leaves_events(operator):
        post(console, PAGE, events="400", alerts="30")
    with leaves_events(operator, EventType.RETENTION_CHANGED_AUDIT):
        post(console, PAGE, events="0", alerts="30")
    assert kept_rows().events == KeptFor(0)


@each(("events", "alerts", "wrong"), [("-1", "0", "events"), ("0", "3651", "alerts"), ("x", "0", "events")])
def test_other_numbers_are_refused(
    console: Client, operator: User, events: str, alerts: str, wrong: str
) -> None:
    with leaves_events(operator):
        assert list(post(console, PAGE, events=events, alerts=alerts).context["form"].errors) == [wrong]
    assert chosen() == []


def test_workers_delete_by_the_choice(console: Client, project: Project) -> None:
    now = clock.now()
    old = now - timedelta(days=40)
    event = Event.objects.create(created=old, event_type="NEW_HOST", details={}, group_id=project.id)
    make_alert(project, status="CLOSED", created=old, resolved=old)
    assert not events_trim(now=now)
    assert not alerts_trim(now=now)
    post(console, PAGE, events="30", alerts="30")
    assert events_trim(now=now)
    assert alerts_trim(now=now)
    assert not Event.objects.filter(id=event.id).exists()


def test_a_setting_wins_and_is_named(console: Client, operator: User, settings: LazySettings) -> None:
    post(console, PAGE, events="400", alerts="30")
    settings.OPSAPI_EVENT_RETENTION_DAYS = 0
    assert kept_rows().events == KeptFor(0, "OPSAPI_EVENT_RETENTION_DAYS")
    answer = console.get(PAGE)
    assert list(answer.context["form"].fields) == ["alerts"]
    assert "OPSAPI_EVENT_RETENTION_DAYS" in answer.content.decode()
    settings.OPSAPI_ALERT_RETENTION_DAYS = 7
    assert not console.get(PAGE).context["may_choose"]
    with leaves_events(operator):
        post(console, PAGE, events="1", alerts="1")
    assert chosen() == [(400, 30, operator.username)]


@each(
    ("role", "reads"),
    [(Role.GLOBAL_READ_ONLY, True), (Role.GLOBAL_MONITORING_ADMIN, True), (Role.GROUP_OWNER, False)],
)
def test_only_global_owners_choose(project: Project, role: Role, reads: bool) -> None:
    browser = browser_with(role, **({} if role.is_global else {"project": project}))
    answer = browser.get(PAGE)
    assert (answer.status_code == 200) is reads
    assert not reads or not answer.context["may_choose"]
    post(browser, PAGE, events="1", alerts="1")
    assert chosen() == []
    assert (PAGE in browser.get("/admin/").content.decode()) is reads


def test_the_growth_is_computed_from_the_last_days(console: Client, project: Project) -> None:
    assert shown(console, PAGE).count("unknown: nothing new") == 2
    yesterday = clock.now() - timedelta(days=1)
    for _ in range(14):
        Event.objects.create(created=yesterday, event_type="NEW_HOST", details={}, group_id=project.id)
    make_alert(project, created=yesterday)
    stored = stored_rows(clock.now())
    assert (stored["events"].a_day, stored["alerts"].a_day) == (2, 1 / 7)
    assert stored["events"].a_year == 2 * 365 * 1_200
    assert "not known" not in shown(console, PAGE)


def test_the_disk_of_measurements_is_shown_with_its_settings(console: Client, settings: LazySettings) -> None:
    settings.OPSAPI_MEASUREMENT_PT5M_DAYS = 0
    assert [tier[:3] for tier in console.get(PAGE).context["tiers"]] == [
        ("As reported", "for 7 days", "OPSAPI_MEASUREMENT_RETENTION_DAYS"),
        ("Five minutes", "off", "OPSAPI_MEASUREMENT_PT5M_DAYS"),
        ("Hours", "for 730 days", "OPSAPI_MEASUREMENT_PT1H_DAYS"),
    ]


def test_the_panel_of_the_growth_leads_to_the_choice(console: Client) -> None:
    assert f'href="{PAGE}"' in shown(console, "/admin/")


@each(("kept", "stored"), [("", []), ("400", [(400, 400, "ada")]), ("30", [(30, 30, "ada")])])
def test_the_first_set_up_offers_the_choice(kept: str, stored: list[tuple[int, int, str]]) -> None:
    here = Client(headers={"host": "localhost:8000"}, REMOTE_ADDR="127.0.0.1")
    assert "GB a year" in here.get("/admin/setup/").content.decode()
    assert here.post("/admin/setup/", {**TYPED, "kept": kept}).status_code == 302
    assert chosen() == stored
    changed = Event.objects.filter(event_type=EventType.RETENTION_CHANGED_AUDIT.value)
    assert changed.count() == len(stored)
