"""Splunk On-Call (ON_CALL_SERVICE): incidents by its REST endpoint.

https://help.splunk.com/splunk-observability-cloud/splunk-on-call/integrations-with-splunk-on-call/rest-endpoint-integration-for-splunk-on-call
has the path and the message types, and
https://help.splunk.com/en/splunk-observability-cloud/splunk-on-call/alerts/incident-fields-glossary the
fields. The keys are in the path: nothing may log or quote the URL.
"""

from collections.abc import Mapping
from urllib.parse import quote

from django.conf import settings

from integrations.channels.base import EVERY_KIND, Channel, cannot_send, token
from integrations.channels.http import SOURCE, ServiceRequest, document_text, origin_of, over_http
from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message, joined, printable

DISPLAY_NAME_LIMIT = 512
STATE_MESSAGE_LIMIT = 20_480
_ENDPOINT = "/integrations/generic/20131114/alert"
_TYPES: Mapping[MessageKind, str] = {
    MessageKind.ACKNOWLEDGE: "ACKNOWLEDGEMENT",
    MessageKind.CLOSE: "RECOVERY",
    MessageKind.CANCEL: "RECOVERY",
}


def build_request(config: Mapping[str, str], message: Message, *, base_url: str) -> ServiceRequest:
    """The request of a message. Without a routing key, the default routing of the account applies.

    The service names the severities of an alert as the platform does. INFO appears on the timeline and opens
    nothing, so a test is INFO for any kind.

    Raises: DeliveryError: a key cannot be part of a path.
    """
    keys = [_segment(key) for name in ("apiKey", "routingKey") if (key := config.get(name))]
    alert: dict[str, object] = {
        "message_type": "INFO" if message.is_test else _TYPES.get(message.kind, message.severity.value),
        "entity_id": message.thread_key,
        "entity_display_name": printable(message.title, DISPLAY_NAME_LIMIT),
        "state_message": joined(message.lines, STATE_MESSAGE_LIMIT),
        "state_start_time": int(message.occurred_at.timestamp()),
        "monitoring_tool": SOURCE,
    }
    if message.kind is MessageKind.ACKNOWLEDGE:
        alert |= _acknowledgement(message)
    return ServiceRequest("/".join([base_url + _ENDPOINT, *keys]), alert)


def _acknowledgement(message: Message) -> dict[str, object]:
    author = document_text(message, "acknowledgingUsername", DISPLAY_NAME_LIMIT)
    comment = document_text(message, "acknowledgementComment", STATE_MESSAGE_LIMIT)
    return {name: text for name, text in (("ack_author", author), ("ack_msg", comment)) if text}


def _segment(key: str) -> str:
    # Clients remove a dot segment, so the request would go to another path.
    if key in {".", ".."}:
        raise cannot_send("the API key or the routing key is not valid")
    return quote(key, safe="")


SPLUNK_ON_CALL = Channel(
    ChannelType("ON_CALL_SERVICE"),
    "Splunk On-Call",
    fields=(
        token("apiKey", "API key", "onCallApiKey", example="01234567-89ab-cdef-0123-456789abcdef"),
        token("routingKey", "Routing key", "onCallRoutingKey", example="databases", required=False),
    ),
    send=over_http(
        lambda config, message, _now: build_request(
            config, message, base_url=settings.OPSAPI_ON_CALL_BASE_URL
        ),
    ),
    origin=lambda _: origin_of(settings.OPSAPI_ON_CALL_BASE_URL),
    kinds=EVERY_KIND,
    base_url_settings=("OPSAPI_ON_CALL_BASE_URL",),
    keeps_state=True,
)
