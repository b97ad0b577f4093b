"""What is going on with one alert configuration: its alerts now, and what was done to it."""

from django.db.models import QuerySet

from alerting.choices import ACTIVE
from alerting.models import Alert, AlertConfig
from events.models import Event
from events.types import EVENT_TYPES, Category

_AUDITS = [name.value for name, spec in EVENT_TYPES.items() if spec.category is Category.ALERT_CONFIG]


def alerts_now(config: AlertConfig) -> QuerySet[Alert]:
    """Those that are tracked or open, newest first."""
    return Alert.objects.filter(config_id=config.id, status__in=ACTIVE).order_by("-id")


def config_audits(config: AlertConfig) -> QuerySet[Event]:
    """The events of writes to it and of its tests, newest first."""
    # Found among the project's few events of these types: no index is on the configuration's id.
    audits = Event.objects.filter(group_id=config.group_id, event_type__in=_AUDITS)
    return audits.filter(details__alertConfigId=config.id).order_by("-created", "-id")
