"""Every name of something that has a page leads there, both ways, for who may see it."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Organization, Project, Team, User
from alerting.models import Alert, AlertConfig, MaintenanceWindow, Notification
from automation.models import Agent, AutomationRevision, Cluster, Host, ReplicaSet
from opsapi import clock
from opsapi.roles import Role
from tests.admin.operators import browser_with, operator_with, page_of
from tests.admin.reading import shown
from tests.admin.rows import fill, record_event
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db


def links(browser: Client, url: str) -> set[str]:
    """Where a page leads to."""
    return {unescape(href) for href in re.findall(r'href="([^"]+)"', shown(browser, url))}


def list_of(model: type[Any]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


@pytest.fixture
def filled(project: Project) -> Project:
    """A row of everything; the alert is about the host, and somebody acknowledged it."""
    fill(project)
    user: User = Team.objects.get().members.get()
    Alert.objects.update(
        acknowledged_until=clock.now().replace(year=2199), acknowledging_username=user.username
    )
    return project


def newest(model: type[Any]) -> Any:
    """The newest row; of hosts the newest that an agent reports."""
    rows = model.objects.filter(reported_by__isnull=False) if model is Host else model.objects
    return rows.latest("id")


@pytest.mark.slow
@each(
    ("source", "targets"),
    [
        (Alert, [Project, Host, AlertConfig, MaintenanceWindow, Notification]),
        (Host, [Project, Agent, ReplicaSet, Cluster, Alert]),
        (ReplicaSet, [Project, Cluster, Host]),
        (Cluster, [Project, Host]),
        (Agent, [Project]),
        (MaintenanceWindow, [Project]),
        (AlertConfig, [Project, Alert]),
        (Notification, [Project, Alert, Host, AlertConfig]),
        (AutomationRevision, [Project]),
        (Project, [Organization]),
        (Team, [Organization, Project, User]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_a_page_links_to_the_rows_it_names(
    source: type[Any], targets: list[type[Any]], console: Client, filled: Project
) -> None:
    found = links(console, page_of(newest(source)))
    missing = [target.__name__ for target in targets if not _pages_of(target) & found]
    assert not missing


def _pages_of(model: type[Any]) -> set[str]:
    return {page_of(row) for row in model.objects.all()}


@each("model", [Alert, Host, ReplicaSet, Cluster, Agent, MaintenanceWindow, Notification])
def test_a_list_leads_to_the_project(model: type[Any], console: Client, filled: Project) -> None:
    assert page_of(filled) in links(console, list_of(model))


def test_an_alert_in_a_list_links_to_its_host_and_its_acknowledger(console: Client, filled: Project) -> None:
    found = links(console, f"{list_of(Alert)}?state=all")
    assert page_of(newest(Host)) in found
    assert page_of(User.objects.get(username=Alert.objects.get().acknowledging_username)) in found


@pytest.mark.slow
@each("source", [Agent, ReplicaSet, Cluster, Organization, Project, MaintenanceWindow])
def test_a_page_links_to_existing_lists(source: type[Any], console: Client, filled: Project) -> None:
    source_page = page_of(source.objects.latest("id"))
    found = {url for url in links(console, source_page) if re.match(r"/admin/\w+/\w+/\?", url)}
    assert found
    for url in found:
        assert console.get(url).status_code == 200, url


def test_an_agent_leads_to_the_hosts_it_reports(console: Client, project: Project) -> None:
    ingest(project, host_report("db1"), agent="agent1")
    ingest(project, host_report("db2"), agent="agent2")
    first, second = Host.objects.order_by("hostname")
    (url,) = (link for link in links(console, page_of(first.reported_by)) if "reported_by" in link)
    # A row's own link has what the list was filtered by.
    found = {link.partition("?")[0] for link in links(console, url)}
    assert page_of(first) in found
    assert page_of(second) not in found


def test_a_project_leads_to_everything_in_it(console: Client, filled: Project) -> None:
    found = links(console, page_of(filled))
    for model in (Alert, AlertConfig, MaintenanceWindow, Notification, Host, ReplicaSet, Cluster, Agent):
        assert f"{list_of(model)}?group__id__exact={filled.id}" in found, model
    assert f"/admin/events/event/?project={filled.id}" in found


@pytest.mark.slow
@each(
    ("event_type", "facts", "target"),
    [
        ("HOST_DOWN", {"hostname": "DB1", "port": 27017}, Host),
        ("MONITORING_AGENT_DOWN", {"hostname": "agent1", "sourceTypeName": "MONITORING"}, Agent),
        ("NO_PRIMARY", {"replicaSetName": "rs0", "clusterName": "orders"}, ReplicaSet),
        ("CLUSTER_MONGOS_IS_MISSING", {"clusterName": "orders"}, Cluster),
    ],
)
def test_an_alert_links_to_its_subject(
    event_type: str, facts: dict[str, Any], target: type[Any], console: Client, project: Project
) -> None:
    other = ProjectFactory.create()
    for place in (project, other):
        ingest(place, host_report("db1", replica_set_name="rs0", cluster_name="orders"))
    alert = make_alert(project, event_type=event_type, facts=facts)
    page = page_of(target.objects.get(group=project))
    for url in (page_of(alert), list_of(Alert), "/admin/"):
        found = links(console, url)
        assert page in found, url
        # The start page has all hosts and replica sets on its map.
        assert url == "/admin/" or page_of(target.objects.get(group=other)) not in found


def test_a_deleted_row_is_named_without_a_link(console: Client, project: Project) -> None:
    alert = make_alert(project)
    page = shown(console, page_of(alert))
    assert "db1.example.com:27017" in page
    assert not [url for url in links(console, page_of(alert)) if url.startswith("/admin/automation/host/0")]


def test_an_invisible_organization_has_no_link() -> None:
    project: Project = ProjectFactory.create(org=OrganizationFactory.create(name="the company"))
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    member = operator_with(Role.ORG_READ_ONLY, org=project.org)[1]
    for browser, sees in ((reader, False), (member, True)):
        for url in (page_of(project), list_of(Project)):
            assert "the company" in shown(browser, url)
            assert (page_of(project.org) in links(browser, url)) is sees


@pytest.mark.slow
def test_an_invisible_user_has_no_link(project: Project) -> None:
    stranger, _ = operator_with(Role.GLOBAL_OWNER)
    colleague, _ = operator_with(Role.GROUP_OWNER, project=project)
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    for user, sees in ((stranger, False), (colleague, True)):
        alert = make_alert(
            project,
            acknowledged_until=clock.now().replace(year=2199),
            acknowledging_username=user.username,
        )
        for url in (page_of(alert), f"{list_of(Alert)}?state=all"):
            assert user.username in shown(reader, url)
            assert (page_of(user) in links(reader, url)) is sees, url


def test_an_event_links_to_the_rows_it_names(console: Client, filled: Project) -> None:
    host = newest(Host)
    event = record_event(filled)
    event.details = {**event.details, "hostId": host.id, "username": "ada"}
    event.save()
    for url in ("/admin/events/event/", page_of(event)):
        found = links(console, url)
        assert {page_of(filled), page_of(host), page_of(User.objects.get(username="ada"))} <= found
