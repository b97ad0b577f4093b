"""How noisy an alert configuration is, and the delay that would halve its alerts. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.rules.wording import counted_words
from opsapi.clock import age_words

PERIOD = timedelta(days=28)
"""The time before now whose alerts are counted."""
FLAP_WITHIN = timedelta(hours=1)
"""An alert is a flap if it starts so soon after the end of the last alert on the same target."""
LONGEST_DELAY_MIN = 10
"""A suggested delay loses no alert that lasted longer than this."""
FEWEST_ALERTS = 4
"""With fewer alerts, nothing is suggested."""
NONE_LOST = f"no alert that lasted longer than {LONGEST_DELAY_MIN} min would have been lost"
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelaySuggestion:
    """A delayMin for all notifications, with which `alerts` of the counted alerts would have opened."""

    delay_min: int
    alerts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The alerts of a configuration that started between `since` and `until`, and opened.

    `per_week`: alerts, divided by the weeks in which the configuration existed, at least one. `median`: of
    the durations of ended alerts; None without any. `flaps`: see FLAP_WITHIN. `acknowledged`: alerts with an
    acknowledgement that was not removed. `messages`: delivered messages about these alerts.
    """

    since: datetime
    until: datetime
    alerts: int = 0
    per_week: float = 0
    median: timedelta | None = None
    flaps: int = 0
    acknowledged: int = 0
    messages: int = 0
    suggestion: DelaySuggestion | None = None

    @property
    def acknowledged_share(self) -> float | None:
        """From 0 to 1; None without alerts."""
        return self.acknowledged / self.alerts if self.alerts else None


def alerts_per_week(alerts: int, *, since: datetime, created: datetime, until: datetime) -> float:
    """Alerts for each week in which the configuration existed, at least one week."""
    existed = max(_WEEK, until - max(since, created))
    return alerts / (existed / _WEEK)


def suggest_delay(alerts: int, shorter: Sequence[int], *, delay: timedelta) -> DelaySuggestion | None:
    """Return the smallest delay above `delay` that drops at least half of the alerts; None if there is none.

    `shorter`: how many alerts ended in less than 1, 2, … LONGEST_DELAY_MIN minutes. An alert opens only if it
    lasts as long as the delay, so exactly these alerts would not have opened.
    """
    if alerts < FEWEST_ALERTS:
        return None
    for minutes, dropped in enumerate(shorter, start=1):
        if timedelta(minutes=minutes) > delay and dropped * 2 >= alerts:
            return DelaySuggestion(delay_min=minutes, alerts=alerts - dropped)
    return None


def delay_words(suggestion: DelaySuggestion) -> str:
    """The suggestion in a sentence."""
    return (
        f"With a delay of {suggestion.delay_min} min in all notifications, {suggestion.alerts:,} of these "
        f"alerts would have opened, and {NONE_LOST}."
    )


def noise_words(noise: Noise) -> str:
    """The noise in sentences, with the suggestion."""
    days = round((noise.until - noise.since) / timedelta(days=1))
    if not noise.alerts:
        return f"No alerts in {days} days."
    median = f", median duration {age_words(noise.median)}" if noise.median is not None else ""
    counted = (
        f"{counted_words(noise.alerts, 'alert')} in {days} days ({noise.per_week:,.1f} per week){median}, "
        f"{counted_words(noise.flaps, 'flap')}, {noise.acknowledged:,} acknowledged, "
        f"{counted_words(noise.messages, 'message')} sent."
    )
    return f"{counted} {delay_words(noise.suggestion)}" if noise.suggestion else counted
