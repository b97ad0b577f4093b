"""The states of maintenance windows in the console: words and tones."""

from collections.abc import Mapping
from datetime import datetime

from alerting.windows.models import MaintenanceWindow
from alerting.windows.rules import WindowState
from opsapi.console.widgets import Tone

WINDOW_WORDS: Mapping[WindowState, str] = {
    WindowState.PENDING: "scheduled",
    WindowState.ACTIVE: "active",
    WindowState.EXPIRED: "ended",
}
_WINDOW_TONES: Mapping[WindowState, Tone] = {
    WindowState.PENDING: Tone.INFO,
    WindowState.ACTIVE: Tone.WARNING,
    WindowState.EXPIRED: Tone.PLAIN,
}
WINDOW_LABELS = {word: _WINDOW_TONES[state] for state, word in WINDOW_WORDS.items()}
"""By word, as the columns of the theme need it."""


def window_badge(window: MaintenanceWindow, now: datetime) -> tuple[str, Tone]:
    """The state of a maintenance window, in a word."""
    state = window.rule.state(now)
    return WINDOW_WORDS[state], _WINDOW_TONES[state]
