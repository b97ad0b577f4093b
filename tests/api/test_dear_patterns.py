"""Patterns that are dear to compare are refused wherever they could be saved or run."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs import condition_documents
from alerting.configs.pattern_prices import ALLOWED
from alerting.models import AlertConfig
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db

TOO_LARGE = "|".join(f"a{{{count}}}b" for count in range(50, 180))
TOO_SLOW = "(a{1,30}){1,30}x"


def matcher(value: str, field: str = "HOSTNAME") -> dict[str, str]:
    """A matcher with a pattern."""
    return {"fieldName": field, "operator": "REGEX", "value": value}


def saved_or_run(matchers: list[dict[str, str]]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Requests of a project with these matchers, by the path of the matchers in the body."""
    config = bodies.alert_config(matchers=matchers)
    window = bodies.window(alertTypeNames=["HOST"], matchers=matchers)
    return {
        "alertConfigs": ("matchers", config),
        "alertConfigs/dryRun": ("config.matchers", bodies.dry_run(config)),
        "maintenanceWindows": ("matchers", window),
        "maintenanceWindows/preview": ("matchers", window),
    }


@each("route", saved_or_run([]))
@each("pattern", [TOO_LARGE, TOO_SLOW])
def test_it_refuses_a_dear_pattern(owner: ApiClient, project: Project, route: str, pattern: str) -> None:
    place, body = saved_or_run([matcher("^db"), matcher(pattern)])[route]
    answer = owner.post(f"/groups/{project.id}/{route}", body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
    (bad,) = answer.json()["badFields"]
    assert (bad["field"], bad["allowed"]) == (f"{place}[1].value", list(ALLOWED))


def test_a_global_configuration_refuses_it(owner: ApiClient) -> None:
    answer = owner.post(
        "/globalAlertConfigs",
        bodies.global_alert_config(eventTypeName="HOST_DOWN", matchers=[matcher(TOO_SLOW)]),
    )
    assert answer.json()["badFields"][0]["allowed"] == list(ALLOWED)


def test_a_stored_pattern_can_be_written_back_but_not_copied(owner: ApiClient, project: Project) -> None:
    path = f"/groups/{project.id}/alertConfigs"
    made = owner.post(path, bodies.alert_config(matchers=[matcher("^db")])).json()
    AlertConfig.objects.filter(id=made["id"]).update(matchers=[matcher(TOO_SLOW)])
    shown = owner.get(f"{path}/{made['id']}").json()
    assert owner.put(f"{path}/{made['id']}", shown).status_code == 200
    assert owner.put(f"{path}/{made['id']}", {**shown, "enabled": False}).status_code == 200
    changed = {**shown, "matchers": [matcher(f"{TOO_SLOW}y")]}
    assert owner.put(f"{path}/{made['id']}", changed).status_code == 400
    assert owner.post(path, bodies.alert_config(matchers=[matcher(TOO_SLOW)])).status_code == 400


def test_a_request_searches_ports_for_a_limited_time(
    owner: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = bodies.alert_config(matchers=[matcher("^abc$", "PORT")])
    assert owner.post(f"/groups/{project.id}/alertConfigs", never).status_code == 400
    monkeypatch.setattr(condition_documents, "CHECK_SECONDS", 0)
    assert owner.post(f"/groups/{project.id}/alertConfigs", never).status_code == 201


def test_each_request_has_its_own_time(owner: ApiClient, project: Project) -> None:
    never = bodies.alert_config(matchers=[matcher("^abc$", "PORT")] * 3)
    for _ in range(2):
        answer = owner.post(f"/groups/{project.id}/alertConfigs", never)
        assert len(answer.json()["badFields"]) == 3


def test_after_its_time_a_request_names_one_dear_pattern(
    owner: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = bodies.alert_config(matchers=[matcher(TOO_LARGE), matcher(TOO_SLOW)])
    assert len(owner.post(f"/groups/{project.id}/alertConfigs", dear).json()["badFields"]) == 2
    monkeypatch.setattr(condition_documents, "CHECK_SECONDS", 0)
    assert len(owner.post(f"/groups/{project.id}/alertConfigs", dear).json()["badFields"]) == 1
