"""A notification as the message a channel sends: the alert's or event's document, and facts for people."""

from dataclasses import replace
from datetime import datetime

from django.conf import settings

from accesslist.models import Project
from alerting.console_links import alert_url, config_url, event_url
from alerting.models import Alert, AlertConfig, Notification
from alerting.rules.message_words import alert_facts, alert_headline, event_facts, facts_of_test
from alerting.rules.wording import target_of
from alerting.selectors.alerts import alert_row
from alerting.selectors.config_views import config_view
from alerting.serializers.alerts import present_alert
from events.models import Event
from events.selectors import EventRow, event_row
from events.serializers import GLOBAL_EVENTS, present_event
from events.wording import in_words
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
    links, kind = _links(), MessageKind(notification.kind)
    document = present_alert(row, links, now=now)
    config = AlertConfig.objects.filter(id=alert.config_id).first()
    view = config_view(config) if config and not _changed_since(config, alert) else None
    return Message(
        delivery_id=notification.id,
        kind=kind,
        occurred_at=alert.resolved or alert.created,
        thread_key=alert.id,
        document=document,
        event_type_name=alert.event_type,
        headline=alert_headline(document, view, kind=kind, now=now),
        known=alert_facts(document, view, project=alert.group.name),
        project_name=alert.group.name,
        target=target_of(document),
        link=alert_url(links, alert.id),
        config_link=config_url(links, config.id) if config and config.deleted is None else None,
    )


def message_of_test(config: AlertConfig, *, event_id: str, now: datetime) -> Message:
    """What a test of a configuration tells: the event that records it, marked as a test (decisions 5)."""
    # Never saved: the log is of alerts and events.
    untold = Notification(
        group_id=config.group_id, event_id=event_id, kind=MessageKind.INFORM.value, created=now
    )
    message = message_of(untold, now=now)
    return replace(
        message,
        event_type_name=config.event_type,
        headline=in_words(config.event_type),
        known=facts_of_test(message.document, config_view(config), project=message.project_name),
        config_link=config_url(_links(), config.id),
        is_test=True,
    )


def _changed_since(config: AlertConfig, alert: Alert) -> bool:
    """Whether it perhaps asks for something else than when the alert was there: a change ends its alerts."""
    return alert.resolved is not None and config.updated >= alert.resolved


def _of_event(notification: Notification) -> Message:
    row = event_row(notification.event_id or "")
    if row is None:
        raise Event.DoesNotExist(f"the event of notification {notification.id} is gone")
    links, project = _links(), _project_name(row["group_id"])
    document = present_event(row, links, among=_found_among(row))
    return Message(
        delivery_id=notification.id,
        kind=MessageKind.INFORM,
        occurred_at=notification.created,
        thread_key=row["id"],
        document=document,
        event_type_name=row["event_type"],
        headline=in_words(row["event_type"]),
        known=event_facts(document, project=project),
        project_name=project,
        target=target_of(document),
        link=event_url(links, row["id"]),
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
