"""Alerts in the console: the list, and the page of an alert."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.core.paginator import Page
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from alerting.admin.alert_actions import OF_ALERT, is_acknowledged
from alerting.admin.alert_filters import (
    AcknowledgedFilter,
    AgeFilter,
    StatusFilter,
    TypeFilter,
)
from alerting.admin.alert_page import page_of
from alerting.models import Alert, Notification
from alerting.presentation import alert_badge, alert_words, window_name
from alerting.rules.wording import target_words
from alerting.selectors.alert_order import urgent_first
from alerting.selectors.alert_search import alerts_matching
from alerting.selectors.targets import targets_of
from alerting.selectors.windows import muting_windows
from events.models import Event
from opsapi import clock
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.changelist import BoundedPaginator
from opsapi.console.display import Context, ago, badge, json_field, link, named, project, short, urls_seen
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section


class AlertPaginator(BoundedPaginator):
    """Pages of alerts in their usual order, which no single query sorts quickly."""

    def page(self, number: int | str) -> Page[Any]:
        """The rows of a page."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        rows: Any = self.object_list
        stop = min(start + self.per_page, self.count)
        return Page(urgent_first(rows, start, stop, now=clock.now()), number, self)


@admin.register(Alert)
class AlertAdmin(ConsoleAdmin):
    """Alerts: unacknowledged ones first, then by time, newest first."""

    section = Section.ALERTING
    icon = "notifications_active"
    rank = 10
    group_path = "group_id"
    actions_of_row = OF_ALERT
    change_form_template = "admin/alerting/alert/change_form.html"

    list_display = ["event", "state", "target", project, "age", "acknowledged"]
    list_filter = [
        StatusFilter,
        ("group", RelatedFilter),
        TypeFilter,
        AgeFilter,
        AcknowledgedFilter,
    ]
    list_select_related = ["group"]
    # get_search_results interprets the search; without a field, Django shows no search box.
    search_fields = ["id__exact"]
    search_help_text = (
        "Start of a host, replica set or cluster name, part of an event type, or the full ID of an "
        "alert, alert configuration or project."
    )
    paginator = AlertPaginator
    ordering = ["-created", "-id"]
    sortable_by = ()
    fields = [
        "id",
        "state",
        "status",
        "event_type",
        "target",
        "group",
        "muted_by",
        "metric_name",
        "current_value",
        "facts_json",
        "tags",
        "created",
        "opens",
        "updated",
        "resolved",
        "last_notified",
        "acknowledged_until",
        "acknowledging_username",
        "acknowledgement_comment",
        "notifications",
        "events",
    ]
    empty_text = (
        "No alerts yet. Alerts appear here when the condition of an enabled alert configuration is met."
    )

    class Media:
        css = {"all": ["console/alert.css"]}

    facts_json = staticmethod(json_field("facts", "about"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Searches along indexes."""
        return alerts_matching(
            queryset, search_term, visible_scope=operator_of(request).visible_scope()
        ), False

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Add the timeline of the alert."""
        timeline = page_of(row, operator_of(request), now=clock.now())
        return {**super().page_context(request, row), "page": timeline}

    @admin.display(description="type")
    def event(self, alert: Alert) -> SafeString:
        """The event type, and the metric."""
        return named(alert_words(alert), alert.event_type)

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Loads targets and the windows that mute the alerts."""
        windows, targets = muting_windows(rows, now=clock.now()), targets_of(rows)
        names = [alert.acknowledging_username for alert in rows]
        users = urls_seen(
            self.admin_site, operator_of(request).visible_scope(), "accesslist.user", "username", names
        )
        for alert in rows:
            alert.user_url = users.get(alert.acknowledging_username, "")
            alert.window, alert.about = windows.get(alert.id), targets.get(alert.id)

    @admin.display(description="state")
    def state(self, alert: Any) -> SafeString:
        """The state, with the word of every page."""
        return badge(*alert_badge(alert, clock.now(), is_muted=alert.window is not None))

    @admin.display(description="target")
    def target(self, alert: Any) -> str | SafeString | None:
        """The host, replica set, cluster or agent."""
        text = short(target_words(alert.facts))
        return link(page_url(alert.about), text) if alert.about else text

    @admin.display(description="muted by")
    def muted_by(self, alert: Any) -> SafeString | None:
        """The maintenance window that mutes the alert now."""
        return link(page_url(alert.window), window_name(alert.window)) if alert.window else None

    @admin.display(description="age")
    def age(self, alert: Alert) -> SafeString | str:
        """Time since the start."""
        return ago(alert.created)

    @admin.display(description="acknowledged by")
    def acknowledged(self, alert: Any) -> str | SafeString | None:
        """The user of the current acknowledgement."""
        if not is_acknowledged(alert, clock.now()):
            return None
        name = short(alert.acknowledging_username)
        return link(alert.user_url, name) if alert.user_url else name

    @admin.display(description="notifications")
    def notifications(self, alert: Alert) -> SafeString:
        """The notifications of the alert."""
        return link(list_url(Notification, q=alert.id), "Notifications")

    @admin.display(description="events")
    def events(self, alert: Alert) -> SafeString:
        """The events of the alert."""
        return link(list_url(Event, q=alert.id), "All events")
