"""Secrets of notifications: shown redacted, and accepted back as they were shown."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.store import setting_values
from alerting.models import AlertConfig, NotificationSetting
from events.models import Event
from opsapi.sql import fetch_rows
from tests.api.canary import SECRET_FIELDS
from tests.api.notifications import (
    SECRETS,
    SHOWN_TOKEN,
    SHOWN_URL,
    TOKEN,
    URL,
    ConfigPath,
    faults,
    longest,
    make_people,
    shortest,
)
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory

LOOKS_THE_SAME = {
    SHOWN_TOKEN: "another-0123456789-token-abcd",
    SHOWN_URL: "https://hooks.example.com/out/0123456789/wxyz",
    "******": "another webhook secret",
}
OF_A_URL = ("webhookSecret", "webhookAuthorization", "webhookHeaders")
pytestmark = pytest.mark.django_db


@pytest.fixture(params=["project", "global"])
def place(request: pytest.FixtureRequest, owner: ApiClient, project: Project) -> ConfigPath:
    """Configurations of either kind."""
    make_people(project)
    return ConfigPath(owner, project, is_global=request.param == "global")


def stored(config: dict[str, Any], place: int = 0) -> dict[str, Any]:
    """A notification of the configuration in full."""
    return setting_values(NotificationSetting.objects.get(config_id=config["id"], position=place))


def state() -> list[Any]:
    """All that a refused request must leave alone."""
    tables = (AlertConfig, NotificationSetting, Event)
    return [list(table._base_manager.order_by("pk").values()) for table in tables]


def test_the_table_has_every_secret_field() -> None:
    assert set(SECRETS) <= SECRET_FIELDS


@each("field", SECRETS)
def test_a_secret_is_shown_redacted_and_kept_encrypted(place: ConfigPath, field: str) -> None:
    name, shown = SECRETS[field]
    made = place.post(longest(name)).json()
    assert made["notifications"][0][field] == shown
    assert place.get(made)["notifications"][0][field] == shown
    assert stored(made)[field] == longest(name)[field]
    kept = "SELECT t::text FROM alerting_notificationsetting t UNION ALL SELECT t::text FROM events_event t"
    assert not [row for (row,) in fetch_rows(kept) if longest(name)[field] in row]


@pytest.mark.slow
@each("field", SECRETS)
def test_a_secret_sent_back_as_shown_stays_while_the_rest_changes(place: ConfigPath, field: str) -> None:
    name, _ = SECRETS[field]
    made = place.post(longest(name)).json()
    (notification,) = made["notifications"]
    answer = place.put(made, {**notification, "delayMin": 9})
    assert answer.status_code == 200, answer.json()
    assert answer.json()["notifications"] == [{**notification, "delayMin": 9}]
    assert stored(answer.json()) == stored(made)


@pytest.mark.slow
@each("field", SECRETS)
def test_what_names_its_owner_wrongly_means_nothing(place: ConfigPath, field: str) -> None:
    name, shown = SECRETS[field]
    made = place.post(longest(name), longest(name)).json()
    other = place.post(longest(name)).json()
    first, second = made["notifications"]
    wrong = [
        {key: value for key, value in first.items() if key != "id"},
        {**first, "id": "a" * 24},
        {**first, "id": other["notifications"][0]["id"]},
        {**first, field: f"{shown}x"},
    ]
    before = state()
    found = dict(faults(place.put(made, *wrong, second)))
    for position in range(len(wrong)):
        assert found[f"notifications[{position}].{field}"] == "REDACTED_VALUE_UNKNOWN", position
    assert state() == before


@each("field", SECRETS)
def test_a_new_configuration_has_no_secret_yet(place: ConfigPath, field: str) -> None:
    name, shown = SECRETS[field]
    place.post(longest(name))
    before = state()
    assert dict(faults(place.post(longest(name, **{field: shown})))) == {
        f"notifications[0].{field}": "REDACTED_VALUE_UNKNOWN"
    }
    assert state() == before


def test_a_secret_is_that_of_its_type_and_field(place: ConfigPath) -> None:
    made = place.post(longest("ON_CALL_SERVICE"), shortest("WEBHOOK")).json()
    on_call, webhook = made["notifications"]
    swapped = {**on_call, "typeName": "METRICS_SERVICE", "metricsServiceApiKey": SHOWN_TOKEN}
    for name in ("onCallApiKey", "onCallRoutingKey"):
        del swapped[name]
    moved = {"id": webhook["id"], "typeName": "TEAM_CHAT_SERVICE", "teamChatWebhookUrl": SHOWN_URL}
    assert dict(faults(place.put(made, swapped, moved))) == {
        "notifications[0].metricsServiceApiKey": "REDACTED_VALUE_UNKNOWN",
        "notifications[1].teamChatWebhookUrl": "REDACTED_VALUE_UNKNOWN",
    }


@each(
    ("url", "secret", "accepted"),
    [
        (SHOWN_URL, "******", True),
        (URL, "******", True),
        (SHOWN_URL, "a new secret", True),
        ("https://evil.example/wxyz", "a new secret", True),
        ("https://evil.example/wxyz", "******", False),
        (LOOKS_THE_SAME[SHOWN_URL], "******", False),
        (None, "******", False),
    ],
)
def test_a_webhooks_secret_goes_to_no_other_url(
    place: ConfigPath, url: str | None, secret: str, accepted: bool
) -> None:
    secrets = {"webhookUrl": URL, "webhookSecret": "a webhook secret"}
    made = place.post(shortest("WEBHOOK", **secrets)).json()
    sent = {**made["notifications"][0], "webhookUrl": url, "webhookSecret": secret}
    answer = place.put(made, sent)
    if accepted:
        assert stored(answer.json()) == {
            "webhookUrl": URL if url == SHOWN_URL else url,
            "webhookSecret": secrets["webhookSecret"] if secret == "******" else secret,
        }
    else:
        assert "notifications[0].webhookSecret" in dict(faults(answer))
        assert stored(made) == secrets


@pytest.mark.slow
@each("field", SECRETS)
def test_a_secret_replaced_by_one_that_looks_the_same_is_a_change_the_log_shows(
    place: ConfigPath, field: str
) -> None:
    name, shown = SECRETS[field]
    made = place.post(shortest("EMAIL"), longest(name)).json()
    email, notification = made["notifications"]
    # The secrets of a webhook have to be given again with another URL.
    again = {each: longest(name)[each] for each in OF_A_URL} if field == "webhookUrl" else {}
    answer = place.put(made, email, {**notification, **again, field: LOOKS_THE_SAME[shown]})
    assert answer.json()["notifications"] == made["notifications"]
    assert stored(answer.json(), 1)[field] == LOOKS_THE_SAME[shown]
    event = Event.objects.get(event_type="ALERT_CONFIG_CHANGED_AUDIT")
    assert f"{shown} (replaced)" in str(event.diffs)
    assert not [secret for secret in (*LOOKS_THE_SAME.values(), TOKEN, URL) if secret in str(event.diffs)]


def test_a_secret_left_out_is_taken_away(place: ConfigPath) -> None:
    made = place.post(longest("ON_CALL_SERVICE")).json()
    (notification,) = made["notifications"]
    del notification["onCallRoutingKey"]
    answer = place.put(made, notification).json()
    assert answer["notifications"] == [notification]
    assert stored(answer) == {"onCallApiKey": TOKEN}


def test_one_of_another_type_is_another_notification(place: ConfigPath) -> None:
    made = place.post(longest("PAGER_SERVICE"), shortest("EMAIL")).json()
    pager, email = made["notifications"]
    answer = place.put(made, longest("METRICS_SERVICE", id=pager["id"]), email).json()
    first, second = answer["notifications"]
    assert first["id"] != pager["id"]
    assert (first["typeName"], second) == ("METRICS_SERVICE", email)
    assert [notification.id for notification in NotificationSetting.with_removed.filter(removed=True)] == [
        pager["id"]
    ]


def test_an_unknown_id_is_named_and_so_is_one_that_is_twice(place: ConfigPath) -> None:
    made = place.post(shortest("EMAIL"), shortest("SMS")).json()
    email, sms = made["notifications"]
    before = state()
    assert faults(place.put(made, {**email, "id": "a" * 24}, sms)) == [
        ("notifications[0].id", "ATTRIBUTE_READ_ONLY")
    ]
    assert faults(place.put(made, email, {**sms, "id": email["id"]})) == [
        ("notifications[1].id", "INVALID_ATTRIBUTE")
    ]
    assert faults(place.put(made, {**email, "id": 5}, sms)) == [("notifications[0].id", "INVALID_ATTRIBUTE")]
    assert faults(place.post(email)) == [("notifications[0].id", "ATTRIBUTE_READ_ONLY")]
    assert state() == before


def test_a_secret_of_another_project_is_none_of_ours(owner: ApiClient, project: Project) -> None:
    theirs = ConfigPath(owner, ProjectFactory.create(), is_global=False).post(longest("PAGER_SERVICE")).json()
    place = ConfigPath(owner, project, is_global=False)
    made = place.post(shortest("EMAIL")).json()
    answer = place.put(made, theirs["notifications"][0])
    assert dict(faults(answer))["notifications[0].serviceKey"] == "REDACTED_VALUE_UNKNOWN"
