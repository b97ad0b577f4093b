"""What every type of integration declares."""

from typing import Any

import pytest

from integrations.choices import SecretKind
from integrations.credentials.resource import DOCUMENTS
from integrations.fields import FieldSet
from integrations.types import INTEGRATION_TYPES, exporter_port
from opsapi.api.errors import ApiError
from tests.each import each

TOKEN, SECRET, URL = SecretKind.TOKEN, SecretKind.SECRET, SecretKind.URL
DECLARED = {
    "PAGER_SERVICE": "serviceKey",
    "CHAT_SERVICE": "apiToken channelName teamName? updateInPlace?",
    "METRICS_SERVICE": "apiKey region?=US",
    "GROUP_CHAT_SERVICE": "notificationToken roomName",
    "OPS_ALERT_SERVICE": "apiKey region?=US",
    "ON_CALL_SERVICE": "apiKey routingKey?",
    "WEBHOOK": "url secret? authorization? headers? template? body?",
    "TEAM_CHAT_SERVICE": "webhookUrl",
    "SCRAPER": (
        "username password scheme?=http serviceDiscovery?=http enabled?=True listenAddress?=0.0.0.0:9216"
    ),
}
SECRETS = {
    "PAGER_SERVICE": {"serviceKey": TOKEN},
    "CHAT_SERVICE": {"apiToken": TOKEN},
    "METRICS_SERVICE": {"apiKey": TOKEN},
    "GROUP_CHAT_SERVICE": {"notificationToken": TOKEN},
    "OPS_ALERT_SERVICE": {"apiKey": TOKEN},
    "ON_CALL_SERVICE": {"apiKey": TOKEN, "routingKey": TOKEN},
    "WEBHOOK": {"url": URL, "secret": SECRET, "authorization": SECRET, "headers": SecretKind.HEADERS},
    "TEAM_CHAT_SERVICE": {"webhookUrl": URL},
    "SCRAPER": {"password": SECRET},
}
KINDS = pytest.mark.parametrize("kind", INTEGRATION_TYPES.values(), ids=INTEGRATION_TYPES.keys())


def declared(kind: FieldSet) -> str:
    """The fields as the table writes them."""
    words = []
    for field in kind.fields:
        values = read(kind, **{field.name: None}) if not field.form.required else {}
        default = f"={values[field.name]}" if field.name in values else ""
        words.append(f"{field.name}{'' if field.form.required else '?'}{default}")
    return " ".join(words)


def read(kind: FieldSet, **changes: Any) -> dict[str, Any]:
    """The checked example with these changes."""
    return DOCUMENTS[kind.type]().read({**kind.example, **changes})


def test_every_type_is_declared() -> None:
    assert set(INTEGRATION_TYPES) == set(DECLARED)


@KINDS
def test_a_type_has_its_fields(kind: FieldSet) -> None:
    assert declared(kind) == DECLARED[kind.type]


@KINDS
def test_a_types_secrets_are_known(kind: FieldSet) -> None:
    kinds = {field.name: field.secret for field in kind.fields if field.secret is not SecretKind.PLAIN}
    assert kinds == SECRETS[kind.type]


@KINDS
def test_an_unknown_field_is_refused(kind: FieldSet) -> None:
    with pytest.raises(ApiError) as raised:
        read(kind, colour="red")
    assert [bad.field for bad in raised.value.bad_fields] == ["colour"]


@KINDS
def test_every_missing_field_is_named(kind: FieldSet) -> None:
    with pytest.raises(ApiError) as raised:
        DOCUMENTS[kind.type]().read({})
    required = [field.name for field in kind.fields if field.form.required]
    assert [bad.field for bad in raised.value.bad_fields] == required
    assert raised.value.code == "MISSING_ATTRIBUTE"


BAD = [
    ("PAGER_SERVICE", "serviceKey", "", "INVALID_ATTRIBUTE"),
    ("PAGER_SERVICE", "serviceKey", "a\nb", "INVALID_ATTRIBUTE"),
    ("PAGER_SERVICE", "serviceKey", "k" * 1001, "INVALID_ATTRIBUTE"),
    ("CHAT_SERVICE", "channelName", "c" * 201, "INVALID_ATTRIBUTE"),
    ("CHAT_SERVICE", "teamName", 5, "INVALID_ATTRIBUTE"),
    ("CHAT_SERVICE", "updateInPlace", "true", "INVALID_ATTRIBUTE"),
    ("METRICS_SERVICE", "region", "us", "INVALID_ENUM_VALUE"),
    ("OPS_ALERT_SERVICE", "region", "AP", "INVALID_ENUM_VALUE"),
    ("WEBHOOK", "url", "ftp://example.com/", "INVALID_ATTRIBUTE"),
    ("WEBHOOK", "url", "https://user:word@example.com/", "INVALID_ATTRIBUTE"),
    ("TEAM_CHAT_SERVICE", "webhookUrl", "example.com", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "username", "a:b", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "username", "u" * 255, "INVALID_ATTRIBUTE"),
    ("SCRAPER", "password", "p" * 11, "INVALID_ATTRIBUTE"),
    ("SCRAPER", "scheme", "HTTP", "INVALID_ENUM_VALUE"),
    ("SCRAPER", "serviceDiscovery", "file", "INVALID_ENUM_VALUE"),
    ("SCRAPER", "enabled", "true", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "listenAddress", "9216", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "listenAddress", ":9216", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "listenAddress", "0.0.0.0:0", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "listenAddress", "0.0.0.0:65536", "INVALID_ATTRIBUTE"),
    ("SCRAPER", "listenAddress", "0.0.0.0.0:9216", "INVALID_ATTRIBUTE"),
]


@each(("name", "field", "value", "code"), BAD)
def test_a_wrong_value_is_refused(name: str, field: str, value: Any, code: str) -> None:
    with pytest.raises(ApiError) as raised:
        read(INTEGRATION_TYPES[name], **{field: value})
    assert [(bad.field, bad.code) for bad in raised.value.bad_fields] == [(field, code)]


@each(
    ("name", "field", "value"),
    [
        ("PAGER_SERVICE", "serviceKey", "k" * 1000),
        ("OPS_ALERT_SERVICE", "region", "EU"),
        ("WEBHOOK", "url", "http://10.0.0.1:8080/in?x=1"),
        ("SCRAPER", "password", "p" * 12),
        ("SCRAPER", "username", "прометей"),
        ("SCRAPER", "scheme", "https"),
        ("SCRAPER", "enabled", False),
        ("SCRAPER", "listenAddress", "[::]:1"),
        ("SCRAPER", "listenAddress", "exporter.example.com:65535"),
    ],
)
def test_a_value_at_the_bounds_is_taken(name: str, field: str, value: Any) -> None:
    assert read(INTEGRATION_TYPES[name], **{field: value})[field] == value


@each(("listen_address", "port"), [("0.0.0.0:9216", 9216), ("[2001:db8::1]:80", 80), ("db:65535", 65535)])
def test_the_exporters_port_is_that_of_the_listen_address(listen_address: str, port: int) -> None:
    assert exporter_port(listen_address) == port
