"""Alert configurations, created through the service; alerts and notifications as they lie in the database."""

from collections.abc import Mapping, Sequence
from typing import Any

from accesslist.models import Project
from alerting.configs.changes import alert_config_create
from alerting.configs.resource import GlobalAlertConfigDocument
from alerting.models import Alert, AlertConfig, Destination, Incident, Notification
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id

WEBHOOK: Mapping[str, Any] = {
    "typeName": "WEBHOOK",
    "webhookUrl": "http://127.0.0.1:9/hooks/abcdefgh",
    "webhookSecret": "a webhook secret",
    "delayMin": 0,
}
EMAIL: Mapping[str, Any] = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0}


def by_column(document: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a configuration's document as services take them."""
    fields = GlobalAlertConfigDocument._declared_fields
    return {fields[name].source or name: value for name, value in document.items()}


CONNECTIONS_ABOVE_100: Mapping[str, Any] = {
    "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
    "metricThreshold": {
        "metricName": "CONNECTIONS",
        "operator": "GREATER_THAN",
        "threshold": 100.0,
        "units": "RAW",
    },
}
"""Of a configuration on a metric."""


def make_config(
    project: Project, *, notifications: Sequence[Mapping[str, Any]] = (WEBHOOK,), **changes: Any
) -> AlertConfig:
    """A configuration for HOST_DOWN that notifies a webhook."""
    document = {"eventTypeName": "HOST_DOWN", "notifications": list(notifications), **changes}
    return alert_config_create(group_id=project.id, values=by_column(document), actor=SYSTEM, now=clock.now())


def make_global_config(
    *, notifications: Sequence[Mapping[str, Any]] = (WEBHOOK,), **changes: Any
) -> AlertConfig:
    """A configuration for HOST_DOWN in all projects that notifies a webhook."""
    document = {"eventTypeName": "HOST_DOWN", "forAllGroups": True, "notifications": list(notifications)}
    values = by_column(document | changes)
    return alert_config_create(group_id=None, values=values, actor=SYSTEM, now=clock.now())


def make_alert(project: Project, **changes: Any) -> Alert:
    """An open alert of a host, of a configuration nobody knows, with its incident unless that is given."""
    now = clock.now()
    values = {
        "group": project,
        "config_id": new_id(),
        "event_type": "HOST_DOWN",
        "status": "OPEN",
        "target_key": new_id(),
        "facts": {"hostname": "db1.example.com", "port": 27017},
        "created": now,
        "updated": now,
        "opens": now,
    }
    alert = Alert(**(values | changes))
    is_alone = "incident_id" not in changes and alert.status != "TRACKING"
    if is_alone:
        alert.incident_id = alert.id
    alert.save(force_insert=True)
    if is_alone:
        Incident.objects.create(
            id=alert.id,
            group_id=alert.group_id,
            config_id=alert.config_id,
            lead=alert,
            created=alert.updated,
            grown=alert.updated,
            ended=None if alert.status == "OPEN" else alert.resolved or alert.updated,
        )
    return alert


def make_notification(project: Project, **changes: Any) -> Notification:
    """A notification by e-mail of an opening, still to be sent; say what of: an alert or an event."""
    now = clock.now()
    values = {
        "group": project,
        "setting_id": new_id(),
        "type_name": "EMAIL",
        "channel": "EMAIL",
        "kind": "alert.open",
        "recipient": "oncall@example.com",
        "created": now,
        "due": now,
    }
    if alert := changes.get("alert"):
        values["incident_id"] = alert.incident_id
    return Notification.objects.create(**(values | changes))


def make_failed_notification(
    project: Project, alert: Alert | None = None, config: AlertConfig | None = None
) -> Notification:
    """A webhook that was refused for good; its alert and configuration are new unless they are given."""
    config = config or make_config(project)
    return make_notification(
        project,
        alert=alert or make_alert(project, config_id=config.id),
        setting_id=config.settings.get().id,
        type_name="WEBHOOK",
        channel="WEBHOOK",
        status="FAILED",
        reason="the receiver answered 404",
    )


def make_destination(project: Project | None, **changes: Any) -> Destination:
    """A webhook that answered 500 the last time; its configuration is what `config` encrypts, or gone."""
    now = clock.now()
    values = {
        "id": new_id(),
        "group": project,
        "channel": "WEBHOOK",
        "recipient": "http://hooks.example.com/******tail",
        "host": "http://hooks.example.com:80",
        "failures": 1,
        "failing_since": now,
        "last_error": "the receiver answered 500",
        "updated": now,
    }
    return Destination.objects.create(**(values | changes))
