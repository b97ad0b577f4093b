"""The fleet in the console: the state of hosts and agents, and the actions on them."""

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, User
from alerting.models import Alert
from automation.addresses import Address
from automation.choices import AgentType, HostType
from automation.models import Agent, Host, ReplicaSet
from events.facts import EventFacts
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import host_report, ingest, make_host
from tests.integration.alerting.pipeline import evaluate

pytestmark = pytest.mark.django_db

HOSTS = "/admin/automation/host/"
ADD = f"{HOSTS}add/"
ADDED, CHANGED = EventType.ADD_HOST_AUDIT, EventType.HOST_CHANGED_AUDIT
DELETED, FORGOTTEN = EventType.DELETE_HOST_AUDIT, EventType.AGENT_DELETED_AUDIT


def _page(console: Client, url: str, **query: Any) -> str:
    return str(console.get(url, query).content.decode())


def test_a_host_is_added_by_hand(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator, ADDED):
        answer = confirm(console, ADD, group=project.id, hostname="db1.example.com", port="27018")
    host = Host.objects.get()
    assert answer["Location"] == page_of(host)
    assert (host.group, str(host), host.type_name) == (project, "db1.example.com:27018", HostType.NO_DATA)
    assert "no data" in _page(console, page_of(host)).lower()


@each(
    ("changes", "messages"),
    [
        ({"hostname": ""}, "This field is required."),
        ({"hostname": "not a host"}, "RFC 1123"),
        ({"port": "0"}, "1 to 65535"),
        ({"port": "70000"}, "1 to 65535"),
        ({"port": "x"}, "Enter a whole number."),
        ({"group": "x" * 24}, "Select a valid choice"),
        ({"hostname": "DB1", "port": "27017"}, "DB1:27017"),
    ],
)
def test_a_wrong_host_is_reported_and_not_added(
    changes: dict[str, str], messages: str, console: Client, operator: User, project: Project
) -> None:
    make_host(project, "db1")
    values = {"group": project.id, "hostname": "db2", "port": "27017"}
    with leaves_events(operator):
        answer = confirm(console, ADD, **values | changes)
    assert answer.status_code == 200
    assert messages in answer.content.decode()
    assert Host.objects.count() == 1


def test_a_host_gets_another_address(console: Client, operator: User, project: Project) -> None:
    host = make_host(project, "db1")
    with leaves_events(operator, CHANGED):
        confirm(console, action_url(host, "change"), hostname="db9", port="27017")
    assert str(Host.objects.get()) == "db9:27017"
    make_host(project, "db1")
    with leaves_events(operator):
        answer = confirm(console, action_url(host, "change"), hostname="db1", port="27017")
    assert "db1:27017" in answer.content.decode()
    assert set(Host.objects.values_list("hostname", flat=True)) == {"db1", "db9"}


def test_hosts_are_deleted_one_or_many(console: Client, operator: User, project: Project) -> None:
    hosts = [make_host(project, f"db{number}") for number in range(3)]
    with leaves_events(operator, DELETED):
        assert confirm(console, action_url(hosts[0], "delete"))["Location"] == HOSTS
    with leaves_events(operator, DELETED, DELETED):
        confirm(console, HOSTS, action="delete", _selected_action=[host.id for host in hosts[1:]])
    assert not Host.objects.exists()


def test_an_agent_is_forgotten(console: Client, operator: User, project: Project) -> None:
    ingest(project, host_report("db1"), agent_type=AgentType.BACKUP)
    agent = Agent.objects.get()
    with leaves_events(operator, FORGOTTEN):
        confirm(console, action_url(agent, "forget"))
    assert not Agent.objects.exists()
    assert Host.objects.get().down is False


@pytest.mark.slow
@each(
    ("role", "hosts", "agents"),
    [
        (Role.GROUP_MONITORING_ADMIN, True, True),
        (Role.GROUP_AUTOMATION_ADMIN, True, False),
        (Role.GROUP_USER_ADMIN, False, False),
        (Role.GROUP_READ_ONLY, False, False),
    ],
)
def test_who_writes_the_fleet(role: Role, hosts: bool, agents: bool, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    ingest(project)
    host, agent = make_host(project, "db1"), Agent.objects.get()
    address = {"hostname": "db2", "port": "27017"}
    for url, values, event, may in (
        (action_url(host, "change"), address, CHANGED, hosts),
        (action_url(host, "delete"), {}, DELETED, hosts),
        (ADD, {"group": project.id, **address}, ADDED, hosts),
        (action_url(agent, "forget"), {}, FORGOTTEN, agents),
    ):
        with leaves_events(user, *([event] if may else []), as_owner=False):
            answer = confirm(browser, url, **values)
        assert answer.status_code == (302 if may else 403)
    assert Host.objects.filter(id=host.id).exists() is not hosts
    assert Agent.objects.exists() is not agents


def test_a_list_shows_how_hosts_and_agents_are(console: Client, project: Project) -> None:
    long_ago = clock.now() - timedelta(hours=3, minutes=21)
    ingest(project, host_report("db1", reachable=False), now=long_ago)
    Agent.objects.update(down=True)
    make_host(project, "db2")
    hosts, agents = _page(console, HOSTS), _page(console, "/admin/automation/agent/")
    assert "3 h 21 min</span> ago" in hosts
    assert "3 h 21 min</span> ago" in agents
    assert "no report · 3 h 21 min" in agents.lower()
    assert {word for word in (">down<", ">up<", ">no data<") if word in _squeezed(hosts)} == {
        ">down<",
        ">no data<",
    }


@each(
    ("minutes", "marks", "states"),
    [
        (0, {}, ("reporting", "up")),
        (17, {}, ("no report · 17 min", "no data · 17 min")),
        (17, {"down": True}, ("no report · 17 min", "no data · 17 min")),
        (0, {"demonstration": True}, ("demonstration", "up")),
        (17, {"demonstration": True}, ("demonstration", "demonstration")),
        (17, {"demonstration": True, "down": True}, ("no report · 17 min", "demonstration")),
    ],
)
def test_states_follow_from_the_last_report(
    console: Client, project: Project, minutes: int, marks: dict[str, bool], states: tuple[str, str]
) -> None:
    agent, host = states
    primary = host_report("db1", type_name=HostType.REPLICA_PRIMARY, replica_set_name="rs0", cluster_name="c")
    ingest(project, primary, now=clock.now() - timedelta(minutes=minutes))
    Agent.objects.update(**marks)
    row, db1 = Agent.objects.get(), Host.objects.get()
    for url, state in (
        ("/admin/automation/agent/", agent),
        (page_of(row), agent),
        (HOSTS, host),
        (page_of(db1), host),
        ("/admin/automation/replicaset/", {"up": "healthy"}.get(host, host)),
        ("/admin/automation/cluster/", host),
    ):
        assert f">{state}<" in _squeezed(_page(console, url)), url


@each(
    ("url", "query", "found"),
    [
        ("agent", {"reports": "no"}, {"missed", "down"}),
        ("agent", {"reports": "yes"}, {"heard"}),
        ("agent", {"reports": "demonstration"}, {"shown"}),
        ("host", {"data": "none"}, {"missed", "down"}),
        ("host", {"data": "current"}, {"heard"}),
        ("host", {"data": "demonstration"}, {"shown"}),
    ],
)
def test_they_are_found_by_whether_they_report(
    console: Client, project: Project, url: str, query: dict[str, str], found: set[str]
) -> None:
    names = {"heard": 0, "missed": 17, "down": 17, "shown": 17}
    for name, minutes in names.items():
        ago = timedelta(minutes=minutes)
        ingest(
            project, host_report(f"{name}.example.com"), agent=f"{name}.example.com", now=clock.now() - ago
        )
    Agent.objects.filter(hostname__startswith="down").update(down=True)
    Agent.objects.filter(hostname__startswith="shown").update(demonstration=True)
    page = _page(console, f"/admin/automation/{url}/", **query)
    assert {name for name in names if f"{name}.example.com" in page} == found


def _squeezed(page: str) -> str:
    return "".join(page.lower().split("\n")).replace("> ", ">").replace("  ", "").replace(" <", "<")


@each(
    ("query", "found"),
    [
        ({}, {"db1", "db2"}),
        ({"down__exact": "1"}, {"db1"}),
        ({"type_name__exact": "NO_DATA"}, {"db2"}),
        ({"q": "db2"}, {"db2"}),
    ],
)
def test_hosts_are_found(query: dict[str, str], found: set[str], console: Client, project: Project) -> None:
    ingest(project, host_report("db1", reachable=False))
    make_host(project, "db2")
    page = _page(console, HOSTS, **query)
    assert {name for name in ("db1", "db2") if f"{name}:27017" in page} == found


def test_a_host_s_page_shows_what_is_known_of_it(console: Client, project: Project) -> None:
    report = host_report(
        "db1", replica_set_name="rs0", databases=["orders"], CONNECTIONS=1234.0, MEMORY_RESIDENT=3.0 * 2**30
    )
    ingest(project, report, host_report("db2", replica_set_name="rs0"))
    host = Host.objects.get(hostname="db1")
    alert = make_alert(project, facts={"hostname": "db1", "port": 27017, "hostId": host.id})
    over = make_alert(project, status="CLOSED", facts={"hostname": "db1", "port": 27017, "hostId": host.id})
    page = _page(console, page_of(host))
    assert page_of(alert) in page
    assert page.count(action_url(host, "change")) == 1
    assert page_of(over) not in page
    assert page_of(Host.objects.get(hostname="db2")) in page
    assert "orders" in page
    assert "New host" in page
    assert "1,234" in page
    assert "3 GB" in page


def test_a_host_s_page_shows_no_events_and_databases_of_another_port(
    console: Client, project: Project
) -> None:
    first, second = (Address("db1.example.com", port) for port in (27017, 27018))
    for address, name in ((first, "orders"), (second, "invoices")):
        ingest(project, replace(host_report(databases=[name]), address=address))
    host = Host.objects.get(port=27017)
    panels = {panel.name: panel for panel in console.get(page_of(host)).context["panels"]}
    (event,) = Event.objects.filter(event_type="NEW_HOST", details__port=27017)
    assert [row[0].url for row in panels["events"].rows] == [page_of(event)]
    every_event = console.get(panels["events"].url).content.decode()
    assert page_of(event) in every_event
    assert "db1.example.com:27018" not in every_event
    databases = _page(console, panels["databases"].url)
    assert ">orders<" in databases
    assert ">invoices<" not in databases


def test_alerts_of_a_replica_set_are_not_of_sets_and_hosts_whose_names_start_alike(
    console: Client, project: Project
) -> None:
    make_config(project)
    ingest(project, host_report("db1", replica_set_name="rs0"))
    of_set = make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs0"})
    others = [
        make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs01"}),
        make_alert(project, facts={"hostname": "rs0", "port": 27017}),
        make_alert(project, facts={"hostname": "rs0-a", "port": 27017}),
    ]
    page = _page(console, page_of(ReplicaSet.objects.get()))
    url = unescape(re.search(r'href="([^"]*)"[^>]*>Show alerts', page)[1])  # type: ignore[index]
    listed = _page(console, url)
    assert page_of(of_set) in listed
    assert not [alert for alert in others if page_of(alert) in listed]


def test_a_host_s_page_shows_the_labels_of_its_agent(console: Client, project: Project) -> None:
    host = make_host(project, "db1")
    assert "Labels" not in _page(console, page_of(host))
    make_host(project, "db2", labels={"region": "<b>", "env": "production"})
    page = _page(console, page_of(Host.objects.get(hostname="db2")))
    assert "<dt>Labels from its agent</dt><dd>env=production, region=&lt;b&gt;</dd>" in page


def test_a_name_is_above_its_page_as_it_is(console: Client, project: Project) -> None:
    host = make_host(project, hostname="db1.example.com")
    page = _page(console, page_of(host))
    head = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert head
    assert re.findall(r"<a[^>]*>\s*(.*?)\s*</a>", head[0]) == ["Fleet", "Hosts", str(host)]


@each(
    ("query", "found"),
    [
        ({"engine": "POSTGRESQL"}, {"pg1"}),
        ({"engine": "MONGODB"}, {"mongo1"}),
        ({"engine": "unknown"}, {"new1"}),
        ({"engine": "nothing"}, set()),
        ({"q": "PostgreSQL"}, {"pg1"}),
        ({"q": "postgresql 18.4"}, {"pg1"}),
        ({"q": "18.4"}, {"pg1"}),
        ({"q": "env=prod"}, {"pg1"}),
        ({"q": "env=prod dc=fra1 pg"}, {"pg1"}),
        ({"q": "env=prod mongo"}, set()),
        ({"q": "env=pro"}, set()),
        ({"q": "env=staging"}, set()),
        ({"q": "="}, set()),
    ],
)
def test_hosts_are_found_by_engine_version_and_label(
    query: dict[str, str], found: set[str], console: Client, project: Project
) -> None:
    report = host_report("pg1", type_name=HostType.REPLICA_PRIMARY, version="18.4", PG_XID_AGE=1.0)
    ingest(project, report, labels={"env": "prod", "dc": "fra1"})
    ingest(project, host_report("mongo1", version="6.0.5", CURSORS_TOTAL_OPEN=1.0))
    make_host(project, "new1")
    page = _page(console, HOSTS, **query)
    assert {name for name in ("pg1", "mongo1", "new1") if f"{name}:27017" in page} == found


def test_a_host_says_its_engine_version_and_type_in_words(console: Client, project: Project) -> None:
    ingest(
        project,
        host_report("pg1", type_name=HostType.REPLICA_PRIMARY, version="18.4", PG_XID_AGE=1.0),
        host_report("new1"),
    )
    listed = _page(console, HOSTS)
    assert '<span title="REPLICA_PRIMARY">PostgreSQL 18.4 · primary</span>' in listed
    assert '<span title="STANDALONE">Unknown engine · standalone</span>' in listed
    page = _page(console, page_of(Host.objects.get(hostname="pg1")))
    assert '<span title="REPLICA_PRIMARY">PostgreSQL 18.4 · primary</span></h2>' in page
    assert 'title="PG_XID_AGE: ' in page
    assert ">Transaction ID age</a>" in page
    # Deleting asks on a page of its own, so its button is quiet.
    assert "console-button-quiet" in page
    assert "console-button-danger" not in page


def test_a_host_s_page_distinguishes_an_event_of_the_host_from_that_of_its_alert(
    console: Client, project: Project
) -> None:
    make_config(project)
    ingest(project, host_report("db1", reachable=False))
    evaluate()
    events = next(
        panel
        for panel in console.get(page_of(Host.objects.get())).context["panels"]
        if panel.name == "events"
    )
    words = [row[0].text for row in events.rows]
    of_alert = Event.objects.get(alert_id=Alert.objects.get().id)
    assert next(row[0].text for row in events.rows if row[0].url == page_of(of_alert)) == "Host down (alert)"
    assert words.count("Host down") == 1


def test_a_host_s_page_has_no_alert_of_a_namesake(console: Client, project: Project) -> None:
    namesake = make_host(ProjectFactory.create(name="theirs"), "db1")
    make_alert(project, facts={"hostname": "db1", "port": 27017})
    make_alert(namesake.group, facts={"hostname": "db1", "port": 27018})
    assert not console.get(page_of(namesake)).context["panels"][0].rows


def test_a_host_nothing_was_measured_on_says_so(console: Client, project: Project) -> None:
    assert "No measurements yet." in _page(console, page_of(make_host(project)))


def test_a_reader_of_another_project_finds_nothing_of_it(project: Project) -> None:
    other = ProjectFactory.create(name="theirs")
    _, browser = operator_with(Role.GROUP_OWNER, project=other)
    host = make_host(project, "their-host")
    assert "their-host" not in _page(browser, HOSTS)
    assert browser.get(page_of(host)).status_code == 404
    assert browser.get(action_url(host, "delete")).status_code == 404
    mine = make_host(other, "their-host")
    make_alert(project, facts={"hostname": "their-host", "port": 27017})
    assert not browser.get(page_of(mine)).context["panels"][0].rows
    assert Alert.objects.count() == 1


@pytest.mark.slow
@each(
    ("types", "state"),
    [
        ([HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY], "healthy"),
        ([HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY], "no primary"),
        ([HostType.REPLICA_PRIMARY, HostType.REPLICA_PRIMARY], "several primaries"),
        ([HostType.REPLICA_PRIMARY, HostType.RECOVERING], "members unhealthy"),
    ],
)
def test_a_replica_set_says_how_it_is(
    types: list[HostType], state: str, console: Client, project: Project
) -> None:
    reports = [
        host_report(f"db{place}", type_name=type_name, replica_set_name="rs0")
        for place, type_name in enumerate(types)
    ]
    ingest(project, *reports)
    replica_set = ReplicaSet.objects.get()
    assert state in _page(console, "/admin/automation/replicaset/")
    page = _page(console, page_of(replica_set))
    assert state in page
    assert all(page_of(host) in page for host in Host.objects.all())


def test_a_host_s_page_says_that_there_are_more_events_than_it_shows(
    console: Client, project: Project
) -> None:
    host = make_host(project, "db1")
    facts = EventFacts(hostname="db1", port=27017)
    messages = []
    # Its making is one of the ten that are shown.
    for number in (9, 1):
        for _ in range(number):
            event_record(
                event_type=EventType.HOST_DOWN,
                actor=SYSTEM,
                now=clock.now(),
                group_id=project.id,
                facts=facts,
            )
        messages.append("… and at least 1 more" in _page(console, page_of(host)))
    assert messages == [False, True]


def test_a_long_name_does_not_stretch_the_lists(console: Client, project: Project) -> None:
    Project.objects.update(name="p" * 200)
    make_host(project, "h" * 63 + "." + "h" * 63)
    page = _page(console, HOSTS)
    for letter in "ph":
        assert f"{letter * 59}…</span>" in page


@pytest.mark.slow
def test_a_host_s_page_costs_as_much_whatever_is_known_of_it(console: Client, project: Project) -> None:
    ingest(project, host_report("db1", replica_set_name="rs0", databases=["orders"], CONNECTIONS=1.0))
    host = Host.objects.get()
    costs = []
    for more in (12, 30):
        for number in range(more):
            ingest(project, host_report(f"db-{more}-{number}", replica_set_name="rs0"))
            make_alert(project, facts={"hostname": "db1", "port": 27017})
        console.get(page_of(host))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            console.get(page_of(host))
        costs.append(len(queries))
    assert costs[0] == costs[1]


@each(
    ("said", "state", "words"),
    [
        ({"CONNECTIONS": 5.0}, "up", ("yes, ", "ago", "Standalone")),
        ({}, "up", ("yes, ", "never: the reports of its agent contain no measurements")),
        ({"problem": "login refused"}, "up", ("yes, ", "never: login refused")),
        (
            {"problem": "login refused", "type_name": HostType.NO_DATA},
            "up",
            ("never: login refused", "not known"),
        ),
        ({"reachable": False}, "down", ("no, ", "never", "Standalone, as its agent assumes")),
        ({"reachable": False, "type_name": HostType.NO_DATA}, "down", ("no, ", "not known")),
    ],
)
def test_a_host_s_page_says_whether_it_is_reachable_and_measured_and_its_type(
    said: dict[str, Any], state: str, words: tuple[str, ...], console: Client, project: Project
) -> None:
    ingest(project, host_report(**said))
    assert f">{state}<" in _squeezed(_page(console, HOSTS))
    page = unescape(_page(console, page_of(Host.objects.get())))
    facts = page[page.index("<dl") : page.index("</dl>")]
    assert [word for word in words if word not in facts] == []


def test_hosts_that_are_not_measured_are_found(console: Client, project: Project) -> None:
    now = clock.now()
    for minutes in (5, 3, 0):
        observed = now - timedelta(minutes=minutes)
        ingest(
            project,
            host_report("refused", problem="refused"),
            host_report("away", problem="refused"),
            host_report("well", CONNECTIONS=1.0),
            observed=observed,
        )
    ingest(project, host_report("away", reachable=False), host_report("lately", problem="refused"))
    badge = ">up, not measured<"
    assert _squeezed(_page(console, HOSTS)).count(badge) == 1
    page = _page(console, HOSTS, data="unmeasured")
    assert "refused:27017" in page
    assert _squeezed(page).count(badge) == 1
    assert [name for name in ("well", "away", "lately") if f"{name}:27017" in page] == []
