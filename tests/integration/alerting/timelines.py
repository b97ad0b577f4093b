"""The timeline of an alert as readers get it, and the entries in it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from accesslist.models import Project
from alerting.incidents.changes import alert_acknowledge
from alerting.insight.timeline import AlertTimeline, alert_timeline
from alerting.insight.timeline_entries import TimelineEntryKind
from alerting.models import Alert
from alerting.windows.changes import window_create
from automation.metrics import Metric
from automation.models import Host
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from tests.factories import automation
from tests.factories.alerting import EMAIL, make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ADA = Actor(ActorKind.USER, "a" * 24, "ada", False, "192.0.2.1")
REPEATED = {**EMAIL, "intervalMin": 60}


def timeline(alert: Alert | None = None, *, now: datetime = NOW, sees_config: bool = True) -> AlertTimeline:
    """Of the alert, or of the only one there is."""
    found = Alert.objects.get(id=alert.id) if alert else Alert.objects.get()
    return alert_timeline(found, sees_config=sees_config, now=now)


def kinds(timeline_read: AlertTimeline) -> list[TimelineEntryKind]:
    """What happened, in order."""
    return [entry.kind for entry in timeline_read.entries]


def acknowledge(alert: Alert, *, until: datetime, now: datetime, comment: str | None = None) -> None:
    """As Ada."""
    alert_acknowledge(
        alert_id=alert.id, group_id=alert.group_id, until=until, comment=comment, actor=ADA, now=now
    )


def window(project: Project, start: datetime, end: datetime) -> None:
    """A window that mutes alerts of hosts."""
    values = {"start": start, "end": end, "alert_types": ["HOST"], "description": "new disks"}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=NOW - 9 * HOUR)


def measure(host: Host, entry: datetime, number: float, metric: str = "CONNECTIONS") -> None:
    """What one report measured."""
    automation.measure(host, entry, {Metric(metric): [(entry, number)]})


def goes_down(project: Project, now: datetime = NOW) -> None:
    """A host that was up is not any more."""
    ingest(project, host_report(), now=now - MINUTE)
    evaluate(now - MINUTE)
    ingest(project, host_report(reachable=False), now=now)
    evaluate(now)


def metric_config(project: Project, metric: str = "CONNECTIONS", units: str = "RAW", **changes: Any) -> Any:
    """More than 900 connections, or of another metric."""
    busy = {"metricName": metric, "operator": "GREATER_THAN", "threshold": 900, "units": units}
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
