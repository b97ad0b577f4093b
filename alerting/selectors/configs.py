"""Alert configurations and their notifications."""

from typing import Any, TypeVar

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT

from accesslist.models import Team
from alerting.models import AlertConfig, NotificationSetting
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404

T = TypeVar("T")


def configs_of(group_id: str | None) -> QuerySet[AlertConfig]:
    """A project's configurations, or the global ones for None, in the order of creation."""
    return AlertConfig.objects.filter(group_id=group_id, deleted=None).order_by("created", "id")


def alert_config(config_id: str) -> AlertConfig | None:
    """A configuration of either kind, unless it was deleted."""
    return AlertConfig.objects.filter(id=config_id, deleted=None).first()


def setting_rows() -> QuerySet[NotificationSetting, Any]:
    """A configuration's notifications in their order; a team with the name it has now."""
    team = Team.objects.filter(id=OuterRef("team_id")).values("name")
    settings = NotificationSetting.objects.filter(config_id=OuterRef("id")).order_by("position")
    return settings.annotate(team_id=KT("fields__teamId")).values(
        "id", "type_name", "delay_min", "interval_min", "fields", team_name=Subquery(team)
    )


def config_found(config: T | None, config_id: str, group_id: str | None) -> T:
    """The configuration, or the 404 of its kind when there is none; without a project it is a global one."""
    if group_id is None:
        return get_or_404(config, ErrorCode.GLOBAL_ALERT_CONFIG_NOT_FOUND, config_id)
    return get_or_404(config, ErrorCode.ALERT_CONFIG_NOT_FOUND, config_id, group_id)
