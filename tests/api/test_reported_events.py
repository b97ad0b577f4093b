"""What an event of a report may name, and what a database may be called."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.models import Agent, Host
from events.models import Event, Signal
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db
WHERE = {"database": "shop", "collection": "carts", "opType": "find"}


def refused(answer: Any) -> list[tuple[str, str]]:
    """The wrong fields and why, of a report that was refused and changed nothing."""
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
    assert not any(model.objects.exists() for model in (Host, Agent, Event, Signal))
    return [(bad["field"], bad["message"]) for bad in answer.json()["badFields"]]


@each("name", ["DATA_EXPLORER", "DATA_EXPLORER_CRUD"])
def test_the_data_explorers_events_name_where_something_was_done(
    agent: ApiClient, reader: ApiClient, project: Project, name: str
) -> None:
    body = report(events=[{"eventTypeName": name, **WHERE}])
    assert agent.report(project.id, body).status_code == 202
    (shown,) = reader.get(f"/groups/{project.id}/events?eventType={name}").json()["results"]
    assert WHERE.items() <= shown.items()


@each("name", ["HOST_ROLLBACK", "PRIMARY_ELECTED", "BACKUP_AGENT_CONF_CALL_FAILURE"])
@each("fields", [["database"], ["collection"], ["opType"], list(WHERE)])
def test_other_events_are_taken_and_do_not(
    agent: ApiClient, reader: ApiClient, project: Project, name: str, fields: list[str]
) -> None:
    event = {
        "eventTypeName": name,
        "hostname": "db1.example.com",
        **{field: WHERE[field] for field in fields},
    }
    assert agent.report(project.id, report(events=[event])).json()["accepted"]["events"] == 1
    url = f"/groups/{project.id}/events?eventType={name}&includeRaw=true"
    (shown,) = reader.get(url).json()["results"]
    assert shown["hostname"] == shown["raw"]["hostname"] == "db1.example.com"
    # Nor do matchers and messages see them.
    payload = Signal.objects.get(payload__eventTypeName=name).payload
    assert not WHERE.keys() & (shown.keys() | shown["raw"].keys() | payload.keys())


def test_what_is_left_out_is_held_against_its_rules_too(agent: ApiClient, project: Project) -> None:
    event = {"eventTypeName": "HOST_ROLLBACK", "database": "x" * 201}
    assert [field for field, _ in refused(agent.report(project.id, report(events=[event])))] == [
        "events[0].database"
    ]


def test_null_there_is_as_absent(agent: ApiClient, project: Project) -> None:
    event = {"eventTypeName": "HOST_ROLLBACK", **dict.fromkeys(WHERE)}
    assert agent.report(project.id, report(events=[event])).status_code == 202


def test_of_an_unknown_type_the_type_is_the_fault(agent: ApiClient, project: Project) -> None:
    answer = agent.report(project.id, report(events=[{"eventTypeName": "NOPE", **WHERE}]))
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["events[0].eventTypeName"]


@each("name", [".", ".."])
def test_a_database_whose_address_nobody_can_ask_for_is_refused(
    agent: ApiClient, project: Project, name: str
) -> None:
    answer = agent.report(project.id, report(host(databases=[{"databaseName": name}])))
    ((field, message),) = refused(answer)
    assert field == "hosts[0].databases[0].databaseName"
    assert message == 'must not be "." or ".."'


@each("name", ["...", ".a", "a.", "./", "../a", " ."])
def test_other_names_with_dots_are_taken(agent: ApiClient, project: Project, name: str) -> None:
    answer = agent.report(project.id, report(host(databases=[{"databaseName": name}])))
    assert answer.status_code == 202
