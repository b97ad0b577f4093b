"""An upgrade from a version in which an alert without grouping had no incident."""

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import RunPython

from accesslist.models import Project
from alerting.models import Alert, Incident, Notification
from alerting.services.alerts import alert_acknowledge
from opsapi.api.principal import SYSTEM
from opsapi.ids import derived_id, new_id
from opsapi.sql import execute
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_notification
from tests.integration.alerting.pipeline import Outside, deliver_all
from tests.integration.alerting.test_incidents import GROUPED, LOST, MINUTE, PAGER, START, WAIT, report

pytestmark = pytest.mark.django_db
NO_APPS: Any = None
EDITOR: Any = SimpleNamespace(connection=connection)
HOUR = timedelta(hours=1)
NAMES = ("db1", "db2", "db3", "db4")
FAILING = "http://127.0.0.1:9/hooks/failing-hook"
HOOK = {**WEBHOOK, "intervalMin": 60}
LATER = {**WEBHOOK, "webhookUrl": "http://127.0.0.1:9/hooks/later-hook", "delayMin": 30}
Threads = dict[tuple[str, str], list[tuple[str, str, int]]]


def filling() -> RunPython:
    """The operation of the migration that gives incidents to rows of the previous version."""
    found = [
        operation
        for (app, name), migration in MigrationLoader(None).disk_migrations.items()
        if app == "alerting" and name.endswith("_fill_incidents")
        for operation in migration.operations
    ]
    [operation] = found
    assert isinstance(operation, RunPython)
    return operation


def downgrade() -> None:
    """Leave the rows as the previous version writes them."""
    reverse = filling().reverse_code
    assert reverse is not None
    reverse(NO_APPS, EDITOR)


def upgrade() -> None:
    filling().code(NO_APPS, EDITOR)


def in_the_middle_of_an_outage(project: Project, outside: Outside) -> None:
    """Messages were sent, are tried again, wait, and are held back by an acknowledgement."""
    outside.sent.clear()
    for grouping in ({}, GROUPED):
        hooks = [PAGER, HOOK, LATER, {**WEBHOOK, "webhookUrl": FAILING}]
        make_config(project, **grouping, notifications=hooks)
    outside.outcomes[FAILING] = LOST
    report(project, START, *NAMES[:3])
    deliver_all(START)
    deliver_all(START + WAIT)
    acknowledged = Alert.objects.filter(group=project).order_by("target_key", "config_id").first()
    assert acknowledged is not None
    alert_acknowledge(
        alert_id=acknowledged.id,
        group_id=project.id,
        until=START + 2 * HOUR,
        comment=None,
        actor=SYSTEM,
        now=START + WAIT,
    )
    report(project, START + MINUTE, *NAMES)


def until_its_end(project: Project, outside: Outside) -> Threads:
    """Deliver what follows, and return all messages of the outage."""
    outside.outcomes.clear()
    for after in (MINUTE, MINUTE + WAIT, 31 * MINUTE, HOUR + 2 * MINUTE):
        deliver_all(START + after)
    report(project, START + 3 * HOUR, *NAMES, up=True)
    deliver_all(START + 3 * HOUR)
    assert not Notification.objects.filter(group=project, status="PENDING").exists()
    return threads_of(project, outside)


def threads_of(project: Project, outside: Outside) -> Threads:
    """The kind, headline and delivery of each message, by receiver and by what its thread is about.

    Deliveries are numbered within a thread.
    """
    keys = {alert.id: alert.target_key for alert in Alert.objects.filter(group=project)}
    keys |= {derived_id(alert_id, "incident"): "incident" for alert_id in keys}
    threads: Threads = defaultdict(list)
    numbers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, address, message in outside.sent:
        thread = next(iter(address.values())), keys[message.thread_key].partition("/")[0]
        if message.delivery_id not in numbers[thread]:
            numbers[thread].append(message.delivery_id)
        number = numbers[thread].index(message.delivery_id)
        threads[thread].append((message.kind.value, message.headline, number))
    return threads


def test_an_upgrade_in_the_middle_of_an_outage_changes_no_message(project: Project, outside: Outside) -> None:
    """The keys of threads and the ids of deliveries stay, grouped and not."""
    other: Project = ProjectFactory.create()
    in_the_middle_of_an_outage(other, outside)
    expected = until_its_end(other, outside)
    in_the_middle_of_an_outage(project, outside)
    sent = len(outside.sent)
    downgrade()
    alone = Alert.objects.filter(group=project, incident_id=None)
    assert (alone.count(), Notification.objects.filter(incident_id=None).count()) >= (4, 12)
    upgrade()
    assert not Alert.objects.filter(group=project, incident_id=None).exists()
    assert not Notification.objects.filter(group=project, incident_id=None).exists()
    found = until_its_end(project, outside)
    assert len(outside.sent) > sent
    assert {key: sorted(messages) for key, messages in found.items()} == {
        key: sorted(messages) for key, messages in expected.items()
    }
    assert all(messages[0][0] == "alert.open" for messages in found.values())
    assert all([kind for kind, *_ in messages].count("alert.close") == 1 for messages in found.values())


def test_a_failed_end_can_be_sent_after_an_upgrade(project: Project) -> None:
    alert = make_alert(project, status="CLOSED", incident_id=None, resolved=START)
    ends = [make_notification(project, alert=alert, kind="alert.close", status="FAILED", due=START)]
    ends += [make_notification(project, alert=alert, kind="alert.close", status="DELIVERED", due=START)]
    Notification.objects.update(incident_id=None)
    upgrade()
    assert set(Notification.objects.values_list("incident_id", flat=True)) == {alert.id}
    assert Incident.objects.get().ended == START


def test_an_end_that_the_previous_version_schedules_between_the_migrations_has_an_incident(
    project: Project,
) -> None:
    """Its alert has none yet, and the trigger must not name an incident that does not exist."""
    alert = make_alert(project, status="CLOSED", incident_id=None, resolved=START)
    end = make_notification(project, alert=alert, kind="alert.close", incident_id=None)
    assert Notification.objects.get(id=end.id).incident_id is None
    upgrade()
    assert Notification.objects.get(id=end.id).incident_id == alert.id
    assert Incident.objects.get(id=alert.id).ended == START


def test_ended_alerts_without_messages_to_send_stay_as_they_are(project: Project) -> None:
    alert = make_alert(project, status="CLOSED", incident_id=None, resolved=START)
    make_notification(project, alert=alert, status="DELIVERED")
    Notification.objects.update(incident_id=None)
    upgrade()
    assert not Incident.objects.exists()


@pytest.mark.parametrize("write", [Alert.save, lambda alert: Alert.objects.bulk_create([alert])])
def test_an_alert_of_the_previous_version_begins_an_incident(
    project: Project, write: Callable[[Alert], Any]
) -> None:
    """Its processes run for a while after the migrations."""
    known = Alert.objects.filter(id=make_alert(project).id).values().get()
    alert = Alert(**{**known, "id": new_id(), "target_key": "another", "incident_id": None})
    write(alert)
    make_notification(project, alert=alert)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    incident = Incident.objects.get(id=alert.id)
    assert (incident.lead_id, incident.ended, incident.created) == (alert.id, None, alert.updated)
    assert Alert.objects.get(id=alert.id).incident_id == alert.id
    assert Notification.objects.get().incident_id == alert.id


def test_an_alert_that_the_previous_version_groups_begins_no_incident(project: Project) -> None:
    alert = make_alert(project, status="TRACKING")
    Alert.objects.filter(id=alert.id).update(status="OPEN")
    group = new_id()
    Alert.objects.filter(id=alert.id).update(incident_id=group)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert Alert.objects.get(id=alert.id).incident_id == group
    assert not Incident.objects.exists()


def test_a_tracked_alert_has_no_incident(project: Project) -> None:
    alert = make_alert(project, status="TRACKING")
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert Alert.objects.get(id=alert.id).incident_id is None
