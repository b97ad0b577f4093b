"""Who was notified of an alert or an event, and why a recipient was not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from accesslist.models import Project
from alerting.models import Alert, Notification
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.outbound.errors import UNREACHABLE
from opsapi.roles import Grant, Role
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import EMAIL, make_alert, make_config, make_notification
from tests.factories.events import key_added

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
pytestmark = pytest.mark.django_db


@pytest.fixture
def watcher() -> ApiClient:
    """Global Read Only."""
    return ApiClient(make_key(Role.GLOBAL_READ_ONLY))


@pytest.fixture
def alert(project: Project) -> Alert:
    """An open one."""
    return make_alert(project)


@pytest.fixture
def event(project: Project) -> Event:
    """One that opens nothing."""
    return one_shot(project)


def one_shot(project: Project) -> Event:
    """An event of the project that opens nothing."""
    with transaction.atomic():
        return event_record(
            event_type=EventType.NEW_HOST, actor=SYSTEM, now=clock.now(), group_id=project.id, signals=False
        )


def path_of(alert: Alert) -> str:
    """Where its log is."""
    return f"/groups/{alert.group_id}/alerts/{alert.id}/notifications"


def path_of_event(event: Event) -> str:
    """Where its log is."""
    return f"/groups/{event.group_id}/events/{event.id}/notifications"


def log(caller: ApiClient, path: str) -> list[dict[str, Any]]:
    """What it lists."""
    results: list[dict[str, Any]] = caller.get(path).json()["results"]
    return results


def tried(notification: Notification, *outcomes: tuple[str, str | None]) -> None:
    """Attempts a second apart, with these outcomes and reasons."""
    for number, (status, reason) in enumerate(outcomes, 1):
        latency_ms = None if reason == UNREACHABLE else 10 * number
        notification.tries.create(
            number=number, ended=NOON + number * SECOND, status=status, reason=reason, latency_ms=latency_ms
        )


def test_what_was_delivered_has_its_time_and_every_attempt(
    reader: ApiClient, project: Project, alert: Alert
) -> None:
    made = make_notification(
        project,
        alert=alert,
        status="DELIVERED",
        created=NOON,
        due=NOON,
        delivered=NOON + 2 * SECOND,
        latency_ms=20,
    )
    tried(made, ("retry", "the receiver answered 503"), ("delivered", None))
    assert log(reader, path_of(alert)) == [
        {
            "id": made.id,
            "notificationId": made.setting_id,
            "kind": "alert.open",
            "typeName": "EMAIL",
            "channel": "EMAIL",
            "recipient": "oncall@example.com",
            "status": "DELIVERED",
            "created": "2026-01-01T12:00:00Z",
            "delivered": "2026-01-01T12:00:02Z",
            "latencyMs": 20,
            "mergedFrom": [],
            "attempts": [
                {
                    "number": 1,
                    "ended": "2026-01-01T12:00:01Z",
                    "status": "RETRY",
                    "reason": "the receiver answered 503",
                    "latencyMs": 10,
                },
                {"number": 2, "ended": "2026-01-01T12:00:02Z", "status": "DELIVERED", "latencyMs": 20},
            ],
            "links": [],
        }
    ]


def test_attempts_without_a_recipient_show_no_duration(
    reader: ApiClient, project: Project, alert: Alert
) -> None:
    made = make_notification(
        project, alert=alert, status="FAILED", created=NOON, due=NOON, reason=UNREACHABLE
    )
    tried(made, ("retry", UNREACHABLE), ("retry", "the receiver answered 503"), ("failed", UNREACHABLE))
    (shown,) = log(reader, path_of(alert))
    assert "latencyMs" not in shown
    first, second, third = shown["attempts"]
    assert first == {"number": 1, "status": "RETRY", "reason": UNREACHABLE}
    assert (second["ended"], second["latencyMs"]) == ("2026-01-01T12:00:02Z", 20)
    assert third == {"number": 3, "status": "FAILED", "reason": UNREACHABLE}


def test_what_waits_says_until_when_and_why(reader: ApiClient, project: Project, alert: Alert) -> None:
    make_notification(
        project, alert=alert, created=NOON, due=NOON + SECOND, reason="the receiver answered 503"
    )
    (shown,) = log(reader, path_of(alert))
    assert (shown["status"], shown["due"]) == ("PENDING", "2026-01-01T12:00:01Z")
    assert shown["reason"] == "the receiver answered 503"
    assert not {"delivered", "latencyMs"} & set(shown)
    assert shown["attempts"] == []


@each("status", ["FAILED", "DROPPED"])
def test_what_was_not_sent_says_why(reader: ApiClient, project: Project, alert: Alert, status: str) -> None:
    make_notification(project, alert=alert, status=status, reason="for a reason")
    (shown,) = log(reader, path_of(alert))
    assert (shown["status"], shown["reason"]) == (status, "for a reason")
    assert not {"due", "delivered"} & set(shown)


def test_people_who_are_not_looked_up_yet_have_no_channel(
    reader: ApiClient, project: Project, alert: Alert
) -> None:
    make_notification(project, alert=alert, type_name="GROUP", channel=None, recipient="")
    (shown,) = log(reader, path_of(alert))
    assert shown["typeName"] == "GROUP"
    assert not {"channel", "recipient"} & set(shown)


def test_the_newest_comes_first(reader: ApiClient, project: Project, alert: Alert) -> None:
    for number, kind in enumerate(("alert.open", "alert.update", "alert.close")):
        make_notification(project, alert=alert, kind=kind, created=NOON + number * SECOND)
    assert [entry["kind"] for entry in log(reader, path_of(alert))] == [
        "alert.close",
        "alert.update",
        "alert.open",
    ]
    page = reader.get(f"{path_of(alert)}?itemsPerPage=1&pageNum=3").json()
    assert [row["kind"] for row in page["results"]] == ["alert.open"]
    assert page["totalCount"] == 3


def test_of_many_attempts_the_newest_100_are_shown(reader: ApiClient, project: Project, alert: Alert) -> None:
    made = make_notification(project, alert=alert)
    tried(made, *[("retry", None)] * 102)
    (shown,) = log(reader, path_of(alert))
    assert [attempt["number"] for attempt in shown["attempts"]] == list(range(3, 103))


def test_an_alert_has_its_own_log_only(reader: ApiClient, project: Project, alert: Alert) -> None:
    make_notification(project, alert=make_alert(project))
    assert reader.get(path_of(alert)).json()["totalCount"] == 0


def test_a_one_shot_event_has_its_log(reader: ApiClient, project: Project, event: Event) -> None:
    made = make_notification(project, event_id=event.id, kind="alert.inform")
    make_notification(project, event_id=one_shot(project).id, kind="alert.inform")
    make_notification(ProjectFactory.create(), event_id=event.id, kind="alert.inform")
    assert [entry["id"] for entry in log(reader, path_of_event(event))] == [made.id]


def test_an_event_without_notifications_has_an_empty_log(reader: ApiClient, event: Event) -> None:
    document = reader.get(path_of_event(event)).json()
    assert (document["results"], document["totalCount"]) == ([], 0)


def test_an_event_of_another_project_is_not_found(reader: ApiClient, project: Project) -> None:
    other = one_shot(ProjectFactory.create())
    answer = reader.get(f"/groups/{project.id}/events/{other.id}/notifications")
    assert refusal(answer) == (404, "EVENT_NOT_FOUND")


class TestOfAnOrganization:
    """The configurations of its projects notify of its events; each project has its own log."""

    def test_a_project_has_the_log_of_its_own_configurations(
        self, reader: ApiClient, project: Project
    ) -> None:
        event = key_added(project)
        path = f"/groups/{project.id}/events/{event.id}/notifications"
        setting = make_config(project, notifications=[EMAIL]).settings.get()
        own = make_notification(project, event_id=event.id, kind="alert.inform", setting_id=setting.id)
        neighbour = ProjectFactory.create(org=project.org)
        make_notification(neighbour, event_id=event.id, kind="alert.inform")
        make_notification(project, group=None, event_id=event.id, kind="alert.inform")
        assert [(entry["id"], entry["recipient"]) for entry in log(reader, path)] == [
            (own.id, "oncall@example.com")
        ]

    @each("is_logged", ["nobody", "neighbour", "globally"])
    def test_an_event_without_notification_in_the_project_is_not_found(
        self, reader: ApiClient, project: Project, is_logged: str
    ) -> None:
        event = key_added(project)
        if is_logged == "neighbour":
            other = ProjectFactory.create(org=project.org)
            make_notification(other, event_id=event.id, kind="alert.inform")
        elif is_logged == "globally":
            make_notification(project, group=None, event_id=event.id, kind="alert.inform")
        answer = reader.get(f"/groups/{project.id}/events/{event.id}/notifications")
        assert refusal(answer) == (404, "EVENT_NOT_FOUND")

    def test_nobody_else_has(self, project: Project) -> None:
        event, other = key_added(project), ProjectFactory.create()
        stranger = ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=other.id)))
        answer = stranger.get(f"/groups/{other.id}/events/{event.id}/notifications")
        assert refusal(answer) == (404, "EVENT_NOT_FOUND")

    def test_an_event_of_another_project_is_not_shown(self, reader: ApiClient, project: Project) -> None:
        with transaction.atomic():
            event = event_record(
                event_type=EventType.GROUP_CREATED,
                actor=SYSTEM,
                now=clock.now(),
                group_id=ProjectFactory.create(org=project.org).id,
                org_id=project.org_id,
            )
        answer = reader.get(f"/groups/{project.id}/events/{event.id}/notifications")
        assert refusal(answer) == (404, "EVENT_NOT_FOUND")

    def test_the_event_itself_is_the_organizations(self, reader: ApiClient, project: Project) -> None:
        answer = reader.get(f"/groups/{project.id}/events/{key_added(project).id}")
        assert refusal(answer) == (404, "EVENT_NOT_FOUND")


class TestGlobalConfigurations:
    """Only readers of global configurations see their recipients."""

    def test_below_its_alert_the_recipient_is_for_them(
        self, reader: ApiClient, watcher: ApiClient, project: Project
    ) -> None:
        alert = make_alert(project, is_global=True)
        made = make_notification(project, alert=alert)
        (everywhere,) = log(watcher, f"/globalAlerts/{alert.id}/notifications")
        assert everywhere["recipient"] == "oncall@example.com"
        assert log(watcher, path_of(alert)) == [everywhere]
        (hidden,) = log(reader, path_of(alert))
        assert (hidden["id"], "recipient" in hidden) == (made.id, False)
        assert {**hidden, "recipient": everywhere["recipient"]} == everywhere

    def test_below_an_event_too(
        self, reader: ApiClient, watcher: ApiClient, project: Project, event: Event
    ) -> None:
        setting = make_config(project, notifications=[EMAIL]).settings.get()
        own = make_notification(project, event_id=event.id, kind="alert.inform", setting_id=setting.id)
        theirs = make_notification(project, event_id=event.id, kind="alert.inform")
        shown = {entry["id"]: entry.get("recipient") for entry in log(reader, path_of_event(event))}
        assert shown == {own.id: "oncall@example.com", theirs.id: None}
        everything = {entry["id"]: entry.get("recipient") for entry in log(watcher, path_of_event(event))}
        assert set(everything.values()) == {"oncall@example.com"}
