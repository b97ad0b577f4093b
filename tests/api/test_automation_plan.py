"""The plan in the answer to a dry run of an automation configuration."""

import re
from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.models import AutomationRevision, ProcessStatus
from automation.reports.rules import ProcessReport
from automation.turns import store
from opsapi import clock
from opsapi.api import bodies as read_bodies
from opsapi.hostnames import host_and_port
from tests.api import bodies
from tests.api.automation import path, published, publisher
from tests.automation_fields import REFUSED, field_rows
from tests.client import ApiClient
from tests.factories.automation import host_report, ingest
from tests.factories.documents import document, full_document, process, version

__all__ = ["path", "publisher"]

pytestmark = pytest.mark.django_db

SETTINGS = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}, "replication": {"replSetName": "rs"}}
TYPES = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY)


def replica_set(number: int = 0, **fields: Any) -> dict[str, Any]:
    """A document of three members; `fields` are of all processes."""
    fields = {"version": "7.0.2", "args2_6": SETTINGS, **fields}
    return document(
        version=number,
        databaseVersions=[version(), version(name="7.0.3"), version(name="8.0.1")],
        processes=[process(name=f"p{n}", hostname=f"db{n}.example.com", **fields) for n in range(3)],
        replicaSets=[{"_id": "rs", "members": [{"_id": n, "host": f"p{n}"} for n in range(3)]}],
    )


def report(project: Project, *, reached: int = 1, **changes: Any) -> None:
    """All members run, and have reached a version of the document."""
    hosts = [
        host_report(
            f"db{n}.example.com",
            **{"type_name": type_name, "version": "7.0.2", "replica_set_name": "rs", **changes},
        )
        for n, type_name in enumerate(TYPES)
    ]
    states = [
        ProcessReport(name=f"p{n}", hostname=f"db{n}.example.com", goal_version=reached) for n in range(3)
    ]
    ingest(project, *hosts, processes=states, agent_type=AgentType.AUTOMATION)


def plan(publisher: ApiClient, path: str, sent: dict[str, Any]) -> Any:
    answer = publisher.put(f"{path}?dryRun=true", sent)
    assert answer.status_code == 200, answer.content
    return answer.json()["plan"]


def moves(drawn: Any) -> list[tuple[str, str, bool]]:
    """The moves of all processes in order: process, move, whether it disturbs."""
    found = [(move["number"], p["process"], move) for p in drawn["processes"] for move in p["moves"]]
    return [(name, move["move"], move["disturbs"]) for _, name, move in sorted(found, key=lambda row: row[0])]


def test_a_dry_run_names_the_faults_of_members(publisher: ApiClient, path: str) -> None:
    sent = replica_set()
    sent["replicaSets"][0]["members"][1] |= {"arbiterOnly": "yes", "tags": {"dc": "east"}}
    drawn = plan(publisher, path, sent)
    assert moves(drawn) == []
    fields = "_id, host, priority, votes, hidden, secondaryDelaySecs, arbiterOnly"
    assert [(row["reason"], row["detail"].partition(": ")[2]) for row in drawn["refused"]] == [
        ("SECTION_INVALID", f"members[1] (p1): the plan does not carry out tags: allowed are {fields}"),
        ("SECTION_INVALID", "members[1] (p1): arbiterOnly must be true or false"),
    ]


def reasons(rows: Any) -> set[str]:
    return {row["reason"] for row in rows}


def test_a_new_replica_set_is_started_and_initiated(
    publisher: ApiClient, path: str, project: Project
) -> None:
    drawn = plan(publisher, path, replica_set())
    assert [kind for _, kind, _ in moves(drawn)] == [
        *["DOWNLOAD"] * 3,
        *["WRITE_FILE"] * 3,
        *["START"] * 3,
        "INITIATE",
    ]
    assert not any(disturbs for *_, disturbs in moves(drawn))
    assumed = {(row["reason"], row.get("process")) for row in drawn["assumed"]}
    assert {("NOT_REPORTED", f"p{n}") for n in range(3)} <= assumed
    assert (drawn["waits"], drawn["refused"]) == ([], [])
    assert not AutomationRevision.objects.exists()
    assert not ProcessStatus.objects.exists()


def test_a_status_that_reads_large_older_documents_waits_for_room(
    publisher: ApiClient, path: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(publisher, path, replica_set())
    report(project)
    published(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    monkeypatch.setattr(read_bodies, "LARGE_BODY", 1_000)
    status = path.replace("automationConfig", "automationStatus")
    with read_bodies.LARGE_BODIES.taking(1024**3):
        assert publisher.get(status).json()["errorCode"] == "RATE_LIMITED"
    assert publisher.get(status).json()["processes"][1]["plan"]["moves"]
    report(project, reached=2)
    with read_bodies.LARGE_BODIES.taking(1024**3):
        assert publisher.get(status).status_code == 200
        store._refusals.cache_clear()  # Another process answers.
        assert publisher.get(status).json()["errorCode"] == "RATE_LIMITED"


def test_a_restart_goes_from_member_to_member_and_says_which_moves_disturb(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    drawn = plan(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    assert moves(drawn) == [
        ("p1", "RESTART", True),
        ("p2", "RESTART", True),
        ("p0", "STEP_DOWN", True),
        ("p0", "RESTART", True),
    ]
    assert {p["replicaSetName"] for p in drawn["processes"]} == {"rs"}
    assert reasons(drawn["assumed"]) == {
        "FEATURE_VERSION_ASSUMED",
        "CONFIG_ASSUMED",
        "MOMENT_ASSUMED",
        "MACHINES_ASSUMED",
    }


def test_an_initial_sync_assumes_data_that_is_older(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    drawn = plan(publisher, path, replica_set(1, lastResync="2026-11-21T07:26:14Z"))
    removal = "REMOVE_OLD_DATA"
    assert [(name, kind) for name, kind, _ in moves(drawn) if kind != removal] == [
        ("p1", "RESYNC"),
        ("p2", "RESYNC"),
        ("p0", "STEP_DOWN"),
        ("p0", "RESYNC"),
    ]
    assert {disturbs for _, kind, disturbs in moves(drawn) if kind == removal} == {False}
    assumed = [row["process"] for row in drawn["assumed"] if row["reason"] == "DATA_AGE_ASSUMED"]
    assert assumed == ["p0", "p1", "p2"]


def test_a_restart_in_the_future_has_its_time(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project)
    later = clock.wire_time(clock.now() + timedelta(days=1))
    drawn = plan(publisher, path, replica_set(1, lastRestart=later))
    assert {move["at"] for p in drawn["processes"] for move in p["moves"]} == {later}


def test_a_paused_plan_says_so_and_shows_its_moves(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project)
    publisher.request("POST", f"{path}/pause")
    wanted = replica_set(1, lastRestart="2026-11-21T07:26:14Z")
    drawn = plan(publisher, path, wanted)
    assert (len(moves(drawn)), reasons(drawn["waits"])) == (4, {"PAUSED"})
    publisher.request("POST", f"{path}/resume")
    assert plan(publisher, path, wanted)["waits"] == []


def test_a_new_version_comes_with_its_feature_version_last(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    new = replica_set(1, version="8.0.1", featureCompatibilityVersion="8.0")
    kinds = [kind for _, kind, _ in moves(plan(publisher, path, new))]
    assert kinds.count("CHANGE_VERSION") == 3
    assert kinds[-1] == "SET_FEATURE_VERSION"


def test_a_default_concern_is_set_by_the_primary(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project)
    concern = {"defaultWriteConcern": {"w": "majority"}}
    drawn = plan(publisher, path, replica_set(1, defaultRWConcern=concern))
    assert moves(drawn) == [("p0", "SET_DEFAULT_CONCERN", False)]
    assert "CONCERN_ASSUMED" in reasons(drawn["assumed"])
    published(publisher, path, replica_set(1, defaultRWConcern=concern))
    assert moves(plan(publisher, path, replica_set(2, defaultRWConcern=concern))) == []


SECRET = "c2VjcmV0IG9mIGEgc2V0"
AUTH = {
    "autoUser": "mms",
    "autoPwd": SECRET,
    "key": SECRET,
    "keyfile": "/keys/file",
    "usersWanted": [{"user": "app", "db": "shop", "roles": [], "pwd": SECRET}],
}


def test_users_and_key_files_are_planned_without_their_secrets(
    publisher: ApiClient, path: str, project: Project
) -> None:
    answer = publisher.put(f"{path}?dryRun=true", {**replica_set(), "auth": AUTH})
    drawn = answer.json()["plan"]
    assert [kind for _, kind, _ in moves(drawn)].count("WRITE_KEY_FILE") == 3
    (users,) = [move for p in drawn["processes"] for move in p["moves"] if move["move"] == "SET_USERS"]
    assert (users["detail"], users["disturbs"]) == (
        "creates, changes or deletes users: admin.mms, shop.app",
        False,
    )
    assert drawn["refused"] == []
    assert "USERS_ASSUMED" in reasons(drawn["assumed"])
    assert SECRET not in str(drawn)


def test_another_key_is_refused(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, {**replica_set(), "auth": AUTH})
    report(project)
    other = {**AUTH, "key": "b3RoZXI="}
    assert reasons(plan(publisher, path, {**replica_set(1), "auth": other})["refused"]) == {"KEY_CHANGE"}
    same = {**AUTH, "key": f" {SECRET[:4]}\n{SECRET[4:]} "}
    drawn = plan(publisher, path, {**replica_set(1), "auth": same})
    assert (moves(drawn), drawn["refused"]) == ([], [])


def test_a_faulty_section_is_published_and_its_plan_refused(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, {**replica_set(), "auth": {**AUTH, "key": 7, "usersWanted": "app"}})
    drawn = plan(publisher, path, {**replica_set(1), "auth": {**AUTH, "key": 7}})
    assert (moves(drawn), reasons(drawn["refused"])) == ([], {"SECTION_INVALID"})
    assert "key must be" in drawn["refused"][0]["detail"]


def test_what_agents_report_goes_before_the_document(
    publisher: ApiClient, path: str, project: Project
) -> None:
    """All members already run the version that the document wants."""
    published(publisher, path, replica_set())
    report(project, version="7.0.3")
    assert moves(plan(publisher, path, replica_set(1, version="7.0.3"))) == []


def test_a_member_that_is_down_is_started(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project)
    ingest(project, host_report("db2.example.com", reachable=False), agent_type=AgentType.AUTOMATION)
    assert moves(plan(publisher, path, replica_set(1))) == [("p2", "START", False)]


def test_a_refusal_says_why(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project)
    moved = {**SETTINGS, "storage": {"dbPath": "/other"}}
    drawn = plan(publisher, path, replica_set(1, args2_6=moved, backupRestoreUrl="CANCEL"))
    assert moves(drawn) == []
    refused = {(row["reason"], row["process"]) for row in drawn["refused"]}
    assert refused == {
        *[("FIXED_SETTING", f"p{n}") for n in range(3)],
        *[("NOT_PLANNED", f"p{n}") for n in range(3)],
    }
    assert all(
        "storage.dbPath" in row["detail"] for row in drawn["refused"] if row["reason"] == "FIXED_SETTING"
    )


def test_routers_and_members_of_shards_get_no_moves_and_are_refused(
    publisher: ApiClient, path: str, project: Project
) -> None:
    sent = replica_set(args2_6={**SETTINGS, "sharding": {"clusterRole": "shardsvr"}})
    sent["processes"].append(process(name="s", hostname="db9.example.com", processType="mongos", cluster="c"))
    drawn = plan(publisher, path, sent)
    assert (moves(drawn), drawn["waits"], drawn["assumed"]) == ([], [], [])
    assert [(row["reason"], row["process"], row["detail"]) for row in drawn["refused"]] == [
        ("NOT_PLANNED", name, "the plan does not carry out sharded clusters")
        for name in ("p0", "p1", "p2", "s")
    ]


def test_the_page_of_fields_says_refused_of_what_a_plan_does_not_carry_out(
    publisher: ApiClient, path: str
) -> None:
    drawn = plan(publisher, path, {**full_document(), "version": 0})
    refused = {
        ("processes[]." if "process" in row else "") + name
        for row in drawn["refused"]
        if row["reason"] == "NOT_PLANNED"
        for name in re.findall(r"^the plan does not carry out (\w+): ", row["detail"])
    }
    listed = {row.field for row in field_rows() if row.state == REFUSED}
    assert refused == {name for name in listed if "." not in name.removeprefix("processes[].")}


def test_what_no_agent_reports_is_assumed_and_said(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project, reached=0, version=None)
    drawn = plan(publisher, path, replica_set(1, args2_6={**SETTINGS, "setParameter": {"a": 1}}))
    assert {"SETTINGS_ASSUMED", "VERSION_ASSUMED", "RUN_TIME_ASSUMED"} <= reasons(drawn["assumed"])
    assert ("p1", "RESTART", True) in moves(drawn)


def test_an_old_report_is_named_as_old(
    publisher: ApiClient, path: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(publisher, path, replica_set())
    report(project)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(minutes=5))
    drawn = plan(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    assert "REPORT_OLD" in reasons(drawn["assumed"])


def test_a_member_without_a_process_counts_and_leaves(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    other = host_report(
        "other.example.com",
        type_name=HostType.REPLICA_SECONDARY,
        version="7.0.2",
        replica_set_name="rs",
    )
    ingest(project, other, agent_type=AgentType.AUTOMATION)
    drawn = plan(publisher, path, replica_set(1))
    assert moves(drawn) == [("p0", "REMOVE_MEMBER", True)]
    (row,) = drawn["processes"]
    assert host_and_port("other.example.com", 27017) in row["moves"][0]["detail"]


def test_no_secret_of_the_settings_is_in_the_plan(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    report(project)
    secret = {**SETTINGS, "security": {"clusterPassword": bodies.SECRET}}
    answer = publisher.put(f"{path}?dryRun=true", replica_set(1, args2_6=secret))
    assert bodies.SECRET not in answer.content.decode()
    assert "security.clusterPassword" in answer.content.decode()


def test_a_restore_shows_its_plan_too(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, replica_set())
    published(publisher, path, replica_set(1, version="7.0.3"))
    report(project, reached=2, version="7.0.3")
    answer = publisher.request("POST", f"{path}/revisions/1/restore?dryRun=true")
    assert [kind for _, kind, _ in moves(answer.json()["plan"])].count("CHANGE_VERSION") == 3


def test_a_large_document_says_how_much_is_not_drawn(
    publisher: ApiClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("automation.plan.reported.MOST_PROCESS_STEPS", 3)
    sent = document(
        version=0, processes=[process(name=f"s{n}", hostname=f"s{n}.example.com") for n in range(5)]
    )
    drawn = plan(publisher, path, sent)
    assert {name for name, *_ in moves(drawn)} == {"s0"}
    (row,) = [row for row in drawn["assumed"] if row["reason"] == "NOT_DRAWN"]
    assert "4 processes" in row["detail"]


def test_a_plan_without_an_end_is_refused_and_the_rest_of_the_answer_is_there(
    publisher: ApiClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(publisher, path, replica_set())
    monkeypatch.setattr("automation.plan.planner.expected", lambda unit, observed, move: observed)
    answer = publisher.put(f"{path}?dryRun=true", replica_set(1, version="7.0.3"))
    assert answer.status_code == 200, answer.content
    drawn = answer.json()["plan"]
    assert [(hold["reason"], hold["replicaSetName"]) for hold in drawn["refused"]] == [("NO_END", "rs")]
    assert drawn["processes"] == []
    assert answer.json()["diffs"]
