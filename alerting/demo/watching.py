"""Alert configurations, integrations and maintenance windows, made by those who look after a project."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from alerting.choices import AlertStatus
from alerting.demo.tables.configs import CONFIGS, ConfigSpec
from alerting.demo.tables.deeds import Acknowledging, Switching
from alerting.demo.tables.integrations import INTEGRATIONS
from alerting.demo.tables.windows import WindowSpec
from alerting.demo.world import World
from alerting.models import Alert
from alerting.serializers.configs import AlertConfigDocument
from alerting.serializers.global_configs import GlobalAlertConfigDocument
from alerting.serializers.windows import WindowDocument
from alerting.services.acknowledging import alert_acknowledge
from alerting.services.configs import alert_config_create, alert_config_set_enabled
from alerting.services.windows import window_create
from integrations.serializers.integrations import IntegrationDocument
from integrations.services.integrations import integration_create
from opsapi.api.principal import Actor
from opsapi.clock import wire_time


def integrations_make(world: World, now: datetime) -> None:
    """Make those of all projects."""
    for one in INTEGRATIONS:
        integration_create(
            group_id=world.groups[one.group].id,
            integration_type=one.type,
            values=IntegrationDocument(context={"type": one.type, "secrets": {}}).read(one.values),
            actor=world.actors[one.by],
            now=now,
        )


def configs_make(world: World, now: datetime) -> None:
    """Make the configurations of all projects, and the global ones."""
    for one in CONFIGS:
        group_id = world.groups[one.group].id if one.group else None
        values = _config_values(world, one, group_id)
        config = alert_config_create(group_id=group_id, values=values, actor=_by(world, one.by), now=now)
        world.configs[one.group, one.label] = config


def window_make(world: World, one: WindowSpec) -> None:
    """Make a window at its time."""
    document = {
        "startDate": wire_time(world.ago(one.begin)),
        "endDate": wire_time(world.ago(one.end)),
        "alertTypeNames": [category.value for category in one.categories],
        "description": one.description,
    }
    window_create(
        group_id=world.groups[one.group].id,
        values=WindowDocument().read(document),
        actor=world.actors[one.by],
        now=world.ago(one.made),
    )


def acknowledge(world: World, one: Acknowledging) -> None:
    """Acknowledge the open alert of a configuration; there has to be one."""
    config = world.configs[one.group, one.label]
    alert = Alert.objects.filter(config_id=config.id, status=AlertStatus.OPEN.value).latest("created")
    alert_acknowledge(
        alert_id=alert.id,
        group_id=alert.group_id,
        until=world.ago(-one.until),
        comment=one.comment,
        actor=world.actors[one.by],
        now=world.ago(one.ago),
    )


def switch(world: World, one: Switching) -> None:
    """Enable or disable a configuration at its time."""
    config = world.configs[one.group, one.label]
    now = world.ago(one.ago)
    alert_config_set_enabled(config=config, enabled=one.enabled, actor=world.actors[one.by], now=now)


def _config_values(world: World, one: ConfigSpec, group_id: str | None) -> Mapping[str, Any]:
    """The document as it would be sent, checked as it would be."""
    kind = AlertConfigDocument if group_id else GlobalAlertConfigDocument
    sent = {
        "eventTypeName": one.event_type.value,
        "notifications": [_notification(world, told) for told in one.notifications],
        **(one.condition or {}),
    }
    return kind(context={"group_id": group_id}).read(sent)


def _notification(world: World, told: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**told, "teamId": world.teams[told["teamId"]]} if "teamId" in told else told


def _by(world: World, name: str | None) -> Actor:
    return world.actors[name] if name else world.owner
