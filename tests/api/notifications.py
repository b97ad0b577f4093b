"""Every type of notification as it is sent, and the two places it is sent to."""

from collections.abc import Mapping
from typing import Any

from accesslist.models import Project, RoleGrant
from opsapi.roles import Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import UserFactory, make_team

TOKEN = "0123456789-token-abcd"
SHOWN_TOKEN = "******abcd"
URL = "https://hooks.example.com/in/0123456789/wxyz?key=1"
SHOWN_URL = "https://hooks.example.com/******wxyz"

SHORTEST: Mapping[str, dict[str, Any]] = {
    "ADMIN": {},
    "GROUP": {"emailEnabled": True},
    "ORG": {"smsEnabled": True},
    "USER": {"username": bodies.COLLEAGUE},
    "TEAM": {"teamId": bodies.TEAM_ID},
    "EMAIL": {"emailAddress": "oncall@example.com"},
    "SMS": {"mobileNumber": "+12025550100"},
    "PAGER_SERVICE": {"serviceKey": TOKEN},
    "CHAT_SERVICE": {"apiToken": TOKEN, "channelName": "oncall"},
    "GROUP_CHAT_SERVICE": {"notificationToken": TOKEN, "roomName": "oncall"},
    "METRICS_SERVICE": {"metricsServiceApiKey": TOKEN},
    "OPS_ALERT_SERVICE": {"opsAlertApiKey": TOKEN},
    "ON_CALL_SERVICE": {"onCallApiKey": TOKEN},
    "WEBHOOK": {"webhookUrl": URL},
    "TEAM_CHAT_SERVICE": {"teamChatWebhookUrl": URL},
}
"""Type → what it cannot do without, where there is no integration."""

OPTIONAL: Mapping[str, dict[str, Any]] = {
    "ADMIN": {"emailEnabled": False, "smsEnabled": True},
    "GROUP": {"roles": ["GROUP_OWNER", "GROUP_READ_ONLY"], "smsEnabled": False},
    "ORG": {"roles": ["ORG_OWNER"], "emailEnabled": False},
    "USER": {"emailEnabled": False, "smsEnabled": True},
    "TEAM": {"emailEnabled": True, "smsEnabled": True},
    "EMAIL": {"emailEnabled": False},
    "CHAT_SERVICE": {"updateInPlace": True},
    "OPS_ALERT_SERVICE": {"opsAlertRegion": "EU"},
    "ON_CALL_SERVICE": {"onCallRoutingKey": "another-key-abcd"},
    "WEBHOOK": {
        "webhookSecret": "a webhook secret",
        "webhookAuthorization": "Bearer token-0123456789",
        "webhookHeaders": {"X-Key": "a header secret"},
        "webhookBody": {"summary": "{{title}}"},
    },
}
"""Type → what else it takes."""
ALTERNATIVES: dict[str, set[str]] = {"WEBHOOK": {"webhookTemplate"}}
"""Type → what it takes in place of a field above."""

DEFAULTS: Mapping[str, dict[str, Any]] = {
    "ADMIN": {"emailEnabled": True, "smsEnabled": False},
    "GROUP": {"roles": []},
    "ORG": {"roles": []},
    "USER": {"emailEnabled": True, "smsEnabled": False},
    "TEAM": {"emailEnabled": True, "smsEnabled": False, "teamName": "on call"},
    "OPS_ALERT_SERVICE": {"opsAlertRegion": "US"},
}
"""Type → the fields that answers add to the shortest notification, except delayMin and intervalMin."""

TYPES = list(SHORTEST)
SERVICES = [
    "PAGER_SERVICE",
    "CHAT_SERVICE",
    "GROUP_CHAT_SERVICE",
    "METRICS_SERVICE",
    "OPS_ALERT_SERVICE",
    "ON_CALL_SERVICE",
    "WEBHOOK",
    "TEAM_CHAT_SERVICE",
]
"""Types whose credentials a project's integration can have."""

STATEFUL = {"PAGER_SERVICE", "OPS_ALERT_SERVICE", "ON_CALL_SERVICE"}

SECRETS: Mapping[str, tuple[str, Any]] = {
    "serviceKey": ("PAGER_SERVICE", SHOWN_TOKEN),
    "apiToken": ("CHAT_SERVICE", SHOWN_TOKEN),
    "notificationToken": ("GROUP_CHAT_SERVICE", SHOWN_TOKEN),
    "metricsServiceApiKey": ("METRICS_SERVICE", SHOWN_TOKEN),
    "opsAlertApiKey": ("OPS_ALERT_SERVICE", SHOWN_TOKEN),
    "onCallApiKey": ("ON_CALL_SERVICE", SHOWN_TOKEN),
    "onCallRoutingKey": ("ON_CALL_SERVICE", SHOWN_TOKEN),
    "webhookUrl": ("WEBHOOK", SHOWN_URL),
    "webhookSecret": ("WEBHOOK", "******"),
    "webhookAuthorization": ("WEBHOOK", "******"),
    "teamChatWebhookUrl": ("TEAM_CHAT_SERVICE", SHOWN_URL),
}
"""Field that holds a secret → its type, and what answers show of it."""
SHOWN = {**{field: shown for field, (_, shown) in SECRETS.items()}, "webhookHeaders": {"X-Key": "******"}}
"""Field with secrets → what answers show of it."""


def shortest(type_name: str, **changes: Any) -> dict[str, Any]:
    """A notification with what it cannot do without; `changes` replace fields, None takes one away."""
    document = {"typeName": type_name, **SHORTEST[type_name], **changes}
    return {name: value for name, value in document.items() if value is not None}


def longest(type_name: str, **changes: Any) -> dict[str, Any]:
    """A notification with every field of its type."""
    everything = {"delayMin": 3, "intervalMin": 7, **OPTIONAL.get(type_name, {}), **changes}
    return shortest(type_name, **everything)


def fields_of(type_name: str) -> set[str]:
    """The fields that go with a type alone."""
    return {
        *SHORTEST[type_name],
        *OPTIONAL.get(type_name, {}),
        *DEFAULTS.get(type_name, {}),
        *ALTERNATIVES.get(type_name, {}),
    } - {"teamName"}


def config_with(*notifications: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A project's configuration with these notifications."""
    return bodies.alert_config(notifications=list(notifications), **changes)


class ConfigPath:
    """Where configurations of one kind are: a project's (`project`) or global ones."""

    def __init__(self, client: ApiClient, project: Project, *, is_global: bool) -> None:
        self.client = client
        self.is_global = is_global
        self.path = "/globalAlertConfigs" if is_global else f"/groups/{project.id}/alertConfigs"

    def body(self, *notifications: dict[str, Any]) -> dict[str, Any]:
        """What makes a configuration with these notifications."""
        return config_with(*notifications, **({"forAllGroups": True} if self.is_global else {}))

    def post(self, *notifications: dict[str, Any]) -> Any:
        """Make one."""
        return self.client.post(self.path, self.body(*notifications))

    def put(self, config: dict[str, Any], *notifications: dict[str, Any]) -> Any:
        """Write one back with other notifications."""
        return self.client.put(
            f"{self.path}/{config['id']}", {**config, "notifications": list(notifications)}
        )

    def get(self, config: dict[str, Any]) -> Any:
        """One as it is read."""
        return self.client.get(f"{self.path}/{config['id']}").json()


def make_people(project: Project) -> None:
    """The user and the team that bodies name, in the project's organization."""
    user = UserFactory.create(username=bodies.COLLEAGUE)
    RoleGrant.objects.create(role=Role.ORG_MEMBER.value, user=user, org_id=project.org_id)
    team = make_team(project, user, team_id=bodies.TEAM_ID)
    team.name = "on call"
    team.save()


def faults(answer: Any) -> list[tuple[str, str]]:
    """Which fields were refused; the first has given the code."""
    document = answer.json()
    assert answer.status_code == 400, document
    return [(bad["field"], document["errorCode"]) for bad in document["badFields"]]
