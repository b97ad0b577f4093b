"""Opsgenie (OPS_ALERT_SERVICE): alerts.

https://docs.opsgenie.com/docs/alert-api: an alert is created, acknowledged and closed by its alias; 202
for an accepted request. https://docs.opsgenie.com/docs/response: what the other statuses mean.
The REST API ends on 2027-04-05. Jira Service Management accepts the same requests below another base URL,
which is a setting (https://jira.atlassian.com/browse/JSDCLOUD-14179).
"""

from collections.abc import Mapping
from urllib.parse import quote

from events.types import Severity
from integrations.channels.base import EVERY_KIND, Channel, ChannelField, token
from integrations.channels.http import (
    SOURCE,
    ServiceRequest,
    document_text,
    in_header,
    origin_of,
    over_http,
    place,
    regional_base_url,
    without_default_region,
)
from integrations.choices import ChannelType, MessageKind, Region
from integrations.fields import region_form
from integrations.messages import Message, printable

MESSAGE_LIMIT = 130
_TAG_LIMIT = 50
_USER_LIMIT = 100
_NOTE_LIMIT = 25_000
_BASE_URLS = {Region.US: "OPSAPI_OPS_ALERT_US_BASE_URL", Region.EU: "OPSAPI_OPS_ALERT_EU_BASE_URL"}
_ACTIONS: Mapping[MessageKind, str] = {
    MessageKind.ACKNOWLEDGE: "acknowledge",
    MessageKind.CLOSE: "close",
    MessageKind.CANCEL: "close",
}


_PRIORITIES: Mapping[Severity, str] = {
    Severity.CRITICAL: "P1",
    Severity.WARNING: "P3",
    Severity.INFO: "P5",
}


def build_request(config: Mapping[str, str], message: Message, *, base_url: str) -> ServiceRequest:
    """The request of a message. An open alert counts a message with its alias as a repetition.

    Raises: DeliveryError: the key cannot be sent in a header.
    """
    headers = {"Authorization": f"GenieKey {in_header(config['apiKey'])}"}
    action = _ACTIONS.get(message.kind)
    if action is None:
        return ServiceRequest(f"{base_url}/v2/alerts", _alert(message), headers)
    alias = quote(message.thread_key, safe="")
    url = f"{base_url}/v2/alerts/{alias}/{action}?identifierType=alias"
    return ServiceRequest(url, _action(message), headers)


def _alert(message: Message) -> dict[str, object]:
    return {
        "message": printable(message.title, MESSAGE_LIMIT),
        "alias": message.thread_key,
        "description": "\n".join(message.lines),
        "entity": place(message),
        "source": SOURCE,
        "tags": [printable(message.event_type_name, _TAG_LIMIT)],
        "details": dict(message.facts),
        "priority": _PRIORITIES[message.severity],
    }


def _action(message: Message) -> dict[str, object]:
    action: dict[str, object] = {"source": SOURCE}
    if message.kind is MessageKind.ACKNOWLEDGE:
        user = document_text(message, "acknowledgingUsername", _USER_LIMIT)
        note = document_text(message, "acknowledgementComment", _NOTE_LIMIT)
        action |= {name: text for name, text in (("user", user), ("note", note)) if text}
    else:
        action["note"] = message.title
    return action


OPSGENIE = Channel(
    ChannelType("OPS_ALERT_SERVICE"),
    "Opsgenie",
    fields=(
        token("apiKey", "API key", "opsAlertApiKey", example="01234567-89ab-cdef-0123-456789abcdef"),
        ChannelField(
            "region",
            "Region",
            region_form(),
            example=Region.EU.value,
            notification_name="opsAlertRegion",
        ),
    ),
    send=over_http(
        lambda config, message, _now: build_request(
            config, message, base_url=regional_base_url(config, _BASE_URLS)
        ),
        closes_tests=True,
    ),
    origin=lambda config: origin_of(regional_base_url(config, _BASE_URLS)),
    identity=without_default_region,
    kinds=EVERY_KIND,
    base_url_settings=tuple(_BASE_URLS.values()),
    keeps_state=True,
)
