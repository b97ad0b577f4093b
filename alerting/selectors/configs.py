"""Alert configurations with their notifications, as documents and as rules see them."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet

from alerting.models import AlertConfig, NotificationSetting
from alerting.rules.matching import Matcher, MatcherField, MatcherOperator
from alerting.rules.thresholds import CountThreshold, MetricThreshold, ThresholdMode, ThresholdOperator
from alerting.rules.transition import ConfigView, SettingView
from automation.metrics import Metric
from automation.units import Unit
from events.types import EVENT_TYPES, EventType
from opsapi.fields import JsonRows, WireTime

ConfigRow = dict[str, Any]


def config_rows(group_id: str) -> QuerySet[AlertConfig, Any]:
    """A project's configurations, in the order they were made."""
    settings = NotificationSetting.objects.filter(config_id=OuterRef("id")).order_by("position")
    configs = AlertConfig.objects.filter(group_id=group_id, deleted=None).order_by("created", "id")
    return configs.values(
        "id",
        "group_id",
        "event_type",
        "enabled",
        "matchers",
        "metric_threshold",
        "threshold",
        wire_created=WireTime("created"),
        wire_updated=WireTime("updated"),
        settings_json=JsonRows(settings.values("id", "type_name", "delay_min", "interval_min", "fields")),
    )


def config_facts(row: ConfigRow) -> dict[str, Any]:
    """A configuration without its links, secrets redacted: what answers show and diffs compare."""
    shown = {
        "id": row["id"],
        "groupId": row["group_id"],
        "created": row["wire_created"],
        "updated": row["wire_updated"],
        "enabled": row["enabled"],
        "eventTypeName": row["event_type"],
        "typeName": EVENT_TYPES[EventType(row["event_type"])].category.value,
        "matchers": row["matchers"],
        "metricThreshold": row["metric_threshold"],
        "threshold": row["threshold"],
        "notifications": [_notification(setting) for setting in row["settings_json"]],
    }
    return {name: value for name, value in shown.items() if value is not None}


def concerned_configs(group_id: str, event_types: Iterable[EventType]) -> list[ConfigView]:
    """The enabled configurations of a project for these event types, as rules take them."""
    names = [event_type.value for event_type in event_types]
    configs = AlertConfig.objects.filter(group_id=group_id, deleted=None, enabled=True, event_type__in=names)
    return [config_view(config) for config in configs.prefetch_related("settings")]


def single_config(config_id: str) -> list[ConfigView]:
    """One configuration as rules take it; none when it is deleted or disabled."""
    configs = AlertConfig.objects.filter(id=config_id, deleted=None, enabled=True)
    return [config_view(config) for config in configs.prefetch_related("settings")]


def config_view(config: AlertConfig) -> ConfigView:
    """A configuration as rules take it."""
    return ConfigView(
        id=config.id,
        event_type=EventType(config.event_type),
        matchers=tuple(_matcher(one) for one in config.matchers),
        metric_threshold=_metric_threshold(config.metric_threshold),
        threshold=_threshold(config.threshold),
        settings=tuple(setting_view(one) for one in config.settings.all()),
        is_global=config.group_id is None,
        tags=tuple(config.tags),
    )


def setting_view(setting: NotificationSetting) -> SettingView:
    """A notification's schedule as rules take it."""
    interval = None if setting.interval_min is None else timedelta(minutes=setting.interval_min)
    return SettingView(setting.id, timedelta(minutes=setting.delay_min), interval)


def _notification(setting: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        "id": setting["id"],
        "typeName": setting["type_name"],
        "delayMin": setting["delay_min"],
        "intervalMin": setting["interval_min"],
        **setting["fields"],
    }
    return {name: value for name, value in shown.items() if value is not None}


def _matcher(stored: Mapping[str, str]) -> Matcher:
    return Matcher(MatcherField(stored["fieldName"]), MatcherOperator(stored["operator"]), stored["value"])


def _metric_threshold(stored: Mapping[str, Any] | None) -> MetricThreshold | None:
    if stored is None:
        return None
    return MetricThreshold(
        metric=Metric(stored["metricName"]),
        operator=ThresholdOperator(stored["operator"]),
        threshold=stored["threshold"],
        units=Unit(stored["units"]),
        mode=ThresholdMode(stored["mode"]),
    )


def _threshold(stored: Mapping[str, Any] | None) -> CountThreshold | None:
    if stored is None:
        return None
    return CountThreshold(ThresholdOperator(stored["operator"]), stored["threshold"])
