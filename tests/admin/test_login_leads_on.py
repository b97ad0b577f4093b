"""A link of a message, opened without a session, leads to its page after the log-in."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project, User
from opsapi.console.login import PENDING_LASTS
from tests.admin.logging_in import CODE, LOGIN
from tests.admin.times import NOON
from tests.factories.accesslist import PASSWORD
from tests.factories.alerting import make_alert
from tests.factories.second_factors import code_at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


@pytest.fixture
def link(project: Project) -> str:
    """The page of an alert."""
    return reverse("admin:alerting_alert_change", args=[make_alert(project).id])


def submit(browser: Client, page: Any, **typed: str) -> Any:
    """Send the form of a page to where that says."""
    action = re.search(r'<form action="([^"]*)"', page.content.decode())
    assert action
    return browser.post(action[1].replace("&amp;", "&"), typed)


def open_link(browser: Client, link: str) -> Any:
    """The page that a browser without a session comes to."""
    answer = browser.get(link)
    assert answer.status_code == 302
    return browser.get(answer["Location"])


def type_password(browser: Client, page: Any) -> Any:
    """The first step."""
    return submit(browser, page, username="ada", password=PASSWORD)


def test_the_password_leads_to_the_alert(client: Client, operator: User, link: str) -> None:
    answer = type_password(client, open_link(client, link))
    assert (answer.status_code, answer["Location"]) == (302, link)
    assert client.get(link).status_code == 200


def test_so_it_does_after_a_wrong_one(client: Client, operator: User, link: str) -> None:
    wrong = submit(client, open_link(client, link), username="ada", password="wrong")
    assert wrong.status_code == 403
    assert type_password(client, wrong)["Location"] == link


def test_the_code_leads_to_the_alert(client: Client, factor: tuple[str, list[str]], link: str) -> None:
    page = client.get(type_password(client, open_link(client, link))["Location"])
    wrong = submit(client, page, code="000000")
    assert wrong.status_code == 403
    answer = submit(client, wrong, code=code_at(factor[0], NOON))
    assert (answer.status_code, answer["Location"]) == (302, link)


def test_starting_again_leads_to_the_alert(client: Client, factor: tuple[str, list[str]], link: str) -> None:
    code = client.get(type_password(client, open_link(client, link))["Location"])
    again = re.search(rf'href="({LOGIN}[^"]*)"', code.content.decode())
    assert again
    answer = type_password(client, client.get(again[1].replace("&amp;", "&")))
    page = client.get(answer["Location"])
    assert submit(client, page, code=code_at(factor[0], NOON))["Location"] == link


def test_so_does_a_code_that_comes_too_late(
    client: Client, factor: tuple[str, list[str]], link: str, noon: Any
) -> None:
    page = client.get(type_password(client, open_link(client, link))["Location"])
    noon.move_to(NOON + PENDING_LASTS)
    answer = submit(client, page, code=code_at(factor[0], NOON + PENDING_LASTS))
    assert answer["Location"].startswith(LOGIN)
    answer = type_password(client, client.get(answer["Location"]))
    assert answer["Location"].startswith(CODE)
    page = client.get(answer["Location"])
    assert submit(client, page, code=factor[1][0])["Location"] == link


def test_a_log_in_page_left_open_leads_to_the_alert_once_somebody_is_in(
    client: Client, operator: User, link: str
) -> None:
    address = client.get(link)["Location"]
    client.force_login(operator)
    assert client.get(address)["Location"] == link


@pytest.mark.parametrize("step", [LOGIN, CODE])
@pytest.mark.parametrize("elsewhere", ["//evil.example.com/", "https://evil.example.com/", "javascript:x"])
def test_no_step_leads_to_another_host(
    client: Client, operator: User, project: Project, step: str, elsewhere: str
) -> None:
    assert "evil" not in client.get(step, {"next": elsewhere}).get("Location", "")
    client.force_login(operator)
    assert client.get(LOGIN, {"next": elsewhere})["Location"] == reverse("admin:index")
