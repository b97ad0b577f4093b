"""Alerts in the console: words and tones."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from alerting.configs.models import AlertConfig
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.rules import AlertState, alert_state
from alerting.incidents.store import alert_acknowledgement
from alerting.severities import has_severity
from events.types import Severity
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words
from opsapi.console.admin_urls import page_url
from opsapi.console.filters import ChoiceFilter
from opsapi.console.widgets import Cell, Tone
from opsapi.fields import Among

ALERT_TONES: Mapping[AlertState, Tone] = {
    AlertState.PENDING: Tone.WARNING,
    AlertState.OPEN: Tone.BAD,
    AlertState.ACKNOWLEDGED: Tone.INFO,
    AlertState.MUTED: Tone.PLAIN,
    AlertState.PERHAPS_MUTED: Tone.BAD,
    AlertState.CLOSED: Tone.GOOD,
    AlertState.CANCELLED: Tone.PLAIN,
}


SEVERITY_TONES: Mapping[Severity, Tone] = {
    Severity.CRITICAL: Tone.BAD,
    Severity.WARNING: Tone.WARNING,
    Severity.INFO: Tone.INFO,
}
SEVERITY_WORDS: Mapping[str, str] = {severity.value: severity.capitalize() for severity in reversed(Severity)}


def alert_badge(alert: Alert, now: datetime, *, is_muted: bool | None) -> tuple[AlertState, Tone]:
    """The state of an alert and its tone, for every page; `is_muted` is None if it is not known."""
    is_acknowledged = alert_acknowledgement(alert, now) is not None
    state = alert_state(AlertStatus(alert.status), is_acknowledged=is_acknowledged, is_muted=is_muted)
    return state, ALERT_TONES[state]


def severity_badge(row: Alert | AlertConfig) -> tuple[str, Tone]:
    """The severity of an alert or a configuration in a word, and its tone, for every page."""
    severity = row.effective_severity
    return SEVERITY_WORDS[severity], SEVERITY_TONES[severity]


def configs_of(alerts: Collection[Alert], visible_scope: VisibleScope) -> Mapping[str, AlertConfig]:
    """The stored configurations of alerts by their ids.

    Global configurations are only for operators who read everything.
    """
    ids = {alert.config_id for alert in alerts if visible_scope.everything or not alert.is_global}
    return {row.id: row for row in AlertConfig.objects.filter(Among("id", ids))} if ids else {}


def rule_words(alert: Alert, config: AlertConfig | None) -> str:
    """The name or the condition of the configuration; what happened, if it is gone or must not be shown."""
    return (config.name or config.condition) if config else alert.words


def rules_in_words(alerts: Collection[Alert], visible_scope: VisibleScope) -> Mapping[str, str]:
    """The name or the condition of the rule of each alert (`rule_words`), by the id of the alert."""
    configs = configs_of(alerts, visible_scope)
    return {alert.id: rule_words(alert, configs.get(alert.config_id)) for alert in alerts}


class SeverityFilter(ChoiceFilter):
    """Filter alerts or configurations by severity."""

    title = "severity"
    parameter_name = "severity"
    offered = tuple(SEVERITY_WORDS.items())

    def chosen(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(has_severity(value))


def alert_cells(
    alert: Alert, words: str, now: datetime, *, is_muted: bool | None
) -> tuple[Cell, Cell, Cell, Cell]:
    """Rule, severity, state and age for lists of active alerts. `words`: of the rule (`rules_in_words`)."""
    word, tone = alert_badge(alert, now, is_muted=is_muted)
    severity, severity_tone = severity_badge(alert)
    return (
        Cell(words, page_url(alert)),
        Cell(severity, tone=severity_tone),
        Cell(word, tone=tone),
        Cell(age_words(now - alert.created)),
    )
