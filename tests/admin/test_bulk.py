"""Actions on many rows: which one is meant, and on what."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from accesslist.models import Project, User
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert
from automation.agents.console import AgentAdmin
from opsapi.console.action_pages import NONE_LEFT
from opsapi.ids import new_id
from tests.admin.rows import fill
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events, post

pytestmark = pytest.mark.django_db

ALERTS = "/admin/alerting/alert/"
MORE_THAN_AN_ID = "x" * 30


@pytest.fixture
def alert(project: Project) -> Alert:
    """One that is open."""
    fill(project)
    return Alert.objects.get(status=AlertStatus.OPEN.value)


def _messages(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def _acknowledge(browser: Client, *ids: str, **more: Any) -> Any:
    return post(browser, ALERTS, action="acknowledge", _selected_action=ids, until="1h", **more)


@pytest.mark.parametrize("ids", [[new_id()], [new_id(), new_id()], [MORE_THAN_AN_ID], [""]])
@pytest.mark.parametrize(
    "more", [{}, {"confirmed": "yes"}, {"index": "0"}, {"confirmed": "yes", "index": "0"}]
)
def test_deleted_rows_are_reported(
    ids: list[str], more: dict[str, str], console: Client, operator: User, alert: Alert
) -> None:
    with leaves_events(operator):
        answer = _acknowledge(console, *ids, **more)
    assert (answer.status_code, answer["Location"]) == (302, ALERTS)
    assert _messages(answer) == [NONE_LEFT]


@pytest.mark.parametrize("key", ["x", "", "9" * 40, "-1", "1.5"])
@pytest.mark.parametrize("confirmed", [{}, {"confirmed": "yes"}])
def test_invalid_keys_match_no_row(
    key: str, confirmed: dict[str, str], console: Client, project: Project
) -> None:
    name = next(name for name, action in AgentAdmin.actions_of_row.items() if action.bulk)
    answer = post(console, "/admin/automation/agent/", action=name, _selected_action=[key], **confirmed)
    assert answer.status_code == 302
    assert _messages(answer) == [NONE_LEFT]


def test_the_page_is_that_of_the_selected_action(console: Client, alert: Alert) -> None:
    for actions, index in ((["acknowledge", "zzz"], "0"), (["window", "acknowledge"], "1")):
        page = post(console, ALERTS, action=actions, index=index, _selected_action=[alert.id])
        assert page.status_code == 200
        typed = typed_in(page.content.decode())
        assert (typed["action"], typed["_selected_action"]) == (["acknowledge"], [alert.id])


@pytest.mark.parametrize(
    ("actions", "index"), [(["acknowledge", "window"], "1"), (["zzz"], "0"), (["window"], "0"), ([], "0")]
)
def test_single_row_actions_are_not_offered_for_many_rows(
    actions: list[str], index: str, console: Client, operator: User, alert: Alert
) -> None:
    with leaves_events(operator):
        answer = post(
            console, ALERTS, action=actions, index=index, _selected_action=[alert.id], confirmed="yes"
        )
    assert (answer.status_code, answer["Location"]) == (302, ALERTS)
    assert _messages(answer) == ["No action selected."]


def test_a_repeated_action_parameter_does_not_change_the_action(console: Client, alert: Alert) -> None:
    page = post(console, ALERTS, action=["acknowledge", "window"], index="0", _selected_action=[alert.id])
    assert page.context["action"].label == "Acknowledge"
