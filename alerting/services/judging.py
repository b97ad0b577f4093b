"""What becomes of a claimed notification, decided and written down in one transaction (decisions 6, 7)."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accesslist.models import Project
from alerting.choices import NotificationStatus
from alerting.models import Alert, MaintenanceWindow, Notification, NotificationSetting
from alerting.rules.sending import DueNotification, Silence, Step, Verdict, judge
from alerting.selectors.due import held_against
from alerting.services.claiming import UNTRIED, Claim, notification_finish
from alerting.services.notifications import schedule_follow_up, schedule_repeat
from alerting.services.people import people_replace
from events.models import Event
from events.types import EVENT_TYPES, Category, EventType


@transaction.atomic
def notification_judge(*, claim: Claim, setting: NotificationSetting | None, now: datetime) -> Verdict:
    """Decide on a claimed notification; all but the sending is done when this returns.

    What it rests on cannot change before it is written down: whoever ends or acknowledges the alert, or
    changes a window, waits and then finds what was put off. Locks are taken in the order window, alert,
    notification, here as elsewhere, and none on the project: those who delete lock its row last.
    """
    silence = _silence(claim.notification, now)
    alert = Alert.objects.select_for_update(no_key=True).filter(id=claim.notification.alert_id).first()
    verdict = judge(_due(claim, setting, alert, silence), now)
    _apply(verdict, claim, setting, alert, now)
    return verdict


def _due(
    claim: Claim, setting: NotificationSetting | None, alert: Alert | None, silence: Silence | None
) -> DueNotification:
    return replace(
        held_against(claim.notification, alert, setting),
        perhaps_sent=claim.perhaps_sent,
        lapsed_for_good=claim.lapsed_for_good,
        silence=silence,
    )


def _apply(
    verdict: Verdict,
    claim: Claim,
    setting: NotificationSetting | None,
    alert: Alert | None,
    now: datetime,
) -> None:
    notification = claim.notification
    if verdict.step is Step.DROP:
        notification_finish(
            notification, **UNTRIED, status=NotificationStatus.DROPPED.value, reason=verdict.reason
        )
    elif verdict.step is Step.GIVE_UP:
        _give_up(verdict, notification, setting, alert, now)
    elif verdict.step is Step.PUT_OFF:
        notification_finish(notification, **_put_off(verdict, claim, now))
    elif verdict.step is Step.RESOLVE and setting is not None:
        people_replace(notification=notification, setting=setting, alert=alert, now=now)


def _give_up(
    verdict: Verdict,
    notification: Notification,
    setting: NotificationSetting | None,
    alert: Alert | None,
    now: datetime,
) -> None:
    """As after any failure the next repeat follows, or the end of an alert that is over."""
    failed = NotificationStatus.FAILED.value
    if not notification_finish(notification, **UNTRIED, status=failed, reason=verdict.reason) or not alert:
        return
    if notification.channel is not None:
        schedule_follow_up(notification=notification, alert=alert, now=now)
    elif setting is not None:
        schedule_repeat(setting=setting, alert=alert, now=now)


def _put_off(verdict: Verdict, claim: Claim, now: datetime) -> dict[str, Any]:
    """It was no attempt, and the hour of retries begins anew. What was perhaps sent stays marked as that."""
    marked = {"lease_token": claim.notification.lease_token, "lease_until": now} if claim.perhaps_sent else {}
    return {
        "due": verdict.until,
        "reason": verdict.reason,
        "silenced_by": verdict.silenced_by,
        **UNTRIED,
        "first_attempt": None,
        **marked,
    }


def _silence(notification: Notification, now: datetime) -> Silence | None:
    """The maintenance that covers it now; none holds back what is still to be told of a deleted project."""
    # Windows are of a project: what a global configuration tells of none has none.
    category = _category(notification) if notification.group_id else None
    window = _covering_window(notification.group_id, category, now) if category else None
    # Asked last, and without a lock: whoever deletes a project locks its windows first.
    if window is None or not Project.objects.filter(id=notification.group_id).exists():
        return None
    return Silence(window.id, window.end)


def _covering_window(group_id: str, category: Category, now: datetime) -> MaintenanceWindow | None:
    """Of the windows in effect the one that ends last, locked; when it ends the next one is looked for."""
    active = MaintenanceWindow.objects.filter(group_id=group_id, start__lte=now, end__gt=now)
    silencing = active.filter(alert_types__contains=[category.value]).order_by("-end", "id")
    return silencing.select_for_update(no_key=True).first()


def _category(notification: Notification) -> Category | None:
    """What it is about; None when that is gone."""
    about: QuerySet[Alert] | QuerySet[Event] = Event.objects.filter(id=notification.event_id)
    if notification.alert_id:
        about = Alert.objects.filter(id=notification.alert_id)
    event_type = about.values_list("event_type", flat=True).first()
    return EVENT_TYPES[EventType(event_type)].category if event_type else None
