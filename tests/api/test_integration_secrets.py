"""Secrets of integrations: shown redacted, accepted back unchanged, found nowhere."""

import json
import logging
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accesslist.models import Project
from events.models import Event
from integrations.choices import SecretKind
from integrations.credentials.store import integration_secrets, integration_values
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from opsapi.sql import fetch_rows
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.factories.integrations import make_integration

HOOK = "https://hooks.example.com/in/token-abcd?x=1"
HOOK_SHOWN = "https://hooks.example.com/******abcd"
LONG, SHORT = "0123456789abcdef", "12345678"
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's integrations are."""
    return f"/groups/{project.id}/integrations"


def stored() -> dict[str, Any]:
    """The only integration in full."""
    return dict(integration_values(Integration.objects.get()))


def faults(answer: Any) -> list[tuple[str, str]]:
    """Which fields were refused; the first has given the code."""
    document = answer.json()
    assert answer.status_code == 400
    return [(bad["field"], document["errorCode"]) for bad in document["badFields"]]


@pytest.mark.parametrize(
    "row",
    [
        ("PAGER_SERVICE", "serviceKey", LONG, "******cdef"),
        ("PAGER_SERVICE", "serviceKey", "123456789", "******6789"),
        ("PAGER_SERVICE", "serviceKey", SHORT, "******"),
        ("ON_CALL_SERVICE", "routingKey", LONG, "******cdef"),
        ("WEBHOOK", "url", HOOK, HOOK_SHOWN),
        ("WEBHOOK", "secret", LONG, "******"),
        ("TEAM_CHAT_SERVICE", "webhookUrl", HOOK, HOOK_SHOWN),
        ("SCRAPER", "password", LONG, "******"),
        ("SCRAPER", "username", LONG, LONG),
    ],
)
def test_a_secret_is_shown_as_its_kind_is(
    owner: ApiClient, path: str, row: tuple[str, str, str, str]
) -> None:
    name, field, value, shown = row
    sent = {**INTEGRATION_TYPES[name].example, field: value}
    assert owner.post(f"{path}/{name}", sent).json()[field] == shown
    assert owner.get(f"{path}/{name}").json()[field] == shown
    assert stored() == sent


@pytest.mark.parametrize("integration_type", list(INTEGRATION_TYPES))
def test_what_was_read_can_be_written_back(
    owner: ApiClient, path: str, project: Project, integration_type: str
) -> None:
    make_integration(project, integration_type)
    before, events = stored(), Event.objects.count()
    shown = owner.get(f"{path}/{integration_type}").json()
    assert owner.put(f"{path}/{integration_type}", shown).json() == shown
    assert (stored(), Event.objects.count()) == (before, events)


def test_a_secret_stays_while_the_rest_changes(owner: ApiClient, path: str, project: Project) -> None:
    make_integration(project, "SCRAPER", password=LONG)
    answer = owner.put(f"{path}/SCRAPER", {"username": "another", "password": "******", "enabled": False})
    assert (answer.status_code, answer.json()["password"]) == (200, "******")
    assert (stored()["username"], stored()["password"], stored()["enabled"]) == ("another", LONG, False)


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("PAGER_SERVICE", {"serviceKey": "******cdef"}),
        ("PAGER_SERVICE", {"serviceKey": "******"}),
        ("SCRAPER", {"username": "scraper", "password": "******"}),
        ("TEAM_CHAT_SERVICE", {"webhookUrl": HOOK_SHOWN}),
    ],
)
def test_where_nothing_is_stored_a_redacted_value_means_nothing(
    owner: ApiClient, path: str, method: str, name: str, body: dict[str, str]
) -> None:
    make_integration(ProjectFactory.create(), name)
    answer = owner.request(method, f"{path}/{name}", body)
    assert faults(answer) == [(list(body)[-1], "REDACTED_VALUE_UNKNOWN")]
    assert Integration.objects.count() == 1


@pytest.mark.parametrize("sent", ["******", "******0000", "*******cdef", " ******cdef", "a******cdef"])
def test_a_redacted_value_has_to_be_that_of_the_stored_one(
    owner: ApiClient, path: str, project: Project, sent: str
) -> None:
    make_integration(project, "PAGER_SERVICE", serviceKey=LONG)
    answer = owner.put(f"{path}/PAGER_SERVICE", {"serviceKey": sent})
    assert faults(answer) == [("serviceKey", "REDACTED_VALUE_UNKNOWN")]
    assert stored() == {"serviceKey": LONG}


def test_a_redacted_value_of_another_field_or_type_is_refused(
    owner: ApiClient, path: str, project: Project
) -> None:
    make_integration(project, "ON_CALL_SERVICE", apiKey=LONG, routingKey="another-9999")
    make_integration(project, "PAGER_SERVICE", serviceKey="service-key-7777")
    on_call = owner.put(f"{path}/ON_CALL_SERVICE", {"apiKey": "******cdef", "routingKey": "******cdef"})
    assert faults(on_call) == [("routingKey", "REDACTED_VALUE_UNKNOWN")]
    pager = owner.put(f"{path}/PAGER_SERVICE", {"serviceKey": "******cdef"})
    assert faults(pager) == [("serviceKey", "REDACTED_VALUE_UNKNOWN")]


def test_a_redacted_value_is_refused_together_with_all_else(
    owner: ApiClient, path: str, project: Project
) -> None:
    make_integration(project, "CHAT_SERVICE")
    answer = owner.put(f"{path}/CHAT_SERVICE", {"apiToken": "******0000", "channelName": 5})
    assert [field for field, _ in faults(answer)] == ["apiToken", "channelName"]


@pytest.mark.parametrize(
    ("sent", "accepted"),
    [
        ((HOOK_SHOWN, "******"), True),
        ((HOOK, "******"), True),
        ((HOOK_SHOWN, "a new secret"), True),
        (("https://evil.example/in/token-abcd", "a new secret"), True),
        (("https://evil.example/in/token-abcd", "******"), False),
        (("https://hooks.example.com/in/other-abcd", "******"), False),
        (("https://hooks.example.com/******dcba", "******"), False),
    ],
)
def test_a_webhooks_secret_goes_to_no_other_url(
    owner: ApiClient, path: str, project: Project, sent: tuple[str, str], accepted: bool
) -> None:
    url, secret = sent
    make_integration(project, "WEBHOOK", url=HOOK, secret=LONG)
    answer = owner.put(f"{path}/WEBHOOK", {"url": url, "secret": secret})
    assert answer.status_code == (200 if accepted else 400)
    if accepted:
        kept = {"url": HOOK if url == HOOK_SHOWN else url, "secret": LONG if secret == "******" else secret}
        assert stored() == kept
    else:
        assert ("secret", "REDACTED_VALUE_UNKNOWN") in faults(answer)
        assert stored() == {"url": HOOK, "secret": LONG}


def test_a_secret_left_out_is_taken_away(owner: ApiClient, path: str, project: Project) -> None:
    make_integration(project, "WEBHOOK", url=HOOK, secret=LONG)
    owner.put(f"{path}/WEBHOOK", {"url": HOOK_SHOWN})
    assert integration_secrets(Integration.objects.get()) == {"url": HOOK}


@pytest.mark.parametrize("integration_type", list(INTEGRATION_TYPES))
def test_no_secret_of_any_type_is_shown_kept_in_plain_or_logged(
    owner: ApiClient, path: str, integration_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    kind = INTEGRATION_TYPES[integration_type]
    secrets = set(kind.secrets(kind.example))
    is_url = {name: kind.secret_fields[name].secret is SecretKind.URL for name in secrets}
    planted = {
        name: f"{'https://' if is_url[name] else ''}x.example/{bodies.SECRET}/tail" for name in secrets
    }
    where = f"{path}/{integration_type}"
    answers = [
        owner.post(where, {**kind.example, **planted}),
        owner.put(where, {**kind.example, **{name: value[:-1] for name, value in planted.items()}}),
        owner.post(where, {**kind.example, **planted}),
        owner.put(where, {**kind.example, **planted, "colour": 1}),
        owner.get(f"{where}?pretty=true"),
        owner.get(path),
        owner.get(f"{path.removesuffix('/integrations')}/events?includeRaw=true"),
        owner.delete(where),
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 409, 400, 200, 200, 200, 204]
    shown = [answer.content.decode() for answer in answers] + [caplog.text, *_rows()]
    assert not [text for text in shown if bodies.SECRET in text]


def _rows() -> list[str]:
    stored = "SELECT t::text FROM integrations_integration t UNION ALL SELECT t::text FROM events_event t"
    return [row for (row,) in fetch_rows(stored)]


def test_secrets_are_encrypted_and_encrypted_again(project: Project, settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["old key"]
    made = make_integration(project, "WEBHOOK", url=HOOK, secret=LONG)
    assert made.fields == {"url": HOOK_SHOWN, "secret": "******"}
    assert LONG not in json.dumps([made.fields, made.secrets])
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key", "old key"]
    call_command("rotate_encryption")
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key"]
    assert stored() == {"url": HOOK, "secret": LONG}
