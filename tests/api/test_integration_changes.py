"""The events of writing an integration, and what happens when several callers write it at once."""

from datetime import datetime
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from events.models import Event
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.integrations import make_integration
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's integrations are."""
    return f"/groups/{project.id}/integrations"


def changes(event: Event) -> tuple[str, dict[str, tuple[str | None, str | None]]]:
    """What the event's only diff is about, and old and new of each field."""
    (diff,) = event.diffs
    assert diff["type"] == "INTEGRATION"
    params = {param["param"]: (param.get("old"), param.get("new")) for param in diff["params"]}
    return f"{diff['id']} {diff['status']}", params


def test_a_put_that_changes_nothing_changes_nothing(owner: ApiClient, path: str) -> None:
    with time_machine.travel("2099-01-01T12:00:00Z", tick=False):
        owner.put(f"{path}/SCRAPER", bodies.scraper())
    events = Event.objects.count()
    with time_machine.travel("2099-01-02T12:00:00Z", tick=False):
        read_back = owner.get(f"{path}/SCRAPER").json()
        assert owner.put(f"{path}/SCRAPER", read_back).json() == read_back
        assert owner.put(f"{path}/SCRAPER", bodies.scraper()).json() == read_back
    assert Event.objects.count() == events
    kept = Integration.objects.get()
    assert kept.updated == kept.created == datetime.fromisoformat("2099-01-01T12:00:00Z")


@each("nothing", [None, []], ids=str)
def test_what_goes_with_other_types_and_says_nothing_is_as_good_as_left_out(
    owner: ApiClient, path: str, nothing: Any
) -> None:
    body = {"type": "PAGER_SERVICE", "serviceKey": "0123456789-abcd"}
    made = owner.put(f"{path}/PAGER_SERVICE", {**body, "apiToken": nothing, "url": nothing})
    assert made.status_code == 200, made.content
    assert {*made.json()} == {"type", "serviceKey", "links"}
    refused = owner.put(f"{path}/PAGER_SERVICE", {**body, "apiToken": nothing, "colour": nothing})
    assert [bad["field"] for bad in refused.json()["badFields"]] == ["colour"]
    assert owner.get(f"{path}/PAGER_SERVICE").json() == made.json()


@each("url", ["http://h..example/", "http://-h/", f"http://{'a' * 64}/", "http://./"])
@each(("name", "field"), [("WEBHOOK", "url"), ("TEAM_CHAT_SERVICE", "webhookUrl")])
def test_a_url_whose_host_cannot_exist_is_refused(
    owner: ApiClient, path: str, name: str, field: str, url: str
) -> None:
    answer = owner.put(f"{path}/{name}", {field: url})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert not Integration.objects.exists()


def test_each_write_is_recorded_with_its_changes(owner: ApiClient, path: str, project: Project) -> None:
    owner.post(f"{path}/CHAT_SERVICE", {"apiToken": "xoxb-token-7890", "channelName": "ops"})
    owner.put(f"{path}/CHAT_SERVICE", {"apiToken": "xoxb-token-1234", "channelName": "ops"})
    owner.delete(f"{path}/CHAT_SERVICE")
    recorded = [(event.event_type, event.group_id, *changes(event)) for event in Event.objects.order_by("id")]
    assert recorded == [
        (
            "INTEGRATION_ADDED_AUDIT",
            project.id,
            "CHAT_SERVICE NEW",
            {
                "type": (None, "CHAT_SERVICE"),
                "apiToken": (None, "******7890"),
                "channelName": (None, "ops"),
            },
        ),
        (
            "INTEGRATION_CHANGED_AUDIT",
            project.id,
            "CHAT_SERVICE MODIFIED",
            {"apiToken": ("******7890", "******1234")},
        ),
        (
            "INTEGRATION_DELETED_AUDIT",
            project.id,
            "CHAT_SERVICE REMOVED",
            {
                "type": ("CHAT_SERVICE", None),
                "apiToken": ("******1234", None),
                "channelName": ("ops", None),
            },
        ),
    ]


@each(
    "row",
    [
        ("SCRAPER", "password", "a first passphrase", "a second passphrase", "******"),
        ("PAGER_SERVICE", "serviceKey", "first-key-7890", "second-key-7890", "******7890"),
        (
            "WEBHOOK",
            "url",
            "https://a.example/1/abcd",
            "https://a.example/2/abcd",
            "https://a.example/******abcd",
        ),
    ],
)
def test_an_event_shows_that_a_secret_with_the_same_end_changed(
    owner: ApiClient, path: str, project: Project, row: tuple[str, str, str, str, str]
) -> None:
    name, field, old, new, shown = row
    before = make_integration(project, name, **{field: old}).updated
    sent: dict[str, Any] = {**INTEGRATION_TYPES[name].example, field: new}
    assert owner.put(f"{path}/{name}", sent).json()[field] == shown
    assert Integration.objects.get().updated > before
    event = Event.objects.get(event_type="INTEGRATION_CHANGED_AUDIT")
    assert changes(event) == (f"{name} MODIFIED", {field: (shown, f"{shown} (replaced)")})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_only_one_of_two_racing_writes_creates_it(owner: ApiClient, path: str, method: str) -> None:
    def write(number: int) -> int:
        body = {"serviceKey": f"key-number-{number:02}"}
        status: int = ApiClient(owner.key).request(method, f"{path}/PAGER_SERVICE", body).status_code
        return status

    statuses = at_once(write)
    assert sorted(statuses) == {"POST": [201] + [409] * (THREADS - 1), "PUT": [200] * THREADS}[method]
    recorded = list(Event.objects.order_by("id").values_list("event_type", flat=True))
    changed = {"POST": 0, "PUT": THREADS - 1}[method]
    assert recorded == ["INTEGRATION_ADDED_AUDIT"] + ["INTEGRATION_CHANGED_AUDIT"] * changed
    assert Integration.objects.count() == 1
