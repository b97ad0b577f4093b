"""The activity of an alert configuration: its active alerts, and the events about it."""

from datetime import datetime

from django.db.models import QuerySet

from alerting.models import Alert, AlertConfig
from alerting.selectors.alert_order import active_first_rows
from events.models import Event
from events.types import EVENT_TYPES, Category
from opsapi.first_rows import FirstRows

_AUDITS = [name.value for name, spec in EVENT_TYPES.items() if spec.category is Category.ALERT_CONFIG]


def alerts_now(config: AlertConfig, *, now: datetime) -> FirstRows[Alert]:
    """The first open and pending alerts."""
    return active_first_rows(Alert.objects.filter(config_id=config.id), now=now)


def config_audits(config: AlertConfig) -> QuerySet[Event]:
    """The events of writes to it and of its tests, newest first."""
    # Found among the project's few events of these types: no index is on the configuration's id.
    audits = Event.objects.filter(group_id=config.group_id, event_type__in=_AUDITS)
    return audits.filter(details__alertConfigId=config.id).order_by("-created", "-id")
