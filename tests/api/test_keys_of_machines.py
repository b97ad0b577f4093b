"""Keys of agents that are for a single machine."""

from collections.abc import Callable
from typing import Any

import pytest

from accesslist.models import ApiKey, Project, RoleGrant
from automation.models import MemberObservation, PlanTurn, ProcessStatus
from events.models import Event
from opsapi.api.links import AGENTS
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import path, published, publisher, refusal
from tests.api.turns import ask, asked, give, machine, measured, replica_set, taken
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key

__all__ = ["path", "publisher"]

pytestmark = pytest.mark.django_db

NAMES = ["DB1.example.com", "db1-alias", "db1.example.com"]
STORED = ["db1.example.com", "db1-alias"]
REFUSED = (403, "HOSTNAME_NOT_OF_KEY")


@pytest.fixture
def owner(project: Project) -> ApiClient:
    """A key that may create keys in the project."""
    return ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=project.id)))


def keys_of(project: Project) -> str:
    return f"/groups/{project.id}/apiKeys"


def created(owner: ApiClient, project: Project, **changes: Any) -> Any:
    """The answer to a request for a key of the second machine."""
    body = {"desc": "agent of db1", "roles": ["GROUP_AGENT"], "hostnames": NAMES, **changes}
    return owner.post(keys_of(project), body)


def as_client(key: Any) -> ApiClient:
    return ApiClient(KeyPair(key["id"], key["publicKey"], key["privateKey"]))


@pytest.fixture
def own(owner: ApiClient, project: Project) -> ApiClient:
    """The agent of the second machine, with a key for it."""
    return as_client(created(owner, project).json())


@pytest.fixture
def published_set(publisher: ApiClient, path: str, project: Project) -> None:
    """A replica set with a member on each of three machines, which are all measured."""
    published(publisher, path, replica_set())
    measured(project)


def post(agent: ApiClient, project: Project, what: str, body: Any) -> Any:
    return agent.request("POST", f"/groups/{project.id}/{what}", body, base=AGENTS)


def fetch(agent: ApiClient, project: Project, hostname: str) -> Any:
    return agent.request("GET", f"/groups/{project.id}/automation?hostname={hostname}", base=AGENTS)


def report(agent: ApiClient, project: Project, number: int, **changes: Any) -> Any:
    body = bodies.report(**{"agentType": "AUTOMATION", "hostname": machine(number), **changes})
    return post(agent, project, "reports", body)


def process(number: int, hostname: str) -> Any:
    return {"name": f"p{number}", "hostname": hostname, "lastGoalVersionAchieved": 1}


def observe(agent: ApiClient, project: Project, number: int) -> Any:
    seen = {"name": f"p{number}", "running": False}
    body = {"hostname": machine(number), "replicaSetName": "rs", "goalVersion": 1, "processes": [seen]}
    return post(agent, project, "observations", body)


Call = Callable[[ApiClient, Project, int], Any]
CALLS: list[Call] = [
    lambda agent, project, number: fetch(agent, project, machine(number)),
    lambda agent, project, number: ask(agent, project, asked(number)),
    observe,
    report,
    lambda agent, project, number: report(agent, project, 1, processes=[process(number, machine(number))]),
]


@pytest.mark.usefixtures("published_set")
@each("call", CALLS)
def test_it_acts_for_its_machine_and_for_no_other(call: Call, own: ApiClient, project: Project) -> None:
    refused = call(own, project, 2)
    assert refusal(refused)[:2] == REFUSED
    assert (PlanTurn.objects.count(), MemberObservation.objects.count()) == (0, 0)
    assert not ProcessStatus.objects.exists()
    assert call(own, project, 1).status_code < 300


def test_a_process_of_another_machine_is_not_reported_under_its_own_host_name(
    own: ApiClient, project: Project, published_set: None
) -> None:
    other, new = process(2, machine(1)), {**process(2, machine(1)), "name": "not in the document"}
    for wrong in (other, process(1, machine(2))):
        assert refusal(report(own, project, 1, processes=[wrong]))[:2] == REFUSED
    assert report(own, project, 1, processes=[new]).status_code == 202


def test_a_process_counts_to_the_machine_by_its_alias(
    own: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    sent = replica_set()
    sent["processes"][2] |= {"hostname": "db2.internal", "alias": "db1-alias"}
    published(publisher, path, sent)
    assert report(own, project, 1, processes=[process(2, "db2.internal")]).status_code == 202
    assert [row["name"] for row in fetch(own, project, "db1-alias").json()["processes"]] == ["p2"]


def test_the_turn_of_another_machine_is_neither_renewed_nor_given_back(
    own: ApiClient, project: Project, published_set: None
) -> None:
    others = ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id)))
    turn = taken(others, project, asked(2))
    assert refusal(give(own, project, turn, outcome="FAILED", reason="no"))[:2] == REFUSED
    assert give(others, project, turn, outcome="DONE").status_code == 200
    turn = taken(others, project, asked(1, request_id="second"))
    assert give(own, project, turn, outcome="DONE").status_code == 200


OWN_STRINGS = [
    "mongodb://ada:secret@db1.example.com:27017/?authSource=admin",
    "mongodb://ada:secret@db1-alias,db1.example.com:27018/",
    "mongodb://ada:secret@localhost:27017,[::1]:27018/",
]
OTHER_STRINGS = [
    "mongodb://ada:secret@db1.example.com,db2.example.com/",
    "mongodb+srv://ada:secret@db1.example.com/",
]
OWN_URIS = ["postgresql://ada:secret@127.0.0.1:5432/postgres"]
OTHER_URIS = ["postgresql://ada:secret@db1-alias/postgres?host=db2.example.com"]


def test_it_gets_only_the_connection_strings_of_its_machine(
    own: ApiClient, owner: ApiClient, project: Project
) -> None:
    sent = {"mongodb": [*OTHER_STRINGS, *OWN_STRINGS], "postgresql": [*OWN_URIS, *OTHER_URIS]}
    assert owner.put(f"/groups/{project.id}/agents/settings", sent).status_code == 200
    path = f"/groups/{project.id}/settings"
    answer = own.request("GET", path, base=AGENTS)
    assert (answer.json()["mongodb"], answer.json()["postgresql"]) == (OWN_STRINGS, OWN_URIS)
    assert answer.json()["withheldCount"] == len([*OTHER_STRINGS, *OTHER_URIS])
    tag = answer.headers["ETag"]
    assert own.request("GET", path, base=AGENTS, HTTP_IF_NONE_MATCH=tag).status_code == 304
    # The same settings for more machines are another version.
    key = ApiKey.objects.get(desc="agent of db1")
    assert owner.patch(f"{keys_of(project)}/{key.id}", {"hostnames": []}).status_code == 200
    answer = own.request("GET", path, base=AGENTS, HTTP_IF_NONE_MATCH=tag)
    assert (answer.json()["mongodb"], answer.json()["postgresql"]) == (sent["mongodb"], sent["postgresql"])
    assert "withheldCount" not in answer.json()


def test_its_document_and_its_events_name_the_machine(owner: ApiClient, project: Project) -> None:
    key = created(owner, project).json()
    assert key["hostnames"] == STORED
    at = f"{keys_of(project)}/{key['id']}"
    assert owner.patch(at, {"hostnames": ["db2.example.com."]}).json()["hostnames"] == ["db2.example.com"]
    assert owner.patch(at, {"desc": "moved"}).json()["hostnames"] == ["db2.example.com"]
    assert fetch(as_client(key), project, "DB2.example.com").status_code == 200
    assert "hostnames" not in owner.patch(at, {"hostnames": []}).json()
    assert fetch(as_client(key), project, machine(1)).status_code == 200
    diffs = [
        (param.get("old"), param.get("new"))
        for event in Event.objects.filter(event_type="API_KEY_CHANGED_AUDIT").order_by("created", "id")
        for change in event.diffs
        for param in change["params"]
        if param["param"] == "hostnames"
    ]
    assert diffs == [
        ('["db1.example.com","db1-alias"]', '["db2.example.com"]'),
        ('["db2.example.com"]', None),
    ]


@each(
    "changes",
    [
        {"roles": ["GROUP_AGENT", "GROUP_READ_ONLY"]},
        {"hostnames": ["not a name"]},
        {"hostnames": [f"db{number}" for number in range(21)]},
        {"hostnames": "db1"},
    ],
)
def test_wrong_machines_are_refused(owner: ApiClient, project: Project, changes: Any) -> None:
    code, error, fields = refusal(created(owner, project, **changes))
    assert (code, error) == (400, "INVALID_ATTRIBUTE")
    assert {field.partition("[")[0] for field in fields} == {"hostnames"}
    assert not ApiKey.objects.filter(desc="agent of db1").exists()


def test_a_key_of_a_machine_gets_no_other_role(owner: ApiClient, project: Project) -> None:
    key = created(owner, project).json()
    at = f"{keys_of(project)}/{key['id']}"
    wider = {"roles": ["GROUP_AGENT", "GROUP_READ_ONLY"]}
    assert refusal(owner.patch(at, wider)) == (400, "INVALID_ATTRIBUTE", ["hostnames"])
    assert [role["roleName"] for role in owner.get(at).json()["roles"]] == ["GROUP_AGENT"]
    assert owner.patch(at, {**wider, "hostnames": []}).status_code == 200


def test_only_a_caller_who_could_create_the_key_changes_its_machine(
    owner: ApiClient, own: ApiClient, project: Project
) -> None:
    """A key of two projects: a writer of one of them must not open it for machines of the other."""
    key, other = ApiKey.objects.get(desc="agent of db1"), ProjectFactory.create(org=project.org)
    RoleGrant.objects.create(api_key=key, role=Role.GROUP_AGENT.value, project=other)
    at = f"{keys_of(other)}/{key.id}"
    for role in (Role.GROUP_USER_ADMIN, Role.GROUP_OWNER):
        writer = ApiClient(make_key(Grant(role, group_id=other.id)))
        for hostnames in ([], ["db2.example.com"]):
            assert refusal(writer.patch(at, {"hostnames": hostnames}))[:2] == (403, "USER_UNAUTHORIZED")
        assert writer.patch(at, {"desc": "agent of db1"}).status_code == 200
    key.grants.filter(project=other).delete()
    user_admin = ApiClient(make_key(Grant(Role.GROUP_USER_ADMIN, group_id=project.id)))
    wider = user_admin.patch(f"{keys_of(project)}/{key.id}", {"hostnames": []})
    assert refusal(wider)[:2] == (403, "ROLE_NOT_HELD")
    assert refusal(fetch(own, project, machine(2)))[:2] == REFUSED


def test_a_change_of_the_machine_revokes_running_writes_and_a_repeat_does_not(
    owner: ApiClient, project: Project
) -> None:
    key = ApiKey.objects.get(id=created(owner, project).json()["id"])
    at = f"{keys_of(project)}/{key.id}"
    for body, revocations in (
        ({"desc": "other"}, 0),
        ({"hostnames": ["db2"]}, 1),
        ({"hostnames": ["DB2"]}, 1),
    ):
        assert owner.patch(at, body).status_code == 200
        key.refresh_from_db()
        assert key.revocations == revocations
