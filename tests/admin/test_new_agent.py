"""Adding an agent in the console: its key, the commands, and the wait for its first report."""

import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from psycopg.conninfo import conninfo_to_dict
from pymongo.uri_parser import parse_uri
from pytest_django import Settings

from accesslist.models import ApiKey, Project, User
from automation.agent.settings import Settings as AgentSettings
from automation.agent.settings import read_settings
from automation.agent_file import agent_file
from automation.agents.changes import HEARTBEAT
from automation.models import Agent, Host
from events.types import EventType
from opsapi import clock
from opsapi.roles import Grant, Role
from tests.admin.operators import operator_with, page_of
from tests.admin.writing import confirm, leaves_events, token
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key

pytestmark = pytest.mark.django_db

ADD = "/admin/automation/agent/add/"
AGENTS = "/admin/automation/agent/"


@pytest.fixture
def other(db: None) -> Project:
    """A project of another organization."""
    found: Project = ProjectFactory.create(name="theirs")
    return found


def typed(page: str, name: str) -> str:
    """What a copy button of the page copies."""
    (found,) = re.findall(rf'<pre class="json" id="{name}"[^>]*>(.*?)</pre>', page, re.DOTALL)
    return unescape(found)


def waiting(key: ApiKey) -> str:
    """The page that waits for the first report of an agent with this key."""
    return reverse("admin:automation_agent_first_report", args=[key.id])


def add(browser: Client, project: Project, **values: Any) -> Any:
    """Sends the form, without alert configurations."""
    return confirm(
        browser,
        ADD,
        **{"group": project.id, "shown": project.id, "databases": "mongodb", "desc": "on db1", **values},
    )


def written(page: str, directory: Path) -> Path:
    """The settings file of the page."""
    file = directory / "opsapi-agent.toml"
    file.touch(mode=0o600)
    file.write_text(typed(page, "settings"))
    return file


def with_password(page: str, file: Path, name: str, password: str) -> AgentSettings:
    """The settings after the command of this name asked for the password.

    It has no terminal: it reads the standard input.
    """
    subprocess.run(
        ["sh", "-c", typed(page, name)],
        input=f"{password}\n",
        cwd=file.parent,
        text=True,
        check=True,
        capture_output=True,
        start_new_session=True,
    )
    return read_settings({}, file)


def new_key(console: Client, project: Project) -> tuple[ApiKey, str, str]:
    """The key that the page makes, its private part, and the page."""
    answer = add(console, project, desc="on db1")
    assert answer.status_code == 200
    key = ApiKey.objects.get(desc="on db1")
    page = answer.content.decode()
    (private,) = re.findall(r'PRIVATE_KEY="([^"]+)"', typed(page, "settings"))
    return key, private, page


def test_its_key_may_report_and_nothing_else(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator, EventType.API_KEY_CREATED_AUDIT) as events:
        key, private, _ = new_key(console, project)
    (grant,) = key.grants.all()
    assert (grant.role, grant.project_id) == ("GROUP_AGENT", project.id)
    assert not grant.org_id
    assert events[0].group_id == project.id
    client = ApiClient(KeyPair(key.id, key.public_key, private))
    assert client.report(project.id, report()).status_code == 202
    assert client.get(f"/groups/{project.id}/hosts").status_code == 403


def test_its_key_can_be_for_a_single_machine(console: Client, project: Project, tmp_path: Path) -> None:
    answer = add(console, project, desc="on db1", hostnames="db1.example.com, db1")
    assert ApiKey.objects.get(desc="on db1").hostnames == ["db1.example.com", "db1"]
    assert read_settings({}, written(answer.content.decode(), tmp_path)).hostname == "db1.example.com"


def test_its_private_part_is_shown_once(console: Client, project: Project) -> None:
    sent = token(console, ADD)
    answer = add(console, project, desc="on db1", once=sent)
    key = ApiKey.objects.get(desc="on db1")
    page = answer.content.decode()
    (private,) = set(re.findall(r'PRIVATE_KEY="([^"]+)"', unescape(page)))
    assert page.count(private) == 1
    assert "no-store" in answer["Cache-Control"]
    assert private not in str(dict(console.session))
    again = add(console, project, desc="on db1", once=sent)
    assert again.url == page_of(key)
    shown = [console.get(url).content.decode() for url in (page_of(key), waiting(key), AGENTS)]
    assert private not in "".join(shown)
    assert ApiKey.objects.count() == 1


def test_the_settings_are_read_by_the_agent_and_by_systemd(
    console: Client, project: Project, tmp_path: Path, settings: Settings
) -> None:
    settings.OPSAPI_PUBLIC_URL = "https://ops.example.com"
    key, private, page = new_key(console, project)
    text = typed(page, "settings")
    read = read_settings({}, written(page, tmp_path))
    assert (read.url, read.group_id) == ("https://ops.example.com", project.id)
    assert (read.public_key, read.private_key) == (key.public_key, private)
    # What systemd.exec(5) takes as an EnvironmentFile: names of shell variables, values in quotes, no blanks.
    assert all(re.fullmatch(r'[A-Z_]+="[^"\\$]*"', line) for line in text.splitlines())


def test_the_commands_lead_to_this_platform_and_name_no_key(
    console: Client, project: Project, settings: Settings
) -> None:
    settings.OPSAPI_PUBLIC_URL = "https://ops.example.com"
    _, private, page = new_key(console, project)
    base = "https://ops.example.com/agents/v1.0"
    first, second = typed(page, "download").splitlines()
    assert first == f"curl -fsSLO {base}/opsapi-agent.pyz"
    assert agent_file().sha256 in second
    assert f"{base}/opsapi-agent.service" in typed(page, "with-systemd")
    assert 'OPSAPI_AGENT_URL="https://ops.example.com"' in typed(page, "settings")
    names = (
        *("create-user", "download", "write-settings", "mongodb-password"),
        *("check", "run", "with-systemd"),
    )
    assert not any(private in typed(page, name) for name in names)


def test_the_page_is_about_what_is_watched(console: Client, project: Project) -> None:
    answer = add(console, project, databases=["postgresql", "mongodb"], desc="on db1")
    page = answer.content.decode()
    both = typed(page, "settings")
    assert "OPSAPI_AGENT_MONGODB=" in both
    assert "OPSAPI_AGENT_POSTGRESQL=" in both
    assert "IN ROLE pg_monitor" in typed(page, "create-role")
    assert "clusterMonitor" in typed(page, "create-user")
    only = add(console, project, databases=["postgresql"], desc="on db2").content.decode()
    assert "MONGODB" not in typed(only, "settings")
    assert "mongosh" not in only


def test_the_settings_have_the_servers_of_the_form(console: Client, project: Project, tmp_path: Path) -> None:
    answer = add(
        console,
        project,
        databases=["mongodb", "postgresql"],
        desc="on db1",
        mongodb_hosts="db1.example.com",
        mongodb_port="27018",
        mongodb_user="watch@ops",
        postgresql_hosts="db2, 2001:DB8::1,192.0.2.7,",
        postgresql_port="5433",
        postgresql_user="Watch-er.1",
    )
    page = answer.content.decode()
    read = read_settings({}, written(page, tmp_path))
    mongodb, postgresql = parse_uri(read.mongodb[0]), conninfo_to_dict(read.postgresql[0])
    assert (mongodb["nodelist"], mongodb["username"]) == ([("db1.example.com", 27018)], "watch@ops")
    assert mongodb["options"]["authSource"] == "admin"
    assert (postgresql["host"], postgresql["port"]) == ("db2,2001:db8::1,192.0.2.7", "5433,5433,5433")
    assert (postgresql["user"], postgresql["dbname"]) == ("Watch-er.1", "postgres")
    assert 'user: "watch@ops"' in typed(page, "create-user")
    assert typed(page, "create-role").count('"Watch-er.1"') == 2


@each("values", [{}, {"mongodb_hosts": " ", "mongodb_port": "", "mongodb_user": ""}])
def test_empty_fields_have_the_defaults_of_the_engine(
    values: dict[str, str], console: Client, project: Project
) -> None:
    page = add(console, project, databases=["mongodb", "postgresql"], **values).content.decode()
    text = typed(page, "settings")
    assert '="mongodb://opsapi-agent:PASSWORD@localhost:27017/?authSource=admin"' in text
    assert '="postgresql://opsapi_agent:PASSWORD@localhost:5432/postgres"' in text


@each(
    ("hosts", "port", "user"),
    [
        ("db_1", "0", "a b"),
        ("db1;reboot", "65536", "a'b"),
        ("db1 db2", "-1", 'a"b'),
        ("db1:27017", "abc", "a\\b"),
        ("fe80::1%eth0", "1.5", "a\nb"),
        ("$(id)", "1e3", "ä"),
        (",".join(["db"] * 51), "27017,27018", "$HOME"),
        ("db1/x", "9" * 40, "a:b"),
        ("'", " -", "a" * 64),
    ],
)
def test_it_refuses_values_that_no_server_has(
    hosts: str, port: str, user: str, console: Client, project: Project
) -> None:
    sent = {"mongodb_hosts": hosts, "mongodb_port": port, "mongodb_user": user}
    answer = add(console, project, **sent)
    assert answer.context["form"].errors.keys() == sent.keys()
    assert not ApiKey.objects.exists()


def test_the_servers_of_an_engine_that_is_not_selected_are_ignored(console: Client, project: Project) -> None:
    page = add(console, project, postgresql_port="wrong", postgresql_hosts="db_1").content.decode()
    assert "POSTGRESQL" not in typed(page, "settings")


def test_a_command_writes_the_password_into_the_settings(
    console: Client, project: Project, tmp_path: Path
) -> None:
    page = add(
        console, project, databases=["mongodb", "postgresql"], mongodb_user="watch@ops"
    ).content.decode()
    file, passwords = written(page, tmp_path), ("p@ss:w/rd%41 +'\"\\1#?", "pässword$HOME")
    with_password(page, file, "mongodb-password", "mistyped")
    with_password(page, file, "mongodb-password", passwords[0])
    read = with_password(page, file, "postgresql-password", passwords[1])
    mongodb, postgresql = parse_uri(read.mongodb[0]), conninfo_to_dict(read.postgresql[0])
    assert (mongodb["username"], mongodb["password"]) == ("watch@ops", passwords[0])
    assert (postgresql["user"], postgresql["password"]) == ("opsapi_agent", passwords[1])
    assert file.stat().st_mode & 0o777 == 0o600
    assert all(re.fullmatch(r'[A-Z_]+="[^"\\$]*"', line) for line in file.read_text().splitlines())


@each(
    ("role", "may"),
    [
        (Role.GROUP_OWNER, True),
        (Role.GROUP_USER_ADMIN, False),
        (Role.GROUP_MONITORING_ADMIN, False),
        (Role.GROUP_READ_ONLY, False),
    ],
)
def test_who_may(role: Role, may: bool, project: Project) -> None:
    _, browser = operator_with(role, project=project)
    add(browser, project, desc="on db1")
    assert ApiKey.objects.filter(desc="on db1").exists() is may


@each(("role", "offered"), [(Role.GROUP_OWNER, True), (Role.GROUP_MONITORING_ADMIN, False)])
def test_it_is_offered_to_whoever_makes_keys(role: Role, offered: bool, project: Project) -> None:
    _, browser = operator_with(role, project=project)
    assert browser.get(ADD).status_code == (200 if offered else 403)
    assert ("Add agent" in browser.get(AGENTS).content.decode()) is offered
    way = f"{ADD}?group={project.id}"
    assert (way in browser.get(page_of(project)).content.decode()) is offered


def test_the_way_from_a_project_chooses_it(console: Client, project: Project) -> None:
    form = console.get(f"{ADD}?group={project.id}").context["form"]
    assert form["group"].value() == project.id


def test_where_somebody_makes_no_keys_none_is_created(project: Project, other: Project) -> None:
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=other)
    answer = confirm(browser, ADD, group=other.id, databases="mongodb", desc="on db1")
    assert (answer.status_code, ApiKey.objects.count()) == (200, 0)
    assert "GROUP_OWNER" in str(answer.context["form"].errors)


def test_it_waits_until_the_first_report_has_come(console: Client, project: Project) -> None:
    key, private, page = new_key(console, project)
    assert f'href="{waiting(key)}"' in page
    before = console.get(waiting(key))
    assert (before.context["arrived"], before.context["hosts"]) == ([], [])
    assert "Check again" in before.content.decode()
    sent = report(host(hostname="db1"), host(hostname="db2", reachable=False), hostname="agent1")
    assert ApiClient(KeyPair(key.id, key.public_key, private)).report(project.id, sent).status_code == 202
    after = console.get(waiting(key))
    text = after.content.decode()
    assert page_of(Agent.objects.get(hostname="agent1")) in text
    states = {host["row"].hostname: (host["state"], host["url"]) for host in after.context["hosts"]}
    assert {name: state for name, (state, _) in states.items()} == {"db1": "up", "db2": "down"}
    assert all(states[host.hostname][1] == page_of(host) for host in Host.objects.all())
    assert "data-done" in text
    assert "Check again" not in text


def test_an_agent_that_reported_before_is_distinguished(
    console: Client, project: Project, agent: ApiClient
) -> None:
    agent.report(project.id, report(hostname="old"))
    key, _, _ = new_key(console, project)
    Agent.objects.update(last_report=clock.now() - HEARTBEAT)  # else the next report changes nothing
    agent.report(project.id, report(hostname="old"))
    context = console.get(waiting(key)).context
    assert context["arrived"] == []
    assert [other["row"].hostname for other in context["others"]] == ["old"]


def test_reports_of_other_projects_are_not_shown(console: Client, project: Project, other: Project) -> None:
    key, _, _ = new_key(console, project)
    theirs, private, _ = _key_in(console, other)
    ApiClient(KeyPair(theirs.id, theirs.public_key, private)).report(other.id, report(hostname="theirs"))
    context = console.get(waiting(key)).context
    assert (context["arrived"], context["others"]) == ([], [])


def _key_in(console: Client, project: Project) -> tuple[ApiKey, str, str]:
    ApiKey.objects.filter(desc="on db1").update(desc="first")
    return new_key(console, project)


def test_who_cannot_read_the_project_finds_no_first_report(
    console: Client, project: Project, other: Project
) -> None:
    key, _, _ = new_key(console, project)
    _, reader = operator_with(Role.GROUP_READ_ONLY, project=project)
    _, stranger = operator_with(Role.GROUP_OWNER, project=other)
    assert reader.get(waiting(key)).status_code == 200
    assert stranger.get(waiting(key)).status_code == 404


def test_a_key_that_is_no_agent_s_has_no_first_report(console: Client, project: Project) -> None:
    made = make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))
    key = ApiKey.objects.get(id=made.id)
    assert console.get(waiting(key)).status_code == 404
    assert console.get(waiting(ApiKey(id="0" * 24))).status_code == 404
