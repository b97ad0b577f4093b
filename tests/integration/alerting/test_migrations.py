"""Migrations that change what is stored, both ways."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accesslist.models import Project
from alerting.models import Notification, NotificationAttempt
from events.models import Signal
from opsapi import clock
from opsapi.outbound.errors import UNREACHABLE
from tests.factories.alerting import make_alert, make_notification

BEFORE = [("alerting", "0013_words_for_people"), ("events", "0004_event_searches")]
AFTER = [("alerting", "0014_notifications_without_project"), ("events", "0005_signals_without_project")]
TIMES_WITHHELD = [("alerting", "0015_time_of_attempts")]
DESTINATIONS = [("alerting", "0016_destinations")]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _newest_afterwards() -> Iterator[None]:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield
    migrate(newest)


def migrate(targets: list[tuple[str, str]]) -> None:
    """Apply, or take back, what lies between."""
    MigrationExecutor(connection).migrate(targets)


@pytest.mark.slow
@pytest.mark.usefixtures("_newest_afterwards")
def test_what_has_no_project_goes_and_the_rest_stays(project: Project) -> None:
    kept, gone = make_notification(project), make_notification(project, group=None)
    for row in (kept, gone):
        row.tries.create(number=1, ended=clock.now(), status="retry", latency_ms=1)
    signals = [
        Signal.objects.create(created=clock.now(), group_id=group_id, kind="event", payload=payload)
        for group_id, payload in [
            (project.id, {"eventTypeName": "NEW_HOST"}),
            (None, {"orgId": project.org_id}),
            # Already fanned out: with the earlier code, global configurations would notify of it once more.
            (project.id, {"orgId": project.org_id}),
        ]
    ]
    migrate(BEFORE)
    migrate(AFTER)
    assert list(Notification.objects.values_list("id", "tries__number")) == [(kept.id, 1)]
    assert [signal.id for signal in Signal.objects.all()] == [signals[0].id]


@pytest.mark.slow
@pytest.mark.usefixtures("_newest_afterwards")
def test_of_attempts_that_reached_nobody_the_beginning_is_left(project: Project) -> None:
    now, latency = clock.now(), timedelta(milliseconds=1_500)
    for reasons in [(UNREACHABLE, "the receiver answered 503"), (None, UNREACHABLE)]:
        dropped = make_notification(project, status="DROPPED", reason="CONFIG_OFF", latency_ms=1_500)
        for number, reason in enumerate(reasons, 1):
            dropped.tries.create(number=number, ended=now, status="retry", reason=reason, latency_ms=1_500)
    migrate(AFTER)
    migrate(TIMES_WITHHELD)
    assert list(Notification.objects.order_by("id").values_list("latency_ms", flat=True)) == [1_500, None]
    tries = NotificationAttempt.objects.order_by("id").values_list("ended", "latency_ms")
    assert list(tries) == [(now - latency, None), (now, 1_500), (now, 1_500), (now - latency, None)]
    migrate(AFTER)
    assert list(tries.all()) == [(now - latency, 0), (now, 1_500), (now, 1_500), (now - latency, 0)]


@pytest.mark.slow
@pytest.mark.usefixtures("_newest_afterwards")
def test_what_waited_before_destinations_were_kept_waits_for_its_subject(project: Project) -> None:
    alert = make_alert(project)
    first, second = (make_notification(project, alert=alert) for _ in range(2))
    migrate(TIMES_WITHHELD)
    migrate(DESTINATIONS)
    rows = Notification.objects.order_by("sequence").values_list("id", "subject", "destination")
    assert sorted(rows) == [(first.id, alert.target_key, ""), (second.id, alert.target_key, "")]
