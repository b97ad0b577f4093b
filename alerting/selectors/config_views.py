"""Alert configurations for rules: read in one SQL statement, indexed, and kept in memory until they change.

One statement reads which versions of rows cover the project now. If these are the versions that are kept,
nothing else is read. So the next evaluation after the commit of a change sees it, whichever program wrote it.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import orjson

from alerting.models import AlertConfig
from alerting.rules.config_index import NO_CONFIGS, ConfigIndex
from alerting.rules.matchers import Matcher, matcher_of
from alerting.rules.thresholds import (
    CountThreshold,
    MetricThreshold,
    count_threshold_of,
    metric_threshold_of,
)
from alerting.rules.transition import ConfigView
from alerting.selectors.scopes import CONCERNED, concerned_parameters
from events.types import EventType
from opsapi.fields import Among
from opsapi.sql import fetch_rows

logger = logging.getLogger("opsapi.evaluation")

_VIEWS = f"""
SELECT config.id, config.event_type, config.group_id IS NULL, config.tags,
       config.matchers::text, config.metric_threshold::text, config.threshold::text,
       (SELECT count(*) FROM alerting_notificationsetting AS setting
         WHERE setting.config_id = config.id AND NOT setting.removed), config.severity
  FROM ({CONCERNED}) AS config
 ORDER BY config.id
"""  # noqa: S608 - built from constants


def concerned_configs(group_id: str, event_types: Iterable[EventType]) -> list[ConfigView]:
    """The enabled configurations that cover a project for these event types, in the order of their ids.

    A configuration that this version of the platform cannot read is logged and left out.
    """
    return [view for row in _concerned_rows(group_id, event_types) if (view := _readable_view(row))]


def _concerned_rows(group_id: str, event_types: Iterable[EventType]) -> list[tuple[Any, ...]]:
    return fetch_rows(_VIEWS, concerned_parameters(group_id, event_types))


def configs_with_ids(config_ids: Collection[str], *, group_id: str) -> list[ConfigView]:
    """These configurations, if they exist, are enabled and cover the project, in the order of their ids.

    Raises:
        LookupError, TypeError, ValueError: this version of the platform cannot read a configuration.
    """
    names = AlertConfig.objects.filter(Among("id", config_ids)).values_list("event_type", flat=True)
    types = {EventType(name) for name in names}
    return [_view(row) for row in _concerned_rows(group_id, types) if row[0] in config_ids]


def config_view(config: AlertConfig) -> ConfigView:
    """A stored configuration as rules take it, deleted and disabled ones too."""
    metric_threshold, threshold = config.metric_threshold, config.threshold
    return ConfigView(
        id=config.id,
        event_type=EventType(config.event_type),
        matchers=tuple(matcher_of(matcher) for matcher in config.matchers),
        metric_threshold=_metric_threshold(_text(metric_threshold)) if metric_threshold else None,
        threshold=_threshold(_text(threshold)) if threshold else None,
        is_global=config.group_id is None,
        chosen_severity=config.severity,
        name=config.name,
    )


def _text(stored: Mapping[str, Any]) -> str:
    return json.dumps(stored)  # orjson writes no integer beyond 64 bits


def _readable_view(row: tuple[Any, ...]) -> ConfigView | None:
    try:
        return _view(row)
    except (LookupError, TypeError, ValueError):
        logger.exception("configuration %s cannot be read", row[0])
        return None


def _view(row: tuple[Any, ...]) -> ConfigView:
    config_id, event_type, is_global, tags, matchers, metric_threshold, threshold, messages, severity = row
    return ConfigView(
        id=config_id,
        event_type=EventType(event_type),
        matchers=_matchers(matchers),
        metric_threshold=_metric_threshold(metric_threshold) if metric_threshold else None,
        threshold=_threshold(threshold) if threshold else None,
        is_global=is_global,
        tags=tuple(tags),
        messages=messages,
        chosen_severity=severity,
    )


# Many configurations have the same texts.
_cached = lru_cache(maxsize=10_000)


@_cached
def _matchers(stored: str) -> tuple[Matcher, ...]:
    return tuple(matcher_of(matcher) for matcher in orjson.loads(stored))


@_cached
def _metric_threshold(text: str) -> MetricThreshold:
    return metric_threshold_of(orjson.loads(text))


@_cached
def _threshold(text: str) -> CountThreshold:
    return count_threshold_of(orjson.loads(text))


CONFIGS_KEPT = 500_000
"""The most configurations that a process keeps, with about 260 bytes each; long matchers count as more."""

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
    weight: int


class KeptIndexes:
    """The newest index of each project and event type. Above the weight `most`, the longest unused go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
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
            kept = self._kept[group_id, event_type] = _Kept(version, index, _weight_of(index))
            self._weight += kept.weight - (before.weight if before else 0)
            while self._weight > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._weight -= oldest.weight


def _weight_of(index: ConfigIndex) -> int:
    """The memory of an index in units of a configuration without matchers."""
    matchers = (matcher for config in index.configs.values() for matcher in config.matchers)
    return len(index.configs) + sum(1 + len(matcher.value) // 250 for matcher in matchers)


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
    read = indexes_of(concerned_configs(group_id, missing) if missing else ())
    for event_type, version in missing.items():
        index = read.get(event_type, NO_CONFIGS)
        _KEPT.keep(group_id, event_type, version, index)
        indexes[event_type] = index
    return indexes


def indexes_of(configs: Iterable[ConfigView]) -> Mapping[EventType, ConfigIndex]:
    """The indexes of configurations by event type."""
    by_type: dict[EventType, list[ConfigView]] = {}
    for config in configs:
        by_type.setdefault(config.event_type, []).append(config)
    return {event_type: ConfigIndex(of_type) for event_type, of_type in by_type.items()}


def _versions(group_id: str, event_types: Iterable[EventType]) -> Mapping[EventType, bytes]:
    found = fetch_rows(_VERSIONS, concerned_parameters(group_id, event_types))
    return {EventType(event_type): version for event_type, version in found}
