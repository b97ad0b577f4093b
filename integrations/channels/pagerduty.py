"""PagerDuty (PAGER_SERVICE): incidents by its Events API v2.

https://github.com/PagerDuty/developer-docs/blob/main/docs/events-API-v2/02-Trigger-Events.md: trigger,
acknowledge and resolve events of one dedup_key, and how long fields may be. 01-Overview.md next to it:
the service answers 202 for an accepted event, 400 for a permanent and 429 or 5xx for a temporary failure.
Integration keys of the Events API v1 have 32 characters too and are used the same way.
"""

from collections.abc import Mapping

from django.conf import settings

from integrations.channels.base import EVERY_KIND, Channel, token
from integrations.channels.http import SOURCE, ServiceRequest, origin_of, over_http, place
from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message, printable
from opsapi.clock import wire_time

SUMMARY_LIMIT = 1024
_ACTIONS: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "trigger",
    MessageKind.UPDATE: "trigger",
    MessageKind.INFORM: "trigger",
    MessageKind.ACKNOWLEDGE: "acknowledge",
    MessageKind.CLOSE: "resolve",
    MessageKind.CANCEL: "resolve",
}


def build_request(config: Mapping[str, str], message: Message, *, base_url: str) -> ServiceRequest:
    """The event of a message. Its key is that of the alert, so reminders and the end find the incident."""
    action = _ACTIONS[message.kind]
    event: dict[str, object] = {
        "routing_key": config["serviceKey"],
        "event_action": action,
        "dedup_key": message.thread_key,
    }
    if action == "trigger":
        event |= _trigger(message)
    return ServiceRequest(f"{base_url}/v2/enqueue", event)


def _trigger(message: Message) -> dict[str, object]:
    """Fields of trigger events only."""
    shown: dict[str, object] = {
        "client": SOURCE,
        "payload": {
            "summary": printable(message.title, SUMMARY_LIMIT),
            "source": place(message),
            "severity": message.severity.lower(),
            "timestamp": wire_time(message.occurred_at),
            "class": printable(message.event_type_name),
            "custom_details": dict(message.facts),
        },
    }
    if message.link:
        links = [{"href": url, "text": label} for label, url in message.links.items()]
        shown |= {"client_url": message.link, "links": links}
    return shown


PAGERDUTY = Channel(
    ChannelType("PAGER_SERVICE"),
    "PagerDuty",
    fields=(token("serviceKey", "Integration key", example="0123456789abcdef0123456789abcdef"),),
    send=over_http(
        lambda config, message, _now: build_request(config, message, base_url=settings.OPSAPI_PAGER_BASE_URL),
        closes_tests=True,
    ),
    origin=lambda _: origin_of(settings.OPSAPI_PAGER_BASE_URL),
    kinds=EVERY_KIND,
    base_url_settings=("OPSAPI_PAGER_BASE_URL",),
    keeps_state=True,
)
