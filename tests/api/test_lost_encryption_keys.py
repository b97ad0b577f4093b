"""Secrets whose encryption key is gone: they can be sent again, and nothing else breaks."""

from collections.abc import Mapping
from typing import Any

import pytest

from accesslist.models import ApiKey, Project
from alerting.configs.store import setting_values
from alerting.models import NotificationSetting
from automation.models import AutomationRevision
from events.models import Event
from integrations.credentials.store import integration_values
from integrations.models import Integration
from integrations.typed_documents import UNREADABLE
from integrations.types import INTEGRATION_TYPES
from opsapi.api.links import DISCOVERY
from opsapi.roles import Role
from tests.api import bodies
from tests.api.automation import named, path, published, publisher
from tests.api.notifications import ConfigPath, longest
from tests.api.routes import KEYED
from tests.api.test_scrapers import ask
from tests.client import ApiClient
from tests.factories.accesslist import make_key
from tests.factories.integrations import make_integration
from tests.factories.lost_keys import lose_key

__all__ = ["path", "publisher"]

PAGER, SCRAPER = "PAGER_SERVICE", "SCRAPER"
pytestmark = pytest.mark.django_db


@pytest.fixture(params=["project", "global"])
def place(request: pytest.FixtureRequest, owner: ApiClient, project: Project) -> ConfigPath:
    """Configurations of either kind."""
    return ConfigPath(owner, project, is_global=request.param == "global")


def state() -> list[Any]:
    """All that a refused request must leave alone."""
    tables = (Integration, NotificationSetting, AutomationRevision, Event)
    return [list(table._base_manager.order_by("pk").values()) for table in tables]


def unreadable(answer: Any) -> list[str]:
    """The fields that have to be sent again."""
    assert answer.status_code == 400, answer.content
    assert answer.json()["errorCode"] == "REDACTED_VALUE_UNKNOWN"
    assert {fault["message"] for fault in answer.json()["badFields"]} == {UNREADABLE}
    return [fault["field"] for fault in answer.json()["badFields"]]


WEBHOOK_SECRETS = ("webhookUrl", "webhookSecret", "webhookAuthorization", "webhookHeaders.X-Key")


class TestIntegrations:
    """Their secrets."""

    def where(self, project: Project, kind: str) -> str:
        """One whose secrets cannot be read."""
        make_integration(project, kind)
        lose_key(Integration)
        return f"/groups/{project.id}/integrations/{kind}"

    @pytest.mark.parametrize("kind", list(INTEGRATION_TYPES), ids=str)
    def test_they_are_read_redacted_as_before(self, owner: ApiClient, project: Project, kind: str) -> None:
        made = owner.get(self.where(project, kind))
        assert made.status_code == 200
        assert "******" in made.content.decode()

    @pytest.mark.parametrize("kind", list(INTEGRATION_TYPES), ids=str)
    def test_one_that_is_kept_by_its_redacted_form_has_to_be_sent_again(
        self, owner: ApiClient, project: Project, kind: str
    ) -> None:
        where = self.where(project, kind)
        shown, before = owner.get(where).json(), state()
        secrets = [name for name, value in shown.items() if "******" in str(value)]
        assert unreadable(owner.put(where, shown)) == secrets
        assert state() == before

    def test_one_sent_again_replaces_it_and_the_event_says_so(
        self, owner: ApiClient, project: Project
    ) -> None:
        where = self.where(project, SCRAPER)
        sent = {"username": "scraper", "password": "a new password", "enabled": True}
        assert owner.put(where, sent).status_code == 200
        assert integration_values(Integration.objects.get())["password"] == "a new password"
        (change,) = Event.objects.filter(event_type="INTEGRATION_CHANGED_AUDIT")
        assert "****** (replaced)" in str(change.diffs)

    def test_it_can_be_deleted(self, owner: ApiClient, project: Project) -> None:
        assert owner.delete(self.where(project, PAGER)).status_code == 204


class TestConfigurations:
    """The secrets of their notifications."""

    def test_one_that_is_kept_by_its_redacted_form_has_to_be_sent_again(self, place: ConfigPath) -> None:
        made = place.post(longest("EMAIL"), longest("WEBHOOK")).json()
        lose_key(NotificationSetting)
        before = state()
        answer = place.put(made, *made["notifications"])
        assert unreadable(answer) == [f"notifications[1].{name}" for name in WEBHOOK_SECRETS]
        assert state() == before

    def test_so_it_has_in_a_change_of_the_notifications_alone(
        self, owner: ApiClient, project: Project
    ) -> None:
        place = ConfigPath(owner, project, is_global=False)
        made = place.post(longest("WEBHOOK")).json()
        lose_key(NotificationSetting)
        sent = {"notifications": made["notifications"]}
        answer = owner.patch(f"{place.path}/{made['id']}", sent)
        assert unreadable(answer) == [f"notifications[0].{name}" for name in WEBHOOK_SECRETS]

    def test_one_sent_again_replaces_it_in_its_place(self, place: ConfigPath) -> None:
        made = place.post(longest("WEBHOOK")).json()
        lose_key(NotificationSetting)
        (shown,) = made["notifications"]
        answer = place.put(made, {**longest("WEBHOOK"), "id": shown["id"]})
        assert (answer.status_code, answer.json()["notifications"]) == (200, [shown])
        assert setting_values(NotificationSetting.objects.get())["webhookSecret"] == "a webhook secret"
        (change,) = Event.objects.filter(event_type="ALERT_CONFIG_CHANGED_AUDIT")
        assert "****** (replaced)" in str(change.diffs)

    def test_one_sent_without_an_id_is_a_new_notification(self, place: ConfigPath) -> None:
        made = place.post(longest("WEBHOOK")).json()
        lose_key(NotificationSetting)
        (shown,) = place.put(made, longest("WEBHOOK")).json()["notifications"]
        assert shown["id"] != made["notifications"][0]["id"]

    def test_all_else_of_it_goes_on(self, place: ConfigPath) -> None:
        made = place.post(longest("WEBHOOK")).json()
        lose_key(NotificationSetting)
        where = f"{place.path}/{made['id']}"
        assert place.client.patch(where, {"enabled": False}).json()["enabled"] is False
        assert place.client.get(where).json()["notifications"] == made["notifications"]
        assert place.put(place.get(made), longest("EMAIL")).status_code == 200
        assert place.client.delete(where).status_code == 204


class TestCredentials:
    """The credentials of callers."""

    def test_a_key_that_cannot_be_read_is_a_401_and_one_line_that_names_it(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        key = make_key(Role.GLOBAL_OWNER)
        lose_key(ApiKey)
        answer = ApiClient(key).get("/groups")
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "UNAUTHORIZED")
        (line,) = [record for record in caplog.records if record.name == "opsapi.authentication"]
        assert (line.levelname, line.exc_info) == ("ERROR", None)
        assert f"API key {key.public_key} cannot authenticate" in line.getMessage()
        assert key.private_key not in caplog.text

    def test_a_scraper_whose_password_cannot_be_read_is_a_401_and_one_line(
        self, project: Project, caplog: pytest.LogCaptureFixture
    ) -> None:
        make_integration(project)
        lose_key(Integration)
        answer = ask(f"{DISCOVERY}/groups/{project.id}/discovery")
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "UNAUTHORIZED")
        (line,) = [record for record in caplog.records if record.name == "opsapi.authentication"]
        assert (line.levelname, line.exc_info) == ("ERROR", None)
        assert project.id in line.getMessage()


@pytest.mark.parametrize(
    ("method", "where", "sent"),
    [
        ("GET", "", None),
        ("PUT", "", named("a", version=1)),
        ("GET", "/revisions/1", None),
        ("POST", "/revisions/1/restore", {}),
    ],
    ids=["read", "publish", "revision", "restore"],
)
def test_an_automation_configuration_says_which_setting_lacks_the_key(
    publisher: ApiClient, path: str, method: str, where: str, sent: Any
) -> None:
    published(publisher, path, named("a"))
    lose_key(AutomationRevision)
    before = state()
    answer = publisher.request(method, f"{path}{where}", sent)
    assert (answer.status_code, answer.json()["errorCode"]) == (503, "SERVICE_UNAVAILABLE")
    assert "version 1 " in answer.json()["detail"]
    assert "OPSAPI_ENCRYPTION_KEYS" in answer.json()["detail"]
    assert answer["Retry-After"]
    assert state() == before
    assert bodies.SECRET not in answer.content.decode()


def test_its_revisions_are_listed_as_before(publisher: ApiClient, path: str) -> None:
    published(publisher, path, named("a"))
    lose_key(AutomationRevision)
    assert publisher.get(f"{path}/revisions").json()["totalCount"] == 1


@pytest.mark.slow
def test_no_read_breaks(owner: ApiClient, known_anew: Mapping[str, str]) -> None:
    lose_key(Integration, NotificationSetting, AutomationRevision)
    reading = [route for route in KEYED if route.method == "GET" and not route.needs_query]
    answers = {
        str(route): owner.request("GET", route.path(known_anew), base="").status_code for route in reading
    }
    without = {name for name, status in answers.items() if status == 503}
    assert {name.rpartition("<group_id>")[2] for name in without} == {
        "/automationConfig",
        "/automationConfig/revisions/<path:revision>",
    }
    assert {status for name, status in answers.items() if name not in without} == {200}
