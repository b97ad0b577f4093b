"""Logging in with a second factor."""

from datetime import timedelta

import pytest
import time_machine
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from django.test import Client

from accesslist.login.changes import second_factor_reset
from accesslist.models import User
from events.models import Event
from opsapi.api.principal import SYSTEM
from opsapi.console.login import PENDING_LASTS
from opsapi.roles import Grant, Role
from tests.admin.logging_in import CODE, LOGIN, errors_of, type_code, type_password
from tests.admin.reading import is_in, text_of
from tests.admin.times import NOON
from tests.factories.accesslist import PASSWORD
from tests.factories.second_factors import begin_second_factor, code_at
from tests.scraping import counted

OTHER = "quite another passphrase"
SECOND = timedelta(seconds=1)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def test_the_password_alone_leads_to_the_code(client: Client, factor: tuple[str, list[str]]) -> None:
    answer = type_password(client)
    assert (answer.status_code, answer["Location"]) == (302, f"{CODE}?next=%2Fadmin%2F")
    assert not is_in(client)
    page = client.get(answer["Location"])
    assert page.status_code == 200
    assert 'autocomplete="one-time-code"' in text_of(page)


def test_password_and_code_let_in(client: Client, factor: tuple[str, list[str]]) -> None:
    type_password(client)
    answer = type_code(client, code_at(factor[0], NOON))
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert is_in(client)


def test_password_and_recovery_code_let_in_once(client: Client, factor: tuple[str, list[str]]) -> None:
    type_password(client)
    assert type_code(client, factor[1][0]).status_code == 302
    assert is_in(client)
    event = Event.objects.latest("id")
    assert (event.event_type, event.details["username"]) == ("USER_RECOVERY_CODE_USED_AUDIT", "ada")
    other = Client()
    type_password(other)
    assert type_code(other, factor[1][0]).status_code == 403
    assert not is_in(other)


def test_a_code_lets_in_once(client: Client, factor: tuple[str, list[str]]) -> None:
    type_password(client)
    type_code(client, code_at(factor[0], NOON))
    other = Client()
    type_password(other)
    answer = type_code(other, code_at(factor[0], NOON))
    assert answer.status_code == 403
    assert errors_of(answer) == {"code": ["This code has already been used. Wait for the next code."]}
    assert not is_in(other)


@pytest.mark.parametrize("code", ["000000", "nonsense", "١٢٣٤٥٦", "x" * 5000, "\0", ""])
def test_a_wrong_code_is_announced_once(code: str, client: Client, factor: tuple[str, list[str]]) -> None:
    type_password(client)
    answer = type_code(client, code)
    assert answer.status_code == 403
    assert list(errors_of(answer)) == ["code"]
    assert text_of(answer).count("errornote") == text_of(answer).count('role="alert"') == 1
    assert not is_in(client)


def test_after_a_wrong_code_the_right_one_lets_in(client: Client, factor: tuple[str, list[str]]) -> None:
    type_password(client)
    with counted("failed_authentications_total", 1, reason="second_factor"):
        type_code(client, "000000")
    assert type_code(client, code_at(factor[0], NOON)).status_code == 302


def test_the_code_page_needs_the_password_first(client: Client, factor: tuple[str, list[str]]) -> None:
    for answer in (client.get(CODE), type_code(client, code_at(factor[0], NOON))):
        assert (answer.status_code, answer["Location"]) == (302, LOGIN)
    type_password(client, "wrong")
    assert client.get(CODE).status_code == 302
    assert not is_in(client)


@pytest.mark.parametrize(
    ("passed", "lets_in"), [(PENDING_LASTS - SECOND, True), (PENDING_LASTS, False)], ids=str
)
def test_the_code_can_be_entered_for_five_minutes(
    passed: timedelta,
    lets_in: bool,
    client: Client,
    factor: tuple[str, list[str]],
    noon: time_machine.Traveller,
) -> None:
    type_password(client)
    noon.shift(passed)
    type_code(client, code_at(factor[0], NOON + passed))
    assert is_in(client) is lets_in


def test_between_the_steps_the_session_contains_only_a_marker(
    client: Client, factor: tuple[str, list[str]]
) -> None:
    type_password(client)
    (row,) = Session.objects.all()
    assert sorted(row.get_decoded()) == ["_session_expiry", "pending"]
    assert row.expire_date == NOON + PENDING_LASTS


def test_each_step_gives_the_session_another_key(client: Client, factor: tuple[str, list[str]]) -> None:
    session = client.session
    session["planted"] = True
    session.save()
    client.cookies["sessionid"] = session.session_key or ""
    keys = [session.session_key]
    type_password(client)
    keys.append(client.session.session_key)
    type_code(client, code_at(factor[0], NOON))
    keys.append(client.session.session_key)
    assert len({*keys}) == 3
    assert [row.session_key for row in Session.objects.all()] == keys[-1:]
    assert sorted(client.session.keys()) == [
        "_auth_user_backend",
        "_auth_user_hash",
        "_auth_user_id",
        "_session_expiry",
        "started",
    ]
    assert Session.objects.get().expire_date == NOON + timedelta(hours=1)


@pytest.mark.parametrize("what", ["password", "roles", "user"])
def test_changes_between_the_steps_apply(
    what: str, client: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    type_password(client)
    if what == "password":
        operator.set_password(OTHER)
        operator.save()
    elif what == "roles":
        operator.grants.all().delete()
    else:
        operator.delete()
    assert type_code(client, code_at(factor[0], NOON))["Location"] == LOGIN
    assert not is_in(client)


def test_wrong_codes_count_as_attempts_to_log_in(
    client: Client, factor: tuple[str, list[str]], settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 4
    type_password(client)
    for number in range(4):
        address = f"192.0.2.{number}"
        assert type_code(client, "000000", REMOTE_ADDR=address).status_code == 403
    refused = type_code(client, code_at(factor[0], NOON), REMOTE_ADDR="192.0.2.200")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "300"
    assert "Too many log-in attempts" in text_of(refused)
    assert not is_in(client)
    other = Client()
    type_password(other)
    assert type_code(other, code_at(factor[0], NOON), REMOTE_ADDR="192.0.2.201").status_code == 429


def test_the_log_in_redirects_to_the_requested_page_and_no_other_host(
    client: Client, factor: tuple[str, list[str]]
) -> None:
    type_password(client, next="/admin/events/event/")
    page = client.post(f"{CODE}?next=/admin/events/event/", {"code": factor[1][0]})
    assert page["Location"] == "/admin/events/event/"
    type_password(client, next="//evil.example.com/")
    page = client.post(f"{CODE}?next=//evil.example.com/", {"code": factor[1][1]})
    assert page["Location"] == "/admin/"


def test_the_code_needs_the_token_of_its_form(factor: tuple[str, list[str]]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get(LOGIN)
    token = browser.cookies["csrftoken"].value
    typed = {"username": "ada", "password": PASSWORD, "csrfmiddlewaretoken": token}
    assert browser.post(LOGIN, typed).status_code == 302
    assert type_code(browser, code_at(factor[0], NOON)).status_code == 403
    assert not is_in(browser)


def test_a_reset_or_unconfirmed_second_factor_needs_no_code(
    client: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    second_factor_reset(user_id=operator.id, by=[Grant(Role.GLOBAL_OWNER)], actor=SYSTEM, now=NOON)
    begin_second_factor(operator, NOON)
    assert type_password(client)["Location"] == "/admin/"
    assert is_in(client)
