"""Reads why an alert opened, and why each of its messages was, or was not, sent; bounded."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from accesslist.models import User
from alerting.configs.matchers import subject_of
from alerting.configs.models import NotificationSetting
from alerting.configs.store import config_view
from alerting.engine.notification_log import setting_words
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.rules import DeliveryStep, DeliveryVerdict
from alerting.engine.store import merged_when_due
from alerting.engine.transition import ConfigView
from alerting.incidents.models import Alert
from alerting.insight.host_reasons import ComparedMatcher
from alerting.insight.measurement_window import first_value
from alerting.insight.message_explanations import DeliveryFacts, delivery_facts, explanations_of, verdict_of
from alerting.insight.message_reasons import NotificationExplanation
from alerting.insight.recorded_conditions import (
    ConditionState,
    RecordedThreshold,
    condition_detail,
    recorded_matchers,
    recorded_threshold,
)
from alerting.insight.timeline_entries import TimelineEntry, TimelineNotification, time_to_come
from alerting.insight.timeline_events import began
from alerting.insight.timeline_notifications import timeline_notifications
from alerting.insight.user_explanations import explain_user
from alerting.insight.user_reasons import UserExplanation

_TO_BE_SENT = frozenset({DeliveryStep.SEND, DeliveryStep.ADDRESS, DeliveryStep.POSTPONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCondition:
    """The condition of the alert with the recorded values; empty if it is not known or not visible."""

    state: ConditionState
    detail: str
    matchers: tuple[ComparedMatcher, ...] = ()
    threshold: RecordedThreshold | None = None

    @property
    def is_compared(self) -> bool:
        """Whether it has a matcher or a threshold."""
        return bool(self.matchers) or self.threshold is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertExplanation:
    """Why an alert opened, and why each of its messages was, or was not, sent, newest first.

    `facts` also hold what the reader may not see; `view` is None if the configuration is gone or must not be
    shown. `signal`: what opened it. `value`: the value that began an alert about a metric, in its base unit,
    and when it was reported. `pending`: the pending notifications, each with the decision of delivery when it
    is due, except notifications whose message another notification sends. `more`: the number of further
    notifications in the log. `settings_without_message`: empty if the reader may not see the configuration.
    """

    facts: DeliveryFacts
    view: ConfigView | None
    signal: TimelineEntry
    value: tuple[float, datetime] | None
    condition: ExplainedCondition
    notifications: tuple[tuple[TimelineNotification, NotificationExplanation], ...]
    pending: tuple[tuple[TimelineNotification, DeliveryVerdict], ...]
    more: int
    settings_without_message: tuple[NotificationSetting, ...]
    user: UserExplanation | None

    def why_without_message(self) -> Iterator[tuple[NotificationSetting, NotificationExplanation]]:
        """Explain the settings without a message; reads the names of their recipients."""
        reason = self.facts.no_message_reason
        for setting in self.settings_without_message:
            recipient = setting_words(setting, self.facts.alert.group_id)
            detail = f"{recipient} was not notified: {reason}."
            yield setting, NotificationExplanation(reason=reason, detail=detail)


def explain_alert(
    alert: Alert, *, sees_config: bool, now: datetime, user: User | None = None
) -> AlertExplanation:
    """Explain an alert as the reader may see it, and why a user was, or was not, notified of it.

    `sees_config`: whether the reader may read the alert's configuration, and so its recipients.
    """
    facts = delivery_facts(alert)
    view = config_view(facts.config) if facts.config and sees_config else None
    timeline = timeline_notifications(alert, with_recipient=sees_config, now=now)
    verdicts = {row.id: verdict_of(row, facts, now=now) for row, _ in timeline.pending}
    merged = merged_when_due(
        [
            (row, time_to_come(notification, verdicts[row.id], now=now))
            for row, notification in timeline.pending
            if verdicts[row.id].step in _TO_BE_SENT
        ],
        {(setting.id, setting.type_name): setting for setting in facts.settings},
        now,
        ledger=POSTGRESQL,
    )
    explained = explanations_of(timeline.shown, verdicts, facts, now=now)
    value = first_value(alert)
    without_message = [setting for setting in facts.kept if setting.id not in timeline.setting_ids]
    return AlertExplanation(
        facts=facts,
        view=view,
        signal=began(alert, view, value),
        value=value,
        condition=_condition(facts, view, value=value, sees_config=sees_config),
        notifications=tuple((notification, explained[notification.id]) for notification in timeline.shown),
        pending=tuple(
            (notification, verdicts[row.id]) for row, notification in timeline.pending if row.id not in merged
        ),
        more=timeline.more,
        settings_without_message=tuple(without_message) if sees_config else (),
        user=explain_user(facts, user, sees_config=sees_config, now=now) if user else None,
    )


def _condition(
    facts: DeliveryFacts,
    view: ConfigView | None,
    *,
    value: tuple[float, datetime] | None,
    sees_config: bool,
) -> ExplainedCondition:
    """Compare the condition of the configuration with the facts of the alert.

    `value` is its `first_value`.
    """
    state = _state(facts, view, sees_config=sees_config)
    detail = condition_detail(state, view)
    if view is None or state is ConditionState.DELETED:
        return ExplainedCondition(state=state, detail=detail)
    return ExplainedCondition(
        state=state,
        detail=detail,
        matchers=tuple(recorded_matchers(view.matchers, subject_of(facts.alert.facts))),
        threshold=recorded_threshold(view, value[0] if value else None),
    )


def _state(facts: DeliveryFacts, view: ConfigView | None, *, sees_config: bool) -> ConditionState:
    config = facts.config
    if not sees_config:
        return ConditionState.HIDDEN
    if config is None or view is None or config.deleted is not None:
        return ConditionState.DELETED
    return ConditionState.PERHAPS_CHANGED if facts.config_changed else ConditionState.SAME
