"""Registers the integrations with the platform."""

from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from integrations.channels import CHANNELS
from opsapi.api.fields import url_fault
from opsapi.apps import INSTALLATION
from opsapi.environment import READ


class IntegrationsConfig(AppConfig):
    """The integrations."""

    name = "integrations"
    verbose_name = "Alerting"


_SMS = ("OPSAPI_SMS_ACCOUNT", "OPSAPI_SMS_TOKEN", "OPSAPI_SMS_FROM")


@register(INSTALLATION)
def base_urls_are_urls(**_: Any) -> list[CheckMessage]:
    """opsapi.E001: a base URL must be http or https, without query and fragment, because paths are added.

    A base URL can be empty if that is its default: the installation then does not have the service.
    """
    names = [name for channel in CHANNELS.values() for name in channel.base_url_settings]
    urls = {name: getattr(settings, name) for name in names}
    faults = {name: _fault(url) for name, url in urls.items() if url or READ[name].default}
    return [Error(f"{name}: {fault}", id="opsapi.E001") for name, fault in faults.items() if fault]


@register(INSTALLATION)
def sms_settings_go_together(**_: Any) -> list[CheckMessage]:
    """opsapi.E002: with incomplete settings, an SMS provider would reject every message."""
    missing = [name for name in _SMS if not getattr(settings, name)]
    if not missing or len(missing) == len(_SMS):
        return []
    text = f"{', '.join(_SMS)} must be set together; not set: {', '.join(missing)}"
    return [Error(text, hint="Set all of them, or none to turn off SMS.", id="opsapi.E002")]


def _fault(url: str) -> str | None:
    if fault := url_fault(url):
        return fault
    parts = urlsplit(url)
    return "must not have a query or a fragment" if parts.query or parts.fragment else None
