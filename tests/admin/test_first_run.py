"""The first set-up in the browser: who may, what it creates, and its end."""

import logging
from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from accesslist.models import ApiKey, Project, User
from accesslist.users.store import project_recipients
from events.models import Event, Signal
from opsapi.page_paths import SETUP_PATH
from opsapi.roles import Role
from opsapi.setup_link import setup_link
from tests.admin.logging_in import LOGIN, errors_of
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db

TOKEN = f"{SETUP_PATH}token/"
MAIL = "/admin/mail-server/"
STRANGER = "192.0.2.7"
PASSWORD = "correct horse battery"
TYPED = {
    "username": "ada",
    "password": PASSWORD,
    "again": PASSWORD,
    "firstName": "Ada",
    "lastName": "Lovelace",
    "emailAddress": "ada@example.com",
    "name": "payments",
}


@pytest.fixture
def here() -> Client:
    """A browser on the machine of the platform."""
    return Client(headers={"host": "localhost:8000"}, REMOTE_ADDR="127.0.0.1")


@pytest.fixture
def stranger() -> Client:
    """A browser somewhere else."""
    return Client(REMOTE_ADDR=STRANGER)


def token() -> str:
    """The token of the link that the server prints."""
    return setup_link().partition("#")[2]


def offers_the_form(browser: Client) -> bool:
    """Whether the visitor gets the form of the first user, and the log-in page leads there."""
    fields: Mapping[str, Any] = browser.get(SETUP_PATH).context["form"].fields
    assert browser.get(LOGIN).context["may_set_up"] is ("firstName" in fields)
    return "firstName" in fields


def is_empty() -> bool:
    """Whether nothing was created."""
    return not (User.objects.exists() or Project.objects.exists() or Event.objects.exists())


def test_a_browser_on_the_machine_sets_up_user_and_project_and_is_logged_in(here: Client) -> None:
    assert offers_the_form(here)
    answer = here.post(SETUP_PATH, TYPED)
    assert (answer.status_code, answer["Location"]) == (302, MAIL)
    user, project = User.objects.get(), Project.objects.get()
    assert (user.username, user.first_name, user.last_name) == ("ada", "Ada", "Lovelace")
    assert {(grant.role, grant.project_id) for grant in user.grants.all()} == {
        (Role.GLOBAL_OWNER, None),
        (Role.GROUP_OWNER, project.id),
    }
    assert (project.name, project.org and project.org.name) == ("payments", "payments")
    assert not ApiKey.objects.exists()
    assert here.get(MAIL).status_code == here.get("/admin/").status_code == 200
    again = Client()
    assert again.post(LOGIN, {"username": "ada", "password": PASSWORD}).status_code == 302


def test_the_user_is_a_member_and_gets_the_messages_of_the_project(here: Client) -> None:
    here.post(SETUP_PATH, TYPED)
    (reached,) = project_recipients(Project.objects.get().id)
    assert reached["email_address"] == "ada@example.com"
    # The user knows of it: nobody is notified that the user joined.
    signals = str(list(Signal.objects.values_list("payload", flat=True)))
    assert "GROUP_CREATED" in signals
    assert "JOINED_GROUP" not in signals


def test_a_username_that_is_an_address_serves_as_address(here: Client) -> None:
    here.post(SETUP_PATH, TYPED | {"username": "ada@example.com", "emailAddress": ""})
    assert User.objects.get().email_address == "ada@example.com"


def test_it_is_recorded_like_the_same_writes_of_the_api(here: Client) -> None:
    here.post(SETUP_PATH, TYPED)
    events = list(Event.objects.all())
    assert Counter(event.event_type for event in events) == {
        "USER_CREATED_AUDIT": 1,
        "ORG_CREATED_AUDIT": 1,
        "GROUP_CREATED": 1,
        "USER_ROLES_CHANGED_AUDIT": 1,
        "JOINED_GROUP": 1,
        "ALERT_CONFIG_ADDED_AUDIT": 3,
    }
    acting = {(event.details["username"], event.details["remoteAddress"]) for event in events}
    assert acting == {("ada", "127.0.0.1")}


def test_the_session_is_a_new_one_and_the_browser_is_known(stranger: Client) -> None:
    stranger.post(TOKEN, {"token": token()})
    before = stranger.cookies["sessionid"].value
    stranger.post(SETUP_PATH, TYPED)
    assert stranger.cookies["sessionid"].value != before
    assert "setup_token" not in stranger.session
    assert stranger.cookies["opsapi_device"].value


def test_a_stranger_needs_the_token(stranger: Client) -> None:
    assert not offers_the_form(stranger)
    assert stranger.post(SETUP_PATH, TYPED).status_code == 403
    assert is_empty()
    answer = stranger.post(TOKEN, {"token": token()})
    assert (answer.status_code, answer["Location"]) == (302, SETUP_PATH)
    assert offers_the_form(stranger)
    assert stranger.post(SETUP_PATH, TYPED).status_code == 302
    assert User.objects.get().username == "ada"


@each("wrong", ["", "x", "ä", "\0", "x" * 5000])
def test_a_wrong_token_lets_nobody_in(wrong: str) -> None:
    browser = Client(REMOTE_ADDR=STRANGER)
    assert browser.post(TOKEN, {"token": wrong}).status_code == 403
    assert browser.post(SETUP_PATH, TYPED).status_code == 403
    assert is_empty()


def test_wrong_tokens_are_throttled_by_address(stranger: Client, settings: LazySettings) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    tries = [stranger.post(TOKEN, {"token": "x"}).status_code for _ in range(3)]
    assert tries == [403, 403, 429]
    refused = stranger.post(TOKEN, {"token": token()})
    assert (refused.status_code, "Retry-After" in refused) == (429, True)
    assert Client(REMOTE_ADDR="192.0.2.8").post(TOKEN, {"token": token()}).status_code == 302


def test_the_token_is_another_with_another_secret_key(settings: LazySettings) -> None:
    before = token()
    assert len(before) == 43
    settings.SECRET_KEY = "another"
    assert token() != before


def test_the_link_names_the_address_that_visitors_use(settings: LazySettings) -> None:
    assert setup_link().startswith(f"http://127.0.0.1:8000{SETUP_PATH}#")
    settings.OPSAPI_BIND = ("0.0.0.0", 8000)
    assert setup_link().startswith(f"http://localhost:8000{SETUP_PATH}#")
    settings.OPSAPI_BIND, settings.OPSAPI_TLS_CERT = ("127.0.0.1", 8000), "web.crt"
    assert setup_link().startswith("https://127.0.0.1:8000/")
    settings.OPSAPI_PUBLIC_URL = "https://ops.example.com"
    assert setup_link().startswith(f"https://ops.example.com{SETUP_PATH}#")


@each(
    "headers",
    [
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-Proto": "https"},
        {"Forwarded": "for=127.0.0.1"},
        {"X-Real-IP": "127.0.0.1"},
        {"Via": "1.1 proxy"},
        {"Host": "ops.example.com"},
    ],
)
def test_through_a_proxy_or_under_another_name_nobody_is_on_the_machine(
    headers: dict[str, str], settings: LazySettings
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    browser = Client(headers={"host": "localhost", **headers}, REMOTE_ADDR="127.0.0.1")
    assert not offers_the_form(browser)
    assert browser.post(SETUP_PATH, TYPED).status_code == 403
    assert is_empty()


def test_with_a_proxy_in_the_settings_nobody_is_on_the_machine(here: Client, settings: LazySettings) -> None:
    settings.OPSAPI_PUBLIC_URL = "https://ops.example.com"
    assert not offers_the_form(here)
    settings.OPSAPI_PUBLIC_URL = ""
    settings.OPSAPI_TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    assert not offers_the_form(here)
    settings.OPSAPI_TRUSTED_PROXIES = []
    assert offers_the_form(here)
    settings.OPSAPI_INVITATION_ONLY = False
    assert not offers_the_form(here)


@each("host", ["127.0.0.1:8000", "localhost", "[::1]:8000"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_every_loopback_address_is_this_machine(address: str, host: str) -> None:
    assert offers_the_form(Client(headers={"host": host}, REMOTE_ADDR=address))


def test_a_page_of_another_host_reaches_nothing(here: Client) -> None:
    for path in (SETUP_PATH, TOKEN):
        assert here.post(path, TYPED, headers={"host": "evil.example.com"}).status_code == 400
    checking = Client(headers={"host": "localhost"}, enforce_csrf_checks=True)
    assert checking.post(SETUP_PATH, TYPED).status_code == 403
    assert is_empty()


@each(
    "change,field",
    [
        ({"username": ""}, "username"),
        ({"username": "ada\u200b"}, "username"),
        ({"username": "a\0b"}, "username"),
        ({"password": "secret", "again": "secret"}, "password"),
        ({"password": "password1", "again": "password1"}, "password"),
        ({"again": "something else"}, "again"),
        ({"firstName": " "}, "firstName"),
        ({"lastName": "x" * 101}, "lastName"),
        ({"emailAddress": "nowhere"}, "emailAddress"),
        ({"emailAddress": ""}, "emailAddress"),
        ({"name": ".."}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": ""}, "name"),
    ],
)
def test_wrong_input_is_named_and_creates_nothing(change: dict[str, str], field: str) -> None:
    here = Client(headers={"host": "localhost"}, REMOTE_ADDR="127.0.0.1")
    answer = here.post(SETUP_PATH, {**TYPED, **change})
    assert (answer.status_code, list(errors_of(answer))) == (200, [field])
    assert PASSWORD not in answer.content.decode()
    assert is_empty()


def test_a_used_name_of_a_project_creates_no_user(here: Client) -> None:
    ProjectFactory.create(name="payments")
    assert list(errors_of(here.post(SETUP_PATH, TYPED))) == ["name"]
    assert not User.objects.exists()


def test_afterwards_it_leads_to_the_log_in(here: Client, stranger: Client) -> None:
    UserFactory.create()
    for browser in (here, stranger):
        assert browser.get(SETUP_PATH)["Location"] == LOGIN
        assert browser.post(SETUP_PATH, TYPED).status_code == 409
        assert browser.post(TOKEN, {"token": token()}).status_code == 409
        assert "setup_token" not in browser.session
    assert (User.objects.count(), Project.objects.count()) == (1, 0)


def test_a_token_given_before_is_worth_nothing_afterwards(here: Client, stranger: Client) -> None:
    stranger.post(TOKEN, {"token": token()})
    here.post(SETUP_PATH, TYPED)
    assert stranger.post(SETUP_PATH, {**TYPED, "username": "eve", "name": "other"}).status_code == 409
    assert stranger.get("/admin/").status_code == 302
    assert User.objects.get().username == "ada"


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_is_first_and_the_others_learn_it() -> None:
    def set_up(number: int) -> int:
        browser = Client(headers={"host": "localhost"}, REMOTE_ADDR="127.0.0.1")
        changed = {"username": f"ada{number}", "name": f"project {number}"}
        return browser.post(SETUP_PATH, {**TYPED, **changed}).status_code

    assert Counter(at_once(set_up)) == {302: 1, 409: THREADS - 1}
    assert (User.objects.count(), Project.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_it_and_endpoint_5_at_once_create_one_first_user() -> None:
    def either(number: int) -> Any:
        if number % 2:
            body = {**TYPED, "username": f"eve{number}"}
            fields = ("username", "password", "firstName", "lastName")
            return ApiClient().post("/unauth/users", {name: body[name] for name in fields})
        browser = Client(headers={"host": "localhost"}, REMOTE_ADDR="127.0.0.1")
        return browser.post(SETUP_PATH, {**TYPED, "username": f"ada{number}"})

    at_once(either)
    assert User.objects.filter(grants__role=Role.GLOBAL_OWNER).count() == 1


def test_no_log_line_has_the_token_or_the_password(
    stranger: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    given = token()
    stranger.get(SETUP_PATH)
    stranger.post(TOKEN, {"token": given})
    stranger.post(SETUP_PATH, TYPED)
    assert f"POST {SETUP_PATH} 302" in caplog.text
    assert given not in caplog.text
    assert PASSWORD not in caplog.text


def test_nothing_of_it_is_kept_by_a_browser(here: Client) -> None:
    assert "no-store" in here.get(SETUP_PATH)["Cache-Control"]


def test_the_token_sets_up_without_registration(here: Client, settings: LazySettings) -> None:
    settings.OPSAPI_INVITATION_ONLY = False
    here.post(TOKEN, {"token": token()})
    assert here.post(SETUP_PATH, TYPED).status_code == 302
