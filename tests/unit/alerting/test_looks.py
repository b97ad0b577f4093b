"""How alerts and windows look in the console."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.choices import AlertStatus, NotificationStatus
from alerting.looks import ALERT_TONES, ATTEMPT_TONES, MOMENTS, NOTIFICATION_TONES, alert_state, window_look
from alerting.models import Alert, MaintenanceWindow
from alerting.rules.story import MomentKind
from integrations.choices import DeliveryStatus
from opsapi.console.parts import Tone

NOW = datetime(2099, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("status", "acknowledged", "look"),
    [
        ("TRACKING", None, ("tracking", Tone.WARNING)),
        ("OPEN", None, ("open", Tone.BAD)),
        ("OPEN", SECOND, ("acknowledged", Tone.INFO)),
        ("TRACKING", SECOND, ("acknowledged", Tone.INFO)),
        ("OPEN", timedelta(0), ("open", Tone.BAD)),
        ("OPEN", -SECOND, ("open", Tone.BAD)),
    ],
)
def test_an_alert_somebody_took_on_says_so_while_that_counts(
    status: str, acknowledged: timedelta | None, look: tuple[str, Tone]
) -> None:
    until = None if acknowledged is None else NOW + acknowledged
    assert alert_state(Alert(status=status, acknowledged_until=until), NOW) == look


@pytest.mark.parametrize(
    ("start", "end", "look"),
    [
        (SECOND, 2 * SECOND, ("coming", Tone.INFO)),
        (timedelta(0), SECOND, ("active", Tone.WARNING)),
        (-SECOND, timedelta(0), ("over", Tone.PLAIN)),
    ],
)
def test_a_window_is_coming_active_or_over(start: timedelta, end: timedelta, look: tuple[str, Tone]) -> None:
    assert window_look(MaintenanceWindow(start=NOW + start, end=NOW + end), NOW) == look


def test_everything_there_can_be_has_a_look() -> None:
    assert set(ALERT_TONES) == set(AlertStatus)
    assert set(NOTIFICATION_TONES) == set(NotificationStatus)
    assert set(ATTEMPT_TONES) == set(DeliveryStatus)
    assert set(MOMENTS) == set(MomentKind)
