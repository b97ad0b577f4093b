"""Alert configurations, made through the service."""

from collections.abc import Mapping, Sequence
from typing import Any

from accesslist.models import Project
from alerting.models import AlertConfig
from alerting.services.configs import alert_config_create
from opsapi import clock
from opsapi.api.principal import SYSTEM

WEBHOOK: Mapping[str, Any] = {
    "typeName": "WEBHOOK",
    "webhookUrl": "http://127.0.0.1:9/hooks/abcdefgh",
    "webhookSecret": "a webhook secret",
    "delayMin": 0,
}
EMAIL: Mapping[str, Any] = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0}


def make_config(
    project: Project, *, notifications: Sequence[Mapping[str, Any]] = (WEBHOOK,), **changes: Any
) -> AlertConfig:
    """A configuration for HOST_DOWN, told by webhook."""
    values = {"eventTypeName": "HOST_DOWN", "notifications": list(notifications), **changes}
    return alert_config_create(group_id=project.id, values=values, actor=SYSTEM, now=clock.now())
