"""The fields that change the request of a webhook: header fields, and a document with placeholders."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from integrations.webhooks.placeholders import faults_of
from integrations.webhooks.templates import TEMPLATES, own_template, parameters_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import InvalidField, invalid
from opsapi.api.errors import MOST_FAULTS, BadField
from opsapi.api.fields import Text, WithExample, without_margins

MOST_HEADERS = 20
LONGEST_HEADER = 2000
"""The most characters of the value of a header field."""
NO_PREFIX = "x-ops-"
"""The prefix of the header fields of the platform."""
NOT_ALLOWED = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Header fields of the connection and of the format of the body (RFC 9110 7.6.1), in lower case."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_VALUE_FAULT = "must have printable ASCII characters only"


@dataclass(frozen=True, slots=True)
class Unread:
    """A text that was typed in place of a document and cannot be read, and why."""

    fault: str


class HeaderValue(Text):
    """The value of a header field: printable ASCII (RFC 9110 5.5). Spaces around it are removed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_HEADER, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        value = super().run_validation(without_margins(data))
        if not _VALUE.fullmatch(value):
            raise invalid(_VALUE_FAULT)
        return value


@extend_schema_field(
    {
        "type": "object",
        "maxProperties": MOST_HEADERS,
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": LONGEST_HEADER},
    }
)
class HeaderValues(WithExample, serializers.DictField):
    """Header fields, value by name."""

    def run_validation(self, data: Any = serializers.empty) -> dict[str, str]:
        if isinstance(data, Unread):
            raise invalid(data.fault)
        if not isinstance(data, Mapping):
            raise invalid("must be an object")
        if not 1 <= len(data) <= MOST_HEADERS:
            raise invalid(f"must have 1 to {MOST_HEADERS} header fields")
        bad, values = [], {}
        for name, sent in data.items():
            if fault := _name_fault(name, data):
                bad.append(BadField(_shown(name), ErrorCode.INVALID_ATTRIBUTE, fault))
                continue
            try:
                values[name] = HeaderValue().run_validation(sent)
            except InvalidField as error:
                bad.extend(fault.below(_shown(name)) for fault in error.bad_fields)
        if bad:
            raise InvalidField(*bad)
        return values


def _name_fault(name: str, names: Mapping[str, Any]) -> str | None:
    """Why it is no name of a header field; None if it is."""
    lower = name.lower()
    if not _NAME.fullmatch(name):
        return "is no name of a header field (RFC 9110): letters, digits and hyphens"
    if lower == "authorization":
        return "is not allowed: authorization is a field of its own"
    if lower in NOT_ALLOWED or lower.startswith(NO_PREFIX):
        return "is not allowed, because the platform writes this header field"
    return "is given twice" if sum(other.lower() == lower for other in names) > 1 else None


def _shown(name: str) -> str:
    """A name as part of the path of a field."""
    return name.encode("ascii", "replace").decode()[:100] or '""'


@extend_schema_field({"type": ["object", "array"]})
class WebhookBody(WithExample, serializers.JSONField):
    """A JSON document whose strings can have placeholders."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, Unread):
            raise invalid(data.fault)
        faults = list(islice(faults_of(data), MOST_FAULTS))
        if faults:
            raise InvalidField(
                *(
                    BadField(fault.path, ErrorCode.INVALID_ATTRIBUTE, fault.reason, fault.allowed)
                    for fault in faults
                )
            )
        return data


def webhook_faults(values: Mapping[str, Any]) -> Iterator[BadField]:
    """Faults between the fields of a webhook: a template needs parameters, and excludes a body."""
    name, url = values.get("template"), values.get("url")
    if name is not None and "body" in values:
        yield BadField("body", ErrorCode.INVALID_ATTRIBUTE, "is not allowed together with a template")
    if name is None and "body" not in values:
        return
    template = own_template(values["body"]) if name is None else TEMPLATES[name]
    if isinstance(url, str):
        for missing in sorted(template.parameter_names() - parameters_of(url).keys()):
            yield BadField(
                "url",
                ErrorCode.INVALID_ATTRIBUTE,
                f"must have the parameter {missing}, as in ?{missing}=VALUE",
            )
    if template.authorization and "authorization" not in values:
        note = f"is required by the template, as in {template.authorization}"
        yield BadField("authorization", ErrorCode.MISSING_ATTRIBUTE, note)
