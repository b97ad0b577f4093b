"""What the list of alerts can be filtered by."""

from django.db.models import QuerySet

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.rules.state import alert_state
from alerting.selectors.alert_search import Age, acknowledged, of_age
from events.types import EVENT_TYPES, Kind
from opsapi import clock
from opsapi.console.filters import ChoiceFilter

Rows = QuerySet[Alert]
_ACTIVE = "active"
_AGES = {
    Age.HOUR: "Started in the last hour",
    Age.DAY: "Started in the last 24 hours",
    Age.WEEK: "Started in the last 7 days",
    Age.OLDER_THAN_HOUR: "Older than 1 hour",
    Age.OLDER_THAN_DAY: "Older than 1 day",
    Age.OLDER_THAN_WEEK: "Older than 7 days",
}


class StatusFilter(ChoiceFilter):
    """By state, in the words of every page; one that is acknowledged or muted is found as open, too."""

    title = "state"
    parameter_name = "status"
    offered = (
        (_ACTIVE, "Active"),
        *((one.value, alert_state(one, is_acknowledged=False, is_muted=False).value) for one in AlertStatus),
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those in that state, or not over."""
        return rows.filter(status__in=[one.value for one in ACTIVE] if value == _ACTIVE else [value])


class TypeFilter(ChoiceFilter):
    """By event type: those that open alerts."""

    title = "type"
    parameter_name = "type"
    offered = tuple(
        (name.value, name.value) for name, spec in EVENT_TYPES.items() if spec.kind is Kind.OPENING
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those of the type."""
        return rows.filter(event_type=value)


class AgeFilter(ChoiceFilter):
    """By how long ago it began."""

    title = "age"
    parameter_name = "age"
    offered = tuple((age.value, label) for age, label in _AGES.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those as young or as old."""
        return of_age(rows, Age(value), now=clock.now())


class AcknowledgedFilter(ChoiceFilter):
    """By whether somebody took it on."""

    title = "acknowledged"
    parameter_name = "acknowledged"
    offered = (("yes", "Yes"), ("no", "No (active alerts)"))

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those not over, with or without somebody."""
        return acknowledged(rows, value == "yes", now=clock.now())
