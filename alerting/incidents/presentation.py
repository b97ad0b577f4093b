"""Alerts in the console: words and tones."""

from collections.abc import Mapping
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
from opsapi.clock import age_words
from opsapi.console.admin_urls import page_url
from opsapi.console.filters import ChoiceFilter
from opsapi.console.widgets import Cell, Tone

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
    """Rule, severity, state and age for lists of active alerts. `words`: of the rule (`rule_of`)."""
    word, tone = alert_badge(alert, now, is_muted=is_muted)
    severity, severity_tone = severity_badge(alert)
    return (
        Cell(words, page_url(alert)),
        Cell(severity, tone=severity_tone),
        Cell(word, tone=tone),
        Cell(age_words(now - alert.created)),
    )
