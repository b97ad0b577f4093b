"""Alert configurations in the console."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accesslist.models import Project
from alerting.admin.configs.actions import NEW, OF_LIST, OF_ROW
from alerting.admin.configs.filters import CategoryFilter, EventTypeFilter, RecipientFilter
from alerting.forms.configs.testing import destinations_of
from alerting.models import Alert, AlertConfig, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.presentation import alert_badge, alert_words
from alerting.rules.wording import condition_words, target_words
from alerting.selectors.config_views import config_view
from alerting.selectors.configs import alerts_now, config_audits
from alerting.selectors.targets import targets_of
from alerting.selectors.windows import muting_windows
from events.wording import acting, in_words
from opsapi import clock
from opsapi.clock import time_words
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import action_url, list_url, page_url
from opsapi.console.display import EMPTY, Context, badge, json_field, link, named, project
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.first_rows import first_rows, more_words

_MOST_PROJECTS = 50


@admin.register(AlertConfig)
class AlertConfigAdmin(ConsoleAdmin):
    """Alert configurations."""

    section = Section.ALERTING
    icon = "rule_settings"
    rank = 20
    group_path = "group_id"
    add_action = NEW
    list_actions = OF_LIST
    actions_of_row = OF_ROW
    list_display = ["event", "enabled", "covers", "recipients", "updated"]
    list_filter = [
        ("group", RelatedFilter),
        "enabled",
        CategoryFilter,
        EventTypeFilter,
        RecipientFilter,
    ]
    list_select_related = ["group"]
    search_fields = ["event_type", "group__name", "id__exact", "group__id__exact"]
    search_help_text = (
        "Part of an event type or project name, or the full ID of an alert configuration or project."
    )
    ordering = ["group__name", "created", "id"]
    fields = [
        "event",
        "projects",
        "enabled",
        "condition",
        "alerts",
        "happened",
        "created",
        "updated",
        "id",
    ]
    empty_text = (
        "No alert configurations, so no alerts open and nobody is notified. Every new project "
        "starts with three."
    )

    change_form_template = "admin/alerting/alertconfig/change_form.html"

    class Media:
        css = {"all": ["console/config-form.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertConfig]:
        """Without deleted configurations, whose rows stay until their alerts have ended."""
        return super().get_queryset(request).filter(deleted=None).prefetch_related("settings")

    def page_url(self, row: Any) -> str:
        """The list after deletion: the row stays until its alerts have ended."""
        is_there = row is not None and AlertConfig.objects.filter(pk=row.pk, deleted=None).exists()
        return super().page_url(row) if is_there else self.list_url()

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Add its notifications, with links to test each if the operator may."""
        operator = operator_of(request)
        may_test = OF_ROW["test"].is_allowed(operator, row, self.scope_of(row))
        destinations = [
            (choice, action_url(AlertConfig, row.pk, "test", notification=choice.id) if may_test else "")
            for choice in destinations_of(row)
        ]
        shown = {"destinations": destinations, "tests": may_test}
        return {**super().page_context(request, row), **shown}

    @admin.display(description="type", ordering="event_type")
    def event(self, config: AlertConfig) -> SafeString:
        """The event type."""
        return named(in_words(config.event_type), config.event_type)

    @admin.display(description="project", ordering="group__name")
    def covers(self, config: AlertConfig) -> str | SafeString | None:
        """The project, or the projects of a global configuration."""
        if config.group is not None:
            return project(config)
        if not config.for_all_groups:
            return f"global: {len(config.group_ids)} project{'' if len(config.group_ids) == 1 else 's'}"
        return f"global: tagged {', '.join(config.tags)}" if config.tags else "global: all"

    @admin.display(description="projects")
    def projects(self, config: AlertConfig) -> str | SafeString | None:
        """As `covers`, with project names."""
        if config.group is not None or config.for_all_groups:
            return self.covers(config)
        found = Project.objects.filter(id__in=config.group_ids).order_by("name")
        names = [link(page_url(covered), covered.name) for covered in found]
        more = more_words(max(0, len(names) - _MOST_PROJECTS))
        gone = len(config.group_ids) - len(names)
        none = f"({gone} that are no project)" if gone else ""
        shown = format_html_join(", ", "{}", ((name,) for name in names[:_MOST_PROJECTS]))
        parts = ((part,) for part in ("global:", shown, more, none) if part)
        return format_html_join(" ", "{}", parts)

    @admin.display(description="notifications")
    def recipients(self, config: AlertConfig) -> str | None:
        """The types of its notifications."""
        names = dict.fromkeys(
            NOTIFICATION_TYPES[setting.type_name].label for setting in config.settings.all()
        )
        return ", ".join(names) or None

    @admin.display(description="condition")
    def condition(self, config: AlertConfig) -> str:
        """The condition besides the event type."""
        view = config_view(config)
        return condition_words(
            view.event_type,
            matchers=view.matchers,
            metric_threshold=view.metric_threshold,
            threshold=view.threshold,
        )

    @admin.display(description="open alerts")
    def alerts(self, config: AlertConfig) -> SafeString:
        """Active alerts, and a link to the others."""
        now = clock.now()
        found = alerts_now(config, now=now)
        muted, targets = muting_windows(found.rows, now=now), targets_of(found.rows)
        rows = [
            (
                badge(*alert_badge(row, now, is_muted=row.id in muted)),
                link(page_url(row), alert_words(row)),
                link(page_url(targets[row.id]), target_words(row.facts))
                if row.id in targets
                else target_words(row.facts),
            )
            for row in found.rows
        ]
        shown = _listed("{} {}, {}", rows) if rows else "None. "
        left_out = found.left_out_words
        more = link(list_url(Alert, status="active", q=config.id), left_out) if left_out else ""
        every = link(list_url(Alert, q=config.id), "All alerts")
        return format_html("{}{} {}", shown, more, every)

    @admin.display(description="history")
    def happened(self, config: AlertConfig) -> str:
        """The latest events about the configuration."""
        found = first_rows(config_audits(config))
        rows = [
            (
                link(page_url(row), in_words(row.event_type)),
                acting(row.details) or EMPTY,
                time_words(row.created),
            )
            for row in found.rows
        ]
        return _listed("{} by {}, {}", rows, found.left_out_words) if rows else EMPTY


@admin.register(NotificationSetting)
class NotificationSettingAdmin(ConsoleAdmin):
    """Notifications of all configurations."""

    group_path = "config__group_id"

    list_display = ["type_name", "config", "delay_min", "interval_min"]
    list_filter = ["type_name"]
    list_select_related = ["config"]
    search_fields = ["id__exact", "config__id__exact"]
    search_help_text = "Full ID of a notification setting or an alert configuration."
    ordering = ["config_id", "position"]
    fields = ["id", "config", "position", "type_name", "delay_min", "interval_min", "fields_json"]
    empty_text = "No alert configuration has notifications."

    fields_json = staticmethod(json_field("fields"))


def _listed(line: str, rows: Iterable[tuple[object, ...]], more: str = "") -> SafeString:
    items = format_html_join("", "<li>" + line + "</li>", rows)
    last = format_html("<li>{}</li>", more) if more else ""
    return format_html('<ul class="config-list">{}{}</ul>', items, last)
