"""The button Mute of the page of a host, a replica set and a cluster."""

from datetime import timedelta

import pytest
from django.db.models import Model
from django.test import Client

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from automation.choices import HostType
from automation.models import Cluster, Host, ReplicaSet
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.admin.typed import typed_in
from tests.admin.writing import post
from tests.each import each
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db

MODELS: list[type[Model]] = [Host, ReplicaSet, Cluster]


@pytest.fixture
def members(project: Project) -> list[str]:
    """The hosts of a replica set in a cluster."""
    names = ["db1.example.com", "db2.example.com"]
    for name in names:
        report = host_report(
            name, type_name=HostType.REPLICA_SECONDARY, replica_set_name="rs0", cluster_name="c"
        )
        ingest(project, report)
    return names


def mute_of(browser: Client, row: Model) -> str:
    """The address of the button; empty without it."""
    actions = browser.get(page_of(row)).context["row_actions"]
    return next((str(link["url"]) for link in actions if link["name"] == "mute"), "")


@each("model", MODELS)
def test_it_leads_to_a_window_for_the_hosts(
    model: type[Model], console: Client, project: Project, members: list[str]
) -> None:
    row = model._default_manager.order_by("pk").first()
    assert row is not None
    url = mute_of(console, row)
    form = typed_in(console.get(url).content.decode())
    hosts = [f"{name}:27017" for name in members]
    assert form["hosts"] == ["\n".join(hosts[:1] if model is Host else hosts)]
    assert (form["group"], form["alertTypeNames"]) == ([project.id], ["HOST"])
    assert ("sets" in form) is (model is not Host)
    assert post(console, url, **form).status_code == 302
    assert all(window.end - window.start == timedelta(hours=1) for window in MaintenanceWindow.objects.all())
    categories = [window.alert_types for window in MaintenanceWindow.objects.order_by("id")]
    assert categories == ([["HOST"]] if model is Host else [["HOST"], ["REPLICA_SET"]])


@each(("role", "may"), [(Role.GROUP_MONITORING_ADMIN, True), (Role.GROUP_READ_ONLY, False)])
def test_it_is_for_operators_who_may_mute(
    role: Role, may: bool, project: Project, members: list[str]
) -> None:
    browser = browser_with(role, project=project)
    rows = [row for model in MODELS for row in model._default_manager.all()[:1]]
    assert [bool(mute_of(browser, row)) for row in rows] == [may] * len(MODELS)


def test_there_is_none_if_the_names_are_too_long_for_a_matcher(
    console: Client, members: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mute_of(console, ReplicaSet.objects.get())
    monkeypatch.setattr("alerting.overview.panels.MAX_REGEX_LENGTH", 10)
    assert mute_of(console, ReplicaSet.objects.get()) == ""


def test_it_is_not_about_a_part_of_a_set(
    console: Client, members: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mute_of(console, ReplicaSet.objects.get())
    monkeypatch.setattr("automation.hosts.sets.MOST_HOSTS", 1)
    assert mute_of(console, ReplicaSet.objects.get()) == ""
