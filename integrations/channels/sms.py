"""SMS: a text to a mobile phone, by a provider that speaks Twilio's Messages API.

https://www.twilio.com/docs/messaging/api/message-resource: From, To and Body as a form, with HTTP Basic;
201 for an accepted message. https://www.twilio.com/docs/usage/twilios-response: what the other statuses mean.
The API has no key for repeats: when an answer is lost, the message is sent again.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote, urlencode

from django.conf import settings

from integrations.channels.base import Channel, ChannelField, cannot_send
from integrations.channels.http import deliver_over_http, origin_of
from integrations.choices import ChannelType
from integrations.messages import Message, joined, printable
from opsapi.api.fields import MobileNumber

TEXT_LIMIT = 320
"""Characters: three text messages, which a phone joins."""
_SEPARATORS = str.maketrans("", "", " -./()")
_NUMBER = re.compile(r"\+?[0-9]{3,15}")


def build_request(config: Mapping[str, str], message: Message) -> tuple[str, bytes, dict[str, str]]:
    """URL, form and headers.

    Raises: DeliveryError: no provider is configured, or the mobile number is invalid.
    """
    account, token, sender = settings.OPSAPI_SMS_ACCOUNT, settings.OPSAPI_SMS_TOKEN, settings.OPSAPI_SMS_FROM
    if not (account and token and sender):
        raise cannot_send("SMS is not configured in this installation")
    form = {"From": sender, "To": _dialled(config["mobileNumber"]), "Body": _text(message)}
    credentials = b64encode(f"{account}:{token}".encode()).decode()
    path = f"/2010-04-01/Accounts/{quote(account, safe='')}/Messages.json"
    headers = {
        "Authorization": f"Basic {credentials}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    return settings.OPSAPI_SMS_BASE_URL + path, urlencode(form).encode(), headers


def _dialled(number: str) -> str:
    """The digits of a number, as in E.164."""
    digits = number.translate(_SEPARATORS)
    if not _NUMBER.fullmatch(digits):
        raise cannot_send("the mobile number is not valid")
    return digits


_FACTS = ("Metric", "Replica set", "Cluster", "Since")


def _text(message: Message) -> str:
    """The title, the most important facts and the link, as far as they fit."""
    facts = [f"{label}: {value}" for label in _FACTS if (value := message.facts.get(label))]
    link = [message.link] if message.link else []
    return joined([printable(message.title, TEXT_LIMIT), *facts, *link], TEXT_LIMIT, ". ")


def send(config: Mapping[str, str], message: Message, *, now: datetime) -> None:
    """Send the message with the configured provider.

    Raises: DeliveryError: on anything but a 2xx; permanent without a provider or a valid number.
    """
    url, body, headers = build_request(config, message)
    deliver_over_http(url, body, headers, now=now)


SMS = Channel(
    ChannelType("SMS"),
    "SMS",
    fields=(ChannelField("mobileNumber", "Mobile number", MobileNumber(), example="+12025550100"),),
    send=send,
    origin=lambda _: origin_of(settings.OPSAPI_SMS_BASE_URL),
    identity=lambda config: {"mobileNumber": config.get("mobileNumber", "").translate(_SEPARATORS)},
    base_url_settings=("OPSAPI_SMS_BASE_URL",),
)
