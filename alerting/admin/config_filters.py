"""What the list of alert configurations can be filtered by."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter

from alerting.forms.kinds import event_kinds
from alerting.models import AlertConfig, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES

_KINDS = event_kinds(is_global=True)
Rows = QuerySet[AlertConfig]


class _OneOf(DropdownFilter):  # type: ignore[misc]  # the theme is not typed
    """One of a closed set; anything else finds nothing."""

    names: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """All of them."""
        return [(name, name) for name in self.names]


class CategoryFilter(_OneOf):
    """By the category of the event type."""

    title = "category"
    parameter_name = "category"
    names = tuple(dict.fromkeys(one.category for one in _KINDS))

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Those of the category."""
        if not self.value():
            return queryset
        return queryset.filter(event_type__in=[one.name for one in _KINDS if one.category == self.value()])


class EventTypeFilter(_OneOf):
    """By the event type."""

    title = "event type"
    parameter_name = "event_type"
    names = tuple(one.name for one in _KINDS)

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Those of the type."""
        return queryset.filter(event_type=self.value()) if self.value() else queryset


class TellsFilter(_OneOf):
    """By a kind of notification it has."""

    title = "kind of notification"
    parameter_name = "tells"
    names = tuple(name.value for name in NOTIFICATION_TYPES)

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Those that have one of the kind."""
        if not self.value():
            return queryset
        of_kind = NotificationSetting.objects.filter(config_id=OuterRef("id"), type_name=self.value())
        return queryset.filter(Exists(of_kind))
