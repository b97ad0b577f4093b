"""Logging in with a second factor, and what people do to their own account."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from accesslist.models import Project, SecondFactor, User
from accesslist.selectors.second_factors import factor_state, has_second_factor
from accesslist.services.second_factors import second_factor_reset
from events.models import Event
from events.types import EventType
from opsapi.api.principal import SYSTEM
from opsapi.console.login_pages import PENDING_LASTS
from opsapi.roles import Grant, Role
from tests.admin.rows import make_operator
from tests.admin.writing import leaves_events, post
from tests.api.test_metrics import counted
from tests.factories.accesslist import PASSWORD, UserFactory
from tests.factories.second_factors import STEP, begin_second_factor, code_at, make_second_factor

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
LOGIN, CODE, ACCOUNT = "/admin/login/", "/admin/login/code/", "/admin/account/"
BEGIN, SETUP = f"{ACCOUNT}second-factor/", f"{ACCOUNT}second-factor/setup/"
RENEW, REMOVE = f"{ACCOUNT}second-factor/recovery-codes/", f"{ACCOUNT}second-factor/remove/"
CHANGE, SESSIONS = f"{ACCOUNT}password/", f"{ACCOUNT}sessions/"
OTHER = "quite another passphrase"
SECOND = timedelta(seconds=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon() -> Iterator[time_machine.Traveller]:
    """A clock that stands still unless it is moved."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def factor(operator: User, project: Project) -> tuple[str, list[str]]:
    """The operator's second factor: its secret and its recovery codes. It was set up an hour ago."""
    return make_second_factor(operator, NOW - timedelta(hours=1))


def _type_password(browser: Client, password: str = PASSWORD, **query: str) -> Any:
    return browser.post(LOGIN, {"username": "ada", "password": password}, query_params=query)


def _type_code(browser: Client, code: str, **options: Any) -> Any:
    return browser.post(CODE, {"code": code}, **options)


def _is_in(browser: Client) -> bool:
    status: int = browser.get("/admin/").status_code
    return status == 200


def _text(answer: Any) -> str:
    text: str = answer.content.decode()
    return text


def _errors(answer: Any) -> dict[str, list[str]]:
    return {name: list(errors) for name, errors in answer.context["form"].errors.items()}


# --- logging in ------------------------------------------------------------------------------------


def test_the_password_alone_leads_to_the_code(client: Client, factor: tuple[str, list[str]]) -> None:
    answer = _type_password(client)
    assert (answer.status_code, answer["Location"]) == (302, f"{CODE}?next=%2Fadmin%2F")
    assert not _is_in(client)
    page = client.get(answer["Location"])
    assert page.status_code == 200
    assert 'autocomplete="one-time-code"' in _text(page)


def test_password_and_code_let_in(client: Client, factor: tuple[str, list[str]]) -> None:
    _type_password(client)
    answer = _type_code(client, code_at(factor[0], NOW))
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert _is_in(client)


def test_password_and_recovery_code_let_in_once(client: Client, factor: tuple[str, list[str]]) -> None:
    _type_password(client)
    assert _type_code(client, factor[1][0]).status_code == 302
    assert _is_in(client)
    event = Event.objects.latest("id")
    assert (event.event_type, event.details["username"]) == ("USER_RECOVERY_CODE_USED_AUDIT", "ada")
    other = Client()
    _type_password(other)
    assert _type_code(other, factor[1][0]).status_code == 403
    assert not _is_in(other)


def test_a_code_lets_in_once(client: Client, factor: tuple[str, list[str]]) -> None:
    _type_password(client)
    _type_code(client, code_at(factor[0], NOW))
    other = Client()
    _type_password(other)
    answer = _type_code(other, code_at(factor[0], NOW))
    assert answer.status_code == 403
    assert _errors(answer) == {"code": ["This was used already. Wait for the next one."]}
    assert not _is_in(other)


@pytest.mark.parametrize("code", ["000000", "nonsense", "١٢٣٤٥٦", "x" * 5000, "\0", ""])
def test_a_wrong_code_is_told_beside_its_field(
    code: str, client: Client, factor: tuple[str, list[str]]
) -> None:
    _type_password(client)
    answer = _type_code(client, code)
    assert answer.status_code == 403
    assert list(_errors(answer)) == ["code"]
    assert not _is_in(client)


def test_after_a_wrong_code_the_right_one_lets_in(client: Client, factor: tuple[str, list[str]]) -> None:
    _type_password(client)
    with counted("failed_authentications_total", 1, reason="second_factor"):
        _type_code(client, "000000")
    assert _type_code(client, code_at(factor[0], NOW)).status_code == 302


def test_without_the_password_no_code_is_asked_for(client: Client, factor: tuple[str, list[str]]) -> None:
    for answer in (client.get(CODE), _type_code(client, code_at(factor[0], NOW))):
        assert (answer.status_code, answer["Location"]) == (302, LOGIN)
    _type_password(client, "wrong")
    assert client.get(CODE).status_code == 302
    assert not _is_in(client)


@pytest.mark.parametrize(
    ("passed", "lets_in"), [(PENDING_LASTS - SECOND, True), (PENDING_LASTS, False)], ids=str
)
def test_the_code_may_be_given_for_five_minutes(
    passed: timedelta,
    lets_in: bool,
    client: Client,
    factor: tuple[str, list[str]],
    noon: time_machine.Traveller,
) -> None:
    _type_password(client)
    noon.shift(passed)
    _type_code(client, code_at(factor[0], NOW + passed))
    assert _is_in(client) is lets_in


def test_between_the_steps_the_session_holds_a_marker_alone(
    client: Client, factor: tuple[str, list[str]]
) -> None:
    _type_password(client)
    (row,) = Session.objects.all()
    assert sorted(row.get_decoded()) == ["_session_expiry", "pending"]
    assert row.expire_date == NOW + PENDING_LASTS


def test_each_step_gives_the_session_another_key(client: Client, factor: tuple[str, list[str]]) -> None:
    session = client.session
    session["planted"] = True
    session.save()
    client.cookies["sessionid"] = session.session_key or ""
    keys = [session.session_key]
    _type_password(client)
    keys.append(client.session.session_key)
    _type_code(client, code_at(factor[0], NOW))
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
    assert Session.objects.get().expire_date == NOW + timedelta(hours=1)


@pytest.mark.parametrize("what", ["password", "roles", "user"])
def test_what_changes_between_the_steps_counts(
    what: str, client: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    _type_password(client)
    if what == "password":
        operator.set_password(OTHER)
        operator.save()
    elif what == "roles":
        operator.grants.all().delete()
    else:
        operator.delete()
    assert _type_code(client, code_at(factor[0], NOW))["Location"] == LOGIN
    assert not _is_in(client)


def test_wrong_codes_count_as_attempts_to_log_in(
    client: Client, factor: tuple[str, list[str]], settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 4
    _type_password(client)
    for number in range(3):
        address = f"192.0.2.{number}"
        assert _type_code(client, "000000", REMOTE_ADDR=address).status_code == 403
    refused = _type_code(client, code_at(factor[0], NOW), REMOTE_ADDR="192.0.2.200")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "300"
    assert "Too many attempts" in _text(refused)
    assert not _is_in(client)
    assert _type_password(Client()).status_code == 429


def test_it_leads_where_one_was_going_and_to_no_other_host(
    client: Client, factor: tuple[str, list[str]]
) -> None:
    _type_password(client, next="/admin/events/event/")
    page = client.post(f"{CODE}?next=/admin/events/event/", {"code": factor[1][0]})
    assert page["Location"] == "/admin/events/event/"
    _type_password(client, next="//evil.example.com/")
    page = client.post(f"{CODE}?next=//evil.example.com/", {"code": factor[1][1]})
    assert page["Location"] == "/admin/"


def test_the_code_needs_the_token_of_its_form(factor: tuple[str, list[str]]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get(LOGIN)
    token = browser.cookies["csrftoken"].value
    typed = {"username": "ada", "password": PASSWORD, "csrfmiddlewaretoken": token}
    assert browser.post(LOGIN, typed).status_code == 302
    assert _type_code(browser, code_at(factor[0], NOW)).status_code == 403
    assert not _is_in(browser)


def test_one_that_was_reset_or_is_being_set_up_is_not_asked_for(
    client: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    second_factor_reset(user_id=operator.id, by=[Grant(Role.GLOBAL_OWNER)], actor=SYSTEM, now=NOW)
    begin_second_factor(operator, NOW)
    assert _type_password(client)["Location"] == "/admin/"
    assert _is_in(client)


# --- the account page ------------------------------------------------------------------------------


def test_everybody_who_may_enter_has_an_account_page(client: Client, project: Project) -> None:
    user = UserFactory.create(username="bob")
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    client.force_login(user)
    for url in (ACCOUNT, BEGIN, RENEW, REMOVE, CHANGE, SESSIONS):
        assert client.get(url).status_code == 200, url
    assert f'href="{ACCOUNT}"' in _text(client.get(reverse("admin:index")))


def test_nobody_else_has_one(client: Client, project: Project) -> None:
    for url in (ACCOUNT, BEGIN, SETUP, RENEW, REMOVE, CHANGE, SESSIONS):
        for answer in (client.get(url), client.post(url)):
            assert answer.status_code == 302
            assert answer["Location"].startswith(LOGIN)


def test_it_says_how_the_account_stands(console: Client, operator: User) -> None:
    assert "whoever knows your password can log in" in _text(console.get(ACCOUNT))
    make_second_factor(operator, NOW)
    operator.refresh_from_db()
    console.force_login(operator)
    page = _text(console.get(ACCOUNT))
    assert "On since" in page
    assert "10 recovery codes left" in page


def test_setting_one_up(console: Client, operator: User) -> None:
    with leaves_events(operator, EventType.USER_SECOND_FACTOR_BEGUN_AUDIT):
        begun = post(console, BEGIN, password=PASSWORD)
    assert begun["Location"] == SETUP
    page = console.get(SETUP)
    state = factor_state(operator.id)
    assert state.setup
    secret = state.setup.secret
    assert secret in _text(page)
    assert re.search(r'role="img" aria-label="QR code[^"]*"><svg ', _text(page))
    with leaves_events(operator, EventType.USER_SECOND_FACTOR_ADDED_AUDIT):
        shown = post(console, SETUP, code=code_at(secret, NOW))
    codes = re.findall(r"<li><code>([0-9a-z-]{19})</code></li>", _text(shown))
    assert len(codes) == 10
    assert "no-store" in shown["Cache-Control"]
    assert _is_in(console)
    other = Client()
    _type_password(other)
    assert _type_code(other, codes[0]).status_code == 302


def test_the_secret_and_the_codes_are_shown_once(console: Client, operator: User) -> None:
    secret = begin_second_factor(operator, NOW)
    shown = post(console, SETUP, code=code_at(secret, NOW))
    (code, *_) = re.findall(r"<li><code>([0-9a-z-]{19})</code></li>", _text(shown))
    for url in (ACCOUNT, RENEW, REMOVE, "/admin/accesslist/secondfactor/", "/admin/events/event/"):
        assert secret not in _text(console.get(url)), url
        assert code not in _text(console.get(url)), url
    assert console.get(SETUP)["Location"] == BEGIN
    decoded = str([row.get_decoded() for row in Session.objects.all()])
    assert secret not in decoded
    assert code not in decoded


def test_other_sessions_end_when_one_is_set_up(console: Client, operator: User) -> None:
    other = Client()
    _type_password(other)
    secret = begin_second_factor(operator, NOW)
    assert _is_in(other)
    post(console, SETUP, code=code_at(secret, NOW))
    assert _is_in(console)
    assert not _is_in(other)


def test_setting_up_needs_the_password_and_a_right_code(console: Client, operator: User) -> None:
    with leaves_events(operator):
        refused = post(console, BEGIN, password="wrong")
    assert refused.status_code == 200
    assert list(_errors(refused)) == ["password"]
    assert not SecondFactor.objects.exists()
    begin_second_factor(operator, NOW)
    with leaves_events(operator):
        refused = post(console, SETUP, code="000000")
    assert list(_errors(refused)) == ["code"]
    assert not has_second_factor(operator.id)


def test_new_recovery_codes_take_a_code(
    console: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    operator.refresh_from_db()
    console.force_login(operator)
    with leaves_events(operator):
        assert list(_errors(post(console, RENEW, code="000000"))) == ["code"]
    with leaves_events(operator, EventType.USER_RECOVERY_CODES_MADE_AUDIT):
        shown = post(console, RENEW, code=code_at(factor[0], NOW))
    codes = re.findall(r"<li><code>([0-9a-z-]{19})</code></li>", _text(shown))
    assert len(codes) == 10
    assert not {*codes} & {*factor[1]}


def test_removing_it_takes_a_code(console: Client, operator: User, factor: tuple[str, list[str]]) -> None:
    operator.refresh_from_db()
    console.force_login(operator)
    with leaves_events(operator):
        assert list(_errors(post(console, REMOVE, code="000000"))) == ["code"]
    assert has_second_factor(operator.id)
    with leaves_events(operator, EventType.USER_SECOND_FACTOR_REMOVED_AUDIT):
        assert post(console, REMOVE, code=code_at(factor[0], NOW))["Location"] == ACCOUNT
    assert not has_second_factor(operator.id)
    assert "log in with your password alone now" in _text(console.get(ACCOUNT))


def test_changing_the_password(console: Client, operator: User) -> None:
    other = Client()
    _type_password(other)
    with leaves_events(operator, EventType.USER_PASSWORD_CHANGED_AUDIT):
        answer = post(console, CHANGE, oldPassword=PASSWORD, password=OTHER, again=OTHER)
    assert answer["Location"] == ACCOUNT
    assert _is_in(console)
    assert not _is_in(other)
    assert _type_password(Client(), OTHER).status_code == 302
    assert _type_password(Client(), PASSWORD).status_code == 403


@pytest.mark.parametrize(
    ("typed", "field", "told"),
    [
        ({"oldPassword": "wrong"}, "oldPassword", "This is not your password."),
        ({"oldPassword": ""}, "oldPassword", "This field is required."),
        ({"again": "another one"}, "again", "not the same"),
        ({"password": "short", "again": "short"}, "password", "too short"),
        ({"password": "lovelace", "again": "lovelace"}, "password", "too similar"),
        ({"password": "\0" * 12, "again": "\0" * 12}, "password", "Null characters"),
        ({"password": "x" * 1001, "again": "x" * 1001}, "password", "at most 1000"),
    ],
    ids=["old wrong", "old empty", "not the same", "short", "similar", "NUL", "long"],
)
def test_a_password_that_is_refused_is_told_beside_its_field(
    typed: dict[str, str], field: str, told: str, console: Client, operator: User
) -> None:
    values = {"oldPassword": PASSWORD, "password": OTHER, "again": OTHER, **typed}
    with leaves_events(operator):
        answer = post(console, CHANGE, **values)
    if answer.status_code == 404:
        assert "\0" in values["password"]
    else:
        assert answer.status_code == 200
        assert told in str(_errors(answer)[field])
    assert User.objects.get(id=operator.id).check_password(PASSWORD)


def test_ending_the_other_sessions(console: Client, operator: User) -> None:
    other = Client()
    _type_password(other)
    with leaves_events(operator, EventType.USER_SESSIONS_ENDED_AUDIT):
        assert post(console, SESSIONS)["Location"] == ACCOUNT
    assert _is_in(console)
    assert not _is_in(other)


@pytest.mark.parametrize(
    ("url", "field"), [(BEGIN, "password"), (CHANGE, "oldPassword"), (REMOVE, "code"), (RENEW, "code")]
)
def test_guessing_on_the_account_page_counts_as_at_the_login(
    url: str, field: str, console: Client, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    typed = {field: "wrong", **({"password": OTHER, "again": OTHER} if url == CHANGE else {})}
    assert [post(console, url, **typed).status_code for _ in range(3)] == [200, 200, 429]
    assert _type_password(Client()).status_code == 429


# --- required --------------------------------------------------------------------------------------


@pytest.fixture
def required(settings: LazySettings) -> None:
    """Who has no second factor has to set one up."""
    settings.OPSAPI_SECOND_FACTOR = "required"


def test_where_it_is_required_nothing_else_comes_before(required: None, console: Client) -> None:
    for url in ("/admin/", ACCOUNT, CHANGE, "/admin/events/event/", "/admin/nothing/", "/admin/jsi18n/"):
        for answer in (console.get(url), console.post(url)):
            assert (answer.status_code, answer["Location"]) == (302, BEGIN), url
    assert console.get(BEGIN).status_code == 200
    assert post(console, BEGIN, password=PASSWORD)["Location"] == SETUP
    assert console.get("/admin/")["Location"] == BEGIN
    state = factor_state(User.objects.get(username="ada").id)
    assert state.setup
    assert post(console, SETUP, code=code_at(state.setup.secret, NOW)).status_code == 200
    assert _is_in(console)


def test_where_it_is_required_one_can_log_in_and_out(
    required: None, client: Client, operator: User, project: Project
) -> None:
    assert client.get(LOGIN).status_code == 200
    assert client.get("/admin/")["Location"].startswith(LOGIN)
    _type_password(client)
    assert client.get("/admin/")["Location"] == BEGIN
    assert client.post(reverse("admin:logout")).status_code in {200, 302}
    assert client.get("/admin/")["Location"].startswith(LOGIN)


def test_one_that_is_reset_has_to_be_set_up_again(
    required: None, console: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    grace = make_operator(username="grace")
    make_second_factor(grace, NOW - STEP)
    grace.refresh_from_db()
    console.force_login(grace)
    url = reverse("admin:accesslist_user_change", args=[operator.id]).replace(
        "change/", "do/reset_second_factor/"
    )
    assert "Be sure that it is they who ask" in _text(console.get(url))
    with leaves_events(grace, EventType.USER_SECOND_FACTOR_REMOVED_AUDIT):
        post(console, url, confirmed="yes")
    browser = Client()
    _type_password(browser)
    assert browser.get("/admin/")["Location"] == BEGIN


def test_only_user_admins_are_offered_to_reset_it(client: Client, project: Project) -> None:
    user, reader = UserFactory.create(), UserFactory.create()
    reader.grants.create(role=Role.GLOBAL_READ_ONLY.value)
    make_second_factor(user, NOW)
    client.force_login(reader)
    url = reverse("admin:accesslist_user_change", args=[user.id])
    assert "Reset second factor" not in _text(client.get(url))
    assert (
        client.post(url.replace("change/", "do/reset_second_factor/"), {"confirmed": "yes"}).status_code
        == 403
    )
    assert has_second_factor(user.id)
    reader.grants.create(role=Role.GLOBAL_USER_ADMIN.value)
    assert "Reset second factor" in _text(client.get(url))
