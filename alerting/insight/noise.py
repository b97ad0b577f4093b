"""How noisy an alert configuration is. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.insight.suggestions import Suggestion, suggestion_sentences
from automation.quantities import counted_words
from opsapi.clock import age_words

PERIOD = timedelta(days=28)
"""The time before now whose alerts are counted."""
FLAP_WITHIN = timedelta(hours=1)
"""An alert is a flap if it starts so soon after the end of the last alert on the same target."""
_WEEK = timedelta(days=7)


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
    suggestions: Sequence[Suggestion] = ()

    @property
    def acknowledged_share(self) -> float | None:
        """From 0 to 1; None without alerts."""
        return self.acknowledged / self.alerts if self.alerts else None


def alerts_per_week(alerts: int, *, since: datetime, created: datetime, until: datetime) -> float:
    """Alerts for each week in which the configuration existed, at least one week."""
    existed = max(_WEEK, until - max(since, created))
    return alerts / (existed / _WEEK)


def noise_sentences(noise: Noise) -> list[str]:
    """The noise in sentences, with the suggestions."""
    days = round((noise.until - noise.since) / timedelta(days=1))
    if not noise.alerts:
        return [f"No alerts in {days} days."]
    median = f", median duration {age_words(noise.median)}" if noise.median is not None else ""
    counted = (
        f"{counted_words(noise.alerts, 'alert')} in {days} days ({noise.per_week:,.1f} per week){median}, "
        f"{counted_words(noise.flaps, 'flap')}, {noise.acknowledged:,} acknowledged, "
        f"{counted_words(noise.messages, 'message')} sent."
    )
    return [counted, *suggestion_sentences(noise.suggestions)]


def noise_figures(noise: Noise) -> str:
    """The noise in a few figures: `median 4 min · 3 flaps · 25% acknowledged · 8 messages`."""
    if not noise.alerts:
        return ""
    figures = [
        f"median {age_words(noise.median)}" if noise.median is not None else "",
        counted_words(noise.flaps, "flap") if noise.flaps else "",
        f"{noise.acknowledged_share:.0%} acknowledged" if noise.acknowledged else "",
        counted_words(noise.messages, "message"),
    ]
    return " · ".join(filter(None, figures))


def days_words(days: Sequence[int]) -> str:
    """The alerts of each day in a sentence: `24 alerts in 28 days, at most 6 on a day, 2 in the last day.`"""
    total = counted_words(sum(days), "alert")
    if not sum(days):
        return f"No alerts in {len(days)} days."
    return f"{total} in {len(days)} days, at most {max(days):,} on a day, {days[-1]:,} in the last day."
