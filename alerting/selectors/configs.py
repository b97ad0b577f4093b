"""Alert configurations with their notifications, as documents."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT

from accesslist.models import Team
from alerting.models import AlertConfig, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES
from events.types import EVENT_TYPES, EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.fields import JsonRows, WireTime

ConfigRow = dict[str, Any]
_ARRAYS = {name: kind.arrays for name, kind in NOTIFICATION_TYPES.items()}
T = TypeVar("T")


def config_rows(group_id: str | None) -> QuerySet[AlertConfig, Any]:
    """A project's configurations, or for None the global ones, in the order they were made."""
    configs = AlertConfig.objects.filter(group_id=group_id, deleted=None).order_by("created", "id")
    return configs.values(
        "id",
        "group_id",
        "event_type",
        "enabled",
        "for_all_groups",
        "group_ids",
        "tags",
        "matchers",
        "metric_threshold",
        "threshold",
        wire_created=WireTime("created"),
        wire_updated=WireTime("updated"),
        settings_json=JsonRows(_setting_rows()),
    )


def alert_config(config_id: str) -> AlertConfig | None:
    """One of either kind, unless it was deleted."""
    return AlertConfig.objects.filter(id=config_id, deleted=None).first()


def _setting_rows() -> QuerySet[NotificationSetting, Any]:
    """A configuration's notifications in their order; a team with the name it has now."""
    team = Team.objects.filter(id=OuterRef("team_id")).values("name")
    settings = NotificationSetting.objects.filter(config_id=OuterRef("id")).order_by("position")
    return settings.annotate(team_id=KT("fields__teamId")).values(
        "id", "type_name", "delay_min", "interval_min", "fields", team_name=Subquery(team)
    )


def config_found(config: T | None, config_id: str, group_id: str | None) -> T:
    """The configuration, or the 404 of its kind when there is none; without a project it is a global one."""
    if group_id is None:
        return found(config, ErrorCode.GLOBAL_ALERT_CONFIG_NOT_FOUND, config_id)
    return found(config, ErrorCode.ALERT_CONFIG_NOT_FOUND, config_id, group_id)


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
        **(_scope(row) if row["group_id"] is None else {}),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _scope(row: ConfigRow) -> dict[str, Any]:
    return {"forAllGroups": row["for_all_groups"], "groupIds": row["group_ids"], "tags": row["tags"]}


def _notification(setting: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        "id": setting["id"],
        "typeName": setting["type_name"],
        "delayMin": setting["delay_min"],
        "intervalMin": setting["interval_min"],
        **{name: [] for name in _ARRAYS[setting["type_name"]]},
        **setting["fields"],
        "teamName": setting["team_name"],
    }
    return {name: value for name, value in shown.items() if value is not None}
