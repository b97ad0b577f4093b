"""Whether alerts are acknowledged, for rows and in queries."""

from datetime import datetime

from django.db.models import Q

from alerting.models import Alert
from alerting.rules.acknowledgements import Acknowledgement, in_force


def acknowledged_at(now: datetime) -> Q:
    """Alerts with an acknowledgement that counts, as `alert_acknowledgement` finds it."""
    return Q(acknowledged_until__gt=now)


def alert_acknowledgement(alert: Alert, now: datetime) -> Acknowledgement | None:
    """The alert's acknowledgement as it counts at `now`."""
    if alert.acknowledged_until is None:
        return None
    stored = Acknowledgement(
        alert.acknowledged_until, alert.acknowledgement_comment, alert.acknowledging_username
    )
    return in_force(stored, now)
