"""The story of an alert as its page shows it: looks, links and the plot's data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.timesince import timesince

from alerting.admin.alert_actions import is_active
from alerting.admin.notifications import NOTIFICATION_LABELS, RESEND
from alerting.choices import AlertStatus
from alerting.models import Alert
from alerting.rules.around import Measured
from alerting.rules.story import FIRST_MOMENTS, Moment, MomentKind
from alerting.rules.telling import Telling, duration_words
from alerting.rules.wording import quantity, target_words
from alerting.selectors.story import AlertStory, alert_story
from automation.metrics import Metric, base_unit
from opsapi.api.principal import Operator
from opsapi.roles import Scope

ALERT_LABELS = {
    AlertStatus.TRACKING.value: "warning",
    AlertStatus.OPEN.value: "danger",
    AlertStatus.CLOSED.value: "success",
    AlertStatus.CANCELLED.value: "default",
}
"""The theme's colours of the states."""
MOST_TELLINGS = 40
"""So many rows of who was told stand on the page, the newest."""
_LOOKS: Mapping[MomentKind, tuple[str, str]] = {
    MomentKind.BEGAN: ("sensors", "warning"),
    MomentKind.OPENED: ("notifications_active", "danger"),
    MomentKind.SILENCED: ("build_circle", "info"),
    MomentKind.UNSILENCED: ("build_circle", "default"),
    MomentKind.ACKNOWLEDGED: ("front_hand", "info"),
    MomentKind.UNACKNOWLEDGED: ("undo", "default"),
    MomentKind.LAPSED: ("hourglass_bottom", "default"),
    MomentKind.RESENT: ("replay", "info"),
    MomentKind.OTHER: ("history_edu", "default"),
    MomentKind.CLOSED: ("check_circle", "success"),
    MomentKind.CANCELLED: ("cancel", "default"),
    MomentKind.TOLD: ("mark_email_read", "success"),
    MomentKind.NOT_YET: ("schedule_send", "warning"),
    MomentKind.NOT_TOLD: ("unsubscribe", "danger"),
}
"""An icon of the theme and a colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMoment:
    """A moment with its looks; `url` leads to what tells more. `gap`: so many are left out before it."""

    moment: Moment
    icon: str
    tone: str
    url: str | None
    gap: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTelling:
    """A row of who was told; `resend_url` where this operator can send it again."""

    telling: Telling
    tone: str
    latency: str
    url: str
    resend_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertPage:
    """What the template of an alert's page shows."""

    story: AlertStory
    target: str
    tone: str
    age: str
    value: str | None
    config_url: str | None
    moments: tuple[ShownMoment, ...]
    coming: tuple[ShownMoment, ...]
    tellings: tuple[ShownTelling, ...]
    more_tellings: int
    notifications_url: str
    events_url: str
    plot: dict[str, Any] | None


def page_of(alert: Alert, operator: Operator, *, now: datetime) -> AlertPage:
    """The page of an alert for an operator.

    Who may not read global configurations is not told whom these tell, nor which it was (decisions 10).
    """
    sees_config = not alert.is_global or operator.reach().everything
    story = alert_story(alert, sees_config=sees_config, now=now)
    tellings = tuple(_tellings(alert, story, operator, sees_config=sees_config))
    return AlertPage(
        story=story,
        target=target_words(alert.facts),
        tone=ALERT_LABELS[alert.status],
        age=_age(alert, now),
        value=_value(alert),
        config_url=_page("alertconfig", story.config.id) if story.config.is_there else None,
        moments=tuple(_moments(story, sees_config=sees_config)),
        coming=tuple(_to_come(one, sees_config=sees_config) for one in story.coming),
        tellings=tellings,
        more_tellings=story.more_tellings + len(story.tellings) - len(tellings),
        notifications_url=_list("alerting_notification", alert.id),
        events_url=_list("events_event", alert.id),
        plot=_plot(story.measured, alert),
    )


def _age(alert: Alert, now: datetime) -> str:
    """`began 3 hours ago`; of one that is over also how long it lasted."""
    began = f"began {timesince(alert.created, now, depth=1)} ago"
    if is_active(alert, now) or alert.resolved is None:
        return began
    return f"{began}, lasted {timesince(alert.created, alert.resolved)}"


def _value(alert: Alert) -> str | None:
    if alert.metric_name is None or alert.current_value is None:
        return None
    return quantity(alert.current_value, base_unit(Metric(alert.metric_name)))


def _moments(story: AlertStory, *, sees_config: bool) -> Iterator[ShownMoment]:
    for place, moment in enumerate(story.moments):
        gap = story.moments_left_out if place == FIRST_MOMENTS else 0
        yield _shown(moment, sees_config=sees_config, gap=gap)


def _shown(moment: Moment, *, sees_config: bool, gap: int = 0) -> ShownMoment:
    icon, tone = _LOOKS[moment.kind]
    url = None
    if moment.event_id:
        url = reverse("admin:events_event_change", args=[moment.event_id])
    elif moment.notification_id and sees_config:
        url = _page("notification", moment.notification_id)
    return ShownMoment(moment=moment, icon=icon, tone=tone, url=url, gap=gap)


def _to_come(moment: Moment, *, sees_config: bool) -> ShownMoment:
    """What is to be told does not look as if it had been."""
    shown = _shown(moment, sees_config=sees_config)
    return replace(shown, icon="schedule_send", tone="info") if moment.kind is MomentKind.TOLD else shown


def _tellings(
    alert: Alert, story: AlertStory, operator: Operator, *, sees_config: bool
) -> Iterator[ShownTelling]:
    """A notification of a global configuration has no page for those who may not read that."""
    scope = Scope(group_id=alert.group_id)
    can_resend = sees_config and RESEND.is_allowed(operator, None, scope)
    for one in story.tellings[:MOST_TELLINGS]:
        resend = reverse("admin:alerting_notification_do", args=[one.id, "resend"])
        yield ShownTelling(
            telling=one,
            tone=NOTIFICATION_LABELS[one.status.value],
            latency="" if one.latency_ms is None else duration_words(one.latency_ms),
            url=_page("notification", one.id) if sees_config else "",
            resend_url=resend if can_resend and one.failed else None,
        )


def _plot(measured: Measured | None, alert: Alert) -> dict[str, Any] | None:
    """What the page's script draws: times in milliseconds since the epoch."""
    if measured is None or not measured.points:
        return None
    return {
        "label": measured.metric.value,
        "units": quantity(0, measured.units).removeprefix("0").strip(),
        "since": _milliseconds(measured.span.since),
        "until": _milliseconds(measured.span.until),
        "points": [[_milliseconds(moment), number] for moment, number in measured.points],
        "threshold": measured.threshold,
        "began": _milliseconds(alert.created),
        "ended": _milliseconds(alert.resolved) if alert.resolved else None,
    }


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _page(model: str, row_id: str) -> str:
    return reverse(f"admin:alerting_{model}_change", args=[row_id])


def _list(model: str, row_id: str) -> str:
    return reverse(f"admin:{model}_changelist") + "?" + urlencode({"q": row_id})
