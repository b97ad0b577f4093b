"""System checks: settings of the outside that could not work."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from opsapi.api.fields import url_fault

_BASE_URLS = (
    "OPSAPI_SMS_BASE_URL",
    "OPSAPI_PAGER_BASE_URL",
    "OPSAPI_OPS_ALERT_US_BASE_URL",
    "OPSAPI_OPS_ALERT_EU_BASE_URL",
    "OPSAPI_ON_CALL_BASE_URL",
    "OPSAPI_CHAT_BASE_URL",
    "OPSAPI_GROUP_CHAT_BASE_URL",
    "OPSAPI_METRICS_US_BASE_URL",
    "OPSAPI_METRICS_EU_BASE_URL",
)
_MAY_BE_EMPTY = frozenset({"OPSAPI_GROUP_CHAT_BASE_URL"})
_SMS = ("OPSAPI_SMS_ACCOUNT", "OPSAPI_SMS_TOKEN", "OPSAPI_SMS_FROM")


@register()
def base_urls_are_urls(**_: Any) -> list[CheckMessage]:
    """opsapi.E001: paths are put behind a base URL, so it is http or https, without query and fragment."""
    urls = {name: getattr(settings, name) for name in _BASE_URLS}
    faults = {name: _fault(url) for name, url in urls.items() if url or name not in _MAY_BE_EMPTY}
    return [Error(f"{name}: {fault}", id="opsapi.E001") for name, fault in faults.items() if fault]


@register()
def sms_settings_go_together(**_: Any) -> list[CheckMessage]:
    """opsapi.E002: an SMS provider with part of its settings would refuse every message."""
    missing = [name for name in _SMS if not getattr(settings, name)]
    if not missing or len(missing) == len(_SMS):
        return []
    told = f"{', '.join(_SMS)} go together; not set: {', '.join(missing)}"
    return [Error(told, hint="Set all of them, or none to do without SMS.", id="opsapi.E002")]


def _fault(url: str) -> str | None:
    if fault := url_fault(url):
        return fault
    parts = urlsplit(url)
    return "must not have a query or a fragment" if parts.query or parts.fragment else None
