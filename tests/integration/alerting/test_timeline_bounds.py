"""The timeline of an alert stays short, however much happened."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.insight.timeline_entries import TimelineEntryKind
from alerting.insight.timeline_events import FIRST, NEWEST
from alerting.models import Notification, NotificationAttempt
from integrations.choices import DeliveryStatus
from tests.factories.alerting import make_alert, make_notification
from tests.factories.automation import make_host
from tests.integration.alerting.timelines import (
    HOUR,
    MINUTE,
    NOW,
    acknowledge,
    metric_alert,
    metric_config,
    timeline,
)

pytestmark = pytest.mark.django_db


def test_of_many_notifications_the_first_the_newest_and_the_pending_are_shown(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    number = FIRST + NEWEST + 7
    for minute in range(number):
        entry = NOW + minute * MINUTE
        row = make_notification(project, alert=alert, created=entry, due=entry, status="DELIVERED")
        attempt = {"ended": entry, "status": DeliveryStatus.DELIVERED.value, "latency_ms": 1}
        NotificationAttempt.objects.create(notification=row, number=1, **attempt)
    pending = Notification.objects.filter(alert=alert).order_by("created")[FIRST + 3]
    Notification.objects.filter(id=pending.id).update(status="PENDING")
    shown = timeline(alert, now=NOW + 9 * HOUR)
    assert len(shown.explanation.notifications) == FIRST + NEWEST + 1
    assert shown.explanation.more == 6
    assert len(shown.coming) == 1
    created = [notification.created for notification, _ in shown.explanation.notifications]
    assert created == sorted(created, reverse=True)
    assert (created[-1], created[0]) == (NOW, NOW + (number - 1) * MINUTE)


@pytest.mark.slow
def test_of_many_events_the_first_and_the_newest_are_shown(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    for minute in range(1, 110):
        acknowledge(alert, until=NOW + 9 * HOUR, now=NOW + minute * MINUTE, comment=f"look {minute}")
    shown = timeline(alert, now=NOW + 3 * HOUR)
    comments = [entry.reason for entry in shown.entries if entry.kind is TimelineEntryKind.ACKNOWLEDGED]
    assert (len(comments), shown.more_events, shown.entries_left_out) == (100, 9, 0)
    assert (comments[0], comments[19], comments[20], comments[-1]) == (
        "look 1",
        "look 20",
        "look 30",
        "look 109",
    )


def test_it_takes_as_many_statements_however_much_happened(
    project: Project, django_assert_max_num_queries: Any
) -> None:
    host = make_host(project)
    config = metric_config(project)
    alert = metric_alert(project, host, config_id=config.id)
    for minute in range(60):
        make_notification(project, alert=alert, created=NOW + minute * MINUTE, due=NOW + minute * MINUTE)
    with django_assert_max_num_queries(21):
        timeline(alert, now=NOW + HOUR)
