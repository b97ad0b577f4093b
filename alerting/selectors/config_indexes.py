"""The configurations of projects, indexed once and kept in memory until they change.

One statement reads which versions of rows cover the project now. If these are the versions that are kept,
nothing else is read. So the next evaluation after the commit of a change sees it, whichever program wrote it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

from django.db import connection

from alerting.rules.config_index import ConfigIndex
from alerting.selectors.config_views import concerned_configs
from alerting.selectors.scopes import CONCERNED, concerned_parameters
from events.types import EventType

CONFIGS_KEPT = 500_000
"""The most configurations that a process keeps, with about 260 bytes each."""

# The version of a row is its place and the transaction that wrote it. After a restored backup or a failover,
# PostgreSQL may give their numbers a second time; the time of the update differs then.
_VERSIONS = f"""
SELECT event_type, sha256(string_agg(record_send(ROW(id, updated, xmin, ctid)), '' ORDER BY id))
  FROM ({CONCERNED}) AS config GROUP BY event_type
"""  # noqa: S608 - built from constants


@dataclass(frozen=True, slots=True)
class _Kept:
    version: bytes
    index: ConfigIndex


class KeptIndexes:
    """The newest index of each project and event type. Above `most` configurations, the longest unused go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._configs = 0
        self._kept: OrderedDict[tuple[str, EventType], _Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, group_id: str, event_type: EventType, version: bytes) -> ConfigIndex | None:
        """Return the index of this version; None if it is not kept."""
        key = group_id, event_type
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.version != version:
                return None
            self._kept.move_to_end(key)
            return kept.index

    def keep(self, group_id: str, event_type: EventType, version: bytes, index: ConfigIndex) -> None:
        """Keep the index in place of other versions."""
        with self._lock:
            before = self._kept.pop((group_id, event_type), None)
            self._kept[group_id, event_type] = _Kept(version, index)
            self._configs += len(index.configs) - (len(before.index.configs) if before else 0)
            while self._configs > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._configs -= len(oldest.index.configs)


_KEPT = KeptIndexes(CONFIGS_KEPT)


def concerned_indexes(group_id: str, event_types: Iterable[EventType]) -> Mapping[EventType, ConfigIndex]:
    """The enabled configurations that cover a project, by event type; types without any are left out."""
    indexes, missing = {}, {}
    # The versions are read first: a change in between makes the next evaluation read again.
    for event_type, version in _versions(group_id, event_types).items():
        index = _KEPT.get(group_id, event_type, version)
        if index is None:
            missing[event_type] = version
        else:
            indexes[event_type] = index
    configs = concerned_configs(group_id, missing) if missing else []
    for event_type, version in missing.items():
        index = ConfigIndex(config for config in configs if config.event_type is event_type)
        _KEPT.keep(group_id, event_type, version, index)
        indexes[event_type] = index
    return indexes


def _versions(group_id: str, event_types: Iterable[EventType]) -> Mapping[EventType, bytes]:
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, concerned_parameters(group_id, event_types))
        return {EventType(event_type): version for event_type, version in cursor.fetchall()}
