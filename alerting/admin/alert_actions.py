"""Actions on alerts, with the permissions of the API routes."""

from collections.abc import Mapping
from datetime import datetime

from alerting.access import WRITE
from alerting.choices import ACTIVE
from alerting.forms.alerts import AcknowledgeForm, AlertWindowForm
from alerting.models import Alert
from alerting.presentation import muted_words
from alerting.rules.windows import named_target
from alerting.selectors.acknowledgements import alert_acknowledgement
from alerting.selectors.windows import mute_extent
from alerting.services.acknowledgements import alert_acknowledge
from alerting.services.windows import window_create
from opsapi.clock import time_words
from opsapi.console.actions import Action, ActionCall, ActionOutcome


def _acknowledge(call: ActionCall) -> ActionOutcome:
    until = call.values["acknowledgedUntil"]
    alert_acknowledge(
        alert_id=call.row.id,
        group_id=call.row.group_id,
        until=until,
        comment=call.values.get("acknowledgementComment"),
        actor=call.actor,
        now=call.now,
    )
    return ActionOutcome(message=f"Acknowledged until {time_words(until)}.")


def _unacknowledge(call: ActionCall) -> None:
    alert_acknowledge(
        alert_id=call.row.id,
        group_id=call.row.group_id,
        until=call.now,
        comment=None,
        actor=call.actor,
        now=call.now,
    )


def _make_window(call: ActionCall) -> ActionOutcome:
    window_create(group_id=call.row.group_id, values=call.values, actor=call.actor, now=call.now)
    extent = mute_extent(
        group_id=call.row.group_id,
        project=str(call.row.group),
        categories=call.values["alert_types"],
        is_narrow=bool(call.values.get("matchers")),
        not_only=named_target(call.row.facts),
    )
    until = time_words(call.values["end"])
    return ActionOutcome(message=f"Maintenance window created until {until}.", warnings=[muted_words(extent)])


def is_active(alert: Alert, _now: datetime) -> bool:
    """Whether the alert is active."""
    return alert.status in ACTIVE


def is_acknowledged(alert: Alert, now: datetime) -> bool:
    """Whether the alert is active and acknowledged."""
    return is_active(alert, now) and alert_acknowledgement(alert, now) is not None


OF_ALERT: Mapping[str, Action] = {
    "acknowledge": Action(
        label="Acknowledge",
        done="Acknowledged",
        text="Reminders stop for this time. You'll still be notified when the alert closes.",
        run=_acknowledge,
        access=WRITE,
        form=AcknowledgeForm,
        icon="front_hand",
        bulk=True,
        offered=is_active,
    ),
    "unacknowledge": Action(
        label="Remove acknowledgement",
        done="Acknowledgement removed",
        text="Reminders start again. An overdue reminder is sent immediately.",
        run=_unacknowledge,
        access=WRITE,
        icon="undo",
        offered=is_acknowledged,
    ),
    "window": Action(
        label="Create maintenance window",
        text="Mutes notifications for the selected alert types in the whole project. Alerts still open "
        "and close.",
        run=_make_window,
        access=WRITE,
        form=AlertWindowForm,
        icon="build_circle",
        makes=True,
    ),
}
