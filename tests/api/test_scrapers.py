"""How scrapers authenticate: HTTP Basic with the credentials of the SCRAPER integration."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import AccessListEntry, Project
from opsapi.api.links import AGENTS, DISCOVERY, PUBLIC
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_entry, make_key
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration

USERNAME, PASSWORD = "scräper", "a pass:phrase ünbroken"
CHALLENGE = 'Digest realm="Ops Public API", domain="", nonce="'
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's hosts are discovered."""
    return f"{DISCOVERY}/groups/{project.id}/discovery"


@pytest.fixture
def scraped(project: Project) -> Project:
    """A project with a host and a SCRAPER integration."""
    ingest(project, host_report("db1"))
    make_integration(project, username=USERNAME, password=PASSWORD)
    return project


def basic(username: str = USERNAME, password: str = PASSWORD, scheme: str = "Basic") -> str:
    """What a scraper sends unasked."""
    return f"{scheme} {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


def ask(path: str, credentials: str | None = None, method: str = "GET", **options: Any) -> Any:
    """The answer to somebody without a key."""
    headers = {"HTTP_AUTHORIZATION": basic() if credentials is None else credentials}
    return ApiClient().request(method, path, base="", **headers, **options)


def read(client: ApiClient, path: str) -> Any:
    """What a key is answered."""
    return client.request("GET", path, base="")


@each("scheme", ["Basic", "basic", "BASIC"])
def test_the_integrations_credentials_are_taken_unasked(
    reader: ApiClient, scraped: Project, path: str, scheme: str
) -> None:
    answer = ask(path, basic(scheme=scheme))
    assert (answer.status_code, answer.json()) == (200, read(reader, path).json())
    assert [group["targets"] for group in ask(f"{path}/?pageNum=1").json()] == [["db1:9216"]]
    assert ask(path, method="HEAD").status_code == 200


WRONG: Mapping[str, str] = {
    "password": basic(password="another passphrase"),
    "case": basic(password=PASSWORD.upper()),
    "username": basic(username="scraper"),
    "swapped": basic(PASSWORD, USERNAME),
    "redacted": basic(password="******"),
    "no password": basic(password=""),
    "no username": basic(username=""),
    "no colon": "Basic " + base64.b64encode(USERNAME.encode()).decode(),
    "nothing": "Basic",
    "blank": "Basic  ",
    "no base64": "Basic %%%",
    "no ascii": "Basic ünïcode",
    "no utf-8": "Basic " + base64.b64encode(b"\xff:\xff").decode(),
    "latin-1": "Basic " + base64.b64encode(f"{USERNAME}:{PASSWORD}".encode("latin-1")).decode(),
    "bearer": basic(scheme="Bearer"),
    "two": f"{basic()}, {basic()}",
    "nul": basic(username="\0"),
}


@each("kind", WRONG)
def test_wrong_credentials_are_answered_as_a_wrong_key_is(scraped: Project, path: str, kind: str) -> None:
    answer = ask(path, WRONG[kind])
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "UNAUTHORIZED")
    assert answer.headers["WWW-Authenticate"].startswith(CHALLENGE)
    assert answer.headers["Content-Type"] == "application/json;charset=ISO-8859-1"


def test_they_open_nothing_else(owner: ApiClient, scraped: Project, path: str) -> None:
    other = ProjectFactory.create()
    make_integration(other, username="another", password=PASSWORD)
    deleted = ProjectFactory.create()
    make_integration(deleted, username=USERNAME, password=PASSWORD)
    owner.delete(f"/groups/{deleted.id}")
    closed = [
        *(
            path.replace(scraped.id, group_id)
            for group_id in (other.id, deleted.id, new_id(), "x", "%00", scraped.id.upper())
        ),
        f"{path}/x",
        f"{DISCOVERY}/groups/{scraped.id}",
        f"{DISCOVERY}/nope",
        f"{PUBLIC}/groups/{scraped.id}",
        f"{PUBLIC}/groups/{scraped.id}/hosts",
        f"{PUBLIC}/groups/{scraped.id}/integrations/SCRAPER",
        f"{PUBLIC}/",
        f"{AGENTS}/groups/{scraped.id}/reports",
    ]
    assert ask(path).status_code == 200
    assert {path: ask(path).status_code for path in closed} == dict.fromkeys(closed, 401)


def test_another_types_secrets_are_no_credentials(project: Project, path: str) -> None:
    make_integration(project, "WEBHOOK", secret=PASSWORD)
    assert ask(path).status_code == 401


def test_other_methods_are_405_for_readers(scraped: Project, path: str) -> None:
    answer = ask(path, method="POST", body=b"{}")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_disabled_integration_lets_nobody_in(owner: ApiClient, scraped: Project, path: str) -> None:
    where = f"/groups/{scraped.id}/integrations/SCRAPER"
    shown = owner.get(where).json()
    assert owner.put(where, {**shown, "enabled": False}).status_code == 200
    assert ask(path).status_code == 401
    assert owner.put(where, {**shown, "enabled": True}).status_code == 200
    assert ask(path).status_code == 200
    owner.delete(where)
    assert ask(path).status_code == 401


def test_a_changed_password_counts_at_once(owner: ApiClient, scraped: Project, path: str) -> None:
    changed = {"username": USERNAME, "password": "quite another one"}
    owner.put(f"/groups/{scraped.id}/integrations/SCRAPER", changed)
    assert ask(path).status_code == 401
    assert ask(path, basic(password="quite another one")).status_code == 200


def test_no_access_list_applies(scraped: Project, path: str) -> None:
    make_entry("192.0.2.0/24")
    assert ask(path, REMOTE_ADDR="203.0.113.9").status_code == 200
    assert AccessListEntry.objects.get().last_used is None


def test_wrong_tries_count_and_right_ones_pass(scraped: Project, path: str, settings: Settings) -> None:
    settings.OPSAPI_RATE_FAILED_AUTH = 2
    here = {"REMOTE_ADDR": "203.0.113.9"}
    assert [ask(path, WRONG["password"], **here).status_code for _ in range(4)] == [401, 401, 429, 429]
    assert ask(path, "Digest nonsense", **here).status_code == 429
    assert ask(path, **here).status_code == 200
    assert ask(path, WRONG["password"], REMOTE_ADDR="203.0.113.10").status_code == 401


def test_a_key_needs_the_role(project: Project, path: str) -> None:
    agent = ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id)))
    assert read(agent, path).json()["errorCode"] == "USER_UNAUTHORIZED"
    assert read(ApiClient(make_key()), path).json()["errorCode"] == "NOT_IN_GROUP"


def test_the_log_names_the_scraper_and_not_its_password(
    scraped: Project, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    ask(path)
    (line,) = [record for record in caplog.records if record.name == "opsapi.requests"]
    assert vars(line)["actor"] == USERNAME
    assert PASSWORD not in caplog.text + str(vars(line))
