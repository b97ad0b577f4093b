"""Filters of the list of alert configurations."""

from django.db.models import Exists, OuterRef, QuerySet

from alerting.config_form.kinds import event_kinds
from alerting.models import AlertConfig, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES
from opsapi.console.filters import ChoiceFilter

_KINDS = event_kinds(is_global=True)
Rows = QuerySet[AlertConfig]


class CategoryFilter(ChoiceFilter):
    """Filter by category of the event type."""

    title = "category"
    parameter_name = "category"
    offered = tuple(dict.fromkeys((kind.category, kind.category) for kind in _KINDS))

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Configurations of the category."""
        return rows.filter(event_type__in=[kind.name for kind in _KINDS if kind.category == value])


class EventTypeFilter(ChoiceFilter):
    """Filter by event type."""

    title = "event type"
    parameter_name = "event_type"
    offered = tuple((kind.name, kind.name) for kind in _KINDS)

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Configurations of the type."""
        return rows.filter(event_type=value)


class RecipientFilter(ChoiceFilter):
    """Filter by notification type."""

    title = "notification type"
    parameter_name = "tells"
    offered = tuple((name, kind.label) for name, kind in NOTIFICATION_TYPES.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Configurations with a notification of the type."""
        of_kind = NotificationSetting.objects.filter(config_id=OuterRef("id"), type_name=value)
        return rows.filter(Exists(of_kind))
