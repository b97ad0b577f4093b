"""Fields of an event besides type, time and scope."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from opsapi.wire_json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFacts:
    """The resources of an event; absent values are None. Names are the wire names in snake case."""

    alert_config_id: str | None = None
    cluster_id: str | None = None
    cluster_name: str | None = None
    collection: str | None = None
    database: str | None = None
    current_value: Mapping[str, Any] | None = None
    host_id: str | None = None
    hostname: str | None = None
    metric_name: str | None = None
    op_type: str | None = None
    port: int | None = None
    replica_set_name: str | None = None
    shard_name: str | None = None
    source_type_name: str | None = None
    target_public_key: str | None = None
    target_username: str | None = None
    team_id: str | None = None
    access_list_entry: str | None = None
    maintenance_window_id: str | None = None

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "EventFacts":
        """The facts of a document, by their wire names."""
        return cls(**{name: document.get(wire_name) for name, wire_name in _WIRE_NAMES.items()})

    def document(self) -> JsonObject:
        """Return wire name → value of all facts that are not None."""
        values = zip(_WIRE_NAMES.values(), _values(self), strict=True)
        return {wire_name: value for wire_name, value in values if value is not None}


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_WIRE_NAMES = {field.name: _wire_name(field.name) for field in fields(EventFacts)}
_values = attrgetter(*_WIRE_NAMES)
