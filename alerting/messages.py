"""A notification as the message a channel sends: the alert's or event's document, and facts for people."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings

from accesslist.models import Project
from alerting.models import Alert, AlertConfig, Notification
from alerting.rules.wording import target_of
from alerting.selectors.alerts import alert_row
from alerting.serializers.alerts import present_alert
from events.models import Event
from events.selectors import EventRow, event_row
from events.serializers import GLOBAL_EVENTS, present_event
from integrations.choices import MessageKind
from integrations.messages import Message
from opsapi.api.links import Links
from opsapi.hostport import host_and_port


def message_of(notification: Notification, *, now: datetime) -> Message:
    """The message of a notification as things stand at `now`.

    Raises:
        ObjectDoesNotExist: what it is about is gone.
    """
    if not notification.alert_id:
        return _of_event(notification)
    alert = Alert.objects.select_related("group").get(id=notification.alert_id)
    row = alert_row(alert.id, group_id=alert.group_id)
    if row is None:
        raise Alert.DoesNotExist(f"the alert of notification {notification.id} is gone")
    document = present_alert(row, _links(), now=now)
    return Message(
        delivery_id=notification.id,
        kind=MessageKind(notification.kind),
        occurred_at=alert.resolved or alert.created,
        thread_key=alert.id,
        document=document,
        event_type_name=alert.event_type,
        project_name=alert.group.name,
        target=target_of(document),
        current_value=_value_text(document),
        link=document["links"][0]["href"],
    )


def message_of_test(config: AlertConfig, *, event_id: str, now: datetime) -> Message:
    """What a test of a configuration tells: the event that records it, marked as a test (decisions 5)."""
    # Never saved: the log is of alerts and events.
    untold = Notification(
        group_id=config.group_id, event_id=event_id, kind=MessageKind.INFORM.value, created=now
    )
    return replace(message_of(untold, now=now), event_type_name=config.event_type, is_test=True)


def _of_event(notification: Notification) -> Message:
    row = event_row(notification.event_id or "")
    if row is None:
        raise Event.DoesNotExist(f"the event of notification {notification.id} is gone")
    document = present_event(row, _links(), among=_found_among(row))
    return Message(
        delivery_id=notification.id,
        kind=MessageKind.INFORM,
        occurred_at=notification.created,
        thread_key=row["id"],
        document=document,
        event_type_name=row["event_type"],
        project_name=_project_name(row["group_id"]),
        target=target_of(document),
        link=document["links"][0]["href"],
    )


def _found_among(row: EventRow) -> str:
    """The list an event is found in: its project's or organization's, else that of all."""
    if row["group_id"]:
        return f"/groups/{row['group_id']}/events"
    return f"/orgs/{row['org_id']}/events" if row["org_id"] else GLOBAL_EVENTS


def _project_name(group_id: str | None) -> str | None:
    """None for what happened without a project, though the configuration of one tells of it."""
    return Project.with_deleted.values_list("name", flat=True).get(id=group_id) if group_id else None


def _links() -> Links:
    """Links of messages: nobody's request says how we are reached, so the settings do."""
    scheme = "https" if settings.OPSAPI_TLS_CERT else "http"
    return Links(settings.OPSAPI_PUBLIC_URL or f"{scheme}://{host_and_port(*settings.OPSAPI_BIND)}")


def _value_text(document: Mapping[str, Any]) -> str | None:
    value = document.get("currentValue")
    return f"{value['number']:g} {value['units']}" if value else None
