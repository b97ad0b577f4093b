"""Alert configurations for rules, read in one SQL statement. `config_indexes` keeps them."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson
from django.db import connection

from alerting.models import AlertConfig
from alerting.rules.matchers import Matcher, matcher_of
from alerting.rules.thresholds import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.rules.transition import ConfigView
from alerting.selectors.scopes import CONCERNED, concerned_parameters
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType

_VIEWS = f"""
SELECT config.id, config.event_type, config.group_id IS NULL, config.tags,
       config.matchers::text, config.metric_threshold::text, config.threshold::text
  FROM ({CONCERNED}) AS config
 ORDER BY config.id
"""  # noqa: S608 - built from constants


def concerned_configs(group_id: str, event_types: Iterable[EventType]) -> list[ConfigView]:
    """The enabled configurations that cover a project for these event types, in the order of their ids."""
    with connection.cursor() as cursor:
        cursor.execute(_VIEWS, concerned_parameters(group_id, event_types))
        return [_view(row) for row in cursor.fetchall()]


def single_config(config_id: str, *, group_id: str) -> list[ConfigView]:
    """One configuration as rules take it; none when it is deleted, disabled or does not cover the project."""
    names = AlertConfig.objects.filter(id=config_id).values_list("event_type", flat=True)
    types = [EventType(name) for name in names]
    return [view for view in concerned_configs(group_id, types) if view.id == config_id]


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
    )


def _text(stored: Mapping[str, Any]) -> str:
    return orjson.dumps(stored).decode()


def _view(row: tuple[Any, ...]) -> ConfigView:
    config_id, event_type, is_global, tags, matchers, metric_threshold, threshold = row
    return ConfigView(
        id=config_id,
        event_type=EventType(event_type),
        matchers=_matchers(matchers),
        metric_threshold=_metric_threshold(metric_threshold) if metric_threshold else None,
        threshold=_threshold(threshold) if threshold else None,
        is_global=is_global,
        tags=tuple(tags),
    )


# Many configurations have the same texts.
_cached = lru_cache(maxsize=10_000)


@_cached
def _matchers(stored: str) -> tuple[Matcher, ...]:
    return tuple(matcher_of(matcher) for matcher in orjson.loads(stored))


@_cached
def _metric_threshold(text: str) -> MetricThreshold:
    stored = orjson.loads(text)
    return MetricThreshold(
        metric=Metric(stored["metricName"]),
        operator=ThresholdOperator(stored["operator"]),
        threshold=stored["threshold"],
        units=Unit(stored["units"]),
    )


@_cached
def _threshold(text: str) -> CountThreshold:
    stored = orjson.loads(text)
    return CountThreshold(ThresholdOperator(stored["operator"]), stored["threshold"])
