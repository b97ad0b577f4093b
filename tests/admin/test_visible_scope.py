"""The console shows each user the same rows as the API."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accesslist.models import Project, User
from alerting.models import Alert, Notification
from opsapi.console.admin_urls import creation_url
from opsapi.roles import Role
from tests.admin.operators import action_url, browser_with
from tests.admin.reading import admin_of
from tests.admin.rows import fill, record_event, shown_models
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db

MODELS = [model._meta.label_lower for model in shown_models()]
# What belongs to no project: seen by holders of a global role only.
OF_THE_INSTALLATION = {
    "accesslist.invitation",  # seen by operators who can invite
    "accesslist.digestepoch",
    "accesslist.ratewindow",
    "accesslist.organization",
    "accesslist.rolegrant",
    "accesslist.secondfactor",
    "alerting.evaluationturn",
    "alerting.unreachablehost",
    "alerting.workerheartbeat",
    "automation.fleetwatch",
    "automation.reportanswer",
    "events.signal",
}


def _url(name: str, page: str, *args: Any) -> str:
    return reverse(f"admin:{name.replace('.', '_')}_{page}", args=args)


@pytest.fixture
def other(db: None) -> Project:
    """Another project, of another organization, full of rows."""
    other: Project = ProjectFactory.create(name="theirs")
    fill(other)
    record_event(other, "their-host")
    return other


@pytest.mark.slow
def test_a_project_reader_finds_no_row_of_another_project(project: Project, other: Project) -> None:
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    for name in MODELS:
        theirs = [row for row in admin_of(name).model._default_manager.all() if not _is_shared(row, project)]
        pages = [_url(name, "change", row.pk) for row in theirs]
        for page in pages:
            assert browser.get(page).status_code in {403, 404}, page
        listed = browser.get(_url(name, "changelist"))
        assert listed.status_code == (403 if name in OF_THE_INSTALLATION else 200), name
        assert not [page for page in pages if page in listed.content.decode()], name


def _is_shared(row: Any, project: Project) -> bool:
    """Whether it is of the reader's own project too: the project itself, and the reader."""
    if isinstance(row, User):
        return bool(row.grants.filter(project=project).exists())
    return bool(row == project)


@pytest.mark.slow
def test_a_project_reader_sees_the_rows_of_their_project(project: Project, other: Project) -> None:
    fill(project)
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    for name in (
        "alerting.alert",
        "automation.host",
        "alerting.maintenancewindow",
        "integrations.integration",
    ):
        # The tab of all alerts.
        query = {"state": "all"} if name == "alerting.alert" else {}
        page = browser.get(_url(name, "changelist"), query).content.decode()
        for mine in admin_of(name).model._default_manager.filter(group=project):
            assert _url(name, "change", mine.pk) in page
            assert browser.get(_url(name, "change", mine.pk)).status_code == 200


def test_who_reads_an_organization_sees_all_its_projects(project: Project, other: Project) -> None:
    browser = browser_with(Role.ORG_READ_ONLY, org=other.org)
    page = browser.get(_url("accesslist.project", "changelist")).content.decode()
    assert "theirs" in page
    assert project.name not in page


@pytest.mark.slow
def test_a_reader_is_offered_nothing_to_write(project: Project) -> None:
    fill(project)
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    # Readers create and revoke kiosks, which show what they read (test_kiosks.py).
    for name in set(MODELS) - {"accesslist.kiosk"}:
        model_admin = admin_of(name)
        if model_admin.add_action:
            assert browser.get(_url(name, "add")).status_code == 403, name
        for action in model_admin.list_actions:
            assert browser.get(creation_url(model_admin.model, action)).status_code == 403, (name, action)
        for row in model_admin.model._default_manager.all():
            for action in model_admin.actions_of_row:
                answer = browser.post(action_url(row, action), {"confirmed": "yes"})
                assert answer.status_code in {403, 404}, (name, action)


def test_recipients_of_a_global_configuration_are_shown_to_readers_of_global_configurations(
    project: Project,
) -> None:
    fill(project)
    Alert.objects.update(is_global=True)
    notification = Notification.objects.get()
    page = _url("alerting.notification", "change", notification.pk)
    assert browser_with(Role.GROUP_OWNER, project=project).get(page).status_code == 404
    assert browser_with(Role.GLOBAL_READ_ONLY).get(page).status_code == 200


def test_the_navigation_holds_only_what_one_may_see(project: Project) -> None:
    home = reverse("admin:index")
    mine = browser_with(Role.GROUP_READ_ONLY, project=project).get(home).content.decode()
    assert _url("alerting.alert", "changelist") in mine
    assert _url("alerting.workerheartbeat", "changelist") not in mine
    assert (
        _url("alerting.workerheartbeat", "changelist")
        in browser_with(Role.GLOBAL_READ_ONLY).get(home).content.decode()
    )


def test_who_asks_is_found_out_once_a_page(project: Project) -> None:
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    with CaptureQueriesContext(connection) as queries:
        browser.get(_url("alerting.alert", "changelist"))
    assert len([query for query in queries if "accesslist_rolegrant" in query["sql"]]) == 1
