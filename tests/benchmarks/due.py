"""Makes notifications that are all due at the same moment. Needs a Django that is set up: see `scene`."""

import json
import sys
import time
from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction

from alerting.engine.schedule import alert_row, notifications_insert
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, Incident, Notification, NotificationSetting
from events.choices import Work
from events.outbox.changes import wake_workers
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.ids import new_id
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config

_AT_ONCE = 2000
_NOT_YET = timedelta(hours=1)


def main() -> None:
    """Takes URLs, as JSON, and a number; writes to stdout when they became due, in seconds of Unix time."""
    sys.stdout.write(str(make_due(json.loads(sys.argv[1]), int(sys.argv[2]))))


def make_due(urls: list[str], count: int) -> float:
    """Make `count` openings of as many alerts due, for the URLs in turn."""
    project, now = ProjectFactory.create(name=f"due {new_id()}"), clock.now()
    webhooks = [{"typeName": "WEBHOOK", "webhookUrl": url, "delayMin": 0} for url in urls]
    config = make_config(project, notifications=webhooks)
    settings = list(NotificationSetting.objects.filter(config=config))
    alerts = [
        Alert(
            group=project,
            config_id=config.id,
            event_type=config.event_type,
            status=AlertStatus.OPEN.value,
            target_key=f"due {number}",
            facts={"hostname": f"db{number:05}.example.com", "port": 27017},
            created=now,
            updated=now,
            opens=now,
        )
        for number in range(count)
    ]
    for alert in alerts:
        alert.incident_id = alert.id
    Alert.objects.bulk_create(alerts, batch_size=_AT_ONCE)
    Incident.objects.bulk_create(
        [
            Incident(id=alert.id, group=project, config_id=config.id, lead=alert, created=now, grown=now)
            for alert in alerts
        ],
        batch_size=_AT_ONCE,
    )

    def openings() -> Iterator[Notification]:
        for number, alert in enumerate(alerts):
            setting = settings[number % len(settings)]
            yield alert_row(setting, MessageKind.OPEN, alert, due=now + _NOT_YET, now=now)

    notifications_insert(openings())
    with transaction.atomic():
        Notification.objects.filter(group=project).update(due=clock.now())
        wake_workers(Work.MESSAGES)
    return time.time()
