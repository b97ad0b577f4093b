"""“What should wake you?”: the receiver of presets, its test, and the offer with a new agent."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accesslist.models import ApiKey, Project, User
from alerting.configs.presets import Preset, presets_of
from alerting.configs.store import setting_values
from alerting.models import AlertConfig, NotificationSetting, SetupMark
from automation.metrics import Engine
from events.types import EventType
from opsapi.roles import Role
from tests.admin.configs import CONFIGS, send
from tests.admin.operators import browser_with, operator_with
from tests.admin.reading import shown, text_of
from tests.admin.typed import typed_in
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config, make_global_config
from tests.receivers import HttpReceiver

PRESETS = f"{CONFIGS}do/presets/"
ADD_AGENT = "/admin/automation/agent/add/"
ROW = "notifications[0]"
TYPE = f"{ROW}.typeName"
SECRET = "a secret of our own"
TESTED = EventType.ALERT_CONFIG_TESTED_AUDIT
pytestmark = pytest.mark.django_db


def typed(project: Project, **changes: Any) -> dict[str, Any]:
    """The form of the presets: one preset, and a webhook."""
    return {
        "group": project.id,
        "engines": ["MONGODB"],
        "shown": project.id,
        "presets": ["HOST_DOWN"],
        TYPE: "WEBHOOK",
        f"{ROW}.webhookSecret": SECRET,
        **changes,
    }


def new_agent(project: Project, **changes: Any) -> dict[str, Any]:
    """The form of a new agent, with all presets of its page, for the members of the project."""
    presets = [preset.value for preset in Preset]
    wanted = {"shown": project.id, "alerts": "yes", "presets": presets, TYPE: "GROUP"}
    return {"group": project.id, "databases": ["mongodb"], "desc": "on db1", **wanted, **changes}


class TestTheTest:
    """“Send test”, before anything is added."""

    def test_its_result_is_shown_and_nothing_is_added(
        self, console: Client, operator: User, project: Project, http_receiver: HttpReceiver
    ) -> None:
        asked = typed(project, test="yes", **{f"{ROW}.webhookUrl": http_receiver.url()})
        with leaves_events(operator, TESTED) as events:
            page = text_of(send(console, PRESETS, asked))
        assert "was delivered" in page
        assert events[0].group_id == project.id
        assert len(http_receiver.requests) == 1
        assert not (AlertConfig.objects.exists())
        assert not (NotificationSetting.objects.exists())
        assert [mark.name for mark in SetupMark.objects.all()] == ["CHANNEL_TESTED"]

    def test_a_failure_is_shown_with_its_reason_and_proves_nothing(
        self, console: Client, project: Project, http_receiver: HttpReceiver
    ) -> None:
        http_receiver.answer(404)
        asked = typed(project, test="yes", **{f"{ROW}.webhookUrl": http_receiver.url()})
        page = text_of(send(console, PRESETS, asked))
        assert "was not delivered" in page
        assert "404" in page
        assert not SetupMark.objects.exists()

    def test_members_without_an_address_are_not_reached(self, console: Client, project: Project) -> None:
        page = text_of(send(console, PRESETS, typed(project, test="yes", **{TYPE: "GROUP"})))
        assert "was not delivered" in page

    def test_an_invalid_receiver_is_not_tested(
        self, console: Client, operator: User, project: Project, http_receiver: HttpReceiver
    ) -> None:
        with leaves_events(operator):
            send(console, PRESETS, typed(project, test="yes", **{f"{ROW}.webhookUrl": "nowhere"}))
        assert not http_receiver.requests

    def test_too_many_are_refused_in_words(
        self, console: Client, project: Project, http_receiver: HttpReceiver, settings: Settings
    ) -> None:
        settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 1
        asked = typed(project, test="yes", **{f"{ROW}.webhookUrl": http_receiver.url()})
        send(console, PRESETS, asked)
        answer = send(console, PRESETS, asked)
        assert (answer.status_code, len(http_receiver.requests)) == (200, 1)
        assert "No test message was sent." in text_of(answer)

    def test_secrets_come_along_without_being_shown(
        self, console: Client, project: Project, http_receiver: HttpReceiver
    ) -> None:
        url = http_receiver.url("/in/secret-path")
        page = text_of(send(console, PRESETS, typed(project, test="yes", **{f"{ROW}.webhookUrl": url})))
        assert SECRET not in page
        assert "secret-path" not in page
        send(console, PRESETS, typed_in(page))
        values = setting_values(NotificationSetting.objects.get())
        assert (values["webhookUrl"], values["webhookSecret"]) == (url, SECRET)

    def test_secrets_of_another_user_are_of_no_use(self, console: Client, project: Project) -> None:
        asked = typed(project, test="yes", **{f"{ROW}.webhookUrl": "http://nowhere.invalid/in"})
        answered = typed_in(text_of(send(console, PRESETS, asked)))
        other = browser_with(Role.GLOBAL_OWNER)
        answer = send(other, PRESETS, answered)
        assert answer.status_code == 200
        assert not AlertConfig.objects.exists()

    @each("role", [Role.GROUP_READ_ONLY, Role.GROUP_USER_ADMIN])
    def test_who_may_not_write_sends_none(
        self, role: Role, project: Project, http_receiver: HttpReceiver
    ) -> None:
        asked = typed(project, test="yes", **{f"{ROW}.webhookUrl": http_receiver.url()})
        assert send(browser_with(role, project=project), PRESETS, asked).status_code == 403
        assert not http_receiver.requests

    def test_where_somebody_may_not_write_none_is_sent(
        self, project: Project, http_receiver: HttpReceiver
    ) -> None:
        user, browser = operator_with(Role.GROUP_OWNER, project=project)
        other: Project = ProjectFactory.create()
        user.grants.create(role=Role.GROUP_READ_ONLY.value, project=other)
        for page, asked in ((PRESETS, typed(other)), (ADD_AGENT, new_agent(other))):
            webhook = {TYPE: "WEBHOOK", f"{ROW}.webhookUrl": http_receiver.url()}
            send(browser, page, {**asked, "test": "yes", **webhook})
        assert not http_receiver.requests


class TestTheReceiver:
    """Who is notified."""

    @each(
        ("url", "first"),
        [("smtp://localhost:25", ""), ("smtp+tls://mail.example.com:587", "GROUP")],
    )
    def test_e_mail_is_the_first_choice_where_a_mail_server_is_set(
        self, console: Client, project: Project, settings: Settings, url: str, first: str
    ) -> None:
        settings.EMAIL_USE_TLS = url.startswith("smtp+tls")
        settings.EMAIL_HOST, port = url.rpartition("/")[2].split(":")
        settings.EMAIL_PORT = int(port)
        page = shown(console, PRESETS)
        assert typed_in(page)[TYPE] == [first]
        assert ("No mail server is set." in page) is not bool(first)

    def test_a_default_configuration_gets_the_receiver_too(self, console: Client, project: Project) -> None:
        mail = {"typeName": "GROUP", "emailEnabled": True, "delayMin": 0}
        agent_down = make_config(project, eventTypeName="MONITORING_AGENT_DOWN", notifications=[mail])
        asked = typed_in(shown(console, PRESETS))
        assert "MONITORING_AGENT_DOWN" in asked["presets"]
        webhook = {TYPE: "WEBHOOK", f"{ROW}.webhookUrl": "https://hooks.example.com/in"}
        send(console, PRESETS, {**asked, **webhook})
        types = [setting.type_name for setting in agent_down.settings.order_by("position")]
        assert types == ["GROUP", "WEBHOOK"]
        assert "MONITORING_AGENT_DOWN" not in typed_in(shown(console, PRESETS)).get("presets", [])

    def test_each_preset_keeps_its_delay(self, console: Client, project: Project) -> None:
        webhook = {f"{ROW}.webhookUrl": "https://hooks.example.com/in"}
        send(console, PRESETS, typed(project, presets=["HOST_DOWN", "CONNECTIONS"], **webhook))
        delays = NotificationSetting.objects.values_list("config__event_type", "delay_min")
        assert dict(delays) == {"HOST_DOWN": 0, "OUTSIDE_METRIC_THRESHOLD": 5}


class TestWithANewAgent:
    """The offer where nothing alerts when a host is down."""

    def test_presets_of_the_chosen_engine_and_the_key_are_created(
        self, console: Client, operator: User, project: Project
    ) -> None:
        answer = confirm(console, ADD_AGENT, **new_agent(project, databases=["postgresql"]))
        assert answer.status_code == 200
        assert "Added" in text_of(answer)
        assert ApiKey.objects.filter(desc="on db1").exists()
        kinds = set(AlertConfig.objects.values_list("event_type", flat=True))
        assert kinds == {preset.spec.event_type for preset in presets_of(Engine.POSTGRESQL)}

    def test_no_key_is_created_while_the_receiver_is_wrong(self, console: Client, project: Project) -> None:
        answer = confirm(console, ADD_AGENT, **new_agent(project, **{TYPE: ""}))
        assert answer.status_code == 200
        assert not (ApiKey.objects.filter(desc="on db1").exists())
        assert not (AlertConfig.objects.exists())

    def test_it_can_be_declined(self, console: Client, project: Project) -> None:
        declined = {name: value for name, value in new_agent(project).items() if name != "alerts"}
        confirm(console, ADD_AGENT, **declined)
        assert ApiKey.objects.filter(desc="on db1").exists()
        assert not AlertConfig.objects.exists()

    def test_no_key_is_created_before_it_was_shown(self, console: Client, project: Project) -> None:
        other: Project = ProjectFactory.create()
        answer = confirm(console, ADD_AGENT, **new_agent(other, shown=project.id))
        assert typed_in(text_of(answer))["shown"] == [other.id]
        assert not ApiKey.objects.filter(desc="on db1").exists()

    @each("covers", ["own", "global", "nothing"])
    def test_it_is_offered_only_where_nothing_covers_hosts_that_are_down(
        self, console: Client, project: Project, covers: str
    ) -> None:
        if covers == "own":
            make_config(project)
        elif covers == "global":
            make_global_config()
        asked = typed_in(shown(console, ADD_AGENT))
        assert ("presets" in asked) is (covers == "nothing")

    def test_presets_of_both_engines_watch_hosts_and_connections(self) -> None:
        names = {preset.value for preset in Preset}
        assert {"HOST_DOWN", "CONNECTIONS", "MONITORING_AGENT_DOWN"} <= names
        assert {"NO_PRIMARY", "REPLICATION_LAG", "DISK_SPACE", "STANDBY_LAG"} <= names
