"""Global alert configurations over HTTP: endpoints 3 and 4, their scope, and the other routes."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import AlertConfig
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api.bodies import alert_config, email, global_alert_config, group
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.receivers import MailReceiver

PATH = "/globalAlertConfigs"
SAMPLE = {
    "enabled": True,
    "eventTypeName": "BACKUP_AGENT_DOWN",
    "forAllGroups": True,
    "groupIds": [],
    "matchers": [],
    "notifications": [
        {"typeName": "ADMIN", "delayMin": 0, "intervalMin": 15, "emailEnabled": True, "smsEnabled": False},
        {"typeName": "GROUP", "delayMin": 0, "intervalMin": 60, "emailEnabled": True, "smsEnabled": False},
    ],
    "tags": [],
    "typeName": "AGENT",
}
"""As the samples of the contract have it."""
FIELDS = [
    "created",
    "enabled",
    "eventTypeName",
    "forAllGroups",
    "groupIds",
    "id",
    "links",
    "matchers",
    "notifications",
    "severity",
    "tags",
    "typeName",
    "updated",
]
pytestmark = pytest.mark.django_db


def test_the_samples_document_is_taken_and_shown(owner: ApiClient) -> None:
    made = owner.post(PATH, SAMPLE)
    assert made.status_code == 201
    shown = made.json()
    assert sorted(shown) == FIELDS
    for name in SAMPLE.keys() - {"notifications"}:
        assert shown[name] == SAMPLE[name]
    for sent, kept in zip(SAMPLE["notifications"], shown["notifications"], strict=True):  # type: ignore[call-overload]  # a list
        assert {name: kept[name] for name in sent} == sent
    replaced = owner.put(f"{PATH}/{shown['id']}", SAMPLE)
    assert (replaced.status_code, replaced.json()) == (200, shown)


def test_a_put_changes_what_it_says(owner: ApiClient, project: Project) -> None:
    made = owner.post(PATH, SAMPLE).json()
    body = {
        "eventTypeName": "BACKUP_AGENT_CONF_CALL_FAILURE",
        "forAllGroups": False,
        "groupIds": [project.id],
        "notifications": [email()],
    }
    answer = owner.put(f"{PATH}/{made['id']}", body)
    assert answer.status_code == 200
    shown = answer.json()
    assert {name: shown[name] for name in ("eventTypeName", "forAllGroups", "groupIds", "enabled")} == {
        "eventTypeName": "BACKUP_AGENT_CONF_CALL_FAILURE",
        "forAllGroups": False,
        "groupIds": [project.id],
        "enabled": True,
    }
    assert owner.get(f"{PATH}/{made['id']}").json() == shown
    (diff,) = Event.objects.get(event_type="ALERT_CONFIG_CHANGED_AUDIT").diffs
    changed = {param["param"] for param in diff["params"]}
    assert changed == {"eventTypeName", "forAllGroups", "groupIds", "notifications"}


def test_they_are_listed_in_the_order_they_were_created_and_apart_from_projects(
    owner: ApiClient, project: Project
) -> None:
    made = [owner.post(PATH, global_alert_config(tags=[tag])).json() for tag in ("a", "b")]
    own = owner.post(f"/groups/{project.id}/alertConfigs", alert_config()).json()
    document = owner.get(PATH).json()
    assert (document["totalCount"], [row["id"] for row in document["results"]]) == (
        2,
        [config["id"] for config in made],
    )
    assert [row["id"] for row in owner.get(f"/groups/{project.id}/alertConfigs").json()["results"]] == [
        own["id"]
    ]
    assert owner.get(f"{PATH}/{own['id']}").json()["errorCode"] == "GLOBAL_ALERT_CONFIG_NOT_FOUND"
    elsewhere = owner.get(f"/groups/{project.id}/alertConfigs/{made[0]['id']}")
    assert elsewhere.json()["errorCode"] == "ALERT_CONFIG_NOT_FOUND"


def test_its_links_lead_somewhere(owner: ApiClient) -> None:
    made = owner.post(PATH, global_alert_config()).json()
    assert [link["rel"] for link in made["links"]] == ["self", "urn:opsapi:rel:alerts"]
    for link in made["links"]:
        answer = owner.request("GET", link["href"].removeprefix("http://testserver"), base="")
        assert answer.status_code == 200
    (listed,) = owner.get(PATH).json()["results"]
    assert listed == {**made, "links": made["links"][:1]}


def test_its_events_are_with_no_project(owner: ApiClient) -> None:
    made = owner.post(PATH, global_alert_config()).json()
    owner.patch(f"{PATH}/{made['id']}", {"enabled": False})
    owner.delete(f"{PATH}/{made['id']}")
    shown = owner.get("/globalEvents").json()["results"]
    assert [(event["eventTypeName"], "groupId" in event) for event in shown] == [
        ("ALERT_CONFIG_DELETED_AUDIT", False),
        ("ALERT_CONFIG_DISABLED_AUDIT", False),
        ("ALERT_CONFIG_ADDED_AUDIT", False),
    ]


@each(
    ("role", "reads", "writes"),
    [
        (Role.GLOBAL_OWNER, 200, 201),
        (Role.GLOBAL_MONITORING_ADMIN, 200, 201),
        (Role.GLOBAL_READ_ONLY, 200, 403),
        (Role.GLOBAL_USER_ADMIN, 200, 403),
        (Role.GLOBAL_AUTOMATION_ADMIN, 200, 403),
    ],
)
def test_who_may_read_and_write_them(db: None, role: Role, reads: int, writes: int) -> None:
    client = ApiClient(make_key(role))
    assert client.get(PATH).status_code == reads
    assert client.post(PATH, global_alert_config()).status_code == writes


def test_no_role_in_a_project_opens_them(project: Project) -> None:
    client = ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=project.id)))
    for answer in (client.get(PATH), client.post(PATH, global_alert_config())):
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "USER_UNAUTHORIZED")


def test_one_whose_projects_are_all_deleted_can_be_written_back(owner: ApiClient, project: Project) -> None:
    body = global_alert_config(forAllGroups=False, groupIds=[project.id])
    made = owner.post(PATH, body).json()
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    shown = owner.get(f"{PATH}/{made['id']}").json()
    assert shown == made
    assert owner.put(f"{PATH}/{made['id']}", shown).json() == shown
    other: Project = ProjectFactory.create()
    again = owner.put(f"{PATH}/{made['id']}", {**shown, "groupIds": [other.id]}).json()
    assert (again["groupIds"], again["enabled"]) == ([other.id], True)
    gone = owner.put(f"{PATH}/{made['id']}", {**again, "groupIds": []})
    assert gone.json()["errorCode"] == "MISSING_ATTRIBUTE"
    back = owner.put(f"{PATH}/{made['id']}", {**again, "groupIds": [project.id]})
    assert (back.status_code, back.json()["badFields"][0]["field"]) == (400, "groupIds[0]")
    assert owner.get(f"{PATH}/{made['id']}").json() == again


@each("changes", [{}, {"enabled": True}, {"tags": []}], ids=["same", "enabled", "empty tags"])
def test_one_stored_without_projects_can_be_written_back(
    owner: ApiClient, project: Project, changes: dict[str, Any]
) -> None:
    made = owner.post(PATH, global_alert_config(forAllGroups=False, groupIds=[project.id])).json()
    # So an earlier version left one whose last project was deleted.
    AlertConfig.objects.update(group_ids=[], enabled=False)
    path = f"{PATH}/{made['id']}"
    shown = owner.get(path).json()
    assert (shown["forAllGroups"], shown["groupIds"], shown["enabled"]) == (False, [], False)
    answer = owner.put(path, {**shown, **changes})
    assert (answer.status_code, answer.json()["groupIds"]) == (200, []), answer.content
    given = owner.put(path, {**answer.json(), "groupIds": [project.id]})
    assert (given.status_code, given.json()["groupIds"]) == (200, [project.id]), given.content
    assert owner.put(path, {**given.json(), "groupIds": []}).json()["errorCode"] == "MISSING_ATTRIBUTE"


def test_one_for_all_projects_does_not_become_one_for_none(owner: ApiClient) -> None:
    made = owner.post(PATH, global_alert_config()).json()
    answer = owner.put(f"{PATH}/{made['id']}", {**made, "forAllGroups": False})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "MISSING_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["groupIds"]


def test_one_known_project_is_enough_and_all_are_kept_as_sent(owner: ApiClient, project: Project) -> None:
    named = ["a" * 24, project.id, "b" * 24]
    made = owner.post(PATH, global_alert_config(forAllGroups=False, groupIds=named))
    assert (made.status_code, made.json()["groupIds"]) == (201, named)
    path = f"{PATH}/{made.json()['id']}"
    assert owner.get(path).json() == made.json()
    assert owner.put(path, made.json()).json() == made.json()
    assert owner.put(path, {**made.json(), "groupIds": named[1:]}).json()["groupIds"] == named[1:]


def test_where_no_project_is_known_each_is_named_by_its_place(owner: ApiClient, project: Project) -> None:
    body = global_alert_config(forAllGroups=False, groupIds=["a" * 24, "b" * 24])
    answer = owner.post(PATH, body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["groupIds[0]", "groupIds[1]"]
    assert not AlertConfig.objects.exists()


WHOLE = [
    global_alert_config(),
    global_alert_config(
        eventTypeName="OUTSIDE_METRIC_THRESHOLD",
        tags=["prod"],
        matchers=[{"fieldName": "PORT", "operator": "EQUALS", "value": "27017"}],
        metricThreshold={"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 5},
        notifications=[
            {"typeName": "WEBHOOK", "webhookUrl": "https://hooks.example.com/in/0123", "webhookSecret": "s"},
            {"typeName": "PAGER_SERVICE", "serviceKey": "0123456789-abcd"},
            {"typeName": "GROUP", "emailEnabled": True},
        ],
    ),
]
"""Configurations with and without secrets and conditions."""


@each("body", WHOLE, ids=["plain", "full"])
def test_what_was_read_enables_and_disables(owner: ApiClient, body: dict[str, Any]) -> None:
    made = owner.post(PATH, body).json()
    path = f"{PATH}/{made['id']}"
    read = owner.get(path).json()
    same = owner.patch(path, read)
    assert (same.status_code, same.json()) == (200, made)
    off = owner.patch(path, {**read, "enabled": False, "typeName": "whatever"})
    assert off.status_code == 200, off.content
    assert off.json() == {**made, "enabled": False, "updated": off.json()["updated"]}
    events = Event.objects.filter(event_type__startswith="ALERT_CONFIG").order_by("id")
    recorded = [event.event_type for event in events]
    assert recorded == ["ALERT_CONFIG_ADDED_AUDIT", "ALERT_CONFIG_DISABLED_AUDIT"]


@pytest.mark.slow
@each(
    ("field", "value", "code"),
    [
        ("id", "a" * 24, "ATTRIBUTE_READ_ONLY"),
        ("created", "2099-01-01T00:00:00Z", "ATTRIBUTE_READ_ONLY"),
        ("updated", "2099-01-01T00:00:00Z", "ATTRIBUTE_READ_ONLY"),
        ("eventTypeName", "HOST_DOWN", "ATTRIBUTE_READ_ONLY"),
        ("forAllGroups", False, "ATTRIBUTE_READ_ONLY"),
        ("groupIds", ["a" * 24], "ATTRIBUTE_READ_ONLY"),
        ("tags", ["prod"], "ATTRIBUTE_READ_ONLY"),
        ("matchers", [{}], "ATTRIBUTE_READ_ONLY"),
        ("threshold", {}, "ATTRIBUTE_READ_ONLY"),
        ("notifications", [{"typeName": "EMAIL"}], "ATTRIBUTE_READ_ONLY"),
        ("colour", "red", "INVALID_ATTRIBUTE"),
        ("groupId", "a" * 24, "INVALID_ATTRIBUTE"),
    ],
)
def test_a_patch_that_says_anything_else_is_refused(
    owner: ApiClient, field: str, value: Any, code: str
) -> None:
    made = owner.post(PATH, global_alert_config()).json()
    path = f"{PATH}/{made['id']}"
    answer = owner.patch(path, {"enabled": False, field: value})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert owner.get(path).json() == made


def test_what_says_only_what_is_stored_needs_enabled_too(owner: ApiClient) -> None:
    made = owner.post(PATH, global_alert_config()).json()
    answer = owner.patch(f"{PATH}/{made['id']}", {"eventTypeName": made["eventTypeName"]})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "MISSING_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["enabled"]


def test_a_test_is_sent_without_a_project(owner: ApiClient, mail_receiver: MailReceiver) -> None:
    made = owner.post(PATH, global_alert_config()).json()
    answer = owner.post(f"{PATH}/{made['id']}/test", None)
    assert answer.status_code == 200
    (result,) = answer.json()["results"]
    assert (result["notificationId"], result["status"]) == (made["notifications"][0]["id"], "DELIVERED")
    assert "project" not in str(mail_receiver.mails[0].message["Subject"])
    event = Event.objects.get(event_type="ALERT_CONFIG_TESTED_AUDIT")
    assert (event.group_id, event.details["alertConfigId"]) == (None, made["id"])


def test_a_test_says_which_credentials_it_has_not(owner: ApiClient) -> None:
    made = owner.post(PATH, global_alert_config(notifications=[{"typeName": "PAGER_SERVICE"}])).json()
    (result,) = owner.post(f"{PATH}/{made['id']}/test", None).json()["results"]
    assert result["status"] == "FAILED"
    assert result["reason"]


DEFAULTS = ["JOINED_GROUP", "HOST_SSL_CERTIFICATE_STALE", "MONITORING_AGENT_DOWN"]


def test_a_new_project_has_its_default_configurations(owner: ApiClient) -> None:
    made = owner.post("/groups", group()).json()
    path = f"/groups/{made['id']}/alertConfigs"
    found: list[dict[str, Any]] = owner.get(path).json()["results"]
    assert [config["eventTypeName"] for config in found] == DEFAULTS
    for config in found:
        (notification,) = config["notifications"]
        recorded = ("typeName", "emailEnabled", "smsEnabled", "delayMin", "intervalMin")
        assert [notification[name] for name in recorded] == ["GROUP", True, False, 0, 60]
        assert config["enabled"] is True
        assert owner.put(f"{path}/{config['id']}", config).json()["updated"] == config["updated"]
    events = Event.objects.filter(event_type="ALERT_CONFIG_ADDED_AUDIT", group_id=made["id"])
    assert owner.key
    assert [event.details["publicKey"] for event in events] == [owner.key.public_key] * 3
    assert not Event.objects.filter(event_type="ALERT_CONFIG_CHANGED_AUDIT").exists()


def test_a_project_that_was_there_gets_none(owner: ApiClient, project: Project) -> None:
    owner.patch(f"/groups/{project.id}", {"tags": ["prod"]})
    assert owner.get(f"/groups/{project.id}/alertConfigs").json()["totalCount"] == 0


def test_a_project_that_is_refused_leaves_none(owner: ApiClient) -> None:
    assert owner.post("/groups", group()).status_code == 201
    assert owner.post("/groups", group()).status_code == 409
    assert AlertConfig.objects.count() == len(DEFAULTS)
