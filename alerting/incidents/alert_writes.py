"""The statements with which alerts start, get new values, open and end. `incidents.changes` decides."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from alerting.engine.ledger import AlertClosing
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from automation.models import Host
from automation.reports.growth import ALERT_OCTETS, StoredKind, rows_counted
from events.choices import SignalKind
from events.models import Signal
from opsapi.fields import Among
from opsapi.sql import execute

_KEEP_VALUES = """
UPDATE alerting_alert AS alert SET current_value = seen.value, updated = seen.at
  FROM unnest(%(ids)s::text[], %(values)s::float8[], %(at)s::timestamptz[]) AS seen(id, value, at)
 WHERE alert.id = seen.id
"""
_KEEP_OVER = """
UPDATE alerting_alert AS alert SET over = seen.over, updated = seen.at
  FROM unnest(%(ids)s::text[], %(over)s::timestamptz[], %(at)s::timestamptz[]) AS seen(id, over, at)
 WHERE alert.id = seen.id
"""
_CLOSE = """
UPDATE alerting_alert AS alert
   SET status = 'CLOSED', resolved = ended.at, updated = ended.known, over = NULL,
       incident_id = ended.incident, current_value = coalesce(ended.value, alert.current_value)
  FROM unnest(%(ids)s::text[], %(incidents)s::text[], %(values)s::float8[], %(at)s::timestamptz[],
              %(known)s::timestamptz[]) AS ended(id, incident, value, at, known)
 WHERE alert.id = ended.id
"""


def alerts_start(alerts: Sequence[Alert]) -> set[str]:
    """Insert alerts, except on targets with an active alert of their configuration.

    Return the ids of the alerts that exist now.
    """
    Alert.objects.bulk_create(alerts, ignore_conflicts=True)
    rows = Alert.objects.filter(Among("id", [alert.id for alert in alerts]))
    exist = set(rows.values_list("id", flat=True))
    begun = (alert.group_id for alert in alerts if alert.id in exist)
    rows_counted(StoredKind.ALERTS, begun, ALERT_OCTETS)
    return exist


def alerts_lock(ids: Collection[str]) -> list[Alert]:
    """Lock alerts in the order of their ids, as deliveries do, and return them."""
    return list(Alert.objects.filter(Among("id", ids)).order_by("id").select_for_update())


def values_keep(values: Mapping[str, tuple[float | None, datetime]]) -> None:
    """Write the current value of each alert, with its time."""
    if values:
        numbers, moments = zip(*values.values(), strict=True)
        execute(_KEEP_VALUES, {"ids": list(values), "values": list(numbers), "at": list(moments)})


def over_keep(over: Mapping[str, tuple[datetime | None, datetime]]) -> None:
    """Write when the condition of each alert ended according to a late report, with the time of that."""
    if over:
        times, moments = zip(*over.values(), strict=True)
        execute(_KEEP_OVER, {"ids": list(over), "over": list(times), "at": list(moments)})


def alerts_set_open(ids: Collection[str], *, now: datetime) -> None:
    """Write that alerts open now, each as an incident by itself."""
    opened = Alert.objects.filter(Among("id", ids))
    opened.update(status=AlertStatus.OPEN.value, updated=now, incident_id=F("id"))


def alerts_set_closed(closings: Sequence[AlertClosing]) -> None:
    """Write that alerts are closed."""
    ids, incidents, values, at, known = zip(*closings, strict=True) if closings else ((),) * 5
    parameters: Mapping[str, Any] = {
        "ids": list(ids),
        "incidents": list(incidents),
        "values": list(values),
        "at": list(at),
        "known": list(known),
    }
    execute(_CLOSE, parameters)


def alerts_set_cancelled(ids: Collection[str], *, now: datetime) -> None:
    """Write that alerts are cancelled now."""
    ending = Alert.objects.filter(Among("id", ids))
    ending.update(status=AlertStatus.CANCELLED.value, resolved=now, updated=now)


def alerts_delete(ids: Collection[str]) -> None:
    """Delete alerts to which nothing refers."""
    Alert.objects.filter(Among("id", ids)).delete()


_ABOUT_ALERTS = [SignalKind.CONFIG.value, SignalKind.CANCELLED.value]
"""The kinds of signals that observe nothing."""


def signals_wait(alert: Alert, *, done: Collection[int]) -> bool:
    """Whether a signal from before the end of the alert's delay waits, without the signals `done`.

    Late signals concern only hosts of their agent and the replica sets of these hosts, as in
    `evaluation.open_tracked`.
    """
    earlier = Q(observed__lt=alert.opens) | Q(observed=None, created__lt=alert.opens)
    waiting = Signal.objects.filter(
        Q(agent_id=None) | Q(agent_id__in=_reporting(alert)),
        earlier,
        group_id=alert.group_id,
        failed=None,
        held_by=None,
    )
    return waiting.exclude(id__in=done).exclude(kind__in=_ABOUT_ALERTS).exists()


def _reporting(alert: Alert) -> QuerySet[Host, str | None]:
    """The agents that report the host of an alert, or the members of its replica set."""
    about = Q(id=alert.facts.get("hostId", "")) | Q(replica_set_name=alert.facts.get("replicaSetName", ""))
    hosts = Host.objects.filter(about, group_id=alert.group_id).exclude(reported_by=None)
    return hosts.values_list("reported_by_id", flat=True)
