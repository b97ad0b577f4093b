"""Header fields, authorization, template and body of webhooks: saved, shown, kept and refused."""

import json
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.store import setting_values
from alerting.models import NotificationSetting
from events.models import Event
from integrations.credentials.store import integration_values
from integrations.models import Integration
from integrations.webhooks.placeholders import PLACEHOLDERS
from integrations.webhooks.templates import TEMPLATES
from opsapi.sql import fetch_rows
from tests.api.notifications import ConfigPath, faults
from tests.client import ApiClient
from tests.each import each

URL = "https://hooks.example.com/in/0123"
SECRETS = {
    "authorization": "Bearer secret-canary-1",
    "headers": {"X-Key": "secret-canary-2", "X-B": "secret-canary-3"},
}
BODY = {"summary": "{{title:130}}", "list": ["{{url.topic}}", 1.5, None, {"a": None}], "nothing": None}
SENT = {"url": f"{URL}?topic=x", **SECRETS, "body": BODY}
REDACTED = {"authorization": "******", "headers": {"X-Key": "******", "X-B": "******"}}
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """The project's webhook."""
    return f"/groups/{project.id}/integrations/WEBHOOK"


def stored() -> dict[str, Any]:
    return dict(integration_values(Integration.objects.get()))


def refused(answer: Any) -> list[str]:
    assert answer.status_code == 400, answer.json()
    return [fault["field"] for fault in answer.json()["badFields"]]


def named(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields by their names in a notification."""
    return {f"webhook{name[0].upper()}{name[1:]}": value for name, value in fields.items()}


def test_an_integration_shows_names_of_header_fields_and_no_secret(owner: ApiClient, path: str) -> None:
    answer = owner.put(path, SENT).json()
    assert {name: answer[name] for name in (*REDACTED, "body")} == {**REDACTED, "body": BODY}
    assert "template" not in answer
    assert stored() == SENT
    rows = fetch_rows(
        "SELECT i::text FROM integrations_integration i UNION ALL SELECT e::text FROM events_event e"
    )
    assert not [row for row in rows if "secret-canary" in row[0]]


def test_without_the_fields_an_answer_does_not_have_them(owner: ApiClient, path: str) -> None:
    assert owner.put(path, {"url": URL}).json().keys() == {"type", "url", "links"}


def test_redacted_header_fields_mean_the_stored_ones(owner: ApiClient, path: str) -> None:
    shown = owner.put(path, SENT).json()
    changed = {**shown, "headers": {"X-Key": "******", "X-C": "new"}}
    assert owner.put(path, changed).status_code == 200
    assert stored() == {**SENT, "headers": {"X-Key": "secret-canary-2", "X-C": "new"}}


def test_a_redacted_header_field_that_is_not_stored_is_refused(owner: ApiClient, path: str) -> None:
    shown = owner.put(path, SENT).json()
    answer = owner.put(path, {**shown, "headers": {"X-Key": "******", "X-C": "******"}})
    assert (refused(answer), answer.json()["errorCode"]) == (["headers.X-C"], "REDACTED_VALUE_UNKNOWN")


def test_secrets_go_to_no_other_url(owner: ApiClient, path: str) -> None:
    shown = owner.put(path, SENT).json()
    answer = owner.put(path, {**shown, "url": "https://other.example.com/?topic=x"})
    assert refused(answer) == ["authorization", "headers.X-Key", "headers.X-B"]


def test_an_event_says_which_header_field_changed(owner: ApiClient, path: str) -> None:
    shown = owner.put(path, SENT).json()
    owner.put(path, {**shown, "headers": {"X-Key": "secret-canary-4", "X-B": "******"}})
    text = json.dumps(Event.objects.get(event_type="INTEGRATION_CHANGED_AUDIT").diffs)
    assert "X-Key" in text
    assert text.count("(replaced)") == 1
    assert "secret-canary" not in text


@each(
    ("fields", "path_of_fault"),
    [
        ({"headers": []}, "headers"),
        ({"headers": {}}, "headers"),
        ({"headers": {f"X-{number}": "x" for number in range(21)}}, "headers"),
        ({"headers": {"X Key": "x"}}, "headers.X Key"),
        ({"headers": {"": "x"}}, 'headers.""'),
        ({"headers": {"X-Schl\u00fcssel": "x"}}, "headers.X-Schl?ssel"),
        ({"headers": {"X-Key": 1}}, "headers.X-Key"),
        ({"headers": {"X-Key": ""}}, "headers.X-Key"),
        ({"headers": {"X-Key": "a\r\nHost: b"}}, "headers.X-Key"),
        ({"headers": {"X-Key": "schl\u00fcssel"}}, "headers.X-Key"),
        ({"headers": {"X-Key": "x" * 2001}}, "headers.X-Key"),
        ({"headers": {"X-Key": "a", "x-key": "b"}}, "headers.X-Key"),
        ({"headers": {"host": "x"}}, "headers.host"),
        ({"headers": {"Content-Length": "1"}}, "headers.Content-Length"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "headers.Transfer-Encoding"),
        ({"headers": {"Connection": "close"}}, "headers.Connection"),
        ({"headers": {"X-Ops-Event": "x"}}, "headers.X-Ops-Event"),
        ({"headers": {"Authorization": "x"}}, "headers.Authorization"),
        ({"authorization": "Bearer a\nb"}, "authorization"),
        ({"authorization": 1}, "authorization"),
        ({"template": "no-such"}, "template"),
        ({"body": "{{title}}"}, "body"),
        ({"body": {}}, "body"),
        ({"body": {"a": [{"b": "{{titel}}"}]}}, "body.a[0].b"),
        ({"body": {"a": "{{url.topic}}"}}, "url"),
        ({"body": {"a": "x" * 16_384}}, "body"),
        ({"body": {"a": "b"}, "template": next(iter(TEMPLATES))}, "body"),
    ],
)
def test_it_refuses_wrong_fields_by_name(
    owner: ApiClient, path: str, project: Project, fields: dict[str, Any], path_of_fault: str
) -> None:
    found = refused(owner.put(path, {"url": URL, **fields}))
    assert path_of_fault in found
    place = ConfigPath(owner, project, is_global=False)
    answer = place.post({"typeName": "WEBHOOK", **named({"url": URL, **fields})})
    name, rest = path_of_fault[:1].upper() + path_of_fault[1:], ""
    assert f"notifications[0].webhook{name}{rest}" in [field for field, _ in faults(answer)]


def test_the_refusal_names_the_placeholders(owner: ApiClient, path: str) -> None:
    (fault,) = owner.put(path, {"url": URL, "body": {"a": "{{titel}}"}}).json()["badFields"]
    assert set(PLACEHOLDERS) < set(fault["allowed"])


def test_a_notification_keeps_and_shows_them_as_an_integration(owner: ApiClient, project: Project) -> None:
    place = ConfigPath(owner, project, is_global=False)
    answer = place.post({"typeName": "WEBHOOK", **named(SENT)})
    assert answer.status_code == 201, answer.json()
    (shown,) = answer.json()["notifications"]
    assert {name: shown[name] for name in named(REDACTED)} == named(REDACTED)
    assert shown["webhookBody"] == BODY
    assert setting_values(NotificationSetting.objects.get()) == named(SENT)
    events = Event.objects.count()
    again = place.put(answer.json(), *place.get(answer.json())["notifications"])
    assert again.status_code == 200, again.json()
    assert setting_values(NotificationSetting.objects.get()) == named(SENT)
    assert Event.objects.count() == events


@each("name", ["webhookAuthorization", "webhookHeaders", "webhookTemplate", "webhookBody"])
def test_a_notification_has_them_only_with_its_own_url(owner: ApiClient, project: Project, name: str) -> None:
    owner.put(f"/groups/{project.id}/integrations/WEBHOOK", {"url": URL})
    values = {**named(SECRETS), "webhookTemplate": next(iter(TEMPLATES)), "webhookBody": {"a": "b"}}
    answer = ConfigPath(owner, project, is_global=False).post({"typeName": "WEBHOOK", name: values[name]})
    assert [field for field, _ in faults(answer)] == [f"notifications[0].{name}"]
