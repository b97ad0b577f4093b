"""How alerts and windows look in the console."""

from datetime import UTC, datetime, timedelta

from alerting.engine.console import ATTEMPT_TONES, NOTIFICATION_TONES
from alerting.engine.rules import NotificationState
from alerting.incidents.alert_page import ENTRY_BADGES
from alerting.incidents.choices import AlertStatus
from alerting.incidents.presentation import ALERT_TONES, alert_badge
from alerting.incidents.rules import AlertState, alert_state
from alerting.insight.timeline_entries import TimelineEntryKind
from alerting.models import Alert
from alerting.windows.presentation import STATE_LABELS, STATE_LOOKS
from alerting.windows.rules import WindowState
from integrations.choices import DeliveryStatus
from opsapi.console.widgets import Tone
from tests.each import each

NOW = datetime(2099, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@each(
    ("status", "acknowledged", "look"),
    [
        ("TRACKING", None, ("Pending", Tone.WARNING)),
        ("OPEN", None, ("Open", Tone.BAD)),
        ("OPEN", SECOND, ("Acknowledged", Tone.INFO)),
        ("TRACKING", SECOND, ("Acknowledged", Tone.INFO)),
        ("OPEN", timedelta(0), ("Open", Tone.BAD)),
        ("OPEN", -SECOND, ("Open", Tone.BAD)),
        ("CLOSED", SECOND, ("Closed", Tone.GOOD)),
    ],
)
def test_an_alert_somebody_took_on_says_so_while_that_counts(
    status: str, acknowledged: timedelta | None, look: tuple[str, Tone]
) -> None:
    until = None if acknowledged is None else NOW + acknowledged
    alert = Alert(status=status, acknowledged_until=until)
    assert alert_badge(alert, NOW, is_muted=False) == look


@each(
    ("status", "acknowledged", "word"),
    [
        ("OPEN", False, "Muted"),
        ("OPEN", True, "Acknowledged"),
        ("TRACKING", False, "Pending"),
        ("CLOSED", False, "Closed"),
        ("CANCELLED", False, "Cancelled"),
    ],
)
def test_an_open_alert_that_a_window_covers_is_muted(status: str, acknowledged: bool, word: str) -> None:
    assert alert_state(AlertStatus(status), is_acknowledged=acknowledged, is_muted=True) == word


def test_an_open_alert_that_was_not_compared_in_time_is_open_or_muted() -> None:
    states = [
        alert_state(status, is_acknowledged=False, is_muted=None)
        for status in (AlertStatus.OPEN, AlertStatus.TRACKING, AlertStatus.CLOSED)
    ]
    assert states == ["Open or muted", "Pending", "Closed"]


def test_each_state_of_a_window_has_a_word_and_a_tone() -> None:
    assert {state: look[:2] for state, look in STATE_LOOKS.items()} == {
        WindowState.PENDING: ("scheduled", Tone.INFO),
        WindowState.ACTIVE: ("active", Tone.WARNING),
        WindowState.EXPIRED: ("ended", Tone.PLAIN),
    }
    assert STATE_LABELS == {"scheduled": Tone.INFO, "active": Tone.WARNING, "ended": Tone.PLAIN}


def test_everything_there_can_be_has_a_look() -> None:
    assert set(ALERT_TONES) == set(AlertState)
    assert set(NOTIFICATION_TONES) == set(NotificationState)
    assert set(ATTEMPT_TONES) == set(DeliveryStatus)
    assert set(ENTRY_BADGES) == set(TimelineEntryKind)
