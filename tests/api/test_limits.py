"""How much a project may have and a key may send: a refusal names the setting that limits it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
import time_machine
from django.db import connection
from pytest_django import Settings

from accesslist.models import Project
from alerting.models import AlertConfig
from automation.models import Agent, AutomationRevision, Host
from automation.reports.views import ReportViewSet
from opsapi.api.bodies import LARGE_BODIES, LARGE_BODY
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import named
from tests.api.bodies import host, new_host, report
from tests.client import ApiClient
from tests.factories.accesslist import make_key

MIB = 1024 * 1024
pytestmark = pytest.mark.django_db


def refused(answer: Any) -> tuple[int, str, list[str]]:
    """Status, code and parameters of a refusal."""
    shown = answer.json()
    return answer.status_code, shown["errorCode"], shown["parameters"]


@pytest.fixture
def publisher(project: Project) -> ApiClient:
    """Project Automation Admin in the project."""
    return ApiClient(make_key(Grant(Role.GROUP_AUTOMATION_ADMIN, group_id=project.id)))


class TestReports:
    """OPSAPI_MAX_REPORT_MB and OPSAPI_RATE_REPORTS."""

    def test_a_report_has_four_megabytes_at_the_most(self, agent: ApiClient, project: Project) -> None:
        body = b'{"agentType":"' + b"x" * (4 * MIB - 16) + b'"}'
        assert len(body) == ReportViewSet.max_body == 4 * MIB
        assert refused(agent.report(project.id, body))[:2] == (400, "INVALID_ENUM_VALUE")
        answer = agent.report(project.id, body + b" ")
        assert refused(answer) == (413, "REQUEST_TOO_LARGE", [str(4 * MIB)])

    def test_a_key_sends_so_many_in_a_minute(self, project: Project, settings: Settings) -> None:
        settings.OPSAPI_RATE_REPORTS = 2
        first, second = (ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id))) for _ in range(2))
        with time_machine.travel("2099-01-01T12:00:00Z", tick=False) as moment:
            assert [first.report(project.id, report()).status_code for _ in range(2)] == [202, 202]
            answer = first.report(project.id, b"not even looked at")
            assert refused(answer) == (429, "RATE_LIMITED", ["60"])
            assert answer.headers["Retry-After"] == "60"
            assert "OPSAPI_RATE_REPORTS" in answer.json()["detail"]
            assert second.report(project.id, report()).status_code == 202
            moment.shift(60)
            assert first.report(project.id, report()).status_code == 202

    def test_nought_is_any_number(self, agent: ApiClient, project: Project, settings: Settings) -> None:
        settings.OPSAPI_RATE_REPORTS = 0
        assert [agent.report(project.id, report()).status_code for _ in range(3)] == [202] * 3


class TestHosts:
    """OPSAPI_MAX_HOSTS."""

    LIMITED = (400, "LIMIT_REACHED", ["hosts", "2"])

    @pytest.fixture(autouse=True)
    def _two(self, settings: Settings) -> None:
        settings.OPSAPI_MAX_HOSTS = 2

    def test_a_report_that_brings_more_is_refused_whole(self, agent: ApiClient, project: Project) -> None:
        answer = agent.report(project.id, report(host(), host(port=1), host(port=2)))
        assert refused(answer) == self.LIMITED
        assert "OPSAPI_MAX_HOSTS" in answer.json()["detail"]
        assert (Host.objects.count(), Agent.objects.count()) == (0, 0)
        assert agent.report(project.id, report(host(), host(port=1))).status_code == 202

    def test_hosts_that_are_there_go_on_reporting(
        self, agent: ApiClient, project: Project, settings: Settings
    ) -> None:
        agent.report(project.id, report(host(), host(port=1)))
        settings.OPSAPI_MAX_HOSTS = 1
        assert agent.report(project.id, report(host(), host(port=1))).status_code == 202
        assert refused(agent.report(project.id, report(host(port=2))))[1] == "LIMIT_REACHED"

    def test_the_limit_refuses_a_new_row_until_another_is_deleted(
        self, admin: ApiClient, project: Project
    ) -> None:
        path = f"/groups/{project.id}/hosts"
        first, _ = (admin.post(path, new_host(port=port)).json() for port in (1, 2))
        assert refused(admin.post(path, new_host(port=3))) == self.LIMITED
        assert admin.delete(f"{path}/{first['id']}").status_code == 204
        assert admin.post(path, new_host(port=3)).status_code == 201

    def test_a_publish_that_brings_more_is_refused_whole(
        self, publisher: ApiClient, project: Project
    ) -> None:
        path = f"/groups/{project.id}/automationConfig"
        assert refused(publisher.put(path, named("a", "b", "c"))) == self.LIMITED
        assert (Host.objects.count(), AutomationRevision.objects.count()) == (0, 0)
        assert publisher.put(path, named("a", "b")).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_reports_that_race_for_the_last_places_no_host_is_too_many(
    agent: ApiClient, project: Project, settings: Settings
) -> None:
    settings.OPSAPI_MAX_HOSTS = 3

    def send(number: int) -> int:
        try:
            return int(agent.report(project.id, report(host(port=number), hostname=f"a{number}")).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        statuses = sorted(threads.map(send, range(1, 7)))
    assert statuses == [202] * 3 + [400] * 3
    assert Host.objects.count() == 3


def test_a_project_has_so_many_alert_configurations(
    admin: ApiClient, owner: ApiClient, project: Project, settings: Settings
) -> None:
    settings.OPSAPI_MAX_ALERT_CONFIGS = 1 + AlertConfig.objects.filter(group=project).count()
    path = f"/groups/{project.id}/alertConfigs"
    made = admin.post(path, bodies.alert_config()).json()
    answer = admin.post(path, bodies.alert_config())
    most = str(settings.OPSAPI_MAX_ALERT_CONFIGS)
    assert refused(answer) == (400, "LIMIT_REACHED", ["alert configurations", most])
    assert "OPSAPI_MAX_ALERT_CONFIGS" in answer.json()["detail"]
    assert owner.post("/globalAlertConfigs", bodies.global_alert_config()).status_code == 201
    assert admin.delete(f"{path}/{made['id']}").status_code == 204
    assert admin.post(path, bodies.alert_config()).status_code == 201


class TestLargeBodies:
    """OPSAPI_MAX_BODIES_MB: what a process works on at a time."""

    LARGE = b'{"notes":"' + b"x" * LARGE_BODY + b'"}'

    @pytest.mark.slow
    def test_one_too_many_comes_again_later(
        self, publisher: ApiClient, project: Project, settings: Settings
    ) -> None:
        path = f"/groups/{project.id}/automationConfig"
        with LARGE_BODIES.taking((settings.OPSAPI_MAX_BODIES_MB - 1) * MIB):
            answer = publisher.put(path, self.LARGE)
            assert refused(answer) == (429, "RATE_LIMITED", ["1"])
            assert answer.headers["Retry-After"] == "1"
            assert "OPSAPI_MAX_BODIES_MB" in answer.json()["detail"]
            assert publisher.put(path, b"{}").json()["errorCode"] == "MISSING_ATTRIBUTE"
        for _ in range(settings.OPSAPI_MAX_BODIES_MB):
            assert publisher.put(path, self.LARGE).json()["errorCode"] == "MISSING_ATTRIBUTE"

    def test_one_alone_always_has_room(self) -> None:
        with LARGE_BODIES.taking(10_000 * MIB):
            pass

    def test_a_project_gets_half(self, publisher: ApiClient, project: Project, settings: Settings) -> None:
        path, half = f"/groups/{project.id}/automationConfig", settings.OPSAPI_MAX_BODIES_MB // 2 * MIB
        with LARGE_BODIES.taking(half - MIB, group_id=project.id):
            assert refused(publisher.put(path, self.LARGE)) == (429, "RATE_LIMITED", ["1"])
            with LARGE_BODIES.taking(10_000 * MIB, group_id="another"):
                assert refused(publisher.put(path, self.LARGE)) == (429, "RATE_LIMITED", ["1"])
        with LARGE_BODIES.taking(10_000 * MIB, group_id="another"):
            assert publisher.put(path, self.LARGE).json()["errorCode"] == "MISSING_ATTRIBUTE"

    def test_every_thread_has_room_for_a_report(self, settings: Settings) -> None:
        with ExitStack() as held:
            for _ in range(8):
                held.enter_context(LARGE_BODIES.taking(ReportViewSet.max_body))
