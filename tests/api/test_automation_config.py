"""The automation configuration: read, published, refused."""

import json
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from automation.desired_state.document.changes import RESYNC_WARNING
from automation.models import AutomationRevision, Host
from events.models import Event
from tests.api.automation import Refusal, named, path, published, publisher, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.documents import ABSENT, document, full_document, process, rotation

__all__ = ["path", "publisher"]

START = {
    "version": 0,
    "options": {"downloadBase": "/var/lib/ops-agent"},
    "databaseVersions": [],
    "processes": [],
}
CONCURRENT: Refusal = (409, "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION", [])
pytestmark = pytest.mark.django_db


def nothing_changed(project: Project) -> bool:
    """Whether no revision, no event and no host is there."""
    return not (
        AutomationRevision.objects.exists()
        or Event.objects.filter(group_id=project.id).exists()
        or Host.objects.exists()
    )


class TestReading:
    """GET."""

    def test_a_new_project_starts_from_an_empty_document(self, reader: ApiClient, path: str) -> None:
        answer = reader.get(path)
        assert answer.json() == START
        assert answer.headers["ETag"] == '"0"'

    def test_the_etag_is_the_version(self, publisher: ApiClient, reader: ApiClient, path: str) -> None:
        answer = publisher.put(path, named("a"))
        assert answer.headers["ETag"] == reader.get(path).headers["ETag"] == '"1"'

    def test_pretty_and_envelope_wrap_the_same_document(self, publisher: ApiClient, path: str) -> None:
        sent = json.dumps(document(version=0, odd=[1])).replace("[1]", "[1.50, 1e999]")
        publisher.put(path, sent.encode())
        plain = publisher.get(path).content
        pretty = publisher.get(f"{path}?pretty=true").content
        enveloped = publisher.get(f"{path}?envelope=true").content
        assert b'"odd":[1.50,1e999]' in plain
        assert b"\n    1.50,\n    1e999\n" in pretty
        assert enveloped == b'{"status":200,"content":' + plain + b"}"

    def test_a_section_called_results_does_not_make_it_a_list(self, publisher: ApiClient, path: str) -> None:
        publisher.put(path, document(version=0, results=[], status=7))
        shown = publisher.get(f"{path}?envelope=true").json()
        assert set(shown) == {"status", "content"}
        assert (shown["status"], shown["content"]["status"]) == (200, 7)


class TestPublishing:
    """PUT."""

    def test_it_is_stored_as_the_next_version(self, publisher: ApiClient, path: str) -> None:
        sent = {**full_document(), "version": 0}
        assert published(publisher, path, sent) == {**sent, "version": 1} == publisher.get(path).json()
        assert published(publisher, path, {**sent, "version": 1, "processes": []})["version"] == 2

    def test_defaults_are_filled_and_older_names_replaced(self, publisher: ApiClient, path: str) -> None:
        older = rotation(numUncompressed=ABSENT, maxUncompressed=7, numTotal=ABSENT)
        sent = document(version=0, processes=[process(hostname=ABSENT, logRotate=older)])
        (shown,) = published(publisher, path, sent)["processes"]
        assert shown["hostname"] == "localhost"
        assert shown["logRotate"] == rotation(numUncompressed=7)

    def test_what_is_not_listed_is_kept_as_it_came(self, publisher: ApiClient, path: str) -> None:
        sent = '{"z": null, "version": 0, "options": {"downloadBase": "/x", "b": -0.0, "a": 5.0}, '
        sent += (
            '"databaseVersions": [], "processes": [], "huge": 123456789012345678901234567890, "links": [1]}'
        )
        publisher.put(path, sent.encode())
        kept = sent.replace('"version": 0', '"version": 1').replace(" ", "").encode()
        assert publisher.get(path).content == kept
        assert publisher.get(f"{path}/revisions/1").content == kept

    def test_one_that_changes_nothing_changes_nothing(self, publisher: ApiClient, path: str) -> None:
        first = publisher.put(path, named("a"))
        counts = AutomationRevision.objects.count(), Event.objects.count()
        again = publisher.put(path, dict(reversed(first.json().items())))
        assert (again.status_code, again.content) == (200, first.content)
        assert (AutomationRevision.objects.count(), Event.objects.count()) == counts
        assert publisher.get(path).content == first.content

    def test_what_a_new_project_starts_from_can_be_written_back(
        self, publisher: ApiClient, path: str, project: Project
    ) -> None:
        assert published(publisher, path, publisher.get(path).json()) == START
        assert nothing_changed(project)

    @each("version", [1, 2, -1, 10**30])
    def test_another_version_is_refused_with_both_numbers(
        self, publisher: ApiClient, path: str, project: Project, version: int
    ) -> None:
        sent = json.dumps({**named("a"), "version": version}).encode()
        answer = publisher.put(path, sent)
        assert refusal(answer) == CONCURRENT
        assert answer.json()["parameters"] == [str(version), "0"]
        assert nothing_changed(project)

    @each(
        ("if_match", "taken"),
        [
            ('"0"', True),
            ('"7", "0"', True),
            ("*", True),
            ('"1"', False),
            ('W/"0"', False),
            ("0", False),
            ("", False),
            ("x" * 500, False),
        ],
    )
    def test_if_match_names_the_etag(
        self, publisher: ApiClient, path: str, project: Project, if_match: str, taken: bool
    ) -> None:
        answer = publisher.put(path, named("a"), HTTP_IF_MATCH=if_match)
        assert (answer.status_code == 200) is taken
        if not taken:
            assert refusal(answer) == CONCURRENT
            assert answer.json()["parameters"][1] == "0"
            assert nothing_changed(project)

    def test_all_faults_are_named_at_once_by_json_pointer(
        self, publisher: ApiClient, path: str, project: Project
    ) -> None:
        spoiled = [
            process(version="6.0", lastRestart="yesterday"),
            process(authSchemaVersion="5", hostname="no host"),
            process(name="c", args2_6={"net": {"port": 0}, "apiKey": "******"}),
        ]
        sent = document(version=0, options=ABSENT, processes=spoiled)
        assert refusal(publisher.put(path, sent)) == (
            400,
            "MISSING_ATTRIBUTE",
            [
                "/options",
                "/processes/0/lastRestart",
                "/processes/0/version",
                "/processes/1/authSchemaVersion",
                "/processes/1/hostname",
                "/processes/1/name",
                "/processes/2/args2_6/net/port",
                "/processes/2/args2_6/apiKey",
            ],
        )
        assert nothing_changed(project)

    @each(
        ("sent", "code", "field"),
        [
            ({"version": "0"}, "INVALID_ATTRIBUTE", "/version"),
            ({"version": True}, "INVALID_ATTRIBUTE", "/version"),
            ({"version": 0.5}, "INVALID_ATTRIBUTE", "/version"),
            ({"processes": {}}, "INVALID_ATTRIBUTE", "/processes"),
            ({"processes": [process(), process()]}, "INVALID_SETTINGS", "/processes/1/name"),
        ],
        ids=str,
    )
    def test_a_fault_has_its_code(
        self, publisher: ApiClient, path: str, sent: dict[str, Any], code: str, field: str
    ) -> None:
        assert refusal(publisher.put(path, document(**{"version": 0, **sent}))) == (400, code, [field])

    @each("body", [b" ", b"[]", b"{", b'{"version": 0, "version": 0}', b'{"a": NaN}', b'"x"'])
    def test_what_is_no_json_object_is_refused(self, publisher: ApiClient, path: str, body: bytes) -> None:
        assert refusal(publisher.put(path, body))[:2] == (400, "INVALID_JSON")

    def test_a_body_larger_than_other_bodies_is_taken(self, publisher: ApiClient, path: str) -> None:
        notes = "x" * (3 * 1024 * 1024)
        assert published(publisher, path, document(version=0, notes=notes))["notes"] == notes


class TestRecordedChanges:
    """Events, and the hosts a publish brings."""

    def test_a_publish_is_recorded_with_its_effect_on_each_process(
        self, publisher: ApiClient, path: str, project: Project
    ) -> None:
        published(publisher, path, named("a", "b", "c", "d"))
        processes = [
            process(name="a", hostname="a.example.com", disabled=True),
            process(name="b", hostname="b.example.com", lastRestart="2099-01-01T00:00:00Z"),
            process(name="c", hostname="c.example.com", alias="db"),
            process(name="e", hostname="a.example.com"),
        ]
        published(publisher, path, document(processes=processes))
        recorded = Event.objects.filter(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT").latest("id")
        assert (recorded.group_id, recorded.details["publicKey"]) == (
            project.id,
            publisher.key and publisher.key.public_key,
        )
        assert [(diff["type"], diff["id"], diff["status"]) for diff in recorded.diffs] == [
            ("PROCESS", "a", "SHUTDOWN"),
            ("PROCESS", "b", "RESTART"),
            ("PROCESS", "c", "MODIFIED"),
            ("PROCESS", "e", "NEW"),
            ("PROCESS", "d", "REMOVED"),
        ]
        assert recorded.diffs[2]["params"] == [{"param": "alias", "display": "alias", "new": "db"}]

    def test_a_publish_that_changes_no_process_is_recorded_all_the_same(
        self, publisher: ApiClient, path: str
    ) -> None:
        published(publisher, path, {**START, "options": {"downloadBase": "/srv"}})
        (recorded,) = Event.objects.filter(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT")
        assert recorded.diffs == []

    def test_it_brings_the_hosts_of_processes_into_the_fleet(
        self, publisher: ApiClient, path: str, project: Project
    ) -> None:
        there = publisher.post(
            f"/groups/{project.id}/hosts", {"hostname": "db1.example.com", "port": 27017}
        ).json()
        processes = [
            process(name="a", hostname="DB1.example.com."),
            process(name="b", hostname="db1.example.com", args2_6={"net": {"port": 27018}}),
            process(name="c", hostname="192.0.2.7", args2_6={}),
            process(name="d", hostname="192.0.2.7", disabled=True),
            process(name="e", hostname=ABSENT),
        ]
        published(publisher, path, document(version=0, processes=processes))
        hosts = publisher.get(f"/groups/{project.id}/hosts").json()["results"]
        assert [(host["hostname"], host["port"], host["typeName"]) for host in hosts] == [
            ("192.0.2.7", 27017, "NO_DATA"),
            ("db1.example.com", 27017, "NO_DATA"),
            ("db1.example.com", 27018, "NO_DATA"),
            ("localhost", 27017, "NO_DATA"),
        ]
        assert there["id"] in {host["id"] for host in hosts}
        project.refresh_from_db()
        assert project.host_count == 4
        added = Event.objects.filter(event_type="ADD_HOST_AUDIT").exclude(details__hostId=there["id"])
        assert {event.diffs[0]["id"] for event in added} == {host["id"] for host in hosts} - {there["id"]}
        assert all(event.diffs[0]["status"] == "NEW" for event in added)

    def test_a_host_stays_when_its_process_goes(self, publisher: ApiClient, path: str) -> None:
        published(publisher, path, named("a"))
        published(publisher, path, named(version=1))
        assert Host.objects.count() == 1


def replica_set(number: int, **fields: Any) -> dict[str, Any]:
    """A document of a replica set of two members; `fields` are of the first."""
    settings = {"net": {"port": 27017}, "replication": {"replSetName": "rs"}}
    other = process(name="db_2", hostname="db2.example.com", args2_6=settings)
    members = [{"_id": 0, "host": "db_1"}, {"_id": 1, "host": "db_2"}]
    return document(
        version=number,
        processes=[process(args2_6=settings, **fields), other],
        replicaSets=[{"_id": "rs", "members": members}],
    )


class TestDryRun:
    """`?dryRun=true`."""

    def test_it_reports_what_would_happen_and_writes_nothing(
        self, publisher: ApiClient, path: str, project: Project
    ) -> None:
        sent = replica_set(0, lastResync="2099-01-03T00:00:00Z")
        with time_machine.travel("2099-01-02T12:00:00Z", tick=False):
            answer = publisher.put(f"{path}?dryRun=true", sent)
        plan = answer.json()
        assert answer.status_code == 200
        assert "ETag" not in answer.headers
        diffs = [(diff["id"], diff["status"]) for diff in plan["diffs"]]
        assert diffs == [("db_1", "NEW"), ("db_2", "NEW")]
        assert [effect["action"] for effect in plan["effects"]] == ["START", "RESYNC", "START"]
        assert [warning["process"] for warning in plan["warnings"]] == ["db_1"]
        assert "copies all data again" in plan["warnings"][0]["warning"]
        assert publisher.get(path).json() == START
        assert nothing_changed(project)

    def test_a_new_member_has_no_data_to_copy_again(self, publisher: ApiClient, path: str) -> None:
        sent = replica_set(0, lastResync="2099-01-01T00:00:00Z")
        with time_machine.travel("2099-01-02T12:00:00Z", tick=False):
            answer = publisher.put(f"{path}?dryRun=true", sent).json()
        assert [effect["action"] for effect in answer["effects"]] == ["START", "NOTHING", "START"]
        assert "assumes that the new process has no data" in answer["warnings"][0]["warning"]
        moves = [move["move"] for row in answer["plan"]["processes"] for move in row["moves"]]
        assert "RESYNC" not in moves

    def test_a_known_member_is_warned_of_its_initial_sync(
        self, publisher: ApiClient, path: str, project: Project
    ) -> None:
        published(publisher, path, replica_set(0))
        sent = replica_set(1, lastResync="2099-01-01T00:00:00Z")
        with time_machine.travel("2099-01-02T12:00:00Z", tick=False):
            answer = publisher.put(f"{path}?dryRun=true", sent).json()
        (effect,) = answer["effects"]
        assert (effect["action"], effect["warning"]) == ("RESYNC", RESYNC_WARNING)
        assert answer["warnings"] == [{"process": "db_1", "warning": RESYNC_WARNING}]

    @each(
        "fields",
        [
            {"lastResync": "2099-01-01T00:00:00Z"},
            {"defaultRWConcern": {"defaultWriteConcern": {"w": 1}}},
            {"backupRestoreUrl": "CANCEL"},
            {"numCores": 4},
        ],
    )
    def test_effects_of_fields_say_what_the_plan_refuses(
        self, publisher: ApiClient, path: str, fields: dict[str, Any]
    ) -> None:
        sent = document(version=0, processes=[process(**fields)])
        answer = publisher.put(f"{path}?dryRun=true", sent).json()
        assert [effect["action"] for effect in answer["effects"]] == ["START", "NOTHING"]
        (refused,) = answer["plan"]["refused"]
        assert answer["warnings"] == [{"process": "db_1", "warning": refused["detail"]}]

    @each(
        ("fields", "word"),
        [
            ({"manualMode": True}, "manualMode"),
            ({"processType": "mongos"}, "routers"),
            ({"featureCompatibilityVersion": "4.4"}, "4.4"),
        ],
    )
    def test_effects_of_processes_without_moves_say_why_nothing_happens(
        self, publisher: ApiClient, path: str, fields: dict[str, Any], word: str
    ) -> None:
        sent = document(version=0, processes=[process(**fields, lastRestart="2099-01-01T00:00:00Z")])
        answer = publisher.put(f"{path}?dryRun=true", sent).json()
        assert [effect["action"] for effect in answer["effects"]] == ["NOTHING"]
        assert [word in warning["warning"] for warning in answer["warnings"]] == [True]
        assert answer["plan"]["processes"] == []

    def test_it_refuses_what_publishing_would(self, publisher: ApiClient, path: str) -> None:
        assert refusal(publisher.put(f"{path}?dryRun=true", named("a", version=1))) == CONCURRENT
        spoiled = document(version=0, options={})
        assert refusal(publisher.put(f"{path}?dryRun=true", spoiled))[2] == ["/options/downloadBase"]

    def test_a_publish_that_changes_nothing_has_nothing_to_report(
        self, publisher: ApiClient, path: str
    ) -> None:
        no_plan: dict[str, Any] = {"processes": [], "waits": [], "refused": [], "assumed": []}
        empty: dict[str, Any] = {"diffs": [], "effects": [], "warnings": [], "plan": no_plan}
        assert publisher.put(f"{path}?dryRun=true", START).json() == empty

    @each("value", ["", "1", "yes"])
    def test_it_is_true_or_false(self, publisher: ApiClient, path: str, value: str) -> None:
        answer = publisher.put(f"{path}?dryRun={value}", named("a"))
        assert refusal(answer) == (400, "INVALID_QUERY_PARAMETER", ["dryRun"])
