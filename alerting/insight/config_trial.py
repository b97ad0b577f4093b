"""What a configuration would have done in the last days: a dry run, as the form shows it before saving."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from alerting.configs.models import AlertConfig
from alerting.configs.rules import MetricThreshold
from alerting.configs.store import config_view
from alerting.configs.wording import value_words
from alerting.insight.dry_run_alerts import NOT_EVALUATED, DryRunAlert
from alerting.insight.dry_run_documents import kept_for
from alerting.insight.dry_runs import DryRunResult, dry_run
from alerting.insight.measurement_spans import Span
from alerting.insight.measurement_window import host_measurements
from alerting.insight.suggestions import ThresholdSuggestion, suggestion_sentences
from automation.quantities import counted_words, quantity, unit_words
from events.types import EventType
from events.wording import target_words
from opsapi.clock import age_words, time_words
from opsapi.console.widgets import Plot
from opsapi.first_rows import MOST_SHOWN, more_words

TRIED: Final = timedelta(days=7)
"""The longest time of a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """An alert or event of a trial, in words."""

    target: str
    began: datetime
    length: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of a trial in words, its first alerts, and a plot of the host with the most alerts.

    `suggestions`: changes that would halve the alerts. `suggested`: the threshold among them. `hosts`: IDs of
    the hosts with alerts.
    """

    sentence: str
    suggestions: Sequence[str]
    notes: Sequence[str]
    rows: Sequence[TrialRow]
    more: str
    plot: Plot | None
    plot_words: str
    suggested: ThresholdSuggestion | None = None
    hosts: Sequence[str] = ()

    @property
    def suggested_text(self) -> str:
        """The number of the suggested threshold, as the form's input takes it."""
        return f"{self.suggested.threshold:.12g}" if self.suggested else ""

    @property
    def suggested_words(self) -> str:
        return quantity(self.suggested.threshold, self.suggested.units) if self.suggested else ""


def trial_of(*, group_id: str, values: Mapping[str, Any], now: datetime) -> Trial:
    """Try a valid configuration on the last days; `values` by column.

    Raises:
        ApiError: RATE_LIMITED, when other dry runs leave no room.
    """
    kept, _ = kept_for(EventType(values["event_type"]))
    start = now - min(TRIED, kept)
    result = dry_run(group_id=group_id, values=values, start=start, end=now)
    columns = {name: values.get(name) for name in ("event_type", "metric_threshold")}
    threshold = config_view(AlertConfig(**columns)).metric_threshold
    plot, words = _plot(result, threshold)
    rows = _rows(result, threshold)
    return Trial(
        sentence=_sentence(result),
        suggestions=suggestion_sentences(result.suggestions),
        notes=_notes(result),
        rows=rows[:MOST_SHOWN],
        more=more_words(len(rows) - MOST_SHOWN) if len(rows) > MOST_SHOWN else "",
        plot=plot,
        plot_words=words,
        suggested=next(
            (change for change in result.suggestions if isinstance(change, ThresholdSuggestion)), None
        ),
        hosts=_hosts(result),
    )


def _hosts(result: DryRunResult) -> list[str]:
    return list(dict.fromkeys(alert.facts["hostId"] for alert in result.alerts if "hostId" in alert.facts))


def _sentence(result: DryRunResult) -> str:
    if not result.evaluated:
        words = next(limit.value for limit in result.limits if limit in NOT_EVALUATED)
        return f"The configuration cannot be tried. {words}"
    sent = counted_words(result.sent, "notification")
    if result.events:
        events = counted_words(len(result.events), "event")
        return f"The configuration would have reported {events} {_span(result)}: {sent}."
    times = {0: "not have alerted", 1: "have alerted once"}.get(
        len(result.alerts), f"have alerted {len(result.alerts):,} times"
    )
    longest = _longest_words(result)
    hosts = _hosts(result)
    on_hosts = f" on {counted_words(len(hosts), 'host')}" if hosts else ""
    return f"The configuration would {times}{on_hosts} {_span(result)}: {sent}{longest}."


def _longest_words(result: DryRunResult) -> str:
    lengths = [(alert.ended_by(result.until) or result.until) - alert.created for alert in result.alerts]
    return f", the longest alert {age_words(max(lengths))}" if lengths else ""


def _span(result: DryRunResult) -> str:
    if result.cut:
        return f"in {age_words(result.until - result.start)} from {time_words(result.start)}"
    return f"in the last {counted_words((result.end - result.start).days, 'day')}"


def _notes(result: DryRunResult) -> list[str]:
    notes = []
    if result.cut:
        notes.append("The trial ended early: the result is complete for that time only.")
    if result.never_opened:
        times = counted_words(result.never_opened, "time")
        notes.append(f"The condition ended {times} before the smallest delay had passed.")
    if result.leads:
        incidents = counted_words(len(set(result.leads)), "incident")
        notes.append(f"The alerts form {incidents}. Notifications are counted for each incident.")
    if result.muted:
        muted = counted_words(result.muted, "notification")
        notes.append(f"Maintenance windows would have muted {muted}.")
    return [*notes, *(limit.value for limit in result.limits if limit not in NOT_EVALUATED)]


def _rows(result: DryRunResult, threshold: MetricThreshold | None) -> list[TrialRow]:
    return [
        *(_row(alert, result.until, threshold) for alert in result.alerts),
        *(
            TrialRow(target=target_words(event.facts), began=event.created, length="", value="")
            for event in result.events
        ),
    ]


def _row(alert: DryRunAlert, until: datetime, threshold: MetricThreshold | None) -> TrialRow:
    ended = alert.ended_by(until)
    value = alert.start_value
    return TrialRow(
        target=target_words(alert.facts),
        began=alert.created,
        length=age_words(ended - alert.created) if ended else "still open",
        value=value_words(threshold.metric, value, threshold) if threshold and value is not None else "",
    )


def _plot(result: DryRunResult, threshold: MetricThreshold | None) -> tuple[Plot | None, str]:
    """The host with the most alerts, and its alerts; none without alerts on a metric."""
    if threshold is None or not result.alerts:
        return None, ""
    (target, _), *_ = Counter(alert.target_key for alert in result.alerts).most_common(1)
    alerts = [alert for alert in result.alerts if alert.target_key == target]
    name = target_words(alerts[0].facts)
    span = Span(result.start, result.until)
    measured = host_measurements(alerts[0].facts["hostId"], threshold.metric, span, threshold)
    plot = Plot(
        label=f"{threshold.metric.spec.words} of {name}",
        units=unit_words(measured.units),
        since=result.start,
        until=result.until,
        points=measured.points,
        threshold=threshold.threshold,
        spans=[(alert.created, alert.ended_by(result.until) or result.until) for alert in alerts],
    )
    return plot, f"{name}, with {counted_words(len(alerts), 'alert')} shaded. {measured.words}"
