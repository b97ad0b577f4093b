"""What the console shows of alert configurations, and their tests."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accesslist.models import Project, RateWindow, User
from alerting.configs import notification_tests
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.store import config_audits
from alerting.models import Alert, AlertConfig, NotificationSetting
from events.models import Event
from events.types import EventType
from integrations.choices import SecretKind
from opsapi import clock
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.admin.configs import ADD, CONFIGS, HOSTILE, do, send, typed_config
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import shown
from tests.admin.rows import fill, secrets_of_rows
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_global_config
from tests.integration.alerting.pipeline import Outside
from tests.integration.alerting.recipients import GROUP, make_member
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.django_db


class TestTesting:
    """POST …/test."""

    def test_every_outcome_is_reported(
        self, console: Client, operator: User, project: Project, http_receiver: HttpReceiver
    ) -> None:
        url = f"http://127.0.0.1:{http_receiver.port}/in"
        webhooks = [{**WEBHOOK, "webhookUrl": url}, {**WEBHOOK, "webhookUrl": "http://nowhere.invalid/"}]
        config = make_config(project, notifications=webhooks)
        with leaves_events(operator, EventType.ALERT_CONFIG_TESTED_AUDIT):
            page = send(console, do(config, "test"), {}).content.decode()
        assert len(http_receiver.requests) == 1
        assert "delivered" in page
        assert "the receiver could not be reached" in page
        assert "hooks" not in page

    def test_it_names_the_notification_that_sent_the_message_to_a_shared_address(
        self, console: Client, operator: User, project: Project, http_receiver: HttpReceiver
    ) -> None:
        url = f"http://127.0.0.1:{http_receiver.port}"
        urls = [f"{url}/other", f"{url}/same", f"{url}/same"]
        config = make_config(project, notifications=[{**WEBHOOK, "webhookUrl": each} for each in urls])
        page = send(console, do(config, "test"), {}).content.decode()
        assert sorted(request.path for request in http_receiver.requests) == ["/other", "/same"]
        assert "Test results: 3 of 3 delivered" in page
        assert page.count("Merged into the message of notification 2 to the same address.") == 1

    def test_it_says_that_some_addresses_are_shared(
        self, console: Client, operator: User, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outside = Outside()
        monkeypatch.setattr(notification_tests, "deliver", outside.deliver)
        for name in ("bob", "eve", "kim"):
            make_member(project, name)
        users = [
            {"typeName": "USER", "username": name, "emailEnabled": True, "delayMin": 0}
            for name in ("bob", "eve")
        ]
        config = make_config(project, notifications=[*users, {**GROUP, "delayMin": 0}])
        page = send(console, do(config, "test"), {}).content.decode()
        assert len(outside.sent) == 3
        assert "Addresses shared with notifications 1, 2 got one message." in page

    def test_the_page_offers_a_test_of_each_notification_and_sends_to_this_one_alone(
        self, console: Client, operator: User, project: Project, http_receiver: HttpReceiver
    ) -> None:
        url = f"http://127.0.0.1:{http_receiver.port}"
        webhooks = [{**WEBHOOK, "webhookUrl": f"{url}/{name}"} for name in ("one", "two")]
        config = make_config(project, notifications=webhooks)
        page = shown(console, f"{CONFIGS}{config.id}/change/")
        for setting in config.settings.all():
            test = f"{do(config, 'test')}?notification={setting.id}"
            assert f'href="{test}"' in page
            typed = typed_in(shown(console, test))
            assert typed["notification"] == [setting.id]
            with leaves_events(operator, EventType.ALERT_CONFIG_TESTED_AUDIT):
                answer = send(console, do(config, "test"), typed)
            assert answer.context["delivered"] == len(answer.context["tests"]) == 1
        assert [request.path for request in http_receiver.requests] == ["/one", "/two"]

    def test_it_shows_the_text_of_a_receiver_that_refuses(
        self, console: Client, project: Project, http_receiver: HttpReceiver
    ) -> None:
        http_receiver.answer(404, {"Content-Type": "text/plain"}, b"no such channel")
        url = f"http://127.0.0.1:{http_receiver.port}/in"
        config = make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url}])
        page = send(console, do(config, "test"), {}).content.decode()
        assert "the receiver answered 404: no such channel" in page

    def test_who_may_not_test_is_offered_no_test(self, project: Project) -> None:
        config = make_config(project, notifications=[WEBHOOK])
        page = shown(browser_with(Role.GROUP_READ_ONLY, project=project), f"{CONFIGS}{config.id}/change/")
        assert do(config, "test") not in page
        assert "Webhook" in page

    def test_a_notification_of_another_configuration_is_refused(
        self, console: Client, operator: User, project: Project, http_receiver: HttpReceiver
    ) -> None:
        url = f"http://127.0.0.1:{http_receiver.port}/in"
        config, other = (
            make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url}]) for _ in range(2)
        )
        with leaves_events(operator):
            send(console, do(config, "test"), {"notification": other.settings.get().id})
        assert http_receiver.requests == []

    def test_it_is_throttled_with_the_api(
        self, console: Client, operator: User, project: Project, settings: Settings
    ) -> None:
        settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 1
        config = make_config(project, notifications=[{**WEBHOOK, "webhookUrl": "http://nowhere.invalid/"}])
        with leaves_events(operator, EventType.ALERT_CONFIG_TESTED_AUDIT):
            send(console, do(config, "test"), {})
            answer = send(console, do(config, "test"), {})
        assert answer.status_code == 200
        assert "Too many" in answer.content.decode() or "Try again" in answer.content.decode()
        assert RateWindow.objects.filter(bucket=f"test notifications {project.id}").count() == 1

    def test_the_lowest_role_may(self, project: Project) -> None:
        browser = browser_with(Role.GROUP_MONITORING_ADMIN, project=project)
        config = make_config(project, notifications=[{**WEBHOOK, "webhookUrl": "http://nowhere.invalid/"}])
        assert send(browser, do(config, "test"), {}).status_code == 200
        assert Event.objects.filter(event_type="ALERT_CONFIG_TESTED_AUDIT").count() == 1


class TestPages:
    """What is shown of configurations."""

    @pytest.mark.slow
    def test_no_secret_is_in_any_page(self, console: Client, project: Project) -> None:
        fill(project)
        config = AlertConfig.objects.get()
        pages = [f"{CONFIGS}{config.id}/change/", *(do(config, name) for name in ("change", "copy", "test"))]
        wrong = typed_in(shown(console, do(config, "change"))) | {"notifications[0].delayMin": ["x"]}
        texts = [*(shown(console, page) for page in pages)]
        texts.append(send(console, do(config, "change"), wrong).content.decode())
        for text in texts:
            assert not [secret for secret in secrets_of_rows() if secret in text]

    def test_a_typed_secret_is_not_sent_back(self, console: Client, project: Project) -> None:
        hidden = {
            f"notifications[0].{name}": f"typed-{name}"
            for kind in NOTIFICATION_TYPES.values()
            for name, field in kind.secret_fields.items()
            if field.secret is not SecretKind.PLAIN
        }
        page = send(console, ADD, typed_config(project.id, **hidden)).content.decode()
        assert not [value for value in hidden.values() if value in page]

    def test_a_hostile_url_is_escaped(self, console: Client, project: Project) -> None:
        config = make_config(
            project, notifications=[{**WEBHOOK, "webhookUrl": f"http://{HOSTILE}/in/secret"}]
        )
        page = shown(console, do(config, "change"))
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page

    def test_the_page_says_what_it_does_in_sentences(self, console: Client, project: Project) -> None:
        config = make_config(
            project,
            matchers=[{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": HOSTILE}],
            notifications=[{"typeName": "SMS", "mobileNumber": "+12025550100", "delayMin": 5}],
        )
        alert = make_alert(project, config_id=config.id)
        closed = make_alert(project, config_id=config.id, status="CLOSED")
        page = shown(console, f"{CONFIGS}{config.id}/change/")
        assert "where HOSTNAME starts with “&lt;script&gt;" in page
        assert "SMS +12025550100: after 5 min, reminder every 1 h" in page
        assert alert.id in page
        assert closed.id not in page
        assert Event.objects.get(event_type="ALERT_CONFIG_ADDED_AUDIT").id in page

    @pytest.mark.slow
    @each(
        ("query", "found"),
        [
            ("category=HOST", {"HOST_DOWN"}),
            ("category=AGENT", {"BACKUP_AGENT_DOWN"}),
            ("event_type=HOST_DOWN", {"HOST_DOWN"}),
            ("notifies=WEBHOOK", {"HOST_DOWN"}),
            ("notifies=SMS", set()),
            ("notifies=nonsense", set()),
            ("category=nonsense", set()),
            ("event_type=nonsense", set()),
            ("enabled__exact=0", {"BACKUP_AGENT_DOWN"}),
            ("group__id__exact=%s", {"HOST_DOWN"}),
        ],
    )
    def test_the_list_is_filtered(
        self, query: str, found: set[str], console: Client, project: Project
    ) -> None:
        configs = {
            "HOST_DOWN": make_config(project),
            "BACKUP_AGENT_DOWN": make_global_config(
                eventTypeName="BACKUP_AGENT_DOWN",
                enabled=False,
                notifications=[{"typeName": "ADMIN", "delayMin": 0, "emailEnabled": True}],
            ),
        }
        page = shown(console, f"{CONFIGS}?{query.replace('%s', project.id)}")
        assert {name for name, config in configs.items() if f"{config.id}/change/" in page} == found

    @pytest.mark.parametrize(
        "url", [lambda config: ADD, lambda config: do(config, "change")], ids=["add", "change"]
    )
    def test_the_form_asks_the_same_however_many_projects_there_are(
        self,
        url: Callable[[AlertConfig], str],
        console: Client,
        project: Project,
        django_assert_max_num_queries: Any,
    ) -> None:
        config = make_config(project)
        ProjectFactory.create_batch(5)
        with django_assert_max_num_queries(27):
            shown(console, url(config))


def test_nothing_is_left_of_a_deleted_configuration(
    console: Client, operator: User, project: Project
) -> None:
    config = make_config(project)
    with leaves_events(operator, EventType.ALERT_CONFIG_DELETED_AUDIT):
        answer = send(console, do(config, "delete"), {})
    assert answer.headers["Location"] == CONFIGS
    assert NotificationSetting.objects.filter(config=config).exists()
    assert not Alert.objects.filter(config_id=config.id).exists()


def test_each_value_of_a_page_is_computed_once(console: Client, project: Project) -> None:
    config = make_config(project)
    with CaptureQueriesContext(connection) as statements:
        assert console.get(page_of(config)).status_code == 200
    texts = [statement["sql"] for statement in statements]
    assert len([text for text in texts if "ALERT_CONFIG_CHANGED_AUDIT" in text]) == 1


def test_the_history_of_a_configuration_has_its_events_alone(project: Project) -> None:
    config, other = make_config(project), make_config(project)
    changes = {
        changed.id: Event.objects.create(
            id=new_id(),
            created=clock.now(),
            event_type=EventType.ALERT_CONFIG_CHANGED_AUDIT.value,
            group_id=project.id,
            details={"alertConfigId": changed.id},
        )
        for changed in (config, other)
    }
    listed = list(config_audits(config))
    assert changes[config.id] in listed
    assert {event.details["alertConfigId"] for event in listed} == {config.id}
