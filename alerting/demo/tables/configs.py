"""Alert configurations, of projects and global ones.

Repeats are a week apart, and no configuration tells a service that has a real address: a worker that
runs beside the demonstration for a while has nothing to send, and could reach nobody if it had.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alerting.demo.tables.integrations import FAILING_RECEIVER
from alerting.demo.tables.people import MIRA, ON_CALL, SAMIR, TOMAS, YUKI
from automation.metrics import Metric
from events.types import EventType

_WEEK = 7 * 24 * 60
Told = Mapping[str, Any]


def _mail(address: str, delay: int = 0) -> Told:
    return {"typeName": "EMAIL", "emailAddress": address, "delayMin": delay, "intervalMin": _WEEK}


_GROUP: Told = {"typeName": "GROUP", "emailEnabled": True, "smsEnabled": False, "intervalMin": _WEEK}
_ADMIN: Told = {"typeName": "ADMIN", "intervalMin": _WEEK}
_WEBHOOK: Told = {"typeName": "WEBHOOK", "intervalMin": _WEEK}
_TEAM_CHAT: Told = {"typeName": "TEAM_CHAT_SERVICE", "intervalMin": _WEEK}
_TEAM: Told = {"typeName": "TEAM", "teamId": ON_CALL, "emailEnabled": True, "intervalMin": _WEEK}
"""The team stands there by its name, its id comes when it is made."""
_FAILING: Told = {
    "typeName": "WEBHOOK",
    "webhookUrl": f"https://{FAILING_RECEIVER}/in/shift",
    "intervalMin": _WEEK,
}
_HARBOUR, _FERNHILL, _BRIGHTSIDE = (f"oncall@{one}.example" for one in ("harbour", "fernhill", "brightside"))


@dataclass(frozen=True, slots=True)
class ConfigSpec:
    """A configuration of a project, or a global one; `condition` is what its event type asks for."""

    group: str | None
    event_type: EventType
    notifications: Sequence[Told]
    condition: Mapping[str, Any] | None = None
    by: str | None = None

    @property
    def label(self) -> str:
        """By what it is told from others of its project."""
        threshold = (self.condition or {}).get("metricThreshold", {})
        return str(threshold.get("metricName", self.event_type.value))


def _above(metric: Metric, threshold: float, units: str = "RAW") -> Mapping[str, Any]:
    return {
        "metricThreshold": {
            "metricName": metric.value,
            "mode": "AVERAGE",
            "operator": "GREATER_THAN",
            "threshold": threshold,
            "units": units,
        }
    }


def _starts_with(prefix: str) -> Mapping[str, Any]:
    return {"matchers": [{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": prefix}]}


_OUTSIDE = EventType.OUTSIDE_METRIC_THRESHOLD
_READS = _above(Metric.OP_EXECUTION_TIME_READS, 40, "MILLISECONDS")
_LAG = _above(Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 1, "MINUTES")

CONFIGS = (
    ConfigSpec("payments", EventType.HOST_DOWN, (_TEAM, _WEBHOOK), by=MIRA),
    ConfigSpec("payments", EventType.NO_PRIMARY, (_mail(_HARBOUR),), by=MIRA),
    ConfigSpec("payments", _OUTSIDE, (_GROUP, _WEBHOOK), _above(Metric.CONNECTIONS, 900), by=TOMAS),
    ConfigSpec("customer-accounts", EventType.HOST_DOWN, (_mail(_HARBOUR, 5), _TEAM_CHAT), by=TOMAS),
    ConfigSpec("customer-accounts", EventType.BACKUP_AGENT_DOWN, (_mail(_HARBOUR),), by=TOMAS),
    ConfigSpec(
        "customer-accounts",
        _OUTSIDE,
        (_TEAM_CHAT,),
        _above(Metric.CACHE_USED_BYTES, 12, "GIGABYTES"),
        by=TOMAS,
    ),
    ConfigSpec("customer-accounts", EventType.BI_CONNECTOR_DOWN, (_mail(_HARBOUR),), by=TOMAS),
    ConfigSpec(
        "parcel-tracking",
        EventType.HOST_DOWN,
        (_mail(_FERNHILL), _FAILING),
        _starts_with("track-"),
        by=YUKI,
    ),
    ConfigSpec("parcel-tracking", _OUTSIDE, (_GROUP, _FAILING), _READS, by=YUKI),
    ConfigSpec("parcel-tracking", EventType.OPLOG_BEHIND, (_mail(_FERNHILL),), by=YUKI),
    ConfigSpec("route-planning", EventType.HOST_DOWN, (_mail(_FERNHILL),), by=YUKI),
    ConfigSpec("route-planning", EventType.CONFIGURATION_CHANGED, (_GROUP,), by=YUKI),
    ConfigSpec("catalogue", EventType.HOST_DOWN, (_mail(_BRIGHTSIDE),), _starts_with("cat-"), by=SAMIR),
    ConfigSpec("catalogue", _OUTSIDE, (_GROUP,), _above(Metric.CURSORS_TOTAL_OPEN, 500), by=SAMIR),
    ConfigSpec("catalogue", EventType.AUTOMATION_CONFIG_PUBLISHED_AUDIT, (_mail(_BRIGHTSIDE),), by=SAMIR),
    ConfigSpec("recommendations", EventType.VERSION_BEHIND, (_mail(_BRIGHTSIDE, _WEEK),), by=SAMIR),
    ConfigSpec("recommendations", _OUTSIDE, (_mail(_BRIGHTSIDE, 24 * 60),), _LAG, by=SAMIR),
    ConfigSpec(None, EventType.MULTIPLE_PRIMARIES, (_ADMIN,), {"forAllGroups": True}),
    ConfigSpec(
        None, EventType.AUTOMATION_AGENT_DOWN, (_ADMIN,), {"forAllGroups": True, "tags": ["production"]}
    ),
)
