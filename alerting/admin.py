"""Alerting in the console: to be read; configurations can be enabled, disabled and deleted."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from alerting.messages import target_of
from alerting.models import (
    Alert,
    AlertConfig,
    FailingReceiver,
    MaintenanceWindow,
    Notification,
    NotificationAttempt,
    NotificationSetting,
    WorkerHeartbeat,
)
from alerting.rules.windows import window_state
from alerting.services.configs import alert_config_delete, alert_config_set_enabled
from alerting.services.resending import notification_resend
from events.admin import events_link
from opsapi import clock
from opsapi.console.display import json_field
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline
from opsapi.console.writes import RowService

_SETTING_FIELDS = ["position", "type_name", "delay_min", "interval_min", "fields_json"]


class NotificationSettingInline(ConsoleInline):
    """Whom a configuration tells; secrets stand redacted among the fields."""

    model = NotificationSetting
    fields = [*_SETTING_FIELDS]

    fields_json = staticmethod(json_field("fields"))


@admin.register(AlertConfig)
class AlertConfigAdmin(ConsoleAdmin):
    """Alert configurations."""

    delete_service = RowService(alert_config_delete, "config")
    row_services = {
        "enable": RowService(alert_config_set_enabled, "config", {"enabled": True}, "Enable"),
        "disable": RowService(
            alert_config_set_enabled, "config", {"enabled": False}, "Disable and cancel their alerts"
        ),
    }
    list_display = ["event_type", "enabled", "covers", "told", "updated"]
    list_filter = ["enabled"]
    list_select_related = ["group"]
    search_fields = ["event_type", "group__name", "id__exact", "group__id__exact"]
    search_help_text = "Part of an event type or a project's name, or a whole id of either."
    ordering = ["group__name", "created", "id"]
    fields = [
        "id",
        "group",
        "for_all_groups",
        "group_ids",
        "tags",
        "event_type",
        "enabled",
        "matchers_json",
        "metric_threshold_json",
        "threshold_json",
        "created",
        "updated",
        "alerts",
    ]
    inlines = [NotificationSettingInline]
    empty_text = (
        "No alert configuration yet. They are made with POST /groups/{id}/alertConfigs "
        "and POST /globalAlertConfigs."
    )

    matchers_json = staticmethod(json_field("matchers"))
    metric_threshold_json = staticmethod(json_field("metric_threshold"))
    threshold_json = staticmethod(json_field("threshold"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertConfig]:
        """Without the deleted ones, whose rows remain for what is still to be told."""
        return super().get_queryset(request).filter(deleted=None).prefetch_related("settings")

    @admin.display(description="project", ordering="group__name")
    def covers(self, config: AlertConfig) -> str:
        """Its project; of a global one those it covers."""
        if config.group is not None:
            return str(config.group)
        if not config.for_all_groups:
            return f"global: {len(config.group_ids)} of them"
        return f"global: those tagged {', '.join(config.tags)}" if config.tags else "global: all"

    @admin.display(description="told by")
    def told(self, config: AlertConfig) -> str | None:
        """The kinds of its notifications."""
        return ", ".join(dict.fromkeys(one.type_name for one in config.settings.all())) or None

    @admin.display(description="alerts")
    def alerts(self, config: AlertConfig) -> SafeString:
        """The alerts it raised."""
        return _list_link("alert", config.id, "Its alerts")


@admin.register(NotificationSetting)
class NotificationSettingAdmin(ConsoleAdmin):
    """Notifications of all configurations."""

    list_display = ["type_name", "config", "delay_min", "interval_min"]
    list_filter = ["type_name"]
    list_select_related = ["config"]
    search_fields = ["id__exact", "config__id__exact"]
    search_help_text = "A whole id of a notification setting or of an alert configuration."
    ordering = ["config_id", "position"]
    fields = ["id", "config", *_SETTING_FIELDS]
    empty_text = "No alert configuration tells anybody."

    fields_json = staticmethod(json_field("fields"))


@admin.register(Alert)
class AlertAdmin(ConsoleAdmin):
    """Alerts, newest first."""

    list_display = ["created", "status", "event_type", "target", "group", "last_notified", "resolved"]
    list_filter = ["status", "created"]
    list_select_related = ["group"]
    search_fields = ["id__exact", "config_id__exact", "group__id__exact"]
    search_help_text = "A whole id of an alert, an alert configuration or a project."
    ordering = ["-id"]
    sortable_by = ()
    fields = [
        "id",
        "status",
        "event_type",
        "group",
        "config_id",
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
    empty_text = "No alert so far."

    facts_json = staticmethod(json_field("facts", "about"))

    @admin.display(description="about")
    def target(self, alert: Alert) -> str | None:
        """The host, replica set, cluster or agent."""
        return target_of(alert.facts)

    @admin.display(description="who was told")
    def notifications(self, alert: Alert) -> SafeString:
        """Its notifications."""
        return _list_link("notification", alert.id, "Notifications")

    @admin.display(description="events")
    def events(self, alert: Alert) -> SafeString:
        """Its story."""
        return events_link(alert.id)


@admin.register(Notification)
class NotificationAdmin(ConsoleAdmin):
    """Who was told of what, when, and why somebody was not; newest first. What failed can be sent again."""

    row_services = {"resend": RowService(notification_resend, "notification", label="Send again")}
    list_display = ["created", "kind", "status", "type_name", "recipient", "attempts", "reason", "group"]
    list_filter = ["status", "kind", "created"]
    list_select_related = ["group"]
    search_fields = ["id__exact", "alert__id__exact", "group__id__exact"]
    search_help_text = "A whole id of a notification, an alert or a project."
    ordering = ["-id"]
    sortable_by = ()
    fields = [
        "id",
        "kind",
        "status",
        "reason",
        "type_name",
        "recipient",
        "group",
        "alert",
        "event_id",
        "setting_id",
        "created",
        "due",
        "attempts",
        "first_attempt",
        "lease_until",
        "delivered",
        "latency_ms",
    ]
    empty_text = "Nobody was told of anything yet."


@admin.register(NotificationAttempt)
class NotificationAttemptAdmin(ConsoleAdmin):
    """Every try to deliver a notification, newest first."""

    list_display = ["ended", "notification", "number", "status", "reason", "latency_ms"]
    list_filter = ["status"]
    list_select_related = ["notification"]
    search_fields = ["notification__id__exact"]
    search_help_text = "A whole id of a notification."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["notification", "number", "ended", "status", "reason", "latency_ms"]
    empty_text = "Nothing was sent yet."


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ConsoleAdmin):
    """Maintenance windows, the last to end first."""

    list_display = ["start", "end", "state", "alert_types", "group", "description"]
    list_filter = ["start", "end"]
    list_select_related = ["group"]
    search_fields = ["id__exact", "group__id__exact", "group__name"]
    search_help_text = "Part of a project's name, or a whole id of a window or a project."
    ordering = ["-end", "-id"]
    fields = ["id", "group", "alert_types", "state", "start", "end", "description", "created", "updated"]
    empty_text = "No maintenance window. They are made with POST /groups/{id}/maintenanceWindows."

    @admin.display(description="state")
    def state(self, window: MaintenanceWindow) -> str:
        """Whether it is to come, in effect or over."""
        return window_state(window.start, window.end, clock.now()).value


@admin.register(FailingReceiver)
class FailingReceiverAdmin(ConsoleAdmin):
    """Receivers whose last attempts failed: after five in a row they are probed every ten seconds at most."""

    list_display = ["key", "failures", "next_try", "updated"]
    search_fields = ["key"]
    ordering = ["-updated"]
    fields = ["key", "failures", "next_try", "updated"]
    empty_text = "Every receiver answered when it was last told something."


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ConsoleAdmin):
    """Workers and when each was last seen."""

    list_display = ["name", "seen"]
    ordering = ["-seen"]
    fields = ["name", "seen"]
    empty_text = "No worker was ever seen: alerts are not evaluated. Start one with manage.py run_worker."


def _list_link(model: str, row_id: str, text: str) -> SafeString:
    url = reverse(f"admin:alerting_{model}_changelist") + "?" + urlencode({"q": row_id})
    return format_html('<a href="{}">{}</a>', url, text)
