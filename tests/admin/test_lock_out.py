"""Lock-out after failures: what counts as one, and what is given back (accesslist.login.attempts)."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.test import Client

from accesslist.login.attempts import COOKIE, DEVICE_LASTS, LOGIN_WINDOW, NAME_FACTOR
from accesslist.models import Project, RateWindow, User
from opsapi.roles import Role
from tests.admin.rows import make_operator
from tests.admin.times import NOON
from tests.admin.writing import post
from tests.each import each
from tests.factories.accesslist import PASSWORD, OrganizationFactory, ProjectFactory, UserFactory
from tests.factories.second_factors import STEP, code_at, make_second_factor
from tests.racing import THREADS, at_once

LOGIN, CODE, ACCOUNT = "/admin/login/", "/admin/login/code/", "/admin/account/"
CHANGE, RENEW = f"{ACCOUNT}password/", f"{ACCOUNT}second-factor/recovery-codes/"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def _log_in(password: str = PASSWORD, browser: Client | None = None, **options: Any) -> int:
    typed = {"username": options.pop("username", "ada"), "password": password}
    status: int = (browser or Client()).post(LOGIN, typed, **options).status_code
    return status


def _counted() -> set[int]:
    """The numbers of attempts counted by address, without attempts from known browsers."""
    by_address = RateWindow.objects.filter(bucket__startswith="login address ")
    return set(by_address.values_list("count", flat=True))


def test_successful_log_ins_are_not_counted(operator: User, project: Project, settings: LazySettings) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    assert [_log_in() for _ in range(5)] == [302] * 5
    assert _counted() == {0}


def test_a_successful_log_in_does_not_reset_the_failures(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    answers = [_log_in(password) for password in ("wrong", PASSWORD, PASSWORD, "wrong", PASSWORD)]
    assert answers == [403, 302, 302, 403, 429]


def test_a_successful_log_in_allows_no_further_guesses_at_other_names(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    make_operator(username="mallory")
    answers = [
        _log_in("wrong"),
        *[_log_in(username="mallory") for _ in range(3)],
        _log_in("wrong", username="grace"),
    ]
    assert answers == [403, 302, 302, 302, 403]
    assert _log_in(username="mallory") == 429


def _spread(limit: int, typed: str = "wrong", **options: Any) -> list[int]:
    """What one name is answered that is tried from as many addresses as it takes."""
    addresses = [f"198.51.100.{number}" for number in range(NAME_FACTOR)]
    return [_log_in(typed, REMOTE_ADDR=address, **options) for address in addresses for _ in range(limit)]


def test_guesses_at_a_name_do_not_lock_out_its_owner_elsewhere(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    assert [_log_in("wrong", REMOTE_ADDR="192.0.2.1") for _ in range(5)] == [403, 403, 429, 429, 429]
    assert _log_in(REMOTE_ADDR="192.0.2.2") == 302


def test_attempts_on_one_name_from_many_addresses_are_bounded(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    assert _spread(2) == [403] * 2 * NAME_FACTOR
    assert _log_in(REMOTE_ADDR="192.0.2.2", username="ADA") == 429


@pytest.mark.slow
def test_a_known_browser_can_log_in_while_its_name_is_guessed(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    browser = Client()
    assert _log_in(browser=browser, REMOTE_ADDR="198.51.100.0") == 302
    browser.post("/admin/logout/")
    _spread(3)
    assert _log_in(REMOTE_ADDR="192.0.2.2") == 429
    assert _log_in(browser=browser, REMOTE_ADDR="198.51.100.0") == 302


def test_a_known_browser_has_its_own_counter(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    browser = Client()
    answers = [_log_in(typed, browser) for typed in (PASSWORD, "wrong", PASSWORD, "wrong", PASSWORD)]
    assert answers == [302, 403, 302, 403, 429]
    assert _log_in() == 302


def test_a_browser_is_known_for_its_own_name_only(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    make_operator(username="mallory")
    browser = Client()
    assert _log_in(browser=browser, username="mallory") == 302
    assert [_log_in("wrong", browser) for _ in range(3)] == [403, 403, 429]
    _spread(2, username="mallory")
    assert _log_in(browser=browser, username="mallory") == 302


@pytest.mark.parametrize("change", ["", "x", "forged.name:1:signature", '"\\000aaa"'], ids=ascii)
def test_a_forged_cookie_is_ignored(
    change: str, operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 1
    browser = Client()
    _log_in(browser=browser)
    signed = browser.cookies[COOKIE].value
    _log_in("wrong")
    browser.cookies[COOKIE] = signed[1:] + change if len(change) < 2 else change
    assert _log_in(browser=browser) == 429


def test_a_browser_is_known_for_as_long_as_its_cookie_lasts(
    operator: User, project: Project, settings: LazySettings, noon: time_machine.Traveller
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 1
    browsers = [Client(), Client()]
    for browser, waits in zip(browsers, (timedelta(seconds=-1), timedelta(seconds=1)), strict=True):
        noon.move_to(NOON)
        _log_in(browser=browser)
        signed = browser.cookies[COOKIE].value
        noon.move_to(NOON + DEVICE_LASTS + waits)
        _log_in("wrong", REMOTE_ADDR="192.0.2.9")
        browser.cookies[COOKIE] = signed
        answer = _log_in(browser=browser, REMOTE_ADDR="192.0.2.9")
        assert answer == (302 if waits < timedelta() else 429)


def test_the_cookie_contains_no_name_and_is_sent_to_the_console_only(
    project: Project, settings: LazySettings
) -> None:
    settings.SESSION_COOKIE_SECURE = True
    browser = Client()
    operator = make_operator(username="not a part of random digits")
    _log_in(browser=browser, username=operator.username)
    cookie = browser.cookies[COOKIE]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")
    assert (cookie["path"], cookie["max-age"]) == ("/admin/", DEVICE_LASTS.total_seconds())
    assert operator.username not in cookie.value


def test_a_password_without_a_code_does_not_make_the_browser_known(operator: User, project: Project) -> None:
    secret, _ = make_second_factor(operator, NOON - timedelta(hours=1))
    browser = Client()
    _log_in(browser=browser)
    assert COOKIE not in browser.cookies
    browser.post(CODE, {"code": code_at(secret, NOON)})
    assert COOKIE in browser.cookies


def test_an_attempt_refused_for_the_name_is_not_counted_for_the_address(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    make_operator(username="grace")
    _spread(2)
    assert [_log_in(REMOTE_ADDR="192.0.2.2") for _ in range(5)] == [429] * 5
    assert _log_in(username="grace", REMOTE_ADDR="192.0.2.2") == 302


def test_without_an_address_a_name_is_counted_in_its_place(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    assert [_log_in("wrong", REMOTE_ADDR="") for _ in range(3)] == [403, 403, 429]
    assert _log_in("wrong", REMOTE_ADDR="", username="grace") == 403


def test_an_address_that_is_refused_leaves_no_rows_of_names(project: Project, settings: LazySettings) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    for number in range(6):
        _log_in("wrong", username=f"user{number}")
    assert RateWindow.objects.count() == 3


@pytest.mark.parametrize(
    ("second", "refused"),
    [("2001:db8::2", True), ("2001:db8:0:0:ffff::1", True), ("2001:db8:0:1::1", False), ("192.0.2.2", False)],
)
def test_an_ipv6_network_counts_as_one_address(
    second: str, refused: bool, operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 1
    _log_in("wrong", username="nobody", REMOTE_ADDR="2001:db8::1")
    assert _log_in(REMOTE_ADDR=second) == (429 if refused else 302)


def test_attempts_are_not_counted_while_the_console_is_closed(operator: User) -> None:
    assert _log_in() == 403
    assert not RateWindow.objects.exists()


def test_a_right_password_counts_until_the_code_is_right(operator: User, project: Project) -> None:
    secret, recovery_codes = make_second_factor(operator, NOON - timedelta(hours=1))
    browser = Client()
    _log_in(browser=browser)
    assert _counted() == {1}
    browser.post(CODE, {"code": "000000"})
    assert _counted() == {2}
    assert browser.post(CODE, {"code": code_at(secret, NOON)}).status_code == 302
    assert _counted() == {1}
    browser = Client()
    _log_in(browser=browser)
    assert browser.post(CODE, {"code": recovery_codes[0]}).status_code == 302
    assert _counted() == {1}


def test_guesses_of_codes_are_limited_after_the_password(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 10
    make_second_factor(operator, NOON - timedelta(hours=1))
    guessed = 0
    for _ in range(10):
        browser = Client()
        _log_in(browser=browser)
        guessed += browser.post(CODE, {"code": "000000"}).status_code == 403
    assert guessed == 5


def test_guesses_of_codes_are_limited_over_all_addresses(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 4
    make_second_factor(operator, NOON - timedelta(hours=1))
    guessed = []
    for number in range(6):
        browser = Client()
        _log_in(browser=browser, REMOTE_ADDR=f"192.0.2.{number}")
        guessed.append(browser.post(CODE, {"code": "000000"}, REMOTE_ADDR=f"192.0.2.{number}").status_code)
    assert guessed == [403] * 4 + [429] * 2


def test_an_attempt_is_not_given_back_to_an_ended_window(
    operator: User, project: Project, noon: time_machine.Traveller
) -> None:
    secret, _ = make_second_factor(operator, NOON - timedelta(hours=1))
    _log_in("wrong")
    noon.shift(LOGIN_WINDOW - STEP)
    browser = Client()
    _log_in(browser=browser)
    noon.shift(STEP)
    _log_in("wrong")
    assert browser.post(CODE, {"code": code_at(secret, NOON + LOGIN_WINDOW)}).status_code == 302
    assert _counted() == {1}


@each(
    ("typed", "counted"),
    [
        ({"oldPassword": "wrong"}, {1}),
        ({"password": "short", "again": "short"}, {0}),
        ({"again": "another"}, set()),
        ({}, {0}),
    ],
    ids=["old wrong", "new refused", "typed differently", "right"],
)
def test_on_the_account_page_only_wrong_proofs_count(
    typed: dict[str, str], counted: set[int], console: Client
) -> None:
    new = "quite another passphrase"
    post(console, CHANGE, **{"oldPassword": PASSWORD, "password": new, "again": new, **typed})
    assert _counted() == counted


def test_correct_codes_on_the_account_page_are_not_counted(client: Client, operator: User) -> None:
    _, codes = make_second_factor(operator, NOON - timedelta(hours=1))
    client.force_login(User.objects.get(id=operator.id))
    assert post(client, RENEW, code=codes[0]).status_code == 200
    assert _counted() == {0}


# --- many at once ----------------------------------------------------------------------------------


def _make_people(*, limit: int, settings: LazySettings) -> User:
    settings.OPSAPI_LOGIN_ATTEMPTS = limit
    ProjectFactory.create(org=OrganizationFactory.create())
    user: User = UserFactory.create(username="ada")
    user.grants.create(role=Role.GLOBAL_OWNER.value)
    return user


@pytest.mark.django_db(transaction=True)
def test_as_many_concurrent_log_ins_as_the_limit_succeed(settings: LazySettings) -> None:
    _make_people(limit=THREADS, settings=settings)
    assert at_once(lambda _: _log_in()) == [302] * THREADS
    assert _counted() == {0}


@pytest.mark.django_db(transaction=True)
def test_at_most_the_limit_of_concurrent_guesses_is_checked(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make_people(limit=THREADS - 1, settings=settings)
    checked: list[str] = []
    check = User.check_password

    def check_counted(user: User, typed: str) -> bool:
        checked.append(typed)
        return check(user, typed)

    monkeypatch.setattr(User, "check_password", check_counted)
    assert sorted(at_once(lambda _: _log_in("wrong"))) == [*[403] * (THREADS - 1), 429]
    assert len(checked) == THREADS - 1
    assert _log_in() == 429


@pytest.mark.django_db(transaction=True)
def test_a_marker_gives_its_attempt_back_once_however_many_codes_come(settings: LazySettings) -> None:
    user = _make_people(limit=50, settings=settings)
    _, codes = make_second_factor(user, NOON - timedelta(hours=1))
    for _ in range(3):
        _log_in("wrong")
    browser = Client()
    _log_in(browser=browser)
    key = browser.cookies["sessionid"].value

    def enter(number: int) -> int:
        other = Client()
        other.cookies["sessionid"] = key
        status: int = other.post(CODE, {"code": codes[number]}).status_code
        return status

    at_once(enter)
    assert _counted() == {3}
