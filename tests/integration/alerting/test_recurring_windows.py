"""Delivery with maintenance windows that recur, and with windows that mute only some targets."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.engine.muting import begun_versions
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.windows.changes import window_change, window_create
from alerting.windows.store import muting_windows
from automation.choices import HostType
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EventType
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, mutes_of

pytestmark = pytest.mark.django_db

SECOND, MINUTE, HOUR, DAY = (
    timedelta(seconds=1),
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
)
SUNDAY = datetime(2099, 3, 1, 1, 0, tzinfo=UTC)
"""02:00 in Berlin, in winter; from 29 March on 02:00 is 00:00 UTC."""
EVERY_SUNDAY = {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}
A = "http://127.0.0.1:9/a"
PAGER = {"typeName": "PAGER_SERVICE", "serviceKey": "0123456789abcdef0123456789abcdef", "delayMin": 0}


def make_window(project: Project, **changes: Any) -> MaintenanceWindow:
    """A window for an hour every Sunday."""
    values = {
        "start": SUNDAY,
        "end": SUNDAY + HOUR,
        "alert_types": ["HOST"],
        "recurrence": EVERY_SUNDAY,
        **changes,
    }
    return window_create(group_id=project.id, values=values, actor=SYSTEM, now=SUNDAY - DAY)


def matcher(value: str, field: str = "HOSTNAME", operator: str = "EQUALS") -> dict[str, str]:
    """A matcher as it is stored."""
    return {"fieldName": field, "operator": operator, "value": value}


def report(project: Project, now: datetime, *, up: bool, host: str = "db1") -> None:
    """A host is up or down, and messages that are due are sent."""
    ingest(project, host_report(host, reachable=up), now=now)
    evaluate(now)
    deliver_all(now)


@each(
    ("now", "is_muted"),
    [
        (SUNDAY - SECOND, False),
        (SUNDAY, True),
        (SUNDAY + HOUR - SECOND, True),
        (SUNDAY + HOUR, False),
        (SUNDAY + 3 * DAY, False),
        (SUNDAY + 7 * DAY, True),
        (SUNDAY + 7 * DAY + HOUR, False),
        # In summer.
        (SUNDAY + 35 * DAY - HOUR, True),
        (SUNDAY + 35 * DAY, False),
    ],
    ids=str,
)
def test_delivery_and_pages_agree_when_a_recurring_window_mutes(
    project: Project, now: datetime, is_muted: bool
) -> None:
    window, alert = make_window(project), make_alert(project)
    notification = make_notification(project, alert=alert, due=now)
    mutes = mutes_of([notification], now=now)
    assert muting_windows([alert], now=now) == ({alert.id: window} if is_muted else {})
    assert {name: mute.window_id for name, mute in mutes.items()} == (
        {notification.id: window.id} if is_muted else {}
    )


def test_each_occurrence_holds_back_and_sends_at_its_end(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    window, second = make_window(project), SUNDAY + 7 * DAY
    report(project, SUNDAY + 3 * DAY, up=False)
    report(project, SUNDAY + 4 * DAY, up=True)
    assert outside.said == [(A, "OPEN"), (A, "CLOSE")]
    report(project, second + MINUTE, up=False)
    row = Notification.objects.get(status="PENDING")
    assert (row.silenced_by, row.due) == (window.id, second + HOUR)
    assert deliver_all(second + HOUR - SECOND) == 0
    assert deliver_all(second + HOUR) == 1
    assert outside.said[2:] == [(A, "OPEN")]


def test_ends_within_an_occurrence_are_sent_after_it_and_to_services_with_state_at_once(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}, PAGER])
    make_window(project)
    second = SUNDAY + 7 * DAY
    report(project, second - MINUTE, up=False)
    assert len(outside.sent) == 2
    report(project, second + MINUTE, up=True)
    assert [(channel, message.kind.name) for channel, _, message in outside.sent[2:]] == [
        ("PAGER_SERVICE", "CLOSE")
    ]
    deliver_all(second + HOUR)
    assert outside.said[3:] == [(A, "CLOSE")]


def test_an_alert_that_opens_and_closes_within_an_occurrence_is_not_sent(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}, PAGER])
    make_window(project)
    report(project, SUNDAY + 7 * DAY, up=False)
    report(project, SUNDAY + 7 * DAY + MINUTE, up=True)
    deliver_all(SUNDAY + 7 * DAY + HOUR)
    assert outside.said == []


@pytest.mark.slow
@each(
    "changes",
    [
        {"recurrence": {}},
        {"recurrence": {"rrule": "FREQ=WEEKLY;COUNT=1", "timeZone": "UTC"}},
        {"recurrence": {"rrule": "FREQ=MONTHLY;BYDAY=1SU", "timeZone": "UTC"}},
        {"matchers": [matcher("db2")]},
    ],
    ids=str,
)
def test_what_a_changed_window_no_longer_mutes_is_sent_at_once(
    project: Project, outside: Outside, changes: dict[str, Any]
) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    window, now = make_window(project), SUNDAY + 7 * DAY + MINUTE
    outside.sent.clear()
    report(project, now, up=False)
    assert outside.said == []
    window_change(group_id=project.id, window_id=window.id, changes=changes, actor=SYSTEM, now=now)
    deliver_all(now)
    assert outside.said == [(A, "OPEN")]


def test_a_window_with_matchers_mutes_only_the_targets_they_match(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    make_window(project, matchers=[matcher("^(db1|db3)$", operator="REGEX")])
    for host in ("db1", "db2", "db3"):
        report(project, SUNDAY, up=False, host=host)
    assert [message.document["hostnameAndPort"] for *_, message in outside.sent] == ["db2:27017"]
    deliver_all(SUNDAY + HOUR)
    assert [kind for _, kind in outside.said].count("OPEN") == 3


def test_a_host_can_be_matched_by_its_type(project: Project) -> None:
    make_config(project)
    ingest(
        project,
        host_report("db1", reachable=False),
        host_report("router", reachable=False, type_name=HostType.SHARD_MONGOS),
        now=SUNDAY,
    )
    evaluate(SUNDAY)
    make_window(project, matchers=[matcher("MONGOS", "TYPE_NAME")])
    alerts = {alert.facts["hostname"]: alert for alert in Alert.objects.all()}
    assert set(muting_windows(alerts.values(), now=SUNDAY)) == {alerts["router"].id}


def test_an_event_is_matched_by_what_it_says(project: Project) -> None:
    make_window(project, matchers=[matcher("db1")])
    notifications = []
    for hostname in ("db1", "db2"):
        event = event_record(
            event_type=EventType.HOST_RESTARTED,
            actor=SYSTEM,
            now=SUNDAY,
            group_id=project.id,
            facts=EventFacts(hostname=hostname, port=27017),
        )
        notifications.append(make_notification(project, event_id=event.id, kind="alert.inform", due=SUNDAY))
    assert list(mutes_of(notifications, now=SUNDAY)) == [notifications[0].id]


def test_a_window_that_mutes_nothing_now_does_not_hide_another(project: Project) -> None:
    alert = make_alert(project)
    make_window(project, matchers=[matcher("db9.example.com")], end=SUNDAY + 5 * HOUR)
    mutes = make_window(project)
    assert muting_windows([alert], now=SUNDAY) == {alert.id: mutes}


def test_a_claim_reads_windows_that_may_be_active_through_their_indexes(project: Project) -> None:
    once = {
        "group": project,
        "alert_types": ["HOST"],
        "start": SUNDAY - 9 * DAY,
        "created": SUNDAY,
        "updated": SUNDAY,
    }
    MaintenanceWindow.objects.bulk_create(
        MaintenanceWindow(
            **once, end=SUNDAY - timedelta(minutes=number), last_end=last, recurrence=recurrence
        )
        for number in range(1, 1_000)
        for last, recurrence in [(None, None), (SUNDAY - DAY, EVERY_SUNDAY)][: 1 + (number % 50 == 0)]
    )
    make_window(project)
    execute("ANALYZE alerting_maintenancewindow")
    with CaptureQueriesContext(connection) as queries:
        assert begun_versions({project.id}, SUNDAY, lock=True)
    (statement,) = [query["sql"] for query in queries if "FOR SHARE" in query["sql"]]
    [(plan,)] = fetch_rows(f"EXPLAIN (FORMAT JSON) {statement}")
    shown = plan if isinstance(plan, str) else json.dumps(plan)
    assert "Seq Scan" not in shown
    assert {"window_end", "window_group_end"} & set(re.findall(r"\w+", shown))
    assert "window_recurring" in shown
