"""Who was notified of an alert, who was not and why, and what is to come."""

import pytest

from accesslist.models import Project
from alerting.insight.timeline import NOT_SHOWN
from alerting.insight.timeline_entries import TimelineEntryKind
from alerting.models import Alert, NotificationSetting
from alerting.reasons import NotificationReason
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from tests.factories.alerting import EMAIL, make_alert, make_config, make_global_config
from tests.integration.alerting.pipeline import Outside, deliver_all
from tests.integration.alerting.timelines import (
    HOUR,
    MINUTE,
    NOW,
    REPEATED,
    acknowledge,
    goes_down,
    timeline,
    window,
)

pytestmark = pytest.mark.django_db


def test_each_attempt_is_shown_with_its_reason(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[EMAIL])
    goes_down(project)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the mail server is away", 2500)
    deliver_all(NOW)
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 7)
    deliver_all(NOW + HOUR / 2)
    first, second = timeline(now=NOW + HOUR).entries[2:]
    assert (first.kind, first.reason) == (TimelineEntryKind.NOT_YET, "the mail server is away")
    assert "attempt 1, 2.5 s" in first.text
    assert (second.kind, second.reason) == (TimelineEntryKind.NOTIFIED, None)
    assert "oncall@example.com was notified that the alert opened: attempt 2, 7 ms" in second.text


def test_a_notification_without_recipients_is_shown(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{"typeName": "GROUP", "emailEnabled": True, "delayMin": 0}])
    goes_down(project)
    deliver_all(NOW)
    last = timeline(now=NOW + MINUTE).entries[-1]
    assert (last.kind, last.reason) == (
        TimelineEntryKind.NOT_NOTIFIED,
        NotificationReason.NO_USER_WITH_ROLE.value,
    )


def test_a_notification_added_later_had_nothing_to_send(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    goes_down(project)
    assert timeline().not_notified == ()
    NotificationSetting.objects.create(config=config, position=2, type_name="SMS")
    assert timeline().not_notified == ("SMS",)


def test_recipients_and_condition_of_a_global_configuration_are_not_everybodys(project: Project) -> None:
    make_global_config(notifications=[EMAIL])
    goes_down(project)
    alert = Alert.objects.get()
    shown, hidden = timeline(alert), timeline(alert, sees_config=False)
    assert "oncall@example.com" in repr(shown)
    assert "oncall@example.com" not in repr(hidden)
    assert (hidden.config.words, hidden.not_notified) == (NOT_SHOWN, ())


def test_a_tracked_alert_is_to_open(project: Project) -> None:
    alert = make_alert(project, status="TRACKING", created=NOW, opens=NOW + HOUR)
    timeline_shown = timeline(alert)
    assert [(entry.kind, entry.at) for entry in timeline_shown.coming] == [
        (TimelineEntryKind.OPENED, NOW + HOUR)
    ]
    assert timeline_shown.why_no_notifications == "No notifications: the alert has not opened."


def test_it_says_when_the_next_repeat_is(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[REPEATED])
    goes_down(project)
    deliver_all(NOW)
    (repeat,) = timeline(now=NOW + MINUTE).coming
    assert (repeat.at, repeat.reason) == (NOW + HOUR, None)
    assert "still open" in repeat.text


def test_an_acknowledgement_holds_the_next_repeat_back(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[REPEATED])
    goes_down(project)
    deliver_all(NOW)
    acknowledge(Alert.objects.get(), until=NOW + 3 * HOUR, now=NOW + MINUTE)
    lapse, repeat = timeline(now=NOW + 2 * MINUTE).coming
    assert (lapse.kind, lapse.at) == (TimelineEntryKind.LAPSED, NOW + 3 * HOUR)
    assert (repeat.at, repeat.reason) == (NOW + 3 * HOUR, NotificationReason.ACKNOWLEDGED.value)


def test_a_window_to_come_holds_it_back_until_its_end(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[REPEATED])
    goes_down(project)
    deliver_all(NOW)
    window(project, NOW + HOUR - MINUTE, NOW + 5 * HOUR)
    (repeat,) = timeline(now=NOW + MINUTE).coming
    assert repeat.at == NOW + 5 * HOUR
    assert "silenced by maintenance window" in str(repeat.reason)


def test_a_removed_notification_will_not_be_sent(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    goes_down(project)
    NotificationSetting.objects.filter(config=config).update(removed=True)
    (coming,) = timeline().coming
    assert (coming.kind, coming.reason) == (
        TimelineEntryKind.NOT_NOTIFIED,
        NotificationReason.NOTIFICATION_REMOVED.value,
    )
