"""Alert configurations as an operator types them."""

from typing import Any

from django.test import Client

from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.resource import config_facts
from alerting.models import AlertConfig
from tests.admin.writing import confirm

CONFIGS = "/admin/alerting/alertconfig/"
ADD = f"{CONFIGS}add/"
TYPES = list(NOTIFICATION_TYPES)
HOSTILE = '<script>alert("x")</script>'


def do(config: AlertConfig, action: str) -> str:
    """The page of an action."""
    return f"{CONFIGS}{config.id}/do/{action}/"


def send(browser: Client, url: str, typed: dict[str, Any]) -> Any:
    """Presses the form's button."""
    return confirm(browser, url, **{name: texts for name, texts in typed.items() if name != "confirmed"})


def typed_config(group: str, /, **changes: Any) -> dict[str, Any]:
    """The form input of a HOST_DOWN configuration that notifies by e-mail."""
    return {
        "group": group,
        "eventTypeName": "HOST_DOWN",
        "enabled": "on",
        "notifications[0].typeName": "EMAIL",
        "notifications[0].emailAddress": "oncall@example.com",
        **changes,
    }


def facts(config: AlertConfig) -> dict[str, Any]:
    """A configuration as the API answers it."""
    return config_facts(config)


def every_type(*, is_global: bool, team_id: str, username: str) -> list[dict[str, Any]]:
    """A notification of every type, with secrets where it has some."""
    kinds = [kind for kind in NOTIFICATION_TYPES.values() if is_global or not kind.global_only]
    named = {"teamId": team_id, "username": username}
    return [
        {
            "typeName": kind.type,
            "delayMin": 1,
            **kind.example,
            **{name: value for name, value in named.items() if name in kind.example},
        }
        for kind in kinds
    ]
