"""The settings that a project keeps for its agents: redacted for people, in full for agents."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accesslist.models import Project
from automation.agent_file import AgentFile, agent_file
from automation.agent_settings.changes import UNREADABLE
from automation.agent_settings.rules import MOST_STRINGS
from automation.agent_settings.store import full_settings, opened_settings
from automation.hosts.changes import fleet_purge
from automation.models import AgentSettings
from events.models import Event
from opsapi import VERSION
from opsapi.api.links import AGENTS
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import make_key
from tests.factories.documents import document
from tests.factories.lost_keys import lose_key

MONGODB = f"mongodb://ada:{bodies.SECRET}@db1.example.com:27017/?authSource=admin"
SHOWN = "mongodb://ada:******@db1.example.com:27017/?authSource=admin"
POSTGRESQL = f"postgresql://ada:{bodies.SECRET}@db2.example.com/postgres?sslmode=require"
SENT = {
    "mongodb": [MONGODB],
    "postgresql": [POSTGRESQL],
    "intervalSeconds": 20,
    "labels": {"env": "production"},
}
NONE = {"mongodb": [], "postgresql": [], "selfUpdate": False}
CHANGED = "AGENT_SETTINGS_CHANGED_AUDIT"
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """The path of the settings for people."""
    return f"/groups/{project.id}/agents/settings"


@pytest.fixture
def watcher(project: Project) -> ApiClient:
    """The lowest role that can write them."""
    return ApiClient(make_key(Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id)))


@pytest.fixture
def agent(project: Project) -> ApiClient:
    """A key of an agent."""
    return ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id)))


def fetched(agent: ApiClient, project: Project, **headers: str) -> Any:
    """The answer to an agent."""
    return agent.request("GET", f"/groups/{project.id}/settings", base=AGENTS, **headers)


def put(client: ApiClient, path: str, **settings: Any) -> Any:
    """The document after a write that is accepted."""
    answer = client.put(path, settings)
    assert answer.status_code == 200, answer.content
    return answer.json()


def faults(answer: Any, code: str = "INVALID_ATTRIBUTE") -> list[str]:
    """The wrong fields of a refusal."""
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code), answer.content
    assert bodies.SECRET not in answer.content.decode()
    return [fault["field"] for fault in answer.json()["badFields"]]


def facts(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document without its version and links."""
    return {name: value for name, value in document.items() if name not in {"version", "links"}}


class TestPeople:
    """They write the settings, and never see a secret."""

    def test_a_project_keeps_none_at_first(self, watcher: ApiClient, path: str) -> None:
        answer = watcher.get(path)
        assert facts(answer.json()) == NONE
        assert answer["ETag"] == f'"{answer.json()["version"]}"'

    def test_secrets_are_redacted_wherever_they_are_shown(
        self, watcher: ApiClient, path: str, project: Project
    ) -> None:
        written = watcher.put(path, SENT)
        reader = ApiClient(make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id)))
        for answer in (
            written,
            watcher.get(path),
            reader.get(path),
            reader.get(f"/groups/{project.id}/events"),
        ):
            assert answer.status_code == 200
            assert bodies.SECRET not in answer.content.decode()
        assert facts(reader.get(path).json()) == {
            **SENT,
            "selfUpdate": False,
            "mongodb": [SHOWN],
            "postgresql": ["postgresql://ada:******@db2.example.com/postgres?sslmode=require"],
        }
        assert bodies.SECRET not in str(AgentSettings.objects.values().get())

    def test_a_redacted_string_keeps_its_secret(
        self, watcher: ApiClient, agent: ApiClient, path: str, project: Project
    ) -> None:
        shown = put(watcher, path, **SENT)
        put(watcher, path, **{**shown, "mongodb": ["mongodb://db3.example.com", *shown["mongodb"]]})
        assert fetched(agent, project).json()["mongodb"] == ["mongodb://db3.example.com", MONGODB]

    @pytest.mark.parametrize("change", [("db1", "evil"), ("ada", "eve"), ("admin", "other")])
    def test_a_changed_redacted_string_is_refused(
        self, watcher: ApiClient, path: str, change: tuple[str, str]
    ) -> None:
        shown = put(watcher, path, **SENT)
        answer = watcher.put(path, {**shown, "mongodb": [SHOWN.replace(*change)]})
        assert faults(answer, "REDACTED_VALUE_UNKNOWN") == ["mongodb[0]"]
        assert put(watcher, path, **shown) == shown

    def test_a_write_without_a_change_has_no_new_version_and_no_event(
        self, watcher: ApiClient, path: str
    ) -> None:
        shown = put(watcher, path, **SENT)
        assert put(watcher, path, **SENT) == put(watcher, path, **shown) == shown
        assert Event.objects.filter(event_type=CHANGED).count() == 1

    def test_fields_that_are_left_out_are_removed(self, watcher: ApiClient, path: str) -> None:
        put(watcher, path, **SENT)
        assert facts(put(watcher, path)) == NONE

    @pytest.mark.parametrize(
        ("name", "value", "field"),
        [
            ("mongodb", [f"postgresql://ada:{bodies.SECRET}@db1"], "mongodb[0]"),
            ("mongodb", ["mongodb://db1", f"mongodb://ada:{bodies.SECRET}/x@db1"], "mongodb[1]"),
            ("mongodb", ["mongodb://db1", "mongodb://db1"], "mongodb[1]"),
            ("mongodb", [f"mongodb://{'a' * 4000}"], "mongodb[0]"),
            ("mongodb", [f"mongodb://db{number}" for number in range(MOST_STRINGS + 1)], "mongodb"),
            ("postgresql", ["postgresql://db1/x?passfile=/etc/passwords"], "postgresql[0]"),
            ("intervalSeconds", 1, "intervalSeconds"),
            ("intervalSeconds", 181, "intervalSeconds"),
            ("labels", {"__a": "b"}, "labels.__a"),
            ("selfUpdate", "yes", "selfUpdate"),
            ("url", "https://ops.example.com", "url"),
        ],
        ids=str,
    )
    def test_a_wrong_setting_is_named(
        self, watcher: ApiClient, path: str, name: str, value: Any, field: str
    ) -> None:
        assert faults(watcher.put(path, {name: value})) == [field]
        assert not AgentSettings.objects.exists()

    def test_the_version_of_a_request_is_the_stored_one_or_it_is_refused(
        self, watcher: ApiClient, path: str
    ) -> None:
        first = put(watcher, path, **SENT)
        second = put(watcher, path, **{**first, "intervalSeconds": 30})
        assert second["version"] != first["version"]
        stale = [
            watcher.put(path, {**first, "intervalSeconds": 40}),
            watcher.put(path, SENT, HTTP_IF_MATCH=f'"{first["version"]}"'),
            watcher.put(path, SENT, HTTP_IF_MATCH="no tag"),
        ]
        codes = {(answer.status_code, answer.json()["errorCode"]) for answer in stale}
        assert codes == {(409, "AGENT_SETTINGS_CONCURRENT_MODIFICATION")}
        current = f'"{second["version"]}"'
        assert watcher.put(path, SENT, HTTP_IF_MATCH=current).status_code == 200

    def test_the_event_says_who_changed_what_without_secrets(self, watcher: ApiClient, path: str) -> None:
        shown = put(watcher, path, **SENT)
        put(watcher, path, **{**shown, "mongodb": [MONGODB.replace(bodies.SECRET, "another")]})
        first, second = Event.objects.filter(event_type=CHANGED).order_by("id")
        assert watcher.key
        assert second.details["apiKeyId"] == watcher.key.id
        assert [change["status"] for event in (first, second) for change in event.diffs] == [
            "NEW",
            "MODIFIED",
        ]
        [param] = second.diffs[0]["params"]
        assert (param["param"], param["old"]) == ("mongodb", f'["{SHOWN}"]')
        assert param["new"] == f'["{SHOWN} (replaced)"]'
        assert bodies.SECRET not in str([first.diffs, second.diffs])


class TestAgents:
    """They read everything."""

    def test_an_agent_gets_the_secrets_and_no_cache_keeps_them(
        self, watcher: ApiClient, agent: ApiClient, path: str, project: Project
    ) -> None:
        version = put(watcher, path, **SENT)["version"]
        answer = fetched(agent, project)
        assert answer.json() == {**SENT, "version": version}
        assert answer["Cache-Control"] == "no-store"

    def test_a_known_version_is_not_sent_again(
        self, watcher: ApiClient, agent: ApiClient, path: str, project: Project
    ) -> None:
        empty = fetched(agent, project)
        assert facts(empty.json()) == {"mongodb": [], "postgresql": []}
        assert fetched(agent, project, HTTP_IF_NONE_MATCH=empty["ETag"]).status_code == 304
        put(watcher, path, **SENT)
        full = fetched(agent, project, HTTP_IF_NONE_MATCH=empty["ETag"])
        assert full.status_code == 200
        known = fetched(agent, project, HTTP_IF_NONE_MATCH=full["ETag"])
        assert (known.status_code, known.content, known["ETag"]) == (304, b"", full["ETag"])

    def test_agents_get_the_file_of_the_platform_only_while_they_update_themselves(
        self,
        watcher: ApiClient,
        agent: ApiClient,
        path: str,
        project: Project,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        assert "agentFile" not in fetched(agent, project).json()
        assert put(watcher, path, selfUpdate=True)["selfUpdate"]
        first = fetched(agent, project)
        assert first.json()["agentFile"] == agent.request("GET", "/opsapi-agent.json", base=AGENTS).json()
        assert fetched(agent, project, HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304
        # The platform is upgraded.
        monkeypatch.setattr(f"{agent_file.__module__}.agent_file", lambda: AgentFile(b"new", "f" * 64))
        monkeypatch.setattr(f"{full_settings.__module__}.agent_file", lambda: AgentFile(b"new", "f" * 64))
        second = fetched(agent, project, HTTP_IF_NONE_MATCH=first["ETag"])
        assert second.status_code == 200
        assert second.json()["agentFile"] == {"version": VERSION, "sha256": "f" * 64, "size": 3}
        put(watcher, path)
        assert "agentFile" not in fetched(agent, project, HTTP_IF_NONE_MATCH=second["ETag"]).json()

    def test_agents_get_the_file_of_the_platform_if_the_automation_configuration_names_its_version(
        self, watcher: ApiClient, agent: ApiClient, project: Project
    ) -> None:
        publisher = ApiClient(make_key(Grant(Role.GROUP_AUTOMATION_ADMIN, group_id=project.id)))
        etag = fetched(agent, project)["ETag"]
        stated: list[dict[str, str]] = [
            {"name": "0.0.1"},
            {"name": VERSION, "directoryUrl": "https://example.com/"},
            {"name": VERSION},
            {"name": "x" * 100},
        ]
        offers = []
        for number, wanted in enumerate(stated):
            sent = document(version=number, agentVersion=wanted)
            assert publisher.put(f"/groups/{project.id}/automationConfig", sent).status_code == 200
            answer = fetched(agent, project, HTTP_IF_NONE_MATCH=etag)
            offers.append(answer.status_code == 200 and "agentFile" in answer.json())
            etag = answer["ETag"]
        assert offers == [False, False, True, False]

    @pytest.mark.parametrize("role", [Role.GROUP_MONITORING_ADMIN, Role.GROUP_AUTOMATION_ADMIN])
    def test_other_roles_that_can_report_get_none(self, project: Project, role: Role) -> None:
        client = ApiClient(make_key(Grant(role, group_id=project.id)))
        assert fetched(client, project).status_code == 403

    def test_an_agent_can_neither_read_nor_write_as_people_do(self, agent: ApiClient, path: str) -> None:
        assert agent.get(path).status_code == agent.put(path, SENT).status_code == 403


class TestEncryption:
    """The keys of the secrets change, or are lost."""

    def test_settings_open_with_a_new_key_alone(
        self, watcher: ApiClient, path: str, settings: Settings
    ) -> None:
        put(watcher, path, **SENT)
        settings.OPSAPI_ENCRYPTION_KEYS = ["new key", *settings.OPSAPI_ENCRYPTION_KEYS]
        call_command("rotate_encryption")
        settings.OPSAPI_ENCRYPTION_KEYS = ["new key"]
        assert opened_settings(AgentSettings.objects.get()) == SENT

    def test_without_their_key_they_are_shown_and_can_be_sent_again(
        self, watcher: ApiClient, agent: ApiClient, path: str, project: Project
    ) -> None:
        shown = put(watcher, path, **SENT)
        lose_key(AgentSettings)
        assert watcher.get(path).json() == shown
        refused = fetched(agent, project)
        assert (refused.status_code, refused.json()["errorCode"]) == (503, "SERVICE_UNAVAILABLE")
        assert "OPSAPI_ENCRYPTION_KEYS" in refused.json()["detail"]
        answer = watcher.put(path, shown)
        assert faults(answer, "REDACTED_VALUE_UNKNOWN") == ["mongodb[0]", "postgresql[0]"]
        assert {fault["message"] for fault in answer.json()["badFields"]} == {UNREADABLE}
        put(watcher, path, **SENT)
        assert fetched(agent, project).json()["mongodb"] == [MONGODB]
        assert "(replaced)" in str(Event.objects.filter(event_type=CHANGED).latest("id").diffs)


def test_they_go_with_their_project(watcher: ApiClient, path: str, project: Project) -> None:
    put(watcher, path, **SENT)
    while fleet_purge(group_id=project.id, limit=10):
        pass
    assert not AgentSettings.objects.exists()
