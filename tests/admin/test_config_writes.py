"""Alert configurations, enabled, disabled and deleted in the console: by services, one or many."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, AlertConfig
from events.types import EventType
from tests.admin.rows import fill
from tests.admin.writing import confirm, leaves_events, post
from tests.each import each
from tests.factories.alerting import make_config, make_global_config

pytestmark = pytest.mark.django_db

CONFIGS = "/admin/alerting/alertconfig/"


def _act(console: Client, action: str, *configs: AlertConfig, **more: Any) -> Any:
    chosen = [config.id for config in configs]
    return post(console, CONFIGS, action=action, _selected_action=chosen, **{"confirmed": "yes", **more})


def test_configurations_are_disabled_in_bulk(console: Client, operator: User, project: Project) -> None:
    fill(project)
    configs = [AlertConfig.objects.get(), make_config(project), make_config(project, enabled=False)]
    expected = [
        EventType.ALERT_CONFIG_DISABLED_AUDIT,
        EventType.ALERT_CANCELLED_AUDIT,
        EventType.ALERT_CONFIG_DISABLED_AUDIT,
    ]
    with leaves_events(operator, *expected):
        answer = _act(console, "disable", *configs)
    assert answer.status_code == 302
    assert not AlertConfig.objects.filter(enabled=True).exists()
    assert Alert.objects.get().status == AlertStatus.CANCELLED
    assert "3 alert configurations" in console.get(CONFIGS).content.decode()


def test_configurations_are_enabled_in_bulk(console: Client, operator: User, project: Project) -> None:
    configs = [make_config(project, enabled=False) for _ in range(2)]
    with leaves_events(operator, *[EventType.ALERT_CONFIG_ENABLED_AUDIT] * 2):
        _act(console, "enable", *configs)
    assert AlertConfig.objects.filter(enabled=True).count() == 2


@each("action", ["enable", "disable", "delete"])
def test_a_bulk_action_asks_first(action: str, console: Client, operator: User, project: Project) -> None:
    config = make_config(project)
    with leaves_events(operator):
        answer = post(console, CONFIGS, action=action, _selected_action=[config.id])
    assert f'name="_selected_action" value="{config.id}"' in answer.content.decode()
    assert AlertConfig.objects.get().deleted is None


def test_configurations_are_deleted_in_bulk(console: Client, operator: User, project: Project) -> None:
    configs = [make_config(project) for _ in range(2)]
    kept = make_config(project)
    with leaves_events(operator, *[EventType.ALERT_CONFIG_DELETED_AUDIT] * 2):
        _act(console, "delete", *configs)
    assert list(AlertConfig.objects.filter(deleted=None)) == [kept]
    assert AlertConfig.objects.count() == 3


def test_a_configuration_is_deleted_from_its_page(console: Client, operator: User, project: Project) -> None:
    config = make_config(project)
    with leaves_events(operator, EventType.ALERT_CONFIG_DELETED_AUDIT):
        answer = confirm(console, f"{CONFIGS}{config.id}/do/delete/")
    assert answer.status_code == 302
    assert AlertConfig.objects.get().deleted is not None


def test_a_global_configuration_is_written_like_any_other(console: Client, operator: User, db: None) -> None:
    config = make_global_config()
    for action, event_type in (
        ("disable", EventType.ALERT_CONFIG_DISABLED_AUDIT),
        ("enable", EventType.ALERT_CONFIG_ENABLED_AUDIT),
        ("delete", EventType.ALERT_CONFIG_DELETED_AUDIT),
    ):
        with leaves_events(operator, event_type):
            _act(console, action, config)
    assert AlertConfig.objects.get().deleted is not None


@each(
    ("scope", "shown"),
    [
        ({}, "all projects"),
        ({"tags": ["prod", "eu"]}, "projects tagged prod, eu"),
        ({"forAllGroups": False, "groupIds": ["project"]}, "of 1 project"),
    ],
    ids=["all", "tagged", "named"],
)
def test_the_list_says_what_a_configuration_covers(
    console: Client, project: Project, scope: dict[str, Any], shown: str
) -> None:
    named = {"groupIds": [project.id]} if "groupIds" in scope else {}
    config = make_global_config(**{**scope, **named})
    assert shown in console.get(CONFIGS).content.decode()
    assert console.get(f"{CONFIGS}{config.id}/change/").status_code == 200


def test_a_deleted_configuration_is_not_deleted_again(
    console: Client, operator: User, project: Project
) -> None:
    config = make_config(project)
    _act(console, "delete", config)
    with leaves_events(operator):
        _act(console, "delete", config)
        _act(console, "enable", config)
    assert AlertConfig.objects.get().enabled is False


def test_a_bulk_action_is_done_to_all_or_to_none(
    console: Client, operator: User, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = [make_config(project) for _ in range(2)]
    calls: list[AlertConfig] = []

    def fail_second(*, config: AlertConfig, **_: Any) -> None:
        calls.append(config)
        if len(calls) == 2:
            raise RuntimeError("the second one fails")

    monkeypatch.setattr("alerting.configs.coverage.config_alerts_cancel", fail_second)
    with leaves_events(operator):
        console.raise_request_exception = False
        assert _act(console, "disable", *configs).status_code == 500
    assert AlertConfig.objects.filter(enabled=True).count() == 2
