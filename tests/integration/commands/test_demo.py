"""manage.py demo."""

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import transaction
from pytest_django.plugin import DjangoDbBlocker

from accesslist.models import AccessListEntry, ApiKey, Organization, Project, RoleGrant, User
from alerting.engine.choices import NotificationStatus
from alerting.engine.evaluation import evaluate_signals, open_tracked
from alerting.incidents.choices import AlertStatus
from alerting.models import (
    Alert,
    AlertConfig,
    Destination,
    MaintenanceWindow,
    Notification,
    NotificationSetting,
)
from alerting.models import NotificationAttempt as Attempt
from automation.agents.changes import heartbeats_sweep
from automation.choices import AgentType
from automation.desired_state.store import goal_document
from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from automation.models import Agent, AutomationRevision, Cluster, FleetWatch, Host, Reading, ReplicaSet
from automation.plan.auth import auth_faults
from events.models import Event, Signal
from events.types import EVENT_TYPES, Category, EventType
from integrations.choices import DeliveryStatus
from integrations.models import Integration
from opsapi.roles import Role
from tools.demo.timeline import demo_fill

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

NOW = datetime(2025, 11, 21, 15, 30, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(scope="module", autouse=True)
def _filled(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A demonstration for all tests of this module, gone after them."""
    with django_db_blocker.unblock(), transaction.atomic():
        demo_fill(now=NOW)
        yield
        transaction.set_rollback(True)


def test_it_fills_organizations_projects_and_people() -> None:
    assert Organization.objects.count() == 2
    assert Project.objects.count() == 4
    assert set(RoleGrant.objects.exclude(user=None).values_list("role", flat=True)) >= {
        Role.GLOBAL_OWNER,
        Role.GLOBAL_READ_ONLY,
        Role.ORG_OWNER,
        Role.GROUP_READ_ONLY,
        Role.GROUP_MONITORING_ADMIN,
    }
    assert RoleGrant.objects.exclude(team=None).exists()
    assert ApiKey.objects.count() > 5
    assert AccessListEntry.objects.exclude(api_key=None).exists()


def test_it_keeps_no_caller_out() -> None:
    assert not AccessListEntry.objects.filter(api_key=None).exists()


def test_it_fills_a_fleet_in_replica_sets_and_shards_with_one_agent_that_stopped_reporting() -> None:
    assert Host.objects.count() == 21
    assert Host.objects.filter(down=True).count() == 3
    assert ReplicaSet.objects.filter(primaries=1).count() == 6
    assert Cluster.objects.count() == 1
    assert Host.objects.exclude(shard_name=None).exists()
    timed_out = Agent.objects.get(down=True)
    assert timed_out.agent_type == AgentType.BACKUP
    down = Event.objects.filter(event_type__endswith="_AGENT_DOWN", alert_id=None)
    assert [event.event_type for event in down] == [EventType.BACKUP_AGENT_DOWN]
    assert set(Agent.objects.filter(down=False).values_list("last_report", flat=True)) == {NOW}
    assert not Agent.objects.filter(demonstration=False).exists()


def test_it_leaves_the_clocks_of_heartbeat_timeouts_alone() -> None:
    assert not FleetWatch.objects.exists()


def test_it_measures_a_day_at_a_grain_that_makes_a_plot() -> None:
    host = Host.objects.get(hostname__startswith="pay-s0-a.")
    place = NUMBERS[Metric.CONNECTIONS] - 1
    rows = Reading.objects.filter(source__host=host, source__database="", reported__gt=NOW - DAY)
    taken = [(row.reported - timedelta(seconds=row.age), row.numbers[place] or 0) for row in rows]
    assert len(taken) == len({time for time, _ in taken}) == 24 * 12
    alert = Alert.objects.get(event_type=EventType.OUTSIDE_METRIC_THRESHOLD, facts__hostId=host.id)
    above = [number for time, number in taken if time > alert.created]
    before = [number for time, number in taken if time < alert.created - timedelta(hours=1)]
    assert min(above) > 900 > max(before)


def test_it_leaves_alerts_in_every_state() -> None:
    assert set(Alert.objects.values_list("status", flat=True)) == {status.value for status in AlertStatus}
    acknowledged = Alert.objects.filter(status="OPEN", acknowledged_until__gt=NOW)
    assert acknowledged.exclude(acknowledgement_comment=None).exists()
    assert Alert.objects.filter(status="OPEN", acknowledged_until=None).exists()


def test_it_leaves_notifications_with_every_outcome() -> None:
    found = set(Notification.objects.values_list("status", flat=True))
    assert found == {status.value for status in NotificationStatus}
    retried = Notification.objects.filter(status="DELIVERED", attempts__gt=1)
    assert Attempt.objects.filter(notification__in=retried, status=DeliveryStatus.RETRY.value).exists()
    assert Notification.objects.filter(status="PENDING", attempts__gt=1).exists()
    failed = Notification.objects.filter(status="FAILED").values_list("reason", flat=True)
    assert "the receiver answered 404" in failed
    assert Notification.objects.filter(status="PENDING", silenced_by__isnull=False).exists()
    assert Destination.objects.filter(failing_since__isnull=False).exists()


def test_attempts_come_after_their_cause_and_before_the_end() -> None:
    attempts = Attempt.objects.select_related("notification__alert").exclude(notification__alert=None)
    assert attempts.exists()
    for attempt in attempts:
        assert attempt.notification.alert is not None
        assert attempt.notification.alert.created <= attempt.ended <= NOW


def test_reminders_are_due_within_a_day_of_the_message() -> None:
    settings = NotificationSetting.objects.exclude(interval_min=None)
    assert settings.latest("interval_min").interval_min == 24 * 60


def test_it_leaves_windows_past_active_and_coming() -> None:
    assert MaintenanceWindow.objects.filter(end__lt=NOW).exists()
    assert MaintenanceWindow.objects.filter(start__lt=NOW, end__gt=NOW).exists()
    assert MaintenanceWindow.objects.filter(start__gt=NOW).exists()


def test_it_leaves_integrations_configurations_and_revisions() -> None:
    assert Integration.objects.values("type").distinct().count() >= 5
    assert AlertConfig.objects.filter(group=None, deleted=None).exists()
    assert AlertConfig.objects.filter(deleted=None).values("event_type").distinct().count() > 8
    assert list(AutomationRevision.objects.values_list("number", flat=True).order_by("number")) == [1, 2, 3]
    revision = AutomationRevision.objects.get(number=3)
    assert auth_faults(goal_document(revision.group_id)) == []


def test_it_leaves_events_of_most_categories_by_several_users_and_keys() -> None:
    seen = {
        EVENT_TYPES[EventType(event)].category for event in Event.objects.values_list("event_type", flat=True)
    }
    assert seen >= set(Category) - {
        Category.BI_CONNECTOR,
        Category.BACKUP,
        Category.CLUSTER,
        Category.DATA_EXPLORER,
    }
    day = Event.objects.filter(created__gt=NOW - DAY)
    assert len(set(day.values_list("details__username", flat=True)) - {None}) > 2
    assert len(set(day.values_list("details__publicKey", flat=True)) - {None}) > 3
    assert not Event.objects.filter(created__gt=NOW).exists()


def test_it_leaves_a_worker_nothing_to_evaluate() -> None:
    assert not Signal.objects.exists()


def test_the_demo_looks_the_same_while_a_worker_runs() -> None:
    """An hour of a worker: no agent times out, no alert changes, and only what failed is tried again."""
    alerts = set(Alert.objects.values_list("id", "status"))
    for minutes in range(61):
        moment = NOW + timedelta(minutes=minutes)
        heartbeats_sweep(clock=lambda: moment)  # noqa: B023 - called at once
        assert not evaluate_signals(now=moment)
        assert not open_tracked(now=moment)
    assert Agent.objects.filter(down=True).count() == 1
    assert Host.objects.filter(down=True).count() == 3
    assert set(Alert.objects.values_list("id", "status")) == alerts
    due = Notification.objects.filter(status="PENDING", due__lte=NOW + timedelta(hours=1))
    assert {urlsplit(url).netloc for url in due.values_list("recipient", flat=True)} == {
        "hooks.brightside.example"
    }


def test_its_agents_never_time_out() -> None:
    for minutes in range(2 * 24 * 60, 2 * 24 * 60 + 6):
        moment = NOW + timedelta(minutes=minutes)
        heartbeats_sweep(clock=lambda: moment)  # noqa: B023 - called at once
    assert not Signal.objects.exists()
    assert Agent.objects.filter(down=True).count() == 1


def test_it_contains_no_reachable_addresses() -> None:
    addresses = Notification.objects.exclude(channel=None).values_list("recipient", flat=True)
    assert addresses
    assert [recipient for recipient in addresses if not re.search(r"\.example(/|$)", recipient)] == []
    assert all(name.endswith(".example") for name in Host.objects.values_list("hostname", flat=True))
    mails = User.objects.exclude(email_address=None).values_list("email_address", flat=True)
    assert all(str(mail).endswith(".example") for mail in mails)


def test_a_second_run_changes_nothing_and_reports_it() -> None:
    counts = _counts()
    printed = io.StringIO()
    call_command("demo", stdout=printed)
    assert "nothing changed" in printed.getvalue()
    assert _counts() == counts


def _counts() -> list[int]:
    return [model.objects.count() for model in (User, Project, Event, Alert, Notification)]
