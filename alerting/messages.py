"""A notification as the message a channel sends: the alert's or event's document, and facts for people."""

import json
from dataclasses import replace
from datetime import datetime

from django.conf import settings

from accesslist.models import Project
from alerting.models import Alert, AlertConfig, Notification, NotificationSetting
from alerting.selectors.alerts import alert_row
from alerting.serializers.alerts import present_alert
from automation.metrics import Metric, base_unit
from events.models import Event
from events.selectors import event_row
from events.serializers import present_event
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message
from opsapi.api.links import Links
from opsapi.encryption import decrypt


def message_of(notification: Notification) -> Message:
    """The message of a notification as things stand now.

    Raises:
        ObjectDoesNotExist: what it is about is gone.
    """
    if not notification.alert_id:
        return _of_event(notification)
    alert = Alert.objects.select_related("group").get(id=notification.alert_id)
    row = alert_row(alert.id, group_id=alert.group_id)
    if row is None:
        raise Alert.DoesNotExist(f"the alert of notification {notification.id} is gone")
    document = present_alert(row, _links())
    return Message(
        delivery_id=notification.id,
        kind=MessageKind(notification.kind),
        occurred_at=alert.resolved or alert.created,
        thread_key=alert.id,
        document=document,
        event_type_name=alert.event_type,
        project_name=alert.group.name,
        target=document.get("hostnameAndPort")
        or document.get("replicaSetName")
        or document.get("clusterName"),
        current_value=_value_text(alert),
        link=document["links"][0]["href"],
    )


def message_of_test(config: AlertConfig, *, event_id: str, now: datetime) -> Message:
    """What a test of a configuration tells: the event that records it, marked as a test (decisions 5)."""
    # Never saved: the log is of alerts and events.
    untold = Notification(
        group_id=config.group_id, event_id=event_id, kind=MessageKind.INFORM.value, created=now
    )
    return replace(message_of(untold), event_type_name=config.event_type, is_test=True)


def channel_config(setting: NotificationSetting) -> dict[str, str]:
    """What the channel needs to send, under its own field names, secrets opened."""
    shown = {
        field.name: str(setting.fields[field.notification_name])
        for field in CHANNELS[ChannelType(setting.type_name)].fields
        if field.notification_name in setting.fields
    }
    secrets = json.loads(decrypt(setting.secrets, owner=setting.id)) if setting.secrets else {}
    return {**shown, **secrets}


def _of_event(notification: Notification) -> Message:
    row = event_row(notification.event_id or "", group_id=notification.group_id)
    if row is None:
        raise Event.DoesNotExist(f"the event of notification {notification.id} is gone")
    document = present_event(row, _links(), among=f"/groups/{notification.group_id}/events")
    hostname, port = document.get("hostname"), document.get("port")
    return Message(
        delivery_id=notification.id,
        kind=MessageKind.INFORM,
        occurred_at=notification.created,
        thread_key=row["id"],
        document=document,
        event_type_name=row["event_type"],
        project_name=Project.with_deleted.values_list("name", flat=True).get(id=notification.group_id),
        target=f"{hostname}:{port}" if hostname and port else hostname,
        link=document["links"][0]["href"],
    )


def _links() -> Links:
    """Links of messages: nobody's request says how we are reached, so the settings do."""
    host, port = settings.OPSAPI_BIND
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.OPSAPI_TLS_CERT else "http"
    return Links(settings.OPSAPI_PUBLIC_URL or f"{scheme}://{shown}:{port}")


def _value_text(alert: Alert) -> str | None:
    if alert.current_value is None or alert.metric_name is None:
        return None
    return f"{alert.current_value:g} {base_unit(Metric(alert.metric_name)).value}"
