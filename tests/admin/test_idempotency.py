"""A page that makes something does so once, however often a browser sends it."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client

from accesslist.keys.console import ApiKeyAdmin
from accesslist.models import ApiKey, Project, User
from alerting.models import AlertConfig, MaintenanceWindow
from events.types import EventType
from opsapi import clock
from opsapi.console.action_pages import MOST_PAGES, PAGE_FORGOTTEN
from opsapi.roles import Role
from tests.admin.alert_pages import alert_page, window_values
from tests.admin.configs import do
from tests.admin.operators import operator_with, page_of
from tests.admin.reading import shown, text_of
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events, post, token
from tests.each import each
from tests.factories.alerting import EMAIL, make_alert, make_config
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db

KEYS = "/admin/accesslist/apikey/"
ADD = f"{KEYS}add/"
ALREADY = "This was already done and was not repeated."


def send(console: Client, once: str, **changes: Any) -> Any:
    """The page of a new key, as the browser sends it."""
    typed = {"desc": "agents", "global_roles": ["GLOBAL_READ_ONLY"], "once": once} | changes
    return post(console, ADD, confirmed="yes", **typed)


def test_a_page_creates_a_key_once_however_often_it_is_submitted(console: Client, operator: User) -> None:
    once = token(console, ADD)
    with leaves_events(operator, EventType.API_KEY_CREATED_AUDIT):
        private = send(console, once).context["private_key"]
        # What is wrong with it by now does not matter either.
        again = [send(console, once), send(console, once, desc="")]
    key = ApiKey.objects.get()
    for answer in again:
        assert answer["Location"] == page_of(key)
        assert private not in text_of(answer)
    page = shown(console, page_of(key))
    assert ALREADY in page
    assert key.public_key in page
    assert private not in page
    assert private not in str(dict(console.session))


def test_a_refused_page_can_be_submitted_again(console: Client, operator: User) -> None:
    once = token(console, ADD)
    refused = send(console, once, desc="")
    assert typed_in(text_of(refused))["once"] == [once]
    assert send(console, once).context["key"] == ApiKey.objects.get()


def test_each_page_creates_a_row(console: Client, operator: User) -> None:
    pages = [token(console, ADD), token(console, ADD)]
    for once in pages:
        send(console, once)
    assert ApiKey.objects.count() == 2


@each("once", ["", "made-up", "x" * 5000], ids=["none", "made up", "long"])
def test_a_page_without_a_token_of_the_session_creates_nothing(
    once: str, console: Client, operator: User
) -> None:
    with leaves_events(operator):
        answer = send(console, once, desc="typed")
    assert PAGE_FORGOTTEN in text_of(answer)
    form = typed_in(text_of(answer))
    assert form["desc"] == ["typed"]
    with leaves_events(operator, EventType.API_KEY_CREATED_AUDIT):
        post(console, ADD, **form)
    assert ApiKey.objects.get().desc == "typed"


def test_a_token_is_valid_only_in_its_session(console: Client, operator: User) -> None:
    _, other = operator_with(Role.GLOBAL_OWNER)
    assert PAGE_FORGOTTEN in text_of(send(other, token(console, ADD)))
    assert not ApiKey.objects.exists()


@pytest.mark.slow
def test_a_session_remembers_a_limited_number_of_pages(console: Client, operator: User) -> None:
    first, *others = [token(console, ADD) for _ in range(MOST_PAGES + 1)]
    assert list(console.session["pages"]) == others
    assert PAGE_FORGOTTEN in text_of(send(console, first))


def test_the_created_row_may_be_deleted(console: Client, operator: User) -> None:
    once = token(console, ADD)
    send(console, once)
    ApiKey.objects.all().delete()
    answer = console.get(send(console, once)["Location"], follow=True)
    assert answer.status_code == 404
    assert ALREADY in text_of(answer)
    assert not ApiKey.objects.exists()


def test_an_ended_session_creates_nothing(console: Client, operator: User) -> None:
    once = token(console, ADD)
    console.session.delete()
    assert send(console, once)["Location"].startswith("/admin/login/")
    assert not ApiKey.objects.exists()


def test_a_window_is_created_once_from_an_alert(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project)
    page = alert_page(alert, "window")
    typed = window_values() | {"once": token(console, page)}
    with leaves_events(operator, EventType.MAINTENANCE_WINDOW_ADDED_AUDIT):
        sent = [post(console, page, confirmed="yes", **typed) for _ in range(2)]
    assert [answer["Location"] for answer in sent] == [alert_page(alert)] * 2
    assert MaintenanceWindow.objects.count() == 1
    assert f"{ALREADY} Maintenance window created until" in shown(console, alert_page(alert))


def test_a_configuration_is_copied_once(console: Client, operator: User, project: Project) -> None:
    page = do(make_config(project, notifications=[EMAIL]), "copy")
    typed = typed_in(shown(console, page))
    with leaves_events(operator, EventType.ALERT_CONFIG_ADDED_AUDIT):
        sent = [post(console, page, **typed) for _ in range(2)]
    copy = AlertConfig.objects.latest("id")
    assert [answer["Location"] for answer in sent] == [page_of(copy)] * 2


def test_pages_that_create_nothing_have_no_token(console: Client, operator: User, project: Project) -> None:
    page = shown(console, alert_page(make_alert(project), "acknowledge"))
    assert "once" not in typed_in(page)


def test_a_slow_page_does_not_undo_it(
    noon: time_machine.Traveller, console: Client, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = token(console, ADD)
    tab = Client()
    tab.cookies["sessionid"] = console.cookies["sessionid"].value
    listed = ApiKeyAdmin.get_changelist_instance

    def slow(*given: Any, **more: Any) -> Any:
        """The other tab's list is begun before the page is sent and answered after it: it prolongs."""
        shown = listed(*given, **more)
        send(console, once)
        return shown

    monkeypatch.setattr(ApiKeyAdmin, "get_changelist_instance", slow)
    noon.shift(timedelta(minutes=2))
    assert tab.get(KEYS).status_code == 200
    assert Session.objects.get().expire_date == clock.now() + timedelta(hours=1)
    assert send(console, once)["Location"] == page_of(ApiKey.objects.get())


@pytest.mark.django_db(transaction=True)
def test_one_of_concurrent_submissions_counts() -> None:
    _, browser = operator_with(Role.GLOBAL_OWNER)
    once, key = token(browser, ADD), browser.cookies["sessionid"].value

    def send_it(_: int) -> int:
        other = Client()
        other.cookies["sessionid"] = key
        status: int = send(other, once).status_code
        return status

    assert sorted(at_once(send_it)) == [200, *[302] * (THREADS - 1)]
    assert ApiKey.objects.count() == 1
