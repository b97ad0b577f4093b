"""Alerts in the console: words and tones."""

from collections.abc import Mapping
from datetime import datetime

from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.rules import AlertState, alert_state
from alerting.incidents.store import alert_acknowledgement
from opsapi.clock import age_words
from opsapi.console.admin_urls import page_url
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


def alert_badge(alert: Alert, now: datetime, *, is_muted: bool | None) -> tuple[AlertState, Tone]:
    """The state of an alert and its tone, for every page; `is_muted` is None if it is not known."""
    is_acknowledged = alert_acknowledgement(alert, now) is not None
    state = alert_state(AlertStatus(alert.status), is_acknowledged=is_acknowledged, is_muted=is_muted)
    return state, ALERT_TONES[state]


def alert_cells(alert: Alert, now: datetime, *, is_muted: bool | None) -> tuple[Cell, Cell, Cell]:
    """Name, state and age for lists of active alerts."""
    word, tone = alert_badge(alert, now, is_muted=is_muted)
    return (
        Cell(alert.words, page_url(alert)),
        Cell(word, tone=tone),
        Cell(age_words(now - alert.created)),
    )
