"""Filters of the alert list."""

from django.db.models import QuerySet

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.rules.state import alert_state
from alerting.selectors.alert_search import Age, acknowledged, of_age
from events.types import EVENT_TYPES, AlertEffect
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
    """Filter by state, with the words of every page. Acknowledged and muted alerts also count as open."""

    title = "state"
    parameter_name = "status"
    offered = (
        (_ACTIVE, "Active"),
        *(
            (alert_status.value, alert_state(alert_status, is_acknowledged=False, is_muted=False).value)
            for alert_status in AlertStatus
        ),
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Alerts in that state, or all active ones."""
        return rows.filter(status__in=[status.value for status in ACTIVE] if value == _ACTIVE else [value])


class TypeFilter(ChoiceFilter):
    """Filter by event types that open alerts."""

    title = "type"
    parameter_name = "type"
    offered = tuple(
        (name.value, name.value) for name, spec in EVENT_TYPES.items() if spec.kind is AlertEffect.OPENING
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Alerts of the type."""
        return rows.filter(event_type=value)


class AgeFilter(ChoiceFilter):
    """Filter by time since the start."""

    title = "age"
    parameter_name = "age"
    offered = tuple((age.value, label) for age, label in _AGES.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Alerts younger or older than the limit."""
        return of_age(rows, Age(value), now=clock.now())


class AcknowledgedFilter(ChoiceFilter):
    """Filter by acknowledgement."""

    title = "acknowledged"
    parameter_name = "acknowledged"
    offered = (("yes", "Yes"), ("no", "No (active alerts)"))

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Active alerts, acknowledged or not."""
        return acknowledged(rows, value == "yes", now=clock.now())
