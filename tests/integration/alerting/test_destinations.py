"""Destinations: order, what was perhaps received, faults where they belong, credentials of the beginning."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete, alert_config_update
from alerting.destinations import changes as destination_changes
from alerting.destinations.changes import CACHED, CHECKED_EVERY, destinations_trim
from alerting.destinations.store import with_waiting
from alerting.engine import delivery
from alerting.engine.claim_rules import AT_ONE_DESTINATION
from alerting.engine.claims import claim
from alerting.engine.leases import LEASE, LONGEST_ATTEMPT, absent_workers, lapsed_leases_release
from alerting.engine.metrics import alerting_metrics
from alerting.engine.notification_log import alert_notifications
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.resource import LoggedNotificationDocument
from alerting.engine.rules import not_retried
from alerting.engine.stored_times import times_repair
from alerting.incidents.grouping import openings_schedule
from alerting.insight.timeline import alert_timeline
from alerting.models import AlertConfig, Destination, Notification, NotificationAttempt, UnreachableHost
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_create
from integrations.channels.outcome import Outcome
from integrations.channels.stages import WORKER_DELAYED
from integrations.choices import ChannelType, DeliveryFault, DeliveryStatus
from integrations.credentials.changes import integration_delete, integration_put
from integrations.messages import Message
from opsapi.api.principal import SYSTEM
from opsapi.logs import LineFormatter
from opsapi.outbound.errors import NO_ANSWER as SENT_NO_ANSWER
from opsapi.sql import execute, fetch_rows
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_config, make_destination, make_notification
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration
from tests.integration.alerting.pipeline import Outside, begin, deliver_all, deliver_round, evaluate

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
A, B = "http://127.0.0.1:9/a", "http://127.0.0.1:9/b"
ELSEWHERE = "http://127.0.0.2:9/c"
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5, fault=DeliveryFault.HOST)
BROKEN = Outcome(
    DeliveryStatus.RETRY,
    "the receiver answered 500",
    5,
    fault=DeliveryFault.DESTINATION,
    perhaps_received=True,
)
NO_ANSWER = Outcome(
    DeliveryStatus.RETRY, "sent, no answer", 5, fault=DeliveryFault.DESTINATION, perhaps_received=True
)
REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5)


def webhook(url: str, **changes: Any) -> dict[str, Any]:
    """A notification by webhook."""
    return {**WEBHOOK, "webhookUrl": url, **changes}


def set_up(project: Project, *urls: str, **changes: Any) -> AlertConfig:
    """A configuration for HOST_DOWN that notifies these webhooks."""
    config = make_config(project, notifications=[webhook(url, **changes) for url in urls])
    evaluate(START)
    return config


def report(project: Project, now: datetime, *, up: bool, host: str = "db1.example.com") -> None:
    """A host is up or down."""
    ingest(project, host_report(host, reachable=up), now=now)
    evaluate(now)


def down(project: Project, now: datetime = START, host: str = "db1.example.com") -> None:
    """A host is down."""
    report(project, now, up=False, host=host)


def up(project: Project, now: datetime = START, host: str = "db1.example.com") -> None:
    """A host is up."""
    report(project, now, up=True, host=host)


def change_url(config: AlertConfig, url: str, now: datetime = START) -> None:
    """The configuration names another webhook."""
    values = {"notifications": [{**webhook(url), "id": config.settings.get().id}]}
    alert_config_update(config=config, read=lambda _: values, actor=SYSTEM, now=now)


@contextmanager
def in_hand(
    now: datetime, outside: Outside, outcome: Outcome = TAKEN
) -> Iterator[list[delivery.DeliveryAttempt]]:
    """What is due is being sent meanwhile, by a worker that records it then."""
    jobs = begin(now)
    yield jobs
    delivery.record([(job, outcome) for job in jobs], now=now)
    for job in jobs:
        assert isinstance(job.content, Message)
        channel = ChannelType(str(job.notification.channel))
        outside.sent.append((channel, dict(job.channel_fields), job.content))


class TestKnownDestinations:
    """What is due at once is written with its destination where that answers, and is sent by one claim."""

    def test_a_destination_that_answers_is_not_looked_for_again(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        down(project, host="db1.example.com")
        assert Notification.objects.get().destination == ""
        deliver_all(START)
        down(project, host="db2.example.com")
        assert Notification.objects.filter(destination=Destination.objects.get().id).count() == 2
        assert deliver_round(START) == (1, 1)
        assert [kind for _, kind in outside.said] == ["OPEN", "OPEN"]

    def test_a_destination_that_fails_is_left_to_delivery(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        outside.outcome = BROKEN
        down(project, host="db1.example.com")
        deliver_all(START)
        down(project, host="db2.example.com")
        assert Notification.objects.filter(destination="").count() == 1

    def test_one_that_is_due_later_has_none_yet(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project, host="db1.example.com")
        deliver_all(START)
        make_config(project, notifications=[webhook(A), webhook(A, delayMin=1)])
        evaluate(START)
        named = Notification.objects.filter(alert__facts__hostname="db1.example.com").exclude(destination="")
        assert {(notification.created, notification.due) for notification in named} == {(START, START)}

    def test_one_that_was_redirected_meanwhile_goes_where_the_configuration_says(
        self, project: Project, outside: Outside
    ) -> None:
        config = set_up(project, A)
        down(project, host="db1.example.com")
        deliver_all(START)
        down(project, host="db2.example.com")
        change_url(config, B)
        deliver_all(START)
        assert [(url, kind) for url, kind in outside.said if kind == "OPEN"][-1] == (B, "OPEN")


class TestOrder:
    """For one destination and target one message after the other, and the last one is the state."""

    def test_down_up_down_while_the_receiver_is_slow(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project)
        with in_hand(START, outside):
            up(project, START + SECOND)
            down(project, START + 2 * SECOND)
            assert deliver_all(START + 2 * SECOND) == 0
        deliver_all(START + 3 * SECOND)
        assert [kind for _, kind in outside.said] == ["OPEN", "CLOSE", "OPEN"]

    def test_a_close_that_failed_once_goes_before_the_next_opening(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        down(project)
        deliver_all(START)
        up(project, START + SECOND)
        outside.outcome = BROKEN
        deliver_all(START + SECOND)
        outside.outcome = TAKEN
        down(project, START + 3 * SECOND)
        assert deliver_all(START + 3 * SECOND) == 0
        deliver_all(START + MINUTE)
        assert [kind for _, kind in outside.said] == ["OPEN", "CLOSE", "CLOSE", "OPEN"]

    def test_other_targets_do_not_wait(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project, host="db1.example.com")
        deliver_all(START)
        up(project, START + SECOND, host="db1.example.com")
        outside.outcome = BROKEN
        deliver_all(START + SECOND)
        outside.outcome = TAKEN
        down(project, START + 2 * SECOND, host="db2.example.com")
        assert deliver_all(START + 2 * SECOND) >= 1
        assert "db2.example.com" in str(outside.sent[2][2].document)

    def test_when_a_window_ends_the_close_of_the_last_alert_goes_before_the_next_opening(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        down(project)
        deliver_all(START)
        values = {"start": START, "end": START + HOUR, "alert_types": ["HOST"]}
        window_create(group_id=project.id, values=values, actor=SYSTEM, now=START)
        up(project, START + MINUTE)
        down(project, START + 2 * MINUTE)
        assert deliver_all(START + 3 * MINUTE) == 0
        deliver_all(START + HOUR)
        assert [kind for _, kind in outside.said] == ["OPEN", "CLOSE", "OPEN"]

    @pytest.mark.slow
    def test_what_waited_while_the_receiver_was_away_comes_in_order_and_ends_with_the_state(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        hosts = [f"db{number}.example.com" for number in range(3)]
        outside.outcome = BROKEN
        for minute, change in enumerate([down, up, down, up, down]):
            for host in hosts:
                change(project, START + minute * MINUTE, host=host)
            deliver_all(START + minute * MINUTE)
        outside.outcome, outside.sent = TAKEN, []
        now = START + 10 * MINUTE
        deliver_all(now)
        deliver_all(now + SECOND)
        for host in hosts:
            mine = [message.kind.name for *_, message in outside.sent if host in str(message.document)]
            assert mine == ["CLOSE", "OPEN"], host


class TestPerhapsReceived:
    """What may have been received is followed by the end; only what certainly never left is dropped."""

    @pytest.mark.parametrize("outcome", [BROKEN, NO_ANSWER], ids=["500", "no answer"])
    def test_the_end_follows_an_opening_whose_answer_was_lost(
        self, project: Project, outside: Outside, outcome: Outcome
    ) -> None:
        set_up(project, A)
        down(project)
        outside.outcome = outcome
        deliver_all(START)
        up(project, START + SECOND)
        outside.outcome = TAKEN
        deliver_all(START + SECOND)
        assert [kind for _, kind in outside.said] == ["OPEN", "CLOSE"]
        opening = Notification.objects.get(kind="alert.open")
        stopped = not_retried(str(outcome.reason), NotificationReason.ALERT_OVER)
        assert (opening.status, opening.reason) == ("FAILED", stopped)

    def test_what_never_left_is_dropped_and_has_no_end(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project)
        outside.outcome = AWAY
        deliver_all(START)
        up(project, START + SECOND)
        outside.outcome = TAKEN
        deliver_all(START + MINUTE)
        assert [kind for _, kind in outside.said] == ["OPEN"]
        assert Notification.objects.get().status == "DROPPED"

    def test_a_refused_opening_has_no_end(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project)
        outside.outcome = REFUSED
        deliver_all(START)
        up(project, START + SECOND)
        deliver_all(START + SECOND)
        assert [kind for _, kind in outside.said] == ["OPEN"]

    def test_a_reminder_whose_answer_was_lost_has_the_end(self, project: Project, outside: Outside) -> None:
        set_up(project, A, intervalMin=5)
        down(project)
        outside.outcome = REFUSED
        deliver_all(START)
        outside.outcome = NO_ANSWER
        deliver_all(START + 6 * MINUTE)
        up(project, START + 7 * MINUTE)
        outside.outcome = TAKEN
        deliver_all(START + 8 * MINUTE)
        assert [kind for _, kind in outside.said] == ["OPEN", "UPDATE", "CLOSE"]

    def test_what_a_dead_worker_had_in_hand_is_sent_again_under_the_same_id(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        down(project)
        [job] = begin(START)
        assert absent_workers() == {1}
        assert lapsed_leases_release(now=START + SECOND, absent=absent_workers()) == 1
        deliver_all(START + SECOND)
        [(_, _, message)] = outside.sent
        assert message.delivery_id == job.notification.id
        assert list(NotificationAttempt.objects.order_by("number").values_list("status", flat=True)) == [
            "retry",
            "delivered",
        ]


class TestFaults:
    """A fault belongs to the destination where it happened; no connection at all belongs to the host."""

    @pytest.mark.slow
    def test_after_five_failures_a_destination_is_probed_every_ten_seconds(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        for number in range(12):
            down(project, host=f"db{number}.example.com")
        outside.outcome = BROKEN
        assert deliver_all(START) == 5
        assert deliver_all(START + 9 * SECOND) == 0
        assert deliver_all(START + 10 * SECOND) == 1
        assert deliver_all(START + 19 * SECOND) == 0

    @pytest.mark.slow
    def test_back_means_back(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        for number in range(12):
            down(project, host=f"db{number}.example.com")
        outside.outcome = BROKEN
        deliver_all(START)
        outside.outcome = TAKEN
        assert deliver_all(START + 10 * SECOND) == 12
        assert Destination.objects.get().failing_since is None

    @pytest.mark.slow
    def test_a_broken_path_of_a_shared_host_harms_no_other_destination(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        for number in range(12):
            down(project, host=f"db{number}.example.com")
        outside.outcomes = {A: BROKEN}
        deliver_all(START)
        other: Project = ProjectFactory.create()
        set_up(other, B)
        down(other)
        assert deliver_all(START + SECOND) == 1
        assert outside.said[-1] == (B, "OPEN")

    def test_a_host_without_connection_is_probed_by_one_destination_after_the_other(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, *[f"http://127.0.0.1:9/{number}" for number in range(8)])
        down(project)
        outside.outcome = AWAY
        deliver_all(START)
        assert UnreachableHost.objects.get().failures == 5
        outside.sent = []
        for probe in range(1, 4):
            assert deliver_all(START + probe * 10 * SECOND) == 1
        assert len({url for url, _ in outside.said}) == 3

    def test_a_host_that_is_back_lets_all_its_destinations_through(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, *[f"http://127.0.0.1:9/{number}" for number in range(8)])
        down(project)
        outside.outcome = AWAY
        deliver_all(START)
        outside.outcome = TAKEN
        assert deliver_all(START + 10 * SECOND) == 8
        assert not UnreachableHost.objects.exists()

    @pytest.mark.parametrize("outcome", [TAKEN, NO_ANSWER], ids=["taken", "hung"])
    def test_only_a_connection_created_since_then_says_that_a_host_is_back(
        self, outcome: Outcome, project: Project, outside: Outside
    ) -> None:
        set_up(project, A, B)
        down(project)
        first, second = begin(START)
        delivery.record([(second, AWAY)], now=START + 2 * SECOND)
        delivery.record([(first, outcome)], now=START + 8 * SECOND)
        assert UnreachableHost.objects.exists()
        outside.outcome = outcome
        deliver_all(START + MINUTE)
        assert not UnreachableHost.objects.exists()

    def test_a_host_that_went_away_while_the_clock_was_ahead_can_be_back(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        down(project)
        wrong = START + timedelta(days=1)
        [job] = begin(wrong)
        delivery.record([(job, AWAY)], now=wrong)
        times_repair(clock=lambda: START + MINUTE)
        assert deliver_all(START + MINUTE) == 1
        assert not UnreachableHost.objects.exists()

    def test_an_answer_to_an_older_request_hides_no_host_that_takes_no_connection(
        self, project: Project, outside: Outside
    ) -> None:
        """A server that shuts down answers what it took and takes nothing more."""
        set_up(project, A)
        down(project)
        [older] = begin(START)
        other: Project = ProjectFactory.create()
        set_up(other, B)
        down(other)
        [newer] = begin(START + SECOND)
        delivery.record([(older, TAKEN), (newer, AWAY)], now=START + 8 * SECOND)
        assert UnreachableHost.objects.get().since == START + 8 * SECOND

    @pytest.mark.slow
    def test_another_host_is_notified_meanwhile(self, project: Project, outside: Outside) -> None:
        set_up(project, A, ELSEWHERE)
        for number in range(6):
            down(project, host=f"db{number}.example.com")
        outside.outcomes = {A: AWAY}
        deliver_all(START)
        assert sum(url == ELSEWHERE for url, _ in outside.said) == 6

    def test_a_destination_that_never_answered_gets_one_message_at_a_time(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        for number in range(6):
            down(project, host=f"db{number}.example.com")
        assert len(begin(START)) == 1
        assert begin(START) == []

    @pytest.mark.slow
    def test_one_that_answered_gets_several(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project, host="first.example.com")
        deliver_all(START)
        for number in range(AT_ONE_DESTINATION + 1):
            down(project, host=f"db{number}.example.com")
        assert len(begin(START)) == AT_ONE_DESTINATION

    def test_what_cannot_be_tried_is_no_failure_of_the_destination(
        self, project: Project, outside: Outside, settings: Any
    ) -> None:
        set_up(project, A)
        down(project)
        settings.OPSAPI_ENCRYPTION_KEYS = ["another key"]
        deliver_all(START)
        assert Notification.objects.get().status == "PENDING"
        assert not Destination.objects.filter(failures__gt=0).exists()


class TestWhoGetsTheEnd:
    """The end goes to the receiver of the beginning, with the credentials used then."""

    def test_after_the_url_changed(self, project: Project, outside: Outside) -> None:
        config = set_up(project, A)
        down(project)
        deliver_all(START)
        change_url(config, B)
        up(project, START + MINUTE)
        deliver_all(START + MINUTE)
        assert outside.said == [(A, "OPEN"), (A, "CLOSE")]

    def test_both_receivers_get_it_when_a_reminder_went_to_the_new_one(
        self, project: Project, outside: Outside
    ) -> None:
        config = set_up(project, A, intervalMin=5)
        down(project)
        deliver_all(START)
        change_url(config, B)
        Notification.objects.filter(kind="alert.update").update(due=START + MINUTE)
        deliver_all(START + MINUTE)
        up(project, START + 2 * MINUTE)
        deliver_all(START + 2 * MINUTE)
        assert outside.said[:2] == [(A, "OPEN"), (B, "UPDATE")]
        assert sorted(outside.said[2:]) == [(A, "CLOSE"), (B, "CLOSE")]

    @pytest.mark.parametrize("change", ["replaced", "deleted"])
    def test_after_its_integration_changed(self, project: Project, outside: Outside, change: str) -> None:
        make_integration(project, "WEBHOOK", url=A)
        make_config(project, notifications=[{"typeName": "WEBHOOK", "delayMin": 0}])
        evaluate(START)
        down(project)
        deliver_all(START)
        kind = "WEBHOOK"
        if change == "replaced":
            values = {"url": B}
            integration_put(
                group_id=project.id, integration_type=kind, read=lambda _: values, actor=SYSTEM, now=START
            )
        else:
            integration_delete(group_id=project.id, integration_type=kind, actor=SYSTEM, now=START)
        up(project, START + MINUTE)
        deliver_all(START + MINUTE)
        assert [(url, kind) for url, kind in outside.said] == [(A, "OPEN"), (A, "CLOSE")]

    def test_after_its_configuration_was_deleted(self, project: Project, outside: Outside) -> None:
        config = set_up(project, A)
        down(project)
        deliver_all(START)
        alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
        deliver_all(START + MINUTE)
        assert outside.said == [(A, "OPEN"), (A, "CANCEL")]

    def test_a_corrected_url_is_tried_at_once_by_what_waits(self, project: Project, outside: Outside) -> None:
        config = set_up(project, A)
        down(project)
        outside.outcomes = {A: AWAY}
        deliver_all(START)
        change_url(config, B)
        deliver_all(START + MINUTE)
        assert outside.said == [(A, "OPEN"), (B, "OPEN")]

    def test_a_receiver_that_perhaps_got_it_before_the_correction_gets_the_end_too(
        self, project: Project, outside: Outside
    ) -> None:
        config = set_up(project, A)
        down(project)
        outside.outcomes = {A: NO_ANSWER}
        deliver_all(START)
        change_url(config, B)
        outside.outcomes = {}
        deliver_all(START + MINUTE)
        up(project, START + 2 * MINUTE)
        deliver_all(START + 2 * MINUTE)
        assert outside.said[:2] == [(A, "OPEN"), (B, "OPEN")]
        assert sorted(outside.said[2:]) == [(A, "CLOSE"), (B, "CLOSE")]


class TestSecrets:
    """A destination's configuration is kept encrypted, and no longer than a message may need it."""

    def test_it_is_encrypted_and_kept_while_its_alert_is_active(
        self, project: Project, outside: Outside
    ) -> None:
        set_up(project, A)
        down(project)
        deliver_all(START)
        destination = Destination.objects.get()
        assert A not in str(vars(destination))
        destinations_trim(now=START + 2 * HOUR)
        destination.refresh_from_db()
        assert destination.config is not None

    def test_it_goes_once_no_message_can_need_it(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project)
        deliver_all(START)
        up(project, START + MINUTE)
        deliver_all(START + MINUTE)
        destinations_trim(now=START + MINUTE + 2 * CHECKED_EVERY)
        assert Destination.objects.get().config is None
        destinations_trim(now=START + MINUTE + CACHED + HOUR)
        assert not Destination.objects.exists()

    def test_a_check_of_many_takes_as_many_searches_in_incidents_as_of_one(self, project: Project) -> None:
        def searches(number: int) -> int:
            rows = [make_destination(project, config="x", updated=START) for _ in range(number)]
            with CaptureQueriesContext(connection) as queries:
                destinations_trim(now=START + HOUR, clock=lambda: 0.0)
            ids = [row.id for row in rows]
            assert not Destination.objects.filter(id__in=ids).exclude(config=None).exists()
            return sum("alerting_incident" in query["sql"] for query in queries)

        assert (searches(1), searches(9)) == (1, 1)

    def test_a_check_that_takes_long_continues_with_other_projects_later(self, project: Project) -> None:
        for _ in range(3):
            make_destination(ProjectFactory.create(), config="x", updated=START)
        with_config = Destination.objects.exclude(config=None)
        for left in (2, 1, 0):
            assert destinations_trim(now=START + HOUR, clock=partial(next, count()))
            assert with_config.count() == left
        assert not destinations_trim(now=START + HOUR, clock=partial(next, count()))

    def test_a_destination_that_is_used_during_a_check_is_checked_later(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        used, unused = (make_destination(project, config="x", updated=START) for _ in range(2))

        def search(*given: Any) -> list[tuple[Any, ...]]:
            Destination.objects.filter(id=used.id).update(tried=START + HOUR)
            return fetch_rows(*given)

        monkeypatch.setattr(destination_changes, "fetch_rows", search)
        destinations_trim(now=START + HOUR)
        assert list(Destination.objects.exclude(config=None)) == [used]
        destinations_trim(now=START + HOUR)
        assert not Destination.objects.exclude(config=None).exists()
        assert Destination.objects.get(id=unused.id)

    def test_the_next_alert_brings_it_back(self, project: Project, outside: Outside) -> None:
        set_up(project, A)
        down(project)
        deliver_all(START)
        Destination.objects.update(config=None)
        down(project, START + HOUR, host="db2.example.com")
        deliver_all(START + HOUR)
        assert Destination.objects.get().config is not None
        assert [kind for _, kind in outside.said].count("OPEN") == 2


def test_ids_of_notifications_follow_from_content_and_recipient(project: Project, outside: Outside) -> None:
    set_up(project, A, B)
    down(project)
    before = set(Notification.objects.values_list("id", flat=True))
    alert = Notification.objects.first().alert  # type: ignore[union-attr]
    Notification.objects.all().delete()
    assert alert is not None
    openings_schedule(alerts=[alert], ledger=POSTGRESQL)
    assert set(Notification.objects.values_list("id", flat=True)) == before
    openings_schedule(alerts=[alert], ledger=POSTGRESQL)
    assert Notification.objects.count() == len(before)


@pytest.mark.slow
def test_the_log_says_once_that_a_destination_fails_and_once_that_it_is_back(
    project: Project, outside: Outside, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="opsapi.delivery")
    url = f"{A}?token=a-secret-of-the-receiver"
    set_up(project, url)
    outside.outcomes = {url: BROKEN}
    for number in range(3):
        down(project, START + number * HOUR, host=f"db{number}.example.com")
        deliver_all(START + number * HOUR)
    outside.outcomes = {}
    for number in range(3, 5):
        down(project, START + number * HOUR, host=f"db{number}.example.com")
        deliver_all(START + number * HOUR)
    lines = [line for line in caplog.records if "destination" in line.getMessage()]
    said = [(line.levelname, line.getMessage()) for line in lines]
    assert said == [("WARNING", "destination fails"), ("INFO", "destination is back")]
    for line in lines:
        assert {"project": project.id, "channel": "WEBHOOK"}.items() <= vars(line).items()
        assert "a-secret" not in LineFormatter().format(line)
    assert vars(lines[0])["reason"] == BROKEN.reason


@pytest.mark.parametrize("over", [False, True])
def test_the_log_of_notifications_says_sent_no_answer(project: Project, outside: Outside, over: bool) -> None:
    set_up(project, A)
    down(project)
    outside.outcomes = {A: NO_ANSWER}
    deliver_all(START)
    if over:
        up(project, START + SECOND)
    opening = Notification.objects.get(kind="alert.open")
    rows = alert_notifications(str(opening.alert_id), with_recipients=True).filter(kind="alert.open")
    logged = LoggedNotificationDocument.facts(LoggedNotificationDocument.rows(rows).get())
    assert logged["status"] == ("FAILED" if over else "PENDING")
    stopped = not_retried(SENT_NO_ANSWER, NotificationReason.ALERT_OVER)
    assert logged["reason"] == (stopped if over else SENT_NO_ANSWER)
    assert [attempt["reason"] for attempt in logged["attempts"]] == [SENT_NO_ANSWER]
    assert opening.alert is not None
    described = alert_timeline(opening.alert, sees_config=True, now=START + SECOND).explanation
    assert logged["reason"] in [notification.reason for notification, _ in described.notifications]


@pytest.mark.slow
def test_a_scrape_and_a_page_read_what_waits_and_not_the_log(project: Project) -> None:
    destination = make_destination(project)
    logged = [
        Notification(
            group=project,
            setting_id=destination.id,
            type_name="WEBHOOK",
            channel="WEBHOOK",
            kind="alert.open",
            destination=destination.id,
            status="PENDING" if number < 50 else "DELIVERED",
            created=START,
            due=START,
        )
        for number in range(5_000)
    ]
    Notification.objects.bulk_create(logged, batch_size=1_000)
    execute("ANALYZE alerting_notification")
    with CaptureQueriesContext(connection) as statements:
        list(alerting_metrics())
        assert with_waiting(Destination.objects.all()).get().waiting_count == 50
    for statement in [statement["sql"] for statement in statements if "'PENDING'" in statement["sql"]]:
        plan = "\n".join(line for (line,) in fetch_rows("EXPLAIN " + statement.replace("%", "%%"), []))
        assert "Seq Scan on alerting_notification" not in plan, plan


def test_a_claim_finds_its_messages_by_index_however_cheap_a_scan_seems(project: Project) -> None:
    def scans() -> int:
        found = fetch_rows(
            "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'alerting_notification'"
        )
        return sum(count for (count,) in found)

    destination = make_destination(project)
    waiting = [
        Notification(
            group=project,
            setting_id=destination.id,
            type_name="WEBHOOK",
            channel="WEBHOOK",
            kind="alert.open",
            destination=destination.id,
            subject=f"host {number}",
            status="PENDING",
            created=START,
            due=START,
        )
        for number in range(60)
    ]
    Notification.objects.bulk_create(waiting)
    # As if the statistics were of a time when the table was almost empty.
    execute("SET LOCAL seq_page_cost = 0")
    execute("SET LOCAL cpu_tuple_cost = 0")
    execute("SET LOCAL cpu_operator_cost = 0.000001")
    before = scans()
    assert len(claim(worker=1, slots=8, clock=lambda: START)) == 1
    assert scans() - before < 10


def test_postgresql_ends_a_claim_that_is_still_because_all_workers_wait_for_it(project: Project) -> None:
    claim(worker=1, slots=4, clock=lambda: START)
    assert fetch_rows("SHOW idle_in_transaction_session_timeout") == [("10s",)]


def test_messages_due_at_the_same_time_are_claimed_in_the_order_of_their_creation(project: Project) -> None:
    place = make_destination(project, failures=0, answered=START)
    for sequence in (30, 10, 20):
        make_notification(
            project,
            destination=place.id,
            subject=str(sequence),
            sequence=sequence,
            due=START,
            channel="WEBHOOK",
        )
    claimed = claim(worker=1, slots=64, clock=lambda: START)
    assert [row.sequence for row in claimed] == [10, 20, 30]


def test_a_round_claims_no_more_than_asked(project: Project, outside: Outside) -> None:
    set_up(project, *[f"http://127.0.0.1:9/{number}" for number in range(8)])
    down(project)
    deliver_round(START)
    assert deliver_round(START, limit=3)[1] == 3


def test_a_worker_that_slept_sends_nothing_that_another_may_have_taken_up(
    project: Project, outside: Outside
) -> None:
    set_up(project, A)
    down(project)
    jobs = begin(START)
    woken = START + LEASE - LONGEST_ATTEMPT + SECOND
    [outcome] = [delivery.send(job, now=woken) for job in jobs]
    assert outcome.fault is DeliveryFault.WORKER
    delivery.record([(job, outcome) for job in jobs], now=woken)
    row = Notification.objects.get()
    assert outside.said == []
    assert (row.status, row.reason, row.perhaps_received) == ("PENDING", WORKER_DELAYED, False)
    assert Destination.objects.get().failures == 0
    assert row.due == woken
    deliver_all(row.due)
    assert [kind for _, kind in outside.said] == ["OPEN"]


def test_what_was_perhaps_received_before_a_crash_has_a_reason_when_it_goes_elsewhere(
    project: Project, outside: Outside
) -> None:
    config = set_up(project, A)
    down(project)
    begin(START)
    lapsed_leases_release(now=START + 2 * LEASE)
    change_url(config, ELSEWHERE)
    deliver_all(START + 2 * LEASE)
    rows = Notification.objects.filter(kind="alert.open").order_by("status").values_list("status", "reason")
    assert list(rows) == [("DELIVERED", None), ("FAILED", "sent, no answer")]
