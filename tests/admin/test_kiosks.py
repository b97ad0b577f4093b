"""Kiosks: who creates them, what their address shows and opens, and when it ends."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from accesslist.kiosks.changes import kiosk_create
from accesslist.models import Kiosk, Project, User
from accesslist.principal import UserPrincipal
from accesslist.projects.changes import project_delete
from accesslist.purge import expired_rows_purge
from alerting.engine.leases import worker_seen
from alerting.models import MaintenanceWindow
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role, Scope
from tests.admin.operators import action_url, browser_with, operator_with, page_of
from tests.admin.reading import shown
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db

LIST = "/admin/accesslist/kiosk/"
ADD = f"{LIST}add/"
FRAME = "/kiosk/"
BOARD = "/kiosk/board/"
ADDRESS = re.compile(r'id="kiosk-address">([^<#]*)#([^<]*)<')
DAY = timedelta(days=1)


@pytest.fixture
def reader(project: Project) -> User:
    """A user who can read the project."""
    user, _ = operator_with(Role.GROUP_READ_ONLY, project=project)
    return user


def token_for(creator: User, here: Scope, lasts: timedelta = DAY, now: datetime | None = None) -> str:
    actor = UserPrincipal(creator, None).actor()
    return kiosk_create(here=here, desc="hall", lasts=lasts, actor=actor, now=now or clock.now()).token


def board(token: str, **more: Any) -> Any:
    """What a screen gets: a browser without a session."""
    return Client().get(BOARD, headers={"X-Kiosk-Token": token}, **more)


def text_of_board(token: str) -> str:
    answer = board(token)
    assert answer.status_code == 200
    text: str = unescape(answer.content.decode())
    return text


def test_the_address_is_shown_once_and_opens_the_board(
    console: Client, operator: User, project: Project
) -> None:
    with leaves_events(operator, EventType.KIOSK_CREATED_AUDIT) as events:
        page = confirm(console, ADD, desc="hall", project=project.id, days="30")
    match = ADDRESS.search(page.content.decode())
    assert match is not None
    url, token = match.groups()
    assert url.endswith(FRAME)
    kiosk = Kiosk.objects.get()
    assert project.name in text_of_board(token)
    secret = token.removeprefix(kiosk.id)
    stored = str([kiosk.__dict__, events[0].__dict__, console.get(page_of(kiosk)).content])
    assert secret not in stored
    assert "token" not in console.get(LIST).content.decode().lower().replace("csrfmiddlewaretoken", "")
    assert kiosk.expires - kiosk.created == 30 * DAY


def test_the_frame_is_the_same_for_everybody_and_has_no_link(client: Client) -> None:
    answer = client.get(FRAME)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "<a " not in page
    assert not answer.cookies
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert client.get(f"{FRAME}?token=x").content == answer.content


def test_the_board_shows_what_needs_somebody_and_no_link(reader: User, project: Project) -> None:
    now = clock.now()
    worker_seen(name="worker", now=now)
    make_host(project, "db1.example.com")
    make_alert(project, facts={"hostname": "needing.example.com", "port": 27017})
    taken = {"acknowledged_until": now + DAY, "acknowledging_username": "ada"}
    make_alert(project, facts={"hostname": "taken.example.com", "port": 27017}, **taken)
    elsewhere = ProjectFactory.create(name="elsewhere")
    make_host(elsewhere, "other.example.com")
    make_alert(elsewhere, facts={"hostname": "other.example.com", "port": 27017})
    text = text_of_board(token_for(reader, Scope(group_id=project.id)))
    assert "1 alert needs somebody" in text
    assert "1 acknowledged" in text
    assert "needing.example.com" in text
    assert "db1.example.com" in text
    for hidden in ("taken.example.com", "other.example.com", "elsewhere", "<a ", "href", "/admin/"):
        assert hidden not in text, hidden


def test_the_most_severe_alert_is_first(reader: User, project: Project) -> None:
    make_alert(project, severity="CRITICAL", facts={"hostname": "worst.example.com", "port": 1})
    make_alert(project, severity="INFO", facts={"hostname": "mild.example.com", "port": 1})
    text = text_of_board(token_for(reader, Scope(group_id=project.id)))
    assert text.index("worst.example.com") < text.index("mild.example.com")


def test_muted_alerts_need_nobody(reader: User, project: Project) -> None:
    now = clock.now()
    worker_seen(name="worker", now=now)
    make_alert(project)
    times = {"start": now - DAY, "end": now + DAY, "created": now, "updated": now}
    MaintenanceWindow.objects.create(group=project, alert_types=["HOST"], **times)
    text = text_of_board(token_for(reader, Scope(group_id=project.id)))
    assert "Nothing needs somebody" in text
    assert "1 muted" in text


def test_without_a_worker_the_board_does_not_say_that_all_is_well(reader: User, project: Project) -> None:
    text = text_of_board(token_for(reader, Scope(group_id=project.id)))
    assert "Nothing needs somebody" not in text
    assert "No worker is running" in text


def test_a_kiosk_of_an_organization_shows_the_projects_that_its_creator_reads(project: Project) -> None:
    second = ProjectFactory.create(org=project.org, name="second")
    make_host(project, "first.example.com")
    make_host(second, "second.example.com")
    of_all, _ = operator_with(Role.ORG_READ_ONLY, org=project.org)
    of_one, _ = operator_with(Role.GROUP_READ_ONLY, project=project)
    here = Scope(org_id=project.org_id)
    assert {"first.example.com", "second.example.com"} <= set(
        re.findall(r"\w+\.example\.com", text_of_board(token_for(of_all, here)))
    )
    assert "second.example.com" not in text_of_board(token_for(of_one, here))


@each("ending", ["revoked", "expired", "role lost", "user deleted", "project deleted"])
def test_a_kiosk_ends(project: Project, console: Client, ending: str) -> None:
    reader, _ = operator_with(Role.GROUP_READ_ONLY, project=project)
    now = clock.now()
    started = now - 2 * DAY if ending == "expired" else now
    token = token_for(reader, Scope(group_id=project.id), now=started)
    kiosk = Kiosk.objects.get()
    if ending != "expired":
        assert board(token).status_code == 200
    match ending:
        case "revoked":
            confirm(console, action_url(kiosk, "revoke"))
        case "role lost":
            reader.grants.all().delete()
        case "user deleted":
            reader.delete()
        case "project deleted":
            project_delete(group_id=project.id, actor=SYSTEM, now=now)
    answer = board(token)
    assert (answer.status_code, answer.content) == (404, b"")


@each(
    "wrong",
    [
        "",
        "x",
        "0" * 24,
        "0" * 24 + "secret",
        lambda token: token[:-1],
        lambda token: token + "x",
        lambda token: token[:24],
        lambda token: token[:24] + "x" * len(token[24:]),
    ],
)
def test_a_wrong_token_shows_nothing(reader: User, project: Project, wrong: Any) -> None:
    token = token_for(reader, Scope(group_id=project.id))
    answer = board(wrong(token) if callable(wrong) else wrong)
    assert (answer.status_code, answer.content) == (404, b"")


def test_a_token_opens_nothing_else(reader: User, project: Project) -> None:
    host = make_host(project, "db1.example.com")
    token = token_for(reader, Scope(group_id=project.id))
    screen = Client()
    screen.get(FRAME)
    assert screen.get(BOARD, headers={"X-Kiosk-Token": token}).status_code == 200
    assert not screen.cookies
    pages = ["/admin/", "/admin/overview/", "/admin/palette/?q=db", LIST, page_of(host), "/admin/channels/"]
    ways: list[dict[str, Any]] = [
        {"headers": {"X-Kiosk-Token": token}},
        {"headers": {"Authorization": f"Bearer {token}"}},
        {"headers": {"Cookie": f"sessionid={token}"}},
    ]
    for url in pages:
        for way in ways:
            answer = screen.get(url, **way)
            assert answer.status_code == 302, url
            assert answer["Location"].startswith("/admin/login/"), url
    for url in ("/api/public/v1.0/groups", f"/api/public/v1.0/groups/{project.id}/hosts", "/agents/v1.0/"):
        for way in ways:
            assert screen.get(url, **way).status_code in {401, 404}, url


def test_neither_the_frame_nor_the_board_takes_other_methods_or_a_token_in_the_url(
    reader: User, project: Project
) -> None:
    token = token_for(reader, Scope(group_id=project.id))
    assert Client().post(BOARD, headers={"X-Kiosk-Token": token}).status_code == 405
    assert Client().post(FRAME).status_code == 405
    assert Client().get(f"{BOARD}?token={token}").status_code == 404


def test_a_session_shows_no_board(console: Client, project: Project) -> None:
    assert console.get(BOARD).status_code == 404


def test_wrong_tokens_are_limited_and_other_kiosks_of_the_address_go_on(
    reader: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 2
    here = Scope(group_id=project.id)
    tried, other = token_for(reader, here), token_for(reader, here)
    wrong = f"{tried[:24]}wrong"
    assert [board(wrong).status_code for _ in range(3)] == [404, 404, 429]
    refused = board(tried)
    assert (refused.status_code, refused.content) == (429, b"")
    assert int(refused["Retry-After"]) > 0
    assert board(other).status_code == 200
    assert board(tried, REMOTE_ADDR="203.0.113.9").status_code == 200
    assert [board("0" * 24 + "x").status_code for _ in range(3)] == [404, 404, 429]


@each(
    ("role", "creates"),
    [(Role.GROUP_READ_ONLY, True), (Role.GROUP_MONITORING_ADMIN, True), (Role.GROUP_AGENT, False)],
)
def test_who_reads_a_project_creates_and_revokes_its_kiosks(
    project: Project, role: Role, creates: bool
) -> None:
    Kiosk.objects.all().delete()
    _, browser = operator_with(role, project=project)
    other = ProjectFactory.create()
    confirm(browser, ADD, desc="hall", project=project.id, days="7")
    confirm(browser, ADD, desc="elsewhere", project=other.id, days="7")
    assert [kiosk.desc for kiosk in Kiosk.objects.all()] == (["hall"] if creates else [])
    if creates:
        confirm(browser, action_url(Kiosk.objects.get(), "revoke"))
        assert not Kiosk.objects.exists()


def test_kiosks_of_other_projects_stay_invisible(project: Project) -> None:
    other = ProjectFactory.create()
    stranger, _ = operator_with(Role.GROUP_READ_ONLY, project=other)
    token_for(stranger, Scope(group_id=other.id))
    kiosk = Kiosk.objects.get()
    browser = browser_with(Role.GROUP_OWNER, project=project)
    assert "hall" not in shown(browser, LIST)
    assert confirm(browser, action_url(kiosk, "revoke")).status_code == 404
    assert Kiosk.objects.exists()


@each("choice", [{}, {"project": True, "org": True}])
def test_a_kiosk_is_of_one_project_or_organization(
    console: Client, operator: User, project: Project, choice: dict[str, bool]
) -> None:
    ids = {"project": project.id, "org": project.org_id}
    with leaves_events(operator):
        confirm(console, ADD, desc="hall", days="7", **{name: ids[name] for name in choice})
    assert not Kiosk.objects.exists()


def test_revoking_leaves_an_event(console: Client, operator: User, project: Project) -> None:
    token_for(UserFactory.create(), Scope(group_id=project.id))
    kiosk = Kiosk.objects.get()
    with leaves_events(operator, EventType.KIOSK_REVOKED_AUDIT):
        confirm(console, action_url(kiosk, "revoke"))
    assert not Kiosk.objects.exists()


def test_ended_kiosks_are_deleted_later(reader: User, project: Project) -> None:
    now = clock.now()
    here = Scope(group_id=project.id)
    token_for(reader, here, now=now - 20 * DAY)
    token_for(reader, here, now=now - 32 * DAY)
    expired_rows_purge(now=now)
    assert Kiosk.objects.count() == 1
