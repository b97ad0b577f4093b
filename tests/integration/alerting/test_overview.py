"""What the start page shows: first rows in their order, and bounded counts."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from accesslist.models import Project
from alerting.destinations.store import destinations_failing
from alerting.engine.choices import NotificationStatus
from alerting.engine.workers import workers_known
from alerting.incidents.choices import AlertStatus
from alerting.models import WorkerHeartbeat
from alerting.overview.store import active_alerts, notifications_failing, windows_ahead
from alerting.reasons import NotificationReason
from automation.agents.store import agents_not_reporting
from automation.hosts.store import hosts_down, hosts_without_data
from opsapi.api.principal import VisibleScope
from opsapi.first_rows import MOST_COUNTED, MOST_SHOWN
from opsapi.ids import new_id
from tests.each import each
from tests.factories.alerting import (
    make_alert,
    make_config,
    make_destination,
    make_global_config,
    make_notification,
)
from tests.factories.automation import make_host
from tests.integration.alerting.overviews import (
    ALL,
    DAY,
    HOUR,
    NOW,
    SECOND,
    aged,
    ids,
    make_agent_down,
    make_window,
)

FOUR_MINUTES = timedelta(minutes=4)
pytestmark = pytest.mark.django_db


class TestAlerts:
    """Open and tracking ones, by age."""

    def shown(self, visible_scope: VisibleScope = ALL) -> list[str]:
        return ids(active_alerts(visible_scope=visible_scope, now=NOW).rows)

    def test_the_newest_that_nobody_acknowledged_comes_first(self, project: Project) -> None:
        seen = aged(project, 3 * DAY, acknowledged_until=NOW + SECOND)
        young, old = aged(project, HOUR), aged(project, DAY)
        lapsed = aged(project, 2 * DAY, acknowledged_until=NOW)
        tracking = aged(project, 2 * HOUR, status=AlertStatus.TRACKING.value)
        for over in (AlertStatus.CLOSED, AlertStatus.CANCELLED):
            aged(project, 5 * DAY, status=over.value)
        assert self.shown() == [young.id, tracking.id, old.id, lapsed.id, seen.id]

    @each(
        ("age", "place"),
        [
            (-SECOND, 0),
            (timedelta(0), 0),
            (HOUR - SECOND, 0),
            (HOUR, 1),
            (DAY - SECOND, 1),
            (DAY, 2),
            (400 * DAY, 2),
        ],
        ids=str,
    )
    def test_each_is_counted_in_one_stretch_of_ages(
        self, project: Project, age: timedelta, place: int
    ) -> None:
        aged(project, age)
        aged(project, age, acknowledged_until=NOW + SECOND)
        found = active_alerts(visible_scope=ALL, now=NOW)
        assert [age.count for age in found.ages] == [2 if at == place else 0 for at in range(3)]
        assert found.ages[place].unacknowledged == 1
        assert found.count == 2

    def test_more_than_are_shown_are_counted(self, project: Project) -> None:
        for number in range(MOST_SHOWN + 2):
            aged(project, DAY + number * HOUR)
        acknowledged = aged(project, 90 * DAY, acknowledged_until=NOW + DAY)
        found = active_alerts(visible_scope=ALL, now=NOW)
        assert (len(found.rows), found.count) == (MOST_SHOWN, MOST_SHOWN + 3)
        assert acknowledged.id not in ids(found.rows)

    def test_nobody_counts_without_end(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        assert MOST_COUNTED == 1000
        monkeypatch.setattr("alerting.overview.store.MOST_COUNTED", 2)
        for _ in range(5):
            aged(project, DAY)
        assert [age.count for age in active_alerts(visible_scope=ALL, now=NOW).ages] == [0, 0, 3]


class TestNotifications:
    """Notifications that failed, or were not accepted yet."""

    def failing(self) -> list[str]:
        return ids(notifications_failing(visible_scope=ALL, now=NOW).rows)

    def test_failed_and_retried_notifications_are_shown(self, project: Project) -> None:
        failed = NotificationStatus.FAILED.value
        waits = make_notification(project, due=NOW + HOUR, attempts=3, reason="timed out")
        recent = make_notification(project, status=failed, due=NOW - HOUR, attempts=1, reason="refused")
        first = make_notification(project, status=failed, due=NOW - DAY, attempts=1, reason="refused")
        assert self.failing() == [waits.id, recent.id, first.id]

    @each("reason", ["NO_USER_WITH_ROLE", "NO_USER", "NO_MEMBER", "NO_PROJECT", "NO_ADDRESS"])
    def test_notifications_without_recipients_are_shown(self, project: Project, reason: str) -> None:
        why = NotificationReason[reason].value
        unsent = make_notification(project, status="DROPPED", due=NOW - HOUR, reason=why)
        assert self.failing() == [unsent.id]

    @each(
        "changes",
        [
            {"status": "FAILED", "due": NOW - DAY - SECOND, "attempts": 1, "reason": "refused"},
            {"status": "DELIVERED", "attempts": 1},
            {"status": "DROPPED", "attempts": 1, "reason": "the alert was over before it was delivered"},
            {"status": "DROPPED", "reason": NotificationReason.NO_LONGER_RECIPIENT.value},
            {"due": NOW + HOUR},
            {"attempts": 1, "lease_token": uuid4(), "lease_until": NOW + SECOND},
            {"due": NOW + HOUR, "attempts": 2, "reason": "held back", "silenced_by": new_id()},
            {"due": NOW + HOUR, "attempts": 2, "reason": NotificationReason.ACKNOWLEDGED.value},
        ],
        ids=[
            "long ago",
            "delivered",
            "dropped",
            "recipient gone",
            "untried",
            "in hand",
            "muted",
            "acknowledged",
        ],
    )
    def test_others_are_not(self, project: Project, changes: dict[str, Any]) -> None:
        make_notification(project, **{"created": NOW - HOUR, "due": NOW, **changes})
        assert self.failing() == []

    def test_recipients_of_a_global_configuration_are_shown_to_readers_of_global_configurations(
        self, project: Project
    ) -> None:
        failed = {"status": "FAILED", "due": NOW, "attempts": 1, "reason": "refused"}
        of_project, of_all = make_config(project), make_global_config()
        shown = [
            make_notification(project, alert=make_alert(project), **failed),
            make_notification(project, event_id=new_id(), setting_id=of_project.settings.get().id, **failed),
        ]
        hidden = [
            make_notification(project, alert=make_alert(project, is_global=True), **failed),
            make_notification(project, event_id=new_id(), setting_id=of_all.settings.get().id, **failed),
            make_notification(project, event_id=new_id(), setting_id=new_id(), **failed),
        ]
        visible_scope = VisibleScope(group_ids=frozenset({project.id}))
        assert set(ids(notifications_failing(visible_scope=visible_scope, now=NOW).rows)) == set(ids(shown))
        assert set(self.failing()) == set(ids([*shown, *hidden]))

    def test_destinations_that_fail_are_shown_the_latest_first(self, project: Project) -> None:
        first, second = (make_destination(project, failing_since=NOW - ago) for ago in (HOUR, SECOND))
        make_destination(project, failures=0, failing_since=None)
        assert ids(destinations_failing(visible_scope=ALL).rows) == [second.id, first.id]

    def test_destinations_of_global_configurations_are_not_shown_to_a_project(self, project: Project) -> None:
        own = make_destination(project)
        make_destination(project, is_global=True)
        visible_scope = VisibleScope(group_ids=frozenset({project.id}))
        assert ids(destinations_failing(visible_scope=visible_scope).rows) == [own.id]


class TestWindows:
    """In effect, or soon."""

    @each(
        ("start", "end", "is_shown"),
        [
            (-DAY, -SECOND, False),
            (-DAY, timedelta(0), False),
            (-DAY, SECOND, True),
            (timedelta(0), HOUR, True),
            (7 * DAY - SECOND, 8 * DAY, True),
            (7 * DAY, 8 * DAY, False),
        ],
        ids=["over", "ends now", "ends soon", "begins now", "within the week", "in a week"],
    )
    def test_windows_in_effect_and_of_the_next_week_are_shown(
        self, project: Project, start: timedelta, end: timedelta, is_shown: bool
    ) -> None:
        window = make_window(project, start, end)
        found = windows_ahead(visible_scope=ALL, now=NOW)
        assert ids(found.rows) == ([window.id] if is_shown else [])

    def test_the_first_to_begin_comes_first(self, project: Project) -> None:
        later, running = make_window(project, HOUR, DAY), make_window(project, -HOUR, 3 * DAY)
        assert ids(windows_ahead(visible_scope=ALL, now=NOW).rows) == [running.id, later.id]


class TestFleet:
    """Hosts that are down, and agents with a heartbeat timeout."""

    def test_hosts_that_are_up_or_deleted_are_not_shown(self, project: Project) -> None:
        down = make_host(project, "b", down=True)
        make_host(project, "up")
        make_host(project, "gone", down=True, deleted=NOW)
        first = make_host(project, "a", down=True)
        assert ids(hosts_down(ALL).rows) == [first.id, down.id]

    def test_hosts_are_without_data_after_a_heartbeat_timeout(self, project: Project) -> None:
        others: dict[str, dict[str, Any]] = {
            "down": {"down": True, "last_report": NOW - DAY},
            "heard": {"last_report": NOW - timedelta(minutes=4) + SECOND},
            "gone": {"deleted": NOW},
        }
        for name, changes in others.items():
            make_host(project, name, **changes)
        timed_out = make_host(project, "timed-out", last_report=NOW - timedelta(minutes=4))
        never = make_host(project, "never")
        assert ids(hosts_without_data(ALL, NOW).rows) == [never.id, timed_out.id]

    def test_agents_that_report_are_not_shown(self, project: Project) -> None:
        timed_out = make_agent_down(project, "timed-out")
        unheard = make_agent_down(project, "unheard", down=False, last_report=NOW - FOUR_MINUTES)
        make_agent_down(project, "speaking", down=False)
        make_agent_down(project, "late", down=False, last_report=NOW - FOUR_MINUTES + SECOND)
        make_agent_down(project, "shown", down=False, last_report=NOW - HOUR, demonstration=True)
        assert ids(agents_not_reporting(ALL, NOW).rows) == [timed_out.id, unheard.id]

    def test_more_than_are_shown_are_counted(self, project: Project) -> None:
        for number in range(MOST_SHOWN + 2):
            make_agent_down(project, f"agent{number:02}")
        found = agents_not_reporting(ALL, NOW)
        assert (len(found.rows), found.count) == (MOST_SHOWN, MOST_SHOWN + 2)

    def test_as_many_as_are_shown_are_all(self, project: Project) -> None:
        for number in range(MOST_SHOWN):
            make_agent_down(project, f"agent{number:02}")
        found = agents_not_reporting(ALL, NOW)
        assert (len(found.rows), found.count) == (MOST_SHOWN, MOST_SHOWN)

    def test_nobody_counts_without_end(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("opsapi.first_rows.MOST_COUNTED", MOST_SHOWN + 1)
        for number in range(MOST_SHOWN + 4):
            make_agent_down(project, f"agent{number:02}")
        assert agents_not_reporting(ALL, NOW).count == MOST_SHOWN + 2


def test_workers_are_shown_who_was_seen_last_first() -> None:
    for name, ago in (("old", HOUR), ("new", SECOND)):
        WorkerHeartbeat.objects.create(name=name, seen=NOW - ago)
    assert ids(workers_known(NOW).rows) == ["new", "old"]
