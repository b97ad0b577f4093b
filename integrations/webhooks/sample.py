"""The messages about a sample alert, for previews and documents."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from events.types import Severity
from integrations.choices import ENDS, MessageKind
from integrations.messages import Message
from opsapi.clock import wire_time

_OPENED = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)
_ENDED = _OPENED + timedelta(minutes=12)
_ID, _PROJECT, _CONFIG = "69201a2b3c4d5e6f70819203", "69201a2b3c4d5e6f70819204", "69201a2b3c4d5e6f70819205"
_CONSOLE = "https://ops.example.com/admin/alerting"
_STATUSES: Mapping[MessageKind, str] = {MessageKind.CLOSE: "CLOSED", MessageKind.CANCEL: "CANCELLED"}
_ACKNOWLEDGEMENT = {
    "acknowledgedUntil": wire_time(_OPENED + timedelta(hours=4)),
    "acknowledgementComment": "The host gets a new disk",
    "acknowledgingUsername": "ada@example.com",
}


def sample_message(kind: MessageKind = MessageKind.OPEN) -> Message:
    """The message of a kind about a host that is down."""
    has_ended, is_acknowledged = kind in ENDS, kind is MessageKind.ACKNOWLEDGE
    document = {
        "id": _ID,
        "alertConfigId": _CONFIG,
        "groupId": _PROJECT,
        "eventTypeName": "HOST_DOWN",
        "severity": Severity.CRITICAL.value,
        "status": _STATUSES.get(kind, "OPEN"),
        "created": wire_time(_OPENED),
        "updated": wire_time(_ENDED if has_ended else _OPENED),
        **({"resolved": wire_time(_ENDED)} if has_ended else {}),
        **(_ACKNOWLEDGEMENT if is_acknowledged else {}),
        "tags": ["production"],
        "hostId": "69201a2b3c4d5e6f70819206",
        "hostnameAndPort": "db1.example.com:27017",
        "clusterName": "orders",
        "replicaSetName": "orders_0",
        "links": [],
    }
    return Message(
        delivery_id=f"69201a2b3c4d5e6f7081920{list(MessageKind).index(kind)}",
        kind=kind,
        occurred_at=_ENDED if has_ended else _OPENED,
        thread_key=_ID,
        document=MappingProxyType(document),
        event_type_name="HOST_DOWN",
        severity=Severity.CRITICAL,
        headline="Host down",
        known={
            "Alert": "Host down (HOST_DOWN)",
            "Host": "db1.example.com:27017",
            "Project": "payments",
            "Since": "2026-11-21 07:26:14Z",
        },
        project_name="payments",
        target="db1.example.com:27017",
        link=f"{_CONSOLE}/alert/{_ID}/change/",
        config_link=f"{_CONSOLE}/alertconfig/{_CONFIG}/change/",
    )
