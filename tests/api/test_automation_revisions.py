"""Revisions of the automation configuration, its status and its schema."""

from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from automation.agent.automation.progress import ProcessProgress
from automation.desired_state.document.schema import SCHEMA
from automation.models import AutomationRevision
from automation.plan.reading import read_goal
from events.models import Event
from tests.api import bodies
from tests.api.automation import Refusal, named, path, published, publisher, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.documents import document, process

__all__ = ["path", "publisher"]

NOT_FOUND: Refusal = (404, "AUTOMATION_CONFIG_REVISION_NOT_FOUND", [])
pytestmark = pytest.mark.django_db


class TestRevisions:
    """What was published."""

    def test_they_are_listed_newest_first_with_who_and_what(
        self, publisher: ApiClient, reader: ApiClient, path: str
    ) -> None:
        with time_machine.travel("2099-01-01T12:00:00Z", tick=False):
            published(publisher, path, named("a", "b"))
        with time_machine.travel("2099-01-02T12:00:00Z", tick=False):
            published(publisher, path, named("a", "c", version=1, alias="db"))
            found = reader.get(f"{path}/revisions").json()
        assert publisher.key
        who = {"apiKeyId": publisher.key.id, "publicKey": publisher.key.public_key}
        assert found["totalCount"] == 2
        assert [{name: row[name] for name in row if name != "links"} for row in found["results"]] == [
            {
                "version": 2,
                "created": "2099-01-02T12:00:00Z",
                **who,
                "changes": {"NEW": 1, "MODIFIED": 1, "REMOVED": 1},
            },
            {"version": 1, "created": "2099-01-01T12:00:00Z", **who, "changes": {"NEW": 2}},
        ]
        href = found["results"][0]["links"][0]["href"]
        assert href.endswith(f"{path}/revisions/2")

    def test_each_can_be_read_as_it_was(self, publisher: ApiClient, path: str) -> None:
        first = published(publisher, path, named("a"))
        second = published(publisher, path, named("b", version=1))
        assert publisher.get(f"{path}/revisions/1").json() == first
        assert publisher.get(f"{path}/revisions/2").json() == second

    def test_what_a_project_starts_from_can_be_read_and_is_not_listed(
        self, reader: ApiClient, path: str
    ) -> None:
        assert reader.get(f"{path}/revisions/0").json()["version"] == 0
        assert reader.get(f"{path}/revisions").json()["results"] == []

    @each("number", ["2", "01", "-1", "1.0", "x", "99999999999999999999", "%D9%A1", "1%20"])
    def test_what_is_no_revision_is_not_found(self, publisher: ApiClient, path: str, number: str) -> None:
        published(publisher, path, named("a"))
        assert refusal(publisher.get(f"{path}/revisions/{number}")) == NOT_FOUND
        assert refusal(publisher.request("POST", f"{path}/revisions/{number}/restore")) == NOT_FOUND

    def test_revisions_of_another_project_are_not_found(self, owner: ApiClient, path: str) -> None:
        published(owner, path, named("a"))
        other = owner.post("/groups", bodies.group()).json()["id"]
        assert refusal(owner.get(f"/groups/{other}/automationConfig/revisions/1")) == NOT_FOUND
        assert owner.get(f"/groups/{other}/automationConfig").json()["version"] == 0


class TestRestoring:
    """POST …/restore."""

    @pytest.fixture
    def first(self, publisher: ApiClient, path: str) -> Any:
        """The first of two documents."""
        first = published(publisher, path, named("a"))
        published(publisher, path, named("b", version=1))
        return first

    @each("body", [None, {}, {"version": 2}])
    def test_an_older_revision_becomes_the_next_version(
        self, publisher: ApiClient, path: str, first: Any, body: Any
    ) -> None:
        answer = publisher.post(f"{path}/revisions/1/restore", body)
        assert (answer.status_code, answer.json()) == (200, {**first, "version": 3})
        assert answer.headers["ETag"] == '"3"'
        newest = publisher.get(f"{path}/revisions").json()["results"][0]
        assert (newest["version"], newest["restoredFrom"]) == (3, 1)
        recorded = Event.objects.filter(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT").latest("id")
        assert [(diff["id"], diff["status"]) for diff in recorded.diffs] == [("a", "NEW"), ("b", "REMOVED")]

    def test_what_a_project_started_from_can_be_restored(
        self, publisher: ApiClient, path: str, first: Any
    ) -> None:
        shown = publisher.request("POST", f"{path}/revisions/0/restore").json()
        assert (shown["version"], shown["processes"]) == (3, [])

    @each(
        "framing",
        [
            {"CONTENT_LENGTH": "", "wsgi.input_terminated": True},
            {"CONTENT_LENGTH": "0", "wsgi.input_terminated": True},
        ],
        ids=["no length", "length 0"],
    )
    def test_the_body_may_be_left_out(
        self, publisher: ApiClient, path: str, first: Any, framing: dict[str, Any]
    ) -> None:
        """The web server ends its input for the application whether or not there is a body."""
        answer = publisher.request("POST", f"{path}/revisions/1/restore", **framing)
        assert (answer.status_code, answer.json()["version"]) == (200, 3)

    @each("framing", [{"CONTENT_LENGTH": "2"}, {"HTTP_TRANSFER_ENCODING": "chunked"}])
    def test_a_body_says_what_it_is(
        self, publisher: ApiClient, path: str, first: Any, framing: dict[str, Any]
    ) -> None:
        answer = publisher.request("POST", f"{path}/revisions/1/restore", **framing)
        assert refusal(answer)[:2] == (415, "UNSUPPORTED_MEDIA_TYPE")
        assert AutomationRevision.objects.count() == 2

    def test_another_version_is_refused(self, publisher: ApiClient, path: str, first: Any) -> None:
        answer = publisher.post(f"{path}/revisions/1/restore", {"version": 1})
        assert refusal(answer)[:2] == (409, "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION")
        assert answer.json()["parameters"] == ["1", "2"]
        answer = publisher.request("POST", f"{path}/revisions/1/restore", HTTP_IF_MATCH='"1"')
        assert refusal(answer)[:2] == (409, "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION")
        assert AutomationRevision.objects.count() == 2

    def test_the_current_one_changes_nothing(self, publisher: ApiClient, path: str, first: Any) -> None:
        answer = publisher.request("POST", f"{path}/revisions/2/restore")
        assert (answer.status_code, answer.json()["version"]) == (200, 2)
        assert AutomationRevision.objects.count() == 2

    def test_a_dry_run_reports_what_would_happen(self, publisher: ApiClient, path: str, first: Any) -> None:
        plan = publisher.request("POST", f"{path}/revisions/1/restore?dryRun=true").json()
        assert [(effect["process"], effect["action"]) for effect in plan["effects"]] == [
            ("a", "START"),
            ("b", "REMOVE"),
        ]
        assert AutomationRevision.objects.count() == 2

    def test_one_that_breaks_a_rule_by_now_is_refused(self, publisher: ApiClient, path: str) -> None:
        build = {
            "platform": "linux",
            "url": "https://downloads.example.com/a.tgz",
            "gitVersion": "a",
            "modules": [],
            "architecture": "amd64",
        }
        versions = [[{"name": "7", "builds": [build_]}] for build_ in (build, {**build, "bits": 64})]
        for number, database_versions in enumerate(versions):
            published(
                publisher, path, document(version=number, databaseVersions=database_versions, processes=[])
            )
        answer = publisher.request("POST", f"{path}/revisions/1/restore")
        assert refusal(answer) == (400, "INVALID_SETTINGS", ["/databaseVersions/0/builds/0/bits"])

    def test_its_secrets_come_back(self, publisher: ApiClient, path: str) -> None:
        for number, secret in enumerate((bodies.SECRET, "another secret")):
            published(publisher, path, document(version=number, auth={"key": secret}))
        answer = publisher.request("POST", f"{path}/revisions/1/restore")
        assert answer.json()["auth"] == {"key": bodies.SECRET}

    @each("version", ["1", 1.0, True, -1, 2**31])
    def test_a_version_is_a_number(self, publisher: ApiClient, path: str, first: Any, version: Any) -> None:
        answer = publisher.post(f"{path}/revisions/1/restore", {"version": version})
        assert refusal(answer) == (400, "INVALID_ATTRIBUTE", ["version"])


def status_of(path: str) -> str:
    """Where the status of the project is."""
    return path.replace("automationConfig", "automationStatus")


class TestStatus:
    """`GET …/automationStatus`."""

    def test_a_new_project_has_no_goal(self, reader: ApiClient, path: str) -> None:
        shown = reader.get(status_of(path)).json()
        assert (shown["goalVersion"], shown["processes"]) == (0, [])
        relations = {link["rel"]: link["href"] for link in shown["links"]}
        assert relations["urn:opsapi:rel:automationConfig"].endswith(path)

    def test_it_reports_what_agents_report_of_each_process(
        self,
        publisher: ApiClient,
        agent: ApiClient,
        project: Project,
        path: str,
    ) -> None:
        published(publisher, path, named("a", "b", "c"))
        published(publisher, path, named("a", "b", "c", version=1, alias="db"))
        said = [
            {
                "name": "b",
                "hostname": "b.example.com",
                "lastGoalVersionAchieved": 1,
                "errorString": "no disk",
            },
            {"name": "a", "hostname": "a.example.com", "lastGoalVersionAchieved": 2},
        ]
        report = bodies.report(agentType="AUTOMATION", processes=said)
        assert agent.report(project.id, report).status_code == 202
        shown = publisher.get(status_of(path)).json()
        assert shown["goalVersion"] == 2
        assert [process.pop("plan")["waits"] for process in shown["processes"]] == [[], [], []]
        assert shown["processes"] == [
            said[1],
            said[0],
            {"name": "c", "hostname": "c.example.com", "lastGoalVersionAchieved": 0},
        ]

    def test_urls_in_the_error_of_an_agent_are_redacted(
        self, publisher: ApiClient, agent: ApiClient, project: Project, path: str
    ) -> None:
        said = {"name": "a", "hostname": "a", "lastGoalVersionAchieved": 1}
        error = "cannot read https://ada:s3cret@example.com/x?token=s3cret"
        report = bodies.report(agentType="AUTOMATION", processes=[{**said, "errorString": error}])
        assert agent.report(project.id, report).status_code == 202
        (shown,) = publisher.get(status_of(path)).json()["processes"]
        assert shown["errorString"] == "cannot read https://******@example.com/x?******"

    def test_a_restore_is_answered_in_the_error_of_the_process(
        self, publisher: ApiClient, agent: ApiClient, project: Project, path: str
    ) -> None:
        sent = document(version=0, processes=[process(backupRestoreUrl="https://restore.example.com/1")])
        stored = published(publisher, path, sent)
        progress = ProcessProgress("db1.example.com", version=1)
        progress.draw(None, read_goal(stored).units[0].notes, "db_1")
        report = bodies.report(agentType="AUTOMATION", processes=[progress.document("db_1")])
        assert agent.report(project.id, report).status_code == 202
        (shown,) = publisher.get(status_of(path)).json()["processes"]
        assert "backupRestoreUrl: restores are not carried out" in shown["errorString"]
        (refused,) = shown["plan"]["refused"]
        assert (refused["reason"], refused["detail"]) == ("NOT_PLANNED", shown["errorString"])

    def test_one_that_no_document_names_is_there_while_it_is_reported(
        self,
        publisher: ApiClient,
        agent: ApiClient,
        project: Project,
        path: str,
    ) -> None:
        said = [
            {"name": name, "hostname": "db1.example.com", "lastGoalVersionAchieved": 3} for name in ("a", "b")
        ]
        with time_machine.travel("2099-01-01T12:00:00Z", tick=False):
            published(publisher, path, named("a"))
            agent.report(project.id, bodies.report(agentType="AUTOMATION", processes=said))
        for time, names in (("12:03:59", ["a", "b"]), ("12:04:00", ["a"])):
            with time_machine.travel(f"2099-01-01T{time}Z", tick=False):
                assert [
                    process["name"] for process in publisher.get(status_of(path)).json()["processes"]
                ] == names


def test_the_schema_is_served_to_any_key(agent: ApiClient) -> None:
    assert agent.get("/automationConfig/schema").json() == SCHEMA


def test_a_deleted_project_leaves_no_revision(owner: ApiClient, project: Project, path: str) -> None:
    published(owner, path, document(version=0, processes=[process()]))
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    assert owner.get(path).status_code == 404
