"""Datadog (METRICS_SERVICE): events.

https://docs.datadoghq.com/api/latest/events/post-an-event/, version 1: fields, lengths, hosts by region.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from events.types import Severity
from integrations.channels.base import Channel, ChannelField, token
from integrations.channels.http import (
    ServiceRequest,
    in_header,
    origin_of,
    over_http,
    regional_base_url,
    without_default_region,
)
from integrations.choices import ChannelType, MessageKind, Region
from integrations.fields import region_form
from integrations.messages import Message, joined, printable
from opsapi.wire_json import JsonObject

_TITLE_LIMIT = 100
_TEXT_LIMIT = 4000
_KEY_LIMIT = 100
_TAG_LIMIT = 200
_OLDEST = timedelta(hours=17)
"""The service rejects events older than 18 hours; clocks differ."""
_BASE_URLS = {Region.US: "OPSAPI_METRICS_US_BASE_URL", Region.EU: "OPSAPI_METRICS_EU_BASE_URL"}
_ALERT_TYPES: Mapping[Severity, str] = {
    Severity.CRITICAL: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
}


def build_request(config: Mapping[str, str], message: Message, now: datetime) -> ServiceRequest:
    """The event of a message. All events of an alert have the same aggregation key.

    Raises: DeliveryError: the key cannot be sent in a header.
    """
    document: JsonObject = {
        "title": printable(message.title, _TITLE_LIMIT),
        # Plain text: Markdown would have to start with %%%, and the first line starts with a label.
        "text": joined(message.lines, _TEXT_LIMIT),
        "alert_type": "success" if message.kind is MessageKind.CLOSE else _ALERT_TYPES[message.severity],
        "priority": "low" if message.is_test else "normal",
        "aggregation_key": printable(message.thread_key, _KEY_LIMIT),
        "date_happened": int(_happened(message, now).timestamp()),
        "tags": _tags(message),
    }
    url = f"{regional_base_url(config, _BASE_URLS)}/api/v1/events"
    return ServiceRequest(url, document, {"DD-API-KEY": in_header(config["apiKey"])})


def _happened(message: Message, now: datetime) -> datetime:
    """The time of the event: now for a reminder, and for an event that is too old for the service."""
    if message.kind is MessageKind.UPDATE or now - message.occurred_at > _OLDEST:
        return now
    return message.occurred_at


def _tags(message: Message) -> list[str]:
    values = {
        "event_type": message.event_type_name,
        "project": message.project_name,
        "target": message.target,
    }
    return [printable(f"{name}:{value}", _TAG_LIMIT) for name, value in values.items() if value]


DATADOG = Channel(
    ChannelType("METRICS_SERVICE"),
    "Datadog",
    fields=(
        token("apiKey", "API key", "metricsServiceApiKey", example="0123456789abcdef0123456789abcdef"),
        ChannelField("region", "Region", region_form(), example=Region.US.value, in_notification=False),
    ),
    send=over_http(build_request),
    origin=lambda config: origin_of(regional_base_url(config, _BASE_URLS)),
    identity=without_default_region,
    base_url_settings=tuple(_BASE_URLS.values()),
    shows_report=lambda _, message: len("\n".join(message.lines)) <= _TEXT_LIMIT,
)
