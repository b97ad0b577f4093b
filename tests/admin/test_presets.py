"""Adding presets in the console."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.configs.presets import Preset
from alerting.models import AlertConfig
from events.types import EventType
from opsapi.roles import Role
from tests.admin.configs import CONFIGS, send
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config
from tests.factories.automation import make_agent

PRESETS = f"{CONFIGS}do/presets/"
TYPE = "notifications[0].typeName"
MADE = EventType.ALERT_CONFIG_ADDED_AUDIT
pytestmark = pytest.mark.django_db


def at(project: Project) -> str:
    """The page of the project's presets."""
    return f"{PRESETS}?group={project.id}"


def typed(project: Project, *names: str, engine: str = "MONGODB", **changes: Any) -> dict[str, Any]:
    """As the list of the project is answered: the members of the project are notified."""
    place = {"group": project.id, "engines": [engine], "shown": project.id, TYPE: "GROUP"}
    return {**place, "presets": list(names), **changes}


def test_the_list_leads_there_with_the_project_it_is_narrowed_to(console: Client, project: Project) -> None:
    assert f'href="{PRESETS}"' in shown(console, CONFIGS)
    assert f'href="{PRESETS}?group={project.id}"' in shown(
        console, f"{CONFIGS}?group__id__exact={project.id}"
    )


def test_all_that_the_project_does_not_have_are_ticked(console: Client, project: Project) -> None:
    config = make_config(project)
    page = shown(console, at(project))
    ticked = typed_in(page)["presets"]
    assert sorted(ticked) == sorted(preset.value for preset in Preset if preset is not Preset.HOST_DOWN)
    assert f"{CONFIGS}{config.id}/change/" in page
    for preset in Preset:
        assert preset.spec.meaning.replace("'", "&#x27;") in page
        assert f'href="{preset.spec.runbook_path}"' in page


def test_the_platform_serves_the_runbook_of_each_preset(console: Client) -> None:
    for path in {preset.spec.runbook_path for preset in Preset}:
        assert console.get(path).status_code == 200, path


def test_nothing_is_listed_before_the_project_is_known(console: Client, project: Project) -> None:
    ProjectFactory.create()
    assert not {"presets", "shown"} & set(typed_in(shown(console, PRESETS)))


def test_a_writer_of_only_one_project_does_not_choose_it(project: Project) -> None:
    page = shown(browser_with(Role.GROUP_MONITORING_ADMIN, project=project), PRESETS)
    assert typed_in(page)["group"] == [project.id]
    assert len(typed_in(page)["presets"]) == len(Preset)


def test_chosen_presets_are_created(console: Client, operator: User, project: Project) -> None:
    make_agent(project)  # the set-up is over
    with leaves_events(operator, MADE, MADE):
        answer = send(console, at(project), typed(project, "NO_PRIMARY", "DIRTY_CACHE"))
    assert answer.headers["Location"] == CONFIGS
    made = AlertConfig.objects.filter(group=project).order_by("id")
    assert [config.event_type for config in made] == ["NO_PRIMARY", "OUTSIDE_METRIC_THRESHOLD"]
    assert made[1].metric_threshold == Preset.DIRTY_CACHE.spec.wire_threshold
    assert [config.settings.get().type_name for config in made] == ["GROUP", "GROUP"]


def test_what_came_to_exist_meanwhile_is_not_created_twice(
    console: Client, operator: User, project: Project
) -> None:
    config = make_config(project)
    with leaves_events(operator, MADE, EventType.ALERT_CONFIG_CHANGED_AUDIT):
        send(console, at(project), typed(project, "HOST_DOWN", "NO_PRIMARY"))
    assert AlertConfig.objects.filter(event_type="HOST_DOWN").count() == 1
    assert [setting.type_name for setting in config.settings.order_by("position")] == ["WEBHOOK", "GROUP"]
    with leaves_events(operator):
        send(console, at(project), typed(project, "HOST_DOWN", "NO_PRIMARY"))
    assert "HOST_DOWN" in shown(console, CONFIGS)


@each(
    "changes",
    [
        pytest.param({"show": "yes"}, id="the list is asked for"),
        pytest.param({"shown": ""}, id="no list was shown"),
        pytest.param({"engines": ["POSTGRESQL"], "presets": ["DIRTY_CACHE"]}, id="of another engine"),
        pytest.param({"presets": []}, id="nothing is chosen"),
        pytest.param({"presets": ["NOPE"]}, id="no preset is chosen"),
        pytest.param({"engines": ["ORACLE"]}, id="the engine is unknown"),
        pytest.param({"engines": []}, id="no engine is chosen"),
        pytest.param({TYPE: ""}, id="nobody is notified"),
        pytest.param({TYPE: "USER"}, id="the type is not offered"),
        pytest.param({TYPE: "WEBHOOK"}, id="the webhook has no URL"),
        pytest.param({"group": ""}, id="no project is chosen"),
    ],
)
def test_nothing_is_created_unseen(
    console: Client, operator: User, project: Project, changes: dict[str, Any]
) -> None:
    with leaves_events(operator):
        answer = send(console, at(project), {**typed(project, "HOST_DOWN"), **changes})
    assert answer.status_code == 200
    assert not AlertConfig.objects.exists()


def test_the_list_of_another_project_is_shown_again(console: Client, project: Project) -> None:
    other: Project = ProjectFactory.create()
    answer = send(console, PRESETS, {**typed(project, "HOST_DOWN"), "group": other.id})
    assert typed_in(answer.content.decode())["shown"] == [other.id]
    assert not AlertConfig.objects.exists()


def test_only_presets_of_the_chosen_engines_are_created(console: Client, project: Project) -> None:
    names = ["HOST_DOWN", "DIRTY_CACHE", "DEADLOCKS"]
    send(console, at(project), typed(project, *names, engine="POSTGRESQL"))
    made = AlertConfig.objects.order_by("id")
    assert [config.event_type for config in made] == ["HOST_DOWN", "OUTSIDE_METRIC_THRESHOLD"]
    assert made[1].metric_threshold == Preset.DEADLOCKS.spec.wire_threshold


@each("role", [Role.GROUP_READ_ONLY, Role.GROUP_USER_ADMIN, Role.GROUP_AUTOMATION_ADMIN])
def test_who_may_only_read_is_offered_and_allowed_none(role: Role, project: Project) -> None:
    browser = browser_with(role, project=project)
    assert PRESETS not in shown(browser, CONFIGS)
    assert send(browser, at(project), typed(project, "HOST_DOWN")).status_code == 403
    assert not AlertConfig.objects.exists()


def test_nobody_adds_any_elsewhere_nor_sees_what_is_there(project: Project) -> None:
    other: Project = ProjectFactory.create()
    config = make_config(other)
    browser = browser_with(Role.GROUP_OWNER, project=project)
    assert config.id not in shown(browser, at(other))
    answer = send(browser, at(project), typed(other, "NO_PRIMARY"))
    assert answer.status_code == 200
    assert config.id not in answer.content.decode()
    assert AlertConfig.objects.count() == 1


def test_an_action_that_the_list_does_not_have_is_not_found(console: Client) -> None:
    assert console.get(f"{CONFIGS}do/nothing/").status_code == 404


def test_a_header_field_that_is_typed_twice_is_reported_next_to_its_input(
    console: Client, project: Project
) -> None:
    headers = "notifications[0].webhookHeaders"
    url = "https://hook.example/0123456789"
    webhook = {TYPE: "WEBHOOK", "notifications[0].webhookUrl": url, headers: "X-Key: 1\r\nX-Key: 2"}
    answer = send(console, at(project), typed(project, "NO_PRIMARY", **webhook))
    assert list(answer.context["form"].part.errors) == [headers]
    assert url not in answer.content.decode()
    assert not AlertConfig.objects.exists()
