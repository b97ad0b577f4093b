"""What the list of alert configurations can be filtered by."""

from django.db.models import Exists, OuterRef, QuerySet

from alerting.config_form.kinds import event_kinds
from alerting.models import AlertConfig, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES
from opsapi.console.filters import ChoiceFilter

_KINDS = event_kinds(is_global=True)
Rows = QuerySet[AlertConfig]


class CategoryFilter(ChoiceFilter):
    """By the category of the event type."""

    title = "category"
    parameter_name = "category"
    offered = tuple(dict.fromkeys((one.category, one.category) for one in _KINDS))

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those of the category."""
        return rows.filter(event_type__in=[one.name for one in _KINDS if one.category == value])


class EventTypeFilter(ChoiceFilter):
    """By the event type."""

    title = "event type"
    parameter_name = "event_type"
    offered = tuple((one.name, one.name) for one in _KINDS)

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those of the type."""
        return rows.filter(event_type=value)


class TellsFilter(ChoiceFilter):
    """By a kind of notification it has."""

    title = "notification type"
    parameter_name = "tells"
    offered = tuple((name, kind.label) for name, kind in NOTIFICATION_TYPES.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those that have one of the kind."""
        of_kind = NotificationSetting.objects.filter(config_id=OuterRef("id"), type_name=value)
        return rows.filter(Exists(of_kind))
