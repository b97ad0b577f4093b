"""Events and signals in the console: to be read."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from events.models import Event, Signal
from events.types import EVENT_TYPES, Category
from opsapi.console.display import EMPTY, json_field
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.hostport import host_and_port

_ABOUT = (
    "hostname",
    "replicaSetName",
    "clusterName",
    "metricName",
    "targetUsername",
    "targetPublicKey",
    "accessListEntry",
)


class CategoryFilter(admin.SimpleListFilter):
    """Events by the category of their type."""

    title = "category"
    parameter_name = "category"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every category."""
        return [(one.value, one.value.replace("_", " ").capitalize()) for one in Category]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those whose type is of the category."""
        if self.value() is None:
            return queryset
        types = [name.value for name, spec in EVENT_TYPES.items() if spec.category.value == self.value()]
        return queryset.filter(event_type__in=types)


@admin.register(Event)
class EventAdmin(ConsoleAdmin):
    """The event log, newest first."""

    list_display = ["created", "event_type", "about", "acting", "group_id"]
    list_filter = [CategoryFilter, "created"]
    # Each of these is the start of an index.
    search_fields = ["id__exact", "group_id__exact", "alert_id__exact", "event_type__exact"]
    search_help_text = "A whole id of an event, a project or an alert, or a whole event type."
    ordering = ["-created", "-id"]
    sortable_by = ()
    fields = [
        "id",
        "created",
        "event_type",
        "acting",
        "group_id",
        "org_id",
        "alert_id",
        "details_json",
        "diffs_json",
        "raw_json",
    ]
    empty_text = "Nothing has happened yet. Every write, by whomever, leaves an event here."

    details_json = staticmethod(json_field("details"))
    diffs_json = staticmethod(json_field("diffs", "changes"))
    raw_json = staticmethod(json_field("raw"))

    @admin.display(description="who")
    def acting(self, event: Event) -> str:
        """The user or key that acted; nobody did when the platform itself saw it."""
        user, key = event.details.get("username"), event.details.get("publicKey")
        return user or (f"key {key}" if key else EMPTY)

    @admin.display(description="about")
    def about(self, event: Event) -> str:
        """What it concerns, in a few words."""
        return ", ".join(_about(event.details)) or EMPTY


@admin.register(Signal)
class SignalAdmin(ConsoleAdmin):
    """What alerting has still to look at; one that stays was set aside."""

    list_display = ["id", "created", "group_id", "kind", "failed"]
    list_filter = ["failed"]
    search_fields = ["group_id__exact"]
    search_help_text = "A whole id of a project."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["id", "created", "group_id", "kind", "failed", "payload_json"]
    empty_text = "Nothing is waiting: alerting has looked at everything that happened."

    payload_json = staticmethod(json_field("payload"))


def events_link(row_id: str) -> SafeString:
    """A link to the events of a project or an alert."""
    url = reverse("admin:events_event_changelist") + "?" + urlencode({"q": row_id})
    return format_html('<a href="{}">What happened</a>', url)


def _about(details: dict[str, Any]) -> Iterator[str]:
    for name in _ABOUT:
        if name in details:
            port = details.get("port") if name == "hostname" else None
            yield host_and_port(str(details[name]), port)
