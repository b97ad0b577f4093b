"""The page of the account: what people do to their own."""

import re

import pytest
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from accesslist.login.store import factor_state, has_second_factor
from accesslist.models import Project, SecondFactor, User
from events.types import EventType
from opsapi.first_rows import MOST_SHOWN
from opsapi.roles import Role
from tests.admin.logging_in import (
    ACCOUNT,
    BEGIN,
    CHANGE,
    LOGIN,
    REMOVE,
    RENEW,
    SESSIONS,
    SETUP,
    errors_of,
    type_code,
    type_password,
)
from tests.admin.reading import is_in, text_of
from tests.admin.times import NOON
from tests.admin.writing import leaves_events, post
from tests.each import each
from tests.factories.accesslist import PASSWORD, ProjectFactory, UserFactory, make_team
from tests.factories.second_factors import begin_second_factor, code_at, make_second_factor

OTHER = "quite another passphrase"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def test_all_console_users_have_an_account_page(client: Client, project: Project) -> None:
    user = UserFactory.create(username="bob")
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    client.force_login(user)
    for url in (ACCOUNT, BEGIN, RENEW, REMOVE, CHANGE, SESSIONS):
        assert client.get(url).status_code == 200, url
    assert f'href="{ACCOUNT}"' in text_of(client.get(reverse("admin:index")))


def test_other_users_have_no_account_page(client: Client, project: Project) -> None:
    for url in (ACCOUNT, BEGIN, SETUP, RENEW, REMOVE, CHANGE, SESSIONS):
        for answer in (client.get(url), client.post(url)):
            assert answer.status_code == 302
            assert answer["Location"].startswith(LOGIN)


def test_the_page_shows_the_state_of_the_account(console: Client, operator: User) -> None:
    assert "knows your password can log in" in text_of(console.get(ACCOUNT))
    make_second_factor(operator, NOON)
    operator.refresh_from_db()
    console.force_login(operator)
    page = text_of(console.get(ACCOUNT))
    assert "On since" in page
    assert "10 recovery codes left" in page


def test_the_page_shows_the_users_roles(client: Client, project: Project) -> None:
    user, elsewhere = UserFactory.create(), ProjectFactory.create(name="<b>billing</b>")
    user.grants.create(role=Role.ORG_MEMBER.value, org=project.org)
    user.grants.create(role=Role.GROUP_OWNER.value, project=elsewhere)
    user.grants.create(role=Role.GLOBAL_READ_ONLY.value)
    team = make_team(project, user, UserFactory.create())
    UserFactory.create().grants.create(role=Role.GLOBAL_OWNER.value)
    client.force_login(user)
    shown = re.findall("<li>(.*) <code.*>(.*)</code> (.*): .*</li>", text_of(client.get(ACCOUNT)))
    assert shown == [
        ("Organization member", "ORG_MEMBER", f"in the organization {project.org}"),
        ("Project owner", "GROUP_OWNER", "in the project &lt;b&gt;billing&lt;/b&gt;"),
        ("Global reader", "GLOBAL_READ_ONLY", "in the whole installation"),
        ("Reader", "GROUP_READ_ONLY", f"in the project {project}, from the team {team}"),
    ]


def test_the_page_shows_the_number_of_further_roles(client: Client, db: None) -> None:
    user = UserFactory.create()
    for place in ProjectFactory.create_batch(MOST_SHOWN + 2):
        user.grants.create(role=Role.GROUP_READ_ONLY.value, project=place)
    client.force_login(user)
    page = text_of(client.get(ACCOUNT))
    assert len(re.findall("<li>Reader <code", page)) == MOST_SHOWN
    assert "and 2 more" in page


def test_setting_one_up(console: Client, operator: User) -> None:
    with leaves_events(operator, EventType.USER_SECOND_FACTOR_BEGUN_AUDIT):
        begun = post(console, BEGIN, password=PASSWORD)
    assert begun["Location"] == SETUP
    page = console.get(SETUP)
    state = factor_state(operator.id)
    assert state.setup
    secret = state.setup.secret
    assert secret in text_of(page)
    assert re.search(r'role="img" aria-label="QR code[^"]*"><svg ', text_of(page))
    with leaves_events(operator, EventType.USER_SECOND_FACTOR_ADDED_AUDIT):
        shown = post(console, SETUP, code=code_at(secret, NOON))
    codes = re.findall(r"<li><code>([0-9a-z-]{19})</code></li>", text_of(shown))
    assert len(codes) == 10
    assert "no-store" in shown["Cache-Control"]
    assert is_in(console)
    other = Client()
    type_password(other)
    assert type_code(other, codes[0]).status_code == 302


def test_the_secret_and_the_codes_are_shown_once(console: Client, operator: User) -> None:
    secret = begin_second_factor(operator, NOON)
    shown = post(console, SETUP, code=code_at(secret, NOON))
    (code, *_) = re.findall(r"<li><code>([0-9a-z-]{19})</code></li>", text_of(shown))
    for url in (ACCOUNT, RENEW, REMOVE, "/admin/accesslist/secondfactor/", "/admin/events/event/"):
        assert secret not in text_of(console.get(url)), url
        assert code not in text_of(console.get(url)), url
    assert console.get(SETUP)["Location"] == BEGIN
    decoded = str([row.get_decoded() for row in Session.objects.all()])
    assert secret not in decoded
    assert code not in decoded


def test_a_new_second_factor_ends_other_sessions(console: Client, operator: User) -> None:
    other = Client()
    type_password(other)
    secret = begin_second_factor(operator, NOON)
    assert is_in(other)
    post(console, SETUP, code=code_at(secret, NOON))
    assert is_in(console)
    assert not is_in(other)


def test_setting_up_needs_the_password_and_a_right_code(console: Client, operator: User) -> None:
    with leaves_events(operator):
        refused = post(console, BEGIN, password="wrong")
    assert refused.status_code == 200
    assert list(errors_of(refused)) == ["password"]
    assert not SecondFactor.objects.exists()
    begin_second_factor(operator, NOON)
    with leaves_events(operator):
        refused = post(console, SETUP, code="000000")
    assert list(errors_of(refused)) == ["code"]
    assert not has_second_factor(operator.id)


def test_new_recovery_codes_need_a_code(
    console: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    operator.refresh_from_db()
    console.force_login(operator)
    with leaves_events(operator):
        assert list(errors_of(post(console, RENEW, code="000000"))) == ["code"]
    with leaves_events(operator, EventType.USER_RECOVERY_CODES_MADE_AUDIT):
        shown = post(console, RENEW, code=code_at(factor[0], NOON))
    codes = re.findall(r"<li><code>([0-9a-z-]{19})</code></li>", text_of(shown))
    assert len(codes) == 10
    assert not {*codes} & {*factor[1]}


def test_removing_a_second_factor_needs_a_code(
    console: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    operator.refresh_from_db()
    console.force_login(operator)
    with leaves_events(operator):
        assert list(errors_of(post(console, REMOVE, code="000000"))) == ["code"]
    assert has_second_factor(operator.id)
    with leaves_events(operator, EventType.USER_SECOND_FACTOR_REMOVED_AUDIT):
        assert post(console, REMOVE, code=code_at(factor[0], NOON))["Location"] == ACCOUNT
    assert not has_second_factor(operator.id)
    assert "log in with your password only" in text_of(console.get(ACCOUNT))


def test_changing_the_password(console: Client, operator: User) -> None:
    other = Client()
    type_password(other)
    with leaves_events(operator, EventType.USER_PASSWORD_CHANGED_AUDIT):
        answer = post(console, CHANGE, oldPassword=PASSWORD, password=OTHER, again=OTHER)
    assert answer["Location"] == ACCOUNT
    assert is_in(console)
    assert not is_in(other)
    assert type_password(Client(), OTHER).status_code == 302
    assert type_password(Client(), PASSWORD).status_code == 403


@each(
    ("typed", "field", "message"),
    [
        ({"oldPassword": "wrong"}, "oldPassword", "Incorrect password."),
        ({"oldPassword": ""}, "oldPassword", "This field is required."),
        ({"again": "another one"}, "again", "do not match"),
        ({"password": "short", "again": "short"}, "password", "too short"),
        ({"password": "lovelace", "again": "lovelace"}, "password", "too similar"),
        ({"password": "\0" * 12, "again": "\0" * 12}, "password", "Null characters"),
        ({"password": "x" * 1001, "again": "x" * 1001}, "password", "at most 1000"),
    ],
    ids=["old wrong", "old empty", "not the same", "short", "similar", "NUL", "long"],
)
def test_a_refused_password_is_explained_next_to_its_field(
    typed: dict[str, str], field: str, message: str, console: Client, operator: User
) -> None:
    values = {"oldPassword": PASSWORD, "password": OTHER, "again": OTHER, **typed}
    with leaves_events(operator):
        answer = post(console, CHANGE, **values)
    if answer.status_code == 404:
        assert "\0" in values["password"]
    else:
        assert answer.status_code == 200
        assert message in str(errors_of(answer)[field])
    assert User.objects.get(id=operator.id).check_password(PASSWORD)


def test_ending_the_other_sessions(console: Client, operator: User) -> None:
    other = Client()
    type_password(other)
    with leaves_events(operator, EventType.USER_SESSIONS_ENDED_AUDIT):
        assert post(console, SESSIONS)["Location"] == ACCOUNT
    assert is_in(console)
    assert not is_in(other)


@pytest.mark.parametrize(
    ("url", "field"), [(BEGIN, "password"), (CHANGE, "oldPassword"), (REMOVE, "code"), (RENEW, "code")]
)
def test_wrong_proofs_count_as_failed_log_ins(
    url: str, field: str, console: Client, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    typed = {field: "wrong", **({"password": OTHER, "again": OTHER} if url == CHANGE else {})}
    assert [post(console, url, **typed).status_code for _ in range(3)] == [200, 200, 429]
    assert type_password(Client(REMOTE_ADDR="192.0.2.1")).status_code == 429
    assert type_password(Client()).status_code == 302


ZONE = "/admin/account/time-zone/"


def test_the_time_zone_is_stored_with_its_event(console: Client, operator: User) -> None:
    with leaves_events(operator, EventType.USER_CHANGED_AUDIT) as events:
        assert post(console, ZONE, accountZone="Europe/Berlin").status_code == 302
    operator.refresh_from_db()
    assert operator.time_zone == "Europe/Berlin"
    (param,) = events[0].diffs[0]["params"]
    assert (param["param"], param["new"]) == ("timeZone", "Europe/Berlin")
    assert 'data-chosen="Europe/Berlin"' in text_of(console.get(ACCOUNT))
    with leaves_events(operator):
        post(console, ZONE, accountZone="Europe/Berlin")
        assert post(console, ZONE, accountZone="Mars/Olympus").status_code == 200
    with leaves_events(operator, EventType.USER_CHANGED_AUDIT):
        post(console, ZONE, accountZone="")


DETAILS = "/admin/account/details/"


def test_users_change_their_own_details_with_an_event(console: Client, operator: User) -> None:
    assert f'href="{DETAILS}"' in text_of(console.get(ACCOUNT))
    names = {"firstName": "Ada", "lastName": "King"}
    typed = {**names, "emailAddress": "ada@example.com", "mobileNumber": "+12025550100"}
    with leaves_events(operator, EventType.USER_CHANGED_AUDIT) as events:
        assert post(console, DETAILS, **typed)["Location"] == ACCOUNT
    operator.refresh_from_db()
    assert (operator.last_name, operator.email_address) == ("King", "ada@example.com")
    assert operator.mobile_number == "+12025550100"
    changed = {param["param"]: param.get("new") for param in events[0].diffs[0]["params"]}
    assert changed["emailAddress"] == "ada@example.com"
    assert changed.keys() <= typed.keys()
    assert "ada@example.com" in text_of(console.get(ACCOUNT))
    assert 'value="+12025550100"' in text_of(console.get(DETAILS))
    with leaves_events(operator):
        post(console, DETAILS, **typed)
    with leaves_events(operator, EventType.USER_CHANGED_AUDIT):
        post(console, DETAILS, **names)
    assert User.objects.filter(id=operator.id, email_address=None, mobile_number=None).exists()


@each("typed", [{"firstName": ""}, {"emailAddress": "nowhere"}, {"mobileNumber": "call me"}])
def test_wrong_details_are_refused_next_to_their_field(
    typed: dict[str, str], console: Client, operator: User
) -> None:
    with leaves_events(operator):
        answer = post(console, DETAILS, **{"firstName": "Ada", "lastName": "King", **typed})
    assert list(errors_of(answer)) == list(typed)


@each(
    ("chosen", "of_browser", "zone"),
    [
        ("", "", "UTC"),
        ("", "Asia/Tokyo", "Asia/Tokyo"),
        ("", "Mars/Olympus", "UTC"),
        ("Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"),
    ],
)
def test_the_zone_of_the_account_comes_before_that_of_the_browser(
    client: Client, operator: User, chosen: str, of_browser: str, zone: str
) -> None:
    User.objects.filter(pk=operator.pk).update(time_zone=chosen)
    client.force_login(operator)
    client.cookies["consoleZone"] = of_browser
    assert client.get(ACCOUNT).wsgi_request.auth.time_zone == zone  # type: ignore[attr-defined]  # of the middleware
