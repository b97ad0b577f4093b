"""The story of one alert, as its page tells it (decisions 10)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.choices import DropReason, WaitReason
from alerting.models import Alert, Notification, NotificationAttempt, NotificationSetting
from alerting.rules.story import MomentKind
from alerting.selectors.story import NOT_SHOWN, AlertStory, alert_story
from alerting.selectors.story_of_telling import FIRST, NEWEST
from alerting.services.acknowledging import alert_acknowledge
from alerting.services.configs import alert_config_delete, alert_config_update
from alerting.services.windows import window_create
from automation.models import Host, Measurement
from integrations.choices import DeliveryStatus
from integrations.delivery import Outcome
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from tests.factories.alerting import EMAIL, make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import host_report, ingest, make_host
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ADA = Actor(ActorKind.USER, "a" * 24, "ada", False, "192.0.2.1")
REPEATED = {**EMAIL, "intervalMin": 60}
pytestmark = pytest.mark.django_db


def story(alert: Alert | None = None, *, now: datetime = NOW, sees_config: bool = True) -> AlertStory:
    """Of the alert, or of the only one there is."""
    found = Alert.objects.get(id=alert.id) if alert else Alert.objects.get()
    return alert_story(found, sees_config=sees_config, now=now)


def kinds(told: AlertStory) -> list[MomentKind]:
    """What happened, in order."""
    return [moment.kind for moment in told.moments]


def acknowledge(alert: Alert, *, until: datetime, now: datetime, comment: str | None = None) -> None:
    """As Ada."""
    alert_acknowledge(
        alert_id=alert.id, group_id=alert.group_id, until=until, comment=comment, actor=ADA, now=now
    )


def window(project: Project, start: datetime, end: datetime) -> None:
    """One that silences hosts."""
    values = {"startDate": start, "endDate": end, "alertTypeNames": ["HOST"], "description": "new disks"}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=NOW - 9 * HOUR)


def measure(host: Host, moment: datetime, number: float, metric: str = "CONNECTIONS") -> None:
    """What one report measured."""
    taken = [moment.strftime("%Y-%m-%dT%H:%M:%SZ"), number]
    Measurement.objects.create(host=host, reported=moment, metrics={metric: [taken]})


def goes_down(project: Project, now: datetime = NOW) -> None:
    """A host that was up is not any more."""
    ingest(project, host_report(), now=now - MINUTE)
    evaluate(now - MINUTE)
    ingest(project, host_report(reachable=False), now=now)
    evaluate(now)


def metric_config(project: Project, **changes: Any) -> Any:
    """More than 900 connections."""
    busy = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 900, "units": "RAW"}
    return make_config(
        project,
        eventTypeName="OUTSIDE_METRIC_THRESHOLD",
        metricThreshold={**busy, "mode": "AVERAGE"},
        **changes,
    )


def metric_alert(project: Project, host: Host, **changes: Any) -> Alert:
    """An alert about connections that began an hour ago."""
    facts = {"hostId": host.id, "hostname": host.hostname, "port": host.port}
    times = {"created": NOW - HOUR, "updated": NOW - HOUR, "opens": NOW - HOUR}
    values = {"event_type": "OUTSIDE_METRIC_THRESHOLD", "metric_name": "CONNECTIONS", "facts": facts, **times}
    return make_alert(project, **(values | changes))


# --- what happened ------------------------------------------------------------------------------


def test_it_tells_from_the_signal_to_the_end(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[EMAIL])
    goes_down(project)
    deliver_all(NOW + MINUTE)
    ingest(project, host_report(), now=NOW + HOUR)
    evaluate(NOW + HOUR)
    deliver_all(NOW + HOUR + MINUTE)
    told = story(now=NOW + 2 * HOUR)
    assert kinds(told) == [
        MomentKind.BEGAN,
        MomentKind.OPENED,
        MomentKind.TOLD,
        MomentKind.CLOSED,
        MomentKind.TOLD,
    ]
    assert [moment.at for moment in told.moments] == [
        NOW,
        NOW,
        NOW + MINUTE,
        NOW + HOUR,
        NOW + HOUR + MINUTE,
    ]
    assert told.coming == ()
    assert told.nobody is None


def test_it_names_the_event_that_began_it_and_the_condition(project: Project) -> None:
    config = make_config(
        project, matchers=[{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}]
    )
    goes_down(project)
    told = story()
    assert told.moments[0].text == "HOST_DOWN of db1:27017 was recorded."
    assert told.moments[0].event_id is not None
    assert (told.config.id, told.config.words) == (config.id, "HOST_DOWN, where HOSTNAME starts with “db”")
    assert (told.config.is_there, told.config.changed_since) == (True, False)


def test_an_event_of_another_host_did_not_begin_it(project: Project) -> None:
    make_config(project)
    ingest(project, host_report("other"), now=NOW - MINUTE)
    ingest(project, host_report("other", reachable=False), now=NOW)
    alert = make_alert(project, created=NOW, opens=NOW, target_key='["HOST","db1.example.com",27017]')
    began = story(alert).moments[0]
    assert (began.kind, began.event_id) == (MomentKind.BEGAN, None)


def test_it_holds_the_value_against_the_threshold(project: Project) -> None:
    metric_config(project)
    host = make_host(project)
    ingest(project, host_report(CONNECTIONS=1650), now=NOW)
    evaluate(NOW)
    told = story()
    assert (told.moments[0].text, told.moments[0].reason) == (
        f"{host.hostname}:27017 left its threshold.",
        "CONNECTIONS was 1,650: above 900",
    )


def test_a_changed_configuration_begins_it_with_what_was_reported_before(project: Project) -> None:
    ingest(project, host_report(CONNECTIONS=1650), now=NOW - HOUR)
    evaluate(NOW - HOUR)
    metric_config(project)
    evaluate(NOW)
    assert story().moments[0].reason == (
        "CONNECTIONS was 1,650: above 900, as reported at 2099-11-21T11:00:00Z"
    )


def test_a_value_that_is_not_kept_any_more_is_not_made_up(project: Project) -> None:
    config = metric_config(project)
    alert = metric_alert(project, make_host(project), config_id=config.id)
    assert story(alert).moments[0].reason == "CONNECTIONS was above 900; the value is not kept any more"


def test_it_says_who_acknowledged_it_until_when_and_why(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    acknowledge(alert, until=NOW + HOUR, now=NOW + MINUTE, comment="<b>disks</b>")
    acknowledge(alert, until=NOW, now=NOW + 2 * MINUTE)
    seen = [(one.kind, one.who, one.reason) for one in story(alert, now=NOW + HOUR).moments[2:]]
    assert seen == [
        (MomentKind.ACKNOWLEDGED, "ada", "<b>disks</b>"),
        (MomentKind.UNACKNOWLEDGED, "ada", None),
    ]


def test_an_acknowledgement_that_lapsed_is_told(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    acknowledge(alert, until=NOW + HOUR, now=NOW + MINUTE)
    assert MomentKind.LAPSED not in kinds(story(alert, now=NOW + HOUR))
    later = story(alert, now=NOW + HOUR + MINUTE)
    assert (later.moments[-1].kind, later.moments[-1].at) == (MomentKind.LAPSED, NOW + HOUR)
    assert later.acknowledgement is None


def test_one_that_was_tracked_only_ended_before_it_opened(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW + HOUR, resolved=NOW + MINUTE, status="CLOSED")
    told = story(alert, now=NOW + HOUR)
    assert kinds(told) == [MomentKind.BEGAN, MomentKind.CLOSED]
    assert told.moments[-1].text == "The condition ended, before it had opened."
    assert told.nobody is not None


def test_a_deleted_configuration_cancels_it_and_is_still_known(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    goes_down(project)
    alert_config_delete(config=config, actor=ADA, now=NOW + HOUR)
    told = story(now=NOW + 2 * HOUR)
    assert (told.moments[-1].kind, told.moments[-1].reason) == (
        MomentKind.NOT_TOLD,
        DropReason.ALERT_OVER.value,
    )
    assert told.moments[-2].kind is MomentKind.CANCELLED
    assert told.moments[-2].who == "ada"
    assert (told.config.is_there, told.config.changed_since) == (False, False)


def test_a_configuration_that_says_something_else_by_now_is_told(project: Project) -> None:
    config = make_config(project)
    goes_down(project)
    changed = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "other"}]
    alert_config_update(config=config, read=lambda _: {"matchers": changed}, actor=ADA, now=NOW + HOUR)
    told = story(now=NOW + 2 * HOUR)
    assert (told.config.is_there, told.config.changed_since) == (True, True)


def test_a_window_that_held_notifications_back_is_part_of_it(project: Project) -> None:
    window(project, NOW - HOUR, NOW + HOUR)
    alert = make_alert(project, created=NOW, opens=NOW)
    told = story(alert, now=NOW + 2 * HOUR)
    seen = [(one.kind, one.at) for one in told.moments if "“new disks”" in one.text]
    assert seen == [(MomentKind.SILENCED, NOW), (MomentKind.UNSILENCED, NOW + HOUR)]


# --- who was told, and who was not --------------------------------------------------------------


def test_each_attempt_is_told_with_its_reason(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[EMAIL])
    goes_down(project)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the mail server is away", 2500)
    deliver_all(NOW)
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 7)
    deliver_all(NOW + HOUR / 2)
    first, second = story(now=NOW + HOUR).moments[2:]
    assert (first.kind, first.reason) == (MomentKind.NOT_YET, "the mail server is away")
    assert "attempt 1, 2.5 s" in first.text
    assert (second.kind, second.reason) == (MomentKind.TOLD, None)
    assert "oncall@example.com by EMAIL was told that it opened: attempt 2, 7 ms" in second.text


def test_nobody_to_tell_is_told(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{"typeName": "GROUP", "emailEnabled": True, "delayMin": 0}])
    goes_down(project)
    deliver_all(NOW)
    last = story(now=NOW + MINUTE).moments[-1]
    assert (last.kind, last.reason) == (MomentKind.NOT_TOLD, DropReason.NO_HOLDER.value)


def test_a_notification_that_came_later_had_nothing_to_tell(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    goes_down(project)
    assert story().untold == ()
    NotificationSetting.objects.create(config=config, position=2, type_name="SMS")
    assert story().untold == ("SMS",)


def test_recipients_and_condition_of_a_global_configuration_are_not_everybodys(project: Project) -> None:
    make_global_config(notifications=[EMAIL])
    goes_down(project)
    alert = Alert.objects.get()
    shown, hidden = story(alert), story(alert, sees_config=False)
    assert "oncall@example.com" in repr(shown)
    assert "oncall@example.com" not in repr(hidden)
    assert (hidden.config.words, hidden.untold) == (NOT_SHOWN, ())


# --- what is to come ----------------------------------------------------------------------------


def test_a_tracked_alert_is_to_open(project: Project) -> None:
    alert = make_alert(project, status="TRACKING", created=NOW, opens=NOW + HOUR)
    told = story(alert)
    assert [(one.kind, one.at) for one in told.coming] == [(MomentKind.OPENED, NOW + HOUR)]
    assert told.nobody == "Nobody was told yet: the alert has not opened."


def test_it_says_when_the_next_repeat_is(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[REPEATED])
    goes_down(project)
    deliver_all(NOW)
    (repeat,) = story(now=NOW + MINUTE).coming
    assert (repeat.at, repeat.reason) == (NOW + HOUR, None)
    assert "that it is still open" in repeat.text


def test_an_acknowledgement_holds_the_next_repeat_back(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[REPEATED])
    goes_down(project)
    deliver_all(NOW)
    acknowledge(Alert.objects.get(), until=NOW + 3 * HOUR, now=NOW + MINUTE)
    lapse, repeat = story(now=NOW + 2 * MINUTE).coming
    assert (lapse.kind, lapse.at) == (MomentKind.LAPSED, NOW + 3 * HOUR)
    assert (repeat.at, repeat.reason) == (NOW + 3 * HOUR, WaitReason.ACKNOWLEDGED.value)


def test_a_window_to_come_holds_it_back_until_its_end(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[REPEATED])
    goes_down(project)
    deliver_all(NOW)
    window(project, NOW + HOUR - MINUTE, NOW + 5 * HOUR)
    (repeat,) = story(now=NOW + MINUTE).coming
    assert repeat.at == NOW + 5 * HOUR
    assert "silenced by maintenance window" in str(repeat.reason)


def test_what_was_taken_out_of_the_configuration_will_not_be_told(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    goes_down(project)
    NotificationSetting.objects.filter(config=config).update(removed=True)
    (coming,) = story().coming
    assert (coming.kind, coming.reason) == (MomentKind.NOT_TOLD, DropReason.NOTIFICATION_REMOVED.value)


# --- measurements -------------------------------------------------------------------------------


def test_measurements_reach_from_before_the_alert_to_after_it(project: Project) -> None:
    config = metric_config(project)
    host = make_host(project)
    alert = metric_alert(project, host, config_id=config.id, status="CLOSED", resolved=NOW - HOUR / 2)
    inside = [NOW - HOUR - HOUR / 2, NOW - HOUR, NOW]
    for moment in (inside[0] - MINUTE, *inside, NOW + MINUTE):
        measure(host, moment, 950)
    measured = story(alert, now=NOW + HOUR).measured
    assert measured is not None
    assert [moment for moment, _ in measured.points] == inside
    assert measured.threshold == 900


def test_however_much_was_measured_few_points_with_all_extremes_are_shown(project: Project) -> None:
    host = make_host(project)
    alert = metric_alert(project, host)
    samples = [
        [(NOW - HOUR + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ"), float(second % 7)]
        for second in range(3000)
    ]
    samples[1234][1], samples[2222][1] = 5000.0, -5000.0
    Measurement.objects.create(host=host, reported=NOW, metrics={"CONNECTIONS": samples})
    measured = story(alert).measured
    assert measured is not None
    assert 100 < len(measured.points) <= 300
    numbers = [number for _, number in measured.points]
    assert (max(numbers), min(numbers)) == (5000.0, -5000.0)
    assert [moment for moment, _ in measured.points] == sorted(moment for moment, _ in measured.points)


def test_other_alerts_of_a_host_show_its_connections(project: Project) -> None:
    host = make_host(project)
    alert = metric_alert(project, host, event_type="HOST_DOWN", metric_name=None)
    measure(host, NOW - HOUR - MINUTE, 5)
    Measurement.objects.update(metrics={"ASSERT_MSG": [], **Measurement.objects.get().metrics})
    Measurement.objects.create(host=host, reported=NOW - HOUR, metrics={}, databases={"orders": {}})
    measured = story(alert).measured
    assert measured is not None
    assert (measured.metric.value, len(measured.points), measured.threshold) == ("CONNECTIONS", 1, None)


def test_without_a_host_or_measurements_there_is_no_plot(project: Project) -> None:
    host = make_host(project)
    assert story(metric_alert(project, host, metric_name=None)).measured is None
    about_a_set = make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs0"})
    assert story(about_a_set).measured is None


# --- bounds -------------------------------------------------------------------------------------


def test_of_many_notifications_the_first_the_newest_and_the_pending_are_shown(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    number = FIRST + NEWEST + 7
    for minute in range(number):
        moment = NOW + minute * MINUTE
        row = make_notification(project, alert=alert, created=moment, due=moment, status="DELIVERED")
        attempt = {"ended": moment, "status": DeliveryStatus.DELIVERED.value, "latency_ms": 1}
        NotificationAttempt.objects.create(notification=row, number=1, **attempt)
    pending = Notification.objects.filter(alert=alert).order_by("created")[FIRST + 3]
    Notification.objects.filter(id=pending.id).update(status="PENDING")
    told = story(alert, now=NOW + 9 * HOUR)
    assert len(told.tellings) == FIRST + NEWEST + 1
    assert told.more_tellings == 6
    assert len(told.coming) == 1
    created = [one.created for one in told.tellings]
    assert created == sorted(created, reverse=True)
    assert (created[-1], created[0]) == (NOW, NOW + (number - 1) * MINUTE)


def test_of_many_events_the_first_and_the_newest_are_shown(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    for minute in range(1, 110):
        acknowledge(alert, until=NOW + 9 * HOUR, now=NOW + minute * MINUTE, comment=f"look {minute}")
    told = story(alert, now=NOW + 3 * HOUR)
    comments = [one.reason for one in told.moments if one.kind is MomentKind.ACKNOWLEDGED]
    assert (len(comments), told.more_events, told.moments_left_out) == (100, 9, 0)
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
    with django_assert_max_num_queries(15):
        story(alert, now=NOW + HOUR)
