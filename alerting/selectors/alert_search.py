"""The filters and the search of the console's list of alerts.

Each uses an index, so a page costs the same however many alerts exist.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q, QuerySet

from alerting.choices import ACTIVE
from alerting.models import Alert
from alerting.models.alerts import TARGET_NAME
from alerting.selectors.acknowledgements import acknowledged_at
from events.types import EventType
from opsapi.api.principal import VisibleScope
from opsapi.ids import is_id

_SHORTEST = 3
_ACTIVE = [status.value for status in ACTIVE]


class Age(StrEnum):
    """The age of an alert; the values are in URLs of the console."""

    HOUR = "1h"
    DAY = "1d"
    WEEK = "7d"
    OLDER_THAN_HOUR = "over-1h"
    OLDER_THAN_DAY = "over-1d"
    OLDER_THAN_WEEK = "over-7d"


_LENGTHS = {
    Age.HOUR: timedelta(hours=1),
    Age.DAY: timedelta(days=1),
    Age.WEEK: timedelta(days=7),
    Age.OLDER_THAN_HOUR: timedelta(hours=1),
    Age.OLDER_THAN_DAY: timedelta(days=1),
    Age.OLDER_THAN_WEEK: timedelta(days=7),
}
_OLDER = frozenset({Age.OLDER_THAN_HOUR, Age.OLDER_THAN_DAY, Age.OLDER_THAN_WEEK})


def of_age(alerts: QuerySet[Alert], age: Age, *, now: datetime) -> QuerySet[Alert]:
    """Alerts that began within this time, or before it."""
    moment = now - _LENGTHS[age]
    return alerts.filter(created__lt=moment) if age in _OLDER else alerts.filter(created__gte=moment)


def acknowledged(alerts: QuerySet[Alert], is_acknowledged: bool, *, now: datetime) -> QuerySet[Alert]:
    """Active alerts that are acknowledged, or that are not."""
    active = alerts.filter(status__in=_ACTIVE)
    return active.filter(acknowledged_at(now)) if is_acknowledged else active.exclude(acknowledged_at(now))


def alerts_matching(alerts: QuerySet[Alert], term: str, *, visible_scope: VisibleScope) -> QuerySet[Alert]:
    """Readable alerts that match a search term.

    An id is that of an alert, otherwise of a configuration, otherwise of a project. Only operators who read
    everything can search by a global configuration. Other terms match the beginning of a target's name in any
    case: a host with or without its port, the host of an agent, a replica set or a cluster. From three
    characters on, they also match a part of an event type.
    """
    term = term.strip()
    if not term:
        return alerts
    if is_id(term):
        return _of_id(alerts, term, visible_scope)
    return alerts.alias(target_name=TARGET_NAME).filter(_about(term.lower()) | _of_types(term.upper()))


def _of_id(alerts: QuerySet[Alert], term: str, visible_scope: VisibleScope) -> QuerySet[Alert]:
    of_config = Q(config_id=term) if visible_scope.everything else Q(config_id=term, is_global=False)
    for meant in (Q(id=term), of_config):
        if alerts.filter(meant).exists():
            return alerts.filter(meant)
    return alerts.filter(group_id=term)


def _about(term: str) -> Q:
    name, colon, port = term.rpartition(":")
    if colon and port.isascii() and port.isdigit():
        return Q(target_name=name.strip("[]"), facts__port=int(port[:6]))
    return Q(target_name__startswith=term)


def _of_types(term: str) -> Q:
    """Nothing if the term is too short for an event type."""
    types = [event_type.value for event_type in EventType if term in event_type.value]
    return Q(event_type__in=types if len(term) >= _SHORTEST else [])
