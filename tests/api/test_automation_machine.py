"""What the agent of a machine fetches of an automation configuration."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.models import AutomationRevision
from events.models import Event
from opsapi.api.links import AGENTS
from opsapi.redaction import MASK
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import path, published, publisher, refusal
from tests.api.turns import agent, machine, replica_set
from tests.client import ApiClient
from tests.factories.accesslist import make_key
from tests.factories.lost_keys import lose_key

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

OWN, OTHER = "own-s3cret", "other-s3cret"


@pytest.fixture
def ready(publisher: ApiClient, path: str, project: Project) -> Project:
    """A document with a secret of each machine, and a process that is in no replica set."""
    sent = replica_set()
    for number, process in enumerate(sent["processes"]):
        secret = OWN if number == 1 else OTHER
        process["args2_6"] = {**process["args2_6"], "security": {"clusterPassword": secret}}
    alone = {**sent["processes"][0], "name": "alone", "hostname": "alone.example.com"}
    sent["processes"].append({**alone, "args2_6": {"net": {"port": 27017}, "security": {"password": OTHER}}})
    published(publisher, path, sent)
    return project


def fetch(agent: ApiClient, project: Project, hostname: str | None, **headers: str) -> Any:
    query = "" if hostname is None else f"?hostname={hostname}"
    return agent.request("GET", f"/groups/{project.id}/automation{query}", base=AGENTS, **headers)


def fetches(project: Project) -> list[tuple[str, Any]]:
    rows = Event.objects.filter(group_id=project.id, event_type="AUTOMATION_CONFIG_FETCHED_AUDIT")
    return [(row.details["hostname"], row.diffs[0]["params"][0]["new"]) for row in rows.order_by("id")]


def test_it_has_its_processes_in_clear_and_no_secret_of_other_machines(
    agent: ApiClient, ready: Project
) -> None:
    answer = fetch(agent, ready, machine(1))
    assert OTHER not in answer.content.decode()
    part = answer.json()
    assert (part["version"], part["paused"]) == (1, False)
    (process,) = part["processes"]
    assert (process["name"], process["args2_6"]["security"]["clusterPassword"]) == ("p1", OWN)
    assert part["members"] == [
        {
            "name": f"p{number}",
            "hostname": machine(number),
            "port": 27017,
            "replicaSetName": "rs",
            "version": "7.0.2",
            "featureCompatibilityVersion": "7.0",
            "disabled": False,
            "manualMode": False,
        }
        for number in (0, 2)
    ]
    assert [stated["_id"] for stated in part["replicaSets"]] == ["rs"]
    assert len(part["databaseVersions"]) == 3


def test_the_default_concern_of_other_members_belongs_to_the_replica_set(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    sent, concern = replica_set(1), {"defaultWriteConcern": {"w": "majority"}}
    sent["processes"][2]["defaultRWConcern"] = concern
    published(publisher, path, sent)
    members = fetch(agent, ready, machine(1)).json()["members"]
    assert [member.get("defaultRWConcern") for member in members] == [None, concern]


def test_a_machine_is_found_in_any_case_and_by_its_alias(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    assert len(fetch(agent, ready, machine(1).upper()).json()["processes"]) == 1
    sent = replica_set(1)
    sent["processes"][1]["alias"] = "alias.example.com"
    published(publisher, path, sent)
    assert [p["name"] for p in fetch(agent, ready, "alias.example.com").json()["processes"]] == ["p1"]


def test_an_unknown_machine_has_no_processes(agent: ApiClient, ready: Project) -> None:
    answer = fetch(agent, ready, "unknown.example.com")
    part = answer.json()
    assert (answer.status_code, part["processes"], part["members"], part["replicaSets"]) == (200, [], [], [])
    assert OTHER not in answer.content.decode()
    assert fetches(ready) == []


AUTH = {
    "key": OWN,
    "keyfile": "/etc/mongodb.key",
    "autoUser": "ops",
    "autoPwd": OWN,
    "usersWanted": [{"db": "admin", "user": "ada", "initPwd": OWN}],
    "ldap": {"bindQueryPassword": OTHER},
}


def with_auth(number: int, **changes: Any) -> dict[str, Any]:
    """A replica set with users; `changes`: of the process of the first machine."""
    sent = replica_set(number)
    sent["processes"][1].update(changes)
    return {**sent, "auth": AUTH}


def test_machines_that_need_users_and_key_file_get_them(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, with_auth(0))
    part = fetch(agent, project, machine(1)).json()
    assert part["auth"] == {name: value for name, value in AUTH.items() if name != "ldap"}
    other = fetch(agent, project, "unknown.example.com")
    assert "auth" not in other.json()
    assert OWN not in other.content.decode()
    reader = ApiClient(make_key(Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id)))
    assert OWN not in reader.get(path).content.decode()


def test_an_arbiter_has_the_key_file_and_the_user_of_the_agent_only(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    sent = with_auth(0)
    sent["replicaSets"][0]["members"][1]["arbiterOnly"] = True
    published(publisher, path, sent)
    of_arbiter = fetch(agent, project, machine(1)).json()["auth"]
    assert of_arbiter.keys() == {"key", "keyfile", "autoUser", "autoPwd"}
    assert "usersWanted" in fetch(agent, project, machine(2)).json()["auth"]


def test_of_a_new_key_agents_learn_only_that_it_is_stated(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    sent = with_auth(0)
    published(publisher, path, {**sent, "auth": {**AUTH, "newKey": OTHER, "newAutoPwd": OTHER}})
    answer = fetch(agent, project, machine(1))
    assert (answer.json()["auth"]["newKey"], answer.json()["auth"]["newAutoPwd"]) == (MASK, MASK)
    assert OTHER not in answer.content.decode()


def test_a_machine_whose_processes_are_managed_by_hand_has_no_users(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, with_auth(0, manualMode=True, disabled=True))
    assert "auth" not in fetch(agent, project, machine(1)).json()
    (member,) = [
        member for member in fetch(agent, project, machine(2)).json()["members"] if member["name"] == "p1"
    ]
    assert (member["manualMode"], member["disabled"]) == (True, True)


def test_download_urls_have_their_secrets_only_for_versions_that_its_processes_can_get(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    """7.0.2 is wanted, and 8.0.1 can be on the way to it, 7.0.3 cannot."""
    sent = replica_set()
    for listed in sent["databaseVersions"]:
        listed["builds"] = [
            {**build, "url": f"https://ada:{OWN}@example.com/{listed['name']}"} for build in listed["builds"]
        ]
    published(publisher, path, sent)
    listed = fetch(agent, project, machine(1)).json()["databaseVersions"]
    shown = {version["name"]: {OWN in build["url"] for build in version["builds"]} for version in listed}
    assert shown == {"7.0.2": {True}, "7.0.3": {False}, "8.0.1": {True}}
    assert fetch(agent, project, "unknown.example.com").json()["databaseVersions"] == []


def test_a_machine_without_processes_has_no_secret_of_the_agent_version(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    url = f"https://ada:{OWN}@example.com/agents"
    published(publisher, path, {**replica_set(), "agentVersion": {"directoryUrl": url}})
    assert fetch(agent, project, machine(1)).json()["agentVersion"]["directoryUrl"] == url
    assert OWN not in fetch(agent, project, "unknown.example.com").content.decode()


def test_each_first_fetch_of_a_version_is_an_event(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    for _ in range(2):
        fetch(agent, ready, machine(1))
        fetch(agent, ready, machine(2))
    published(publisher, path, replica_set(1))
    fetch(agent, ready, machine(1))
    assert fetches(ready) == [(machine(1), "1"), (machine(2), "1"), (machine(1), "2")]


def test_a_known_version_is_not_sent_again(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    tag = fetch(agent, ready, machine(1)).headers["ETag"]
    again = fetch(agent, ready, machine(1), HTTP_IF_NONE_MATCH=tag)
    assert (again.status_code, again.headers["ETag"]) == (304, tag)
    publisher.request("POST", f"{path}/pause")
    paused = fetch(agent, ready, machine(1), HTTP_IF_NONE_MATCH=tag)
    assert (paused.status_code, paused.json()["paused"]) == (200, True)
    publisher.request("POST", f"{path}/resume")
    published(publisher, path, replica_set(1))
    assert fetch(agent, ready, machine(1), HTTP_IF_NONE_MATCH=tag).status_code == 200


def test_a_new_project_has_nothing_to_carry_out(agent: ApiClient, project: Project) -> None:
    part = fetch(agent, project, machine(1)).json()
    assert (part["version"], part["processes"]) == (0, [])


def test_it_names_a_wrong_machine(agent: ApiClient, ready: Project) -> None:
    assert refusal(fetch(agent, ready, None)) == (400, "MISSING_QUERY_PARAMETER", ["hostname"])
    for wrong in ("", "no%20host", "a" * 254):
        assert refusal(fetch(agent, ready, wrong)) == (400, "INVALID_QUERY_PARAMETER", ["hostname"])


def test_without_the_key_of_the_document_there_is_no_answer(agent: ApiClient, ready: Project) -> None:
    lose_key(AutomationRevision)
    answer = fetch(agent, ready, machine(1))
    assert refusal(answer)[:2] == (503, "SERVICE_UNAVAILABLE")
    assert bodies.SECRET not in answer.content.decode()
