"""The page of an alert: its timeline, and the parts that each reader sees."""

from datetime import UTC, datetime, timedelta

import pytest
from django.templatetags.static import static
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from alerting.models import NotificationAttempt
from automation.models import ReplicaSet
from integrations.choices import DeliveryStatus
from opsapi import clock
from opsapi.outbound.errors import UNREACHABLE
from tests.admin.alert_pages import ALERTS, alert_page
from tests.admin.reading import shown
from tests.factories.alerting import EMAIL, make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import make_host, measure

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
HOSTILE = "<script>alert(1)</script>"


def test_a_page_shows_the_timeline(console: Client, project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    alert = make_alert(project, config_id=config.id)
    sent = make_notification(project, alert=alert, status="DELIVERED", attempts=1, latency_ms=84)
    now = clock.now()
    attempt = {"status": DeliveryStatus.DELIVERED.value, "latency_ms": 84, "ended": now}
    NotificationAttempt.objects.create(notification=sent, number=1, **attempt)
    due = now + HOUR
    make_notification(project, alert=alert, due=due, kind="alert.update", setting_id=config.settings.get().id)
    text = shown(console, alert_page(alert))
    assert "oncall@example.com was notified that the alert opened: attempt 1, 84 ms." in text
    assert "will be notified that the alert is still open" in text
    assert reverse("admin:alerting_alertconfig_change", args=[config.id]) in text
    assert ">no</dd>" in text.partition(">Acknowledged<")[2]


def test_the_log_says_that_a_message_was_changed(console: Client, project: Project) -> None:
    alert = make_alert(project, config_id=make_config(project, notifications=[EMAIL]).id)
    sent = {"alert": alert, "status": "DELIVERED", "attempts": 1, "latency_ms": 84, "in_place": True}
    changed = make_notification(project, kind="alert.close", **sent)
    changed.tries.create(number=1, status="delivered", ended=clock.now(), latency_ms=84)
    page = shown(console, alert_page(alert))
    assert "was notified that the alert closed (message updated in place): attempt 1, 84 ms." in page
    assert '<td data-label="Reason" class="console-long">message updated in place</td>' in page
    assert "message updated in place" in shown(console, "/admin/alerting/notification/")


def test_where_nobody_was_reached_the_console_shows_when_that_began(
    console: Client, project: Project
) -> None:
    alert = make_alert(project, config_id=make_config(project, notifications=[EMAIL]).id)
    sent = make_notification(project, alert=alert, status="FAILED", attempts=1, reason=UNREACHABLE)
    began = datetime(2025, 11, 21, 12, 0, 30, tzinfo=UTC)
    tried = sent.tries.create(number=1, status="retry", ended=began, reason=UNREACHABLE)
    assert "was not notified that the alert opened: attempt 1." in shown(console, alert_page(alert))
    for path in (
        reverse("admin:alerting_notificationattempt_changelist"),
        reverse("admin:alerting_notificationattempt_change", args=[tried.pk]),
    ):
        text = shown(console, path)
        assert UNREACHABLE in text
        assert "12:00:30" in text


def test_the_measurements_are_there_for_the_script_and_in_words(console: Client, project: Project) -> None:
    host = make_host(project)
    facts = {"hostId": host.id, "hostname": host.hostname, "port": host.port}
    alert = make_alert(project, facts=facts)
    measure(host, clock.now(), CONNECTIONS=5.5)
    text = shown(console, alert_page(alert))
    assert f'data-charts="/admin/automation/host/{host.id}/charts/"' in text
    assert "only=1&amp;m=CONNECTIONS&amp;since=" in text
    assert "Connections: lowest 5.5, highest 5.5, last 5.5." in text
    assert static("console/charts.js") in text


def test_the_other_members_of_the_set_are_in_the_plot(console: Client, project: Project) -> None:
    members = ReplicaSet.objects.create(group=project, name="rs0", created=clock.now())
    host = make_host(project, replica_set=members)
    facts = {"hostId": host.id, "hostname": host.hostname, "port": host.port}
    text = shown(console, alert_page(make_alert(project, facts=facts)))
    assert f'data-charts="/admin/automation/replicaset/{members.id}/charts/"' in text
    assert f'data-main="{host.id}"' in text


def test_without_a_host_there_is_no_plot(console: Client, project: Project) -> None:
    assert "data-charts" not in shown(console, alert_page(make_alert(project)))


def test_the_page_says_how_often_and_how_long_it_was_like_this_before(
    console: Client, project: Project
) -> None:
    alert, hour = make_alert(project), timedelta(hours=1)
    assert "No alert like this in the 28 days before." in shown(console, alert_page(alert))
    for days, hours in ((1, 1), (2, 3), (3, 5), (29, 9)):
        began = alert.created - timedelta(days=days)
        like = {"config_id": alert.config_id, "target_key": alert.target_key, "status": "CLOSED"}
        make_alert(project, created=began, resolved=began + hours * hour, **like)
    make_alert(project, config_id=alert.config_id, status="CLOSED", created=alert.created - hour)
    assert "3 like this in the 28 days before, median length 3 h." in shown(console, alert_page(alert))


def test_hostile_names_are_shown_as_they_are(console: Client, project: Project) -> None:
    Project.objects.filter(id=project.id).update(name=HOSTILE)
    matchers = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": HOSTILE}]
    config = make_config(project, matchers=matchers, notifications=[EMAIL])
    alert = make_alert(
        project,
        config_id=config.id,
        facts={"hostname": HOSTILE, "port": 1},
        tags=[HOSTILE],
        acknowledged_until=clock.now() + HOUR,
        acknowledging_username=HOSTILE,
        acknowledgement_comment=HOSTILE,
    )
    make_notification(
        project, alert=alert, recipient=HOSTILE, reason=HOSTILE, status="FAILED", created=clock.now()
    )
    inbox = f"{ALERTS}?state=acknowledged"
    for url in (alert_page(alert), inbox, alert_page(alert, "acknowledge"), alert_page(alert, "window")):
        text = shown(console, url)
        assert "&lt;script&gt;alert(1)" in text
        assert HOSTILE not in text


def test_recipients_of_a_global_configuration_are_hidden_from_readers_of_a_project(
    monitor: Client, console: Client, project: Project
) -> None:
    config = make_global_config(notifications=[EMAIL])
    alert = make_alert(project, config_id=config.id, is_global=True)
    notification = make_notification(project, alert=alert, status="FAILED")
    secret = ("oncall@example.com", config.id, notification.id)
    for_all, for_them = shown(console, alert_page(alert)), shown(monitor, alert_page(alert))
    assert [text in for_all for text in secret] == [True] * 3
    assert [text in for_them for text in secret] == [False] * 3
    assert "need a global role to see it" in for_them


def test_recipients_of_a_global_configuration_of_events_are_hidden_too(
    monitor: Client, console: Client, project: Project
) -> None:
    own = make_config(project, eventTypeName="NEW_HOST", notifications=[EMAIL])
    make_notification(project, event_id="a" * 24, recipient="theirs@example.com")
    make_notification(
        project, event_id="a" * 24, recipient="ours@example.com", setting_id=own.settings.get().id
    )
    listed = shown(monitor, "/admin/alerting/notification/")
    assert ("ours@example.com" in listed, "theirs@example.com" in listed) == (True, False)
    assert "theirs@example.com" in shown(console, "/admin/alerting/notification/")
