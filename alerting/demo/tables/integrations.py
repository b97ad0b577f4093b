"""Integrations of several types, and the receivers that do not take what they are told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alerting.demo.tables.people import MIRA, SAMIR, TOMAS, YUKI

FAILING_RECEIVER = "hooks.fernhill.example"
STUMBLING_RECEIVER = "hooks.harbour.example"
REFUSING_RECEIVER = "chat.harbour.example"


@dataclass(frozen=True, slots=True)
class IntegrationSpec:
    """An integration of a project, as it is sent."""

    group: str
    type: str
    by: str
    values: Mapping[str, Any]


_KEY = "0123456789abcdef0123456789abcdef"
INTEGRATIONS = (
    IntegrationSpec(
        "payments",
        "WEBHOOK",
        MIRA,
        {"url": f"https://{STUMBLING_RECEIVER}/in/payments", "secret": "a secret of the demonstration"},
    ),
    IntegrationSpec("payments", "PAGER_SERVICE", MIRA, {"serviceKey": _KEY}),
    IntegrationSpec(
        "payments",
        "CHAT_SERVICE",
        TOMAS,
        {"apiToken": "token-of-the-demonstration", "channelName": "payments-alerts", "teamName": "payments"},
    ),
    IntegrationSpec(
        "customer-accounts",
        "TEAM_CHAT_SERVICE",
        TOMAS,
        {"webhookUrl": f"https://{REFUSING_RECEIVER}/workflows/accounts"},
    ),
    IntegrationSpec("parcel-tracking", "OPS_ALERT_SERVICE", YUKI, {"apiKey": _KEY, "region": "EU"}),
    IntegrationSpec(
        "parcel-tracking",
        "SCRAPER",
        YUKI,
        {"username": "scraper", "password": "a passphrase of the demonstration"},
    ),
    IntegrationSpec("catalogue", "METRICS_SERVICE", SAMIR, {"apiKey": _KEY}),
)
