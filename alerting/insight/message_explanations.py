"""Explains notifications of an alert: reads the facts by which delivery decides the pending notifications."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.engine.models import Notification
from alerting.engine.rules import DeliveryVerdict, Mute, decide_delivery
from alerting.engine.store import due_notification, is_below_minimum
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.store import IncidentView, incident_of, of_incident
from alerting.insight.message_reasons import (
    NotificationExplanation,
    explain_notification,
    no_notification_reason,
)
from alerting.insight.timeline_entries import TimelineNotification
from alerting.reasons import NotificationReason
from alerting.windows.rules import WindowRule, active_rules
from alerting.windows.store import rules_since_start

MOST_WINDOWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFacts:
    """The facts of an alert that decide its pending notifications.

    `incident` is None before the alert opens. `settings` include removed settings. `windows` mute the alert
    and were not over when it started. `windows_cut`: not all windows were compared in time.
    """

    alert: Alert
    incident: IncidentView | None
    config: AlertConfig | None
    settings: Sequence[NotificationSetting]
    windows: Sequence[WindowRule]
    windows_cut: bool = False

    @property
    def kept(self) -> list[NotificationSetting]:
        """The settings that the configuration still has."""
        return [setting for setting in self.settings if not setting.removed]

    @property
    def config_changed(self) -> bool:
        """Whether the configuration was changed after the alert ended."""
        # A change of the condition ends the alerts of the configuration at the same moment.
        # `resolved` can be far before the report that ended the alert.
        ended = self.alert.updated if self.alert.resolved else None
        return self.config is not None and ended is not None and self.config.updated >= ended

    @property
    def no_message_reason(self) -> NotificationReason:
        """Why the log has no message of a notification of the configuration."""
        alert = self.alert
        return no_notification_reason(AlertStatus(alert.status), opens=alert.opens, resolved=alert.resolved)


def delivery_facts(alert: Alert) -> DeliveryFacts:
    """Read the configuration of the alert, its settings, and the windows that mute the alert."""
    since_start = rules_since_start(alert, most=MOST_WINDOWS)
    settings = NotificationSetting.with_removed.filter(config_id=alert.config_id)
    return DeliveryFacts(
        alert=alert,
        incident=incident_of(alert, Alert.objects.filter(of_incident(alert.id))),
        config=AlertConfig.objects.filter(id=alert.config_id).first(),
        settings=list(settings.select_related("config").order_by("position", "id")),
        windows=since_start.rules,
        windows_cut=since_start.is_cut,
    )


def verdict_of(row: Notification, facts: DeliveryFacts, *, now: datetime) -> DeliveryVerdict:
    """The decision about a pending notification when it is due, by the rule of delivery."""
    at = max(row.due, now)
    # A message is muted while all alerts that it is about are; delivery finds out what mutes the others.
    opened = {alert.id for alert in facts.incident.open} if facts.incident else set()
    is_only_about_alert = (opened or {row.alert_id}) == {facts.alert.id}
    active = next(iter(active_rules(facts.windows, at)), None) if is_only_about_alert else None
    setting = next((setting for setting in facts.kept if setting.id == row.setting_id), None)
    due = replace(
        due_notification(row, facts.incident),
        config_is_enabled=facts.config is not None and facts.config.enabled,
        setting_exists=setting is not None,
        is_below_minimum=setting is not None and is_below_minimum(setting, facts.incident),
        mute=Mute(active.rule.id, active.until) if active else None,
    )
    return decide_delivery(due, at)


def explanations_of(
    notifications: Iterable[TimelineNotification],
    verdicts: Mapping[str, DeliveryVerdict],
    facts: DeliveryFacts,
    *,
    now: datetime,
) -> dict[str, NotificationExplanation]:
    """Why each notification was, or was not, sent, by its ID; `verdicts` of the pending notifications."""
    windows = {window.id: window.name for window in facts.windows}
    return {
        notification.id: explain_notification(
            notification, verdicts.get(notification.id), windows=windows, now=now
        )
        for notification in notifications
    }
