"""A maintenance window says in numbers what it mutes: in its forms, when saved, on its page, in the list."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accesslist.models import Project, User
from alerting.models import MaintenanceWindow
from automation.models import ReplicaSet
from events.types import ALERT_CATEGORIES
from opsapi.roles import Role
from tests.admin.alert_pages import alert_page, window_values
from tests.admin.operators import action_url, browser_with, page_of
from tests.admin.reading import shown, text_of
from tests.admin.test_windows import ADD, LIST, make_window, matcher_rows, typed
from tests.admin.writing import confirm, post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import host_report, ingest, make_host

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fleet(project: Project) -> None:
    """Three hosts, two open alerts about them and others that do not count; another project."""
    other: Project = ProjectFactory.create(name="theirs")
    for name in ("db1", "db2", "db3"):
        make_host(project, name)
        make_host(other, name)
    for name in ("db1.example.com", "db2.example.com"):
        make_alert(project, facts={"hostname": name, "port": 27017})
    make_alert(project, status="CLOSED")
    make_alert(project, event_type="NO_PRIMARY")
    make_alert(other)


def _says(text: str, project: Project, *, hosts: int = 3, alerts: int = 2) -> None:
    assert f"all host alerts of {hosts} hosts in {project.name}" in text
    assert f"{alerts} open alert" in text


def test_a_window_of_an_alert_says_first_that_it_is_about_more_than_that(
    console: Client, project: Project
) -> None:
    text = shown(console, alert_page(make_alert(project), "window"))
    _says(text, project, alerts=3)
    assert "not only db1.example.com:27017" in text


def test_a_window_of_an_alert_says_so_again_when_it_is_created(
    console: Client, operator: User, project: Project
) -> None:
    alert = make_alert(project)
    confirm(console, alert_page(alert, "window"), **window_values())
    text = shown(console, alert_page(alert))
    _says(text, project, alerts=3)
    assert "not only db1.example.com:27017" in text


def test_a_new_window_says_it_before_and_after_it_is_saved(
    console: Client, operator: User, project: Project
) -> None:
    _says(shown(console, f"{ADD}?group={project.id}&alertTypeNames=HOST"), project)
    made = confirm(console, ADD, **typed(project, alertTypeNames=["HOST"]))
    _says(shown(console, made["Location"]), project)


def test_a_preview_saves_nothing_and_the_form_can_be_sent_after_it(
    console: Client, operator: User, project: Project
) -> None:
    values = typed(project, alertTypeNames=["HOST", "BACKUP"])
    answer = confirm(console, ADD, preview="yes", **values)
    extent = answer.context["form"].extent
    assert extent.sentence == f"all backup alerts and all host alerts of 3 hosts in {project.name}"
    assert not MaintenanceWindow.objects.exists()
    post(console, ADD, confirmed="yes", once=answer.context["token"], **values)
    assert MaintenanceWindow.objects.get().alert_types == ["HOST", "BACKUP"]


def test_a_preview_counts_nothing_in_projects_of_others(project: Project) -> None:
    browser = browser_with(Role.GROUP_MONITORING_ADMIN, project=project)
    theirs = Project.objects.get(name="theirs")
    assert "theirs" not in shown(browser, f"{ADD}?group={theirs.id}&alertTypeNames=HOST")
    answer = post(browser, ADD, confirmed="yes", preview="yes", **typed(theirs))
    assert answer.context["form"].extent is None
    assert "theirs" not in text_of(answer)


@each("types", [[], ["WEATHER"]])
def test_without_types_that_exist_there_is_nothing_to_count(
    types: list[str], console: Client, project: Project
) -> None:
    answer = confirm(console, ADD, preview="yes", **typed(project, alertTypeNames=types))
    assert answer.status_code == 200
    assert answer.context["form"].extent is None


def test_a_changed_window_says_what_it_mutes_now(console: Client, operator: User, project: Project) -> None:
    window = make_window(project, alertTypeNames=["BACKUP"])
    change = action_url(window, "change")
    assert "all backup alerts" in shown(console, change)
    confirm(console, change, **typed(project, alertTypeNames=["HOST"]))
    _says(shown(console, page_of(window)), project)


def test_a_window_that_was_narrowed_to_hosts_is_not_said_to_mute_all(
    console: Client, operator: User, project: Project
) -> None:
    window = make_window(project)
    changes = {"alertTypeNames": ["HOST"], "hosts": "db1.example.com:27017"}
    answer = confirm(console, action_url(window, "change"), **typed(project, **changes))
    notices = [str(message) for message in get_messages(answer.wsgi_request)]
    assert "host alerts of db1.example.com:27017 in" in " ".join(notices)


@each(
    ("begins", "tone"), [(0, "danger"), (1, "warning"), (-9, "default")], ids=["active", "pending", "expired"]
)
def test_the_page_of_a_window_says_it_as_strongly_as_it_counts(
    begins: int, tone: str, console: Client, project: Project
) -> None:
    answer = console.get(page_of(make_window(project, timedelta(hours=begins))))
    assert f"all host alerts of 3 hosts in {project.name}" in text_of(answer)
    assert ("2 open alerts now" in text_of(answer)) is (begins >= 0)
    assert answer.context["look"].effect_tone.value == tone
    assert f"console-tone-{tone}" in answer.content.decode()


def test_the_list_says_it_with_as_many_statements_for_many_windows(
    console: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_window(project)
    with django_assert_max_num_queries(40) as few:
        text = shown(console, LIST)
    assert "all host alerts of 3 hosts" in text
    assert "2 open alerts now" in text
    for other in ProjectFactory.create_batch(3):
        make_window(other)
    with django_assert_max_num_queries(len(few)):
        shown(console, LIST)


@each(
    ("changes", "is_loud"),
    [
        ({"alertTypeNames": ["HOST"], "hosts": "db1.example.com:27017"}, True),
        ({"alertTypeNames": ["HOST"]}, True),
        ({"alertTypeNames": ["HOST", "REPLICA_SET"], **matcher_rows("REPLICA_SET_NAME CONTAINS rs")}, False),
        ({"alertTypeNames": ["HOST", "CLUSTER"]}, True),
        ({"alertTypeNames": ["HOST", "REPLICA_SET"]}, False),
        ({"alertTypeNames": ["HOST", "REPLICA_SET"], **matcher_rows("REPLICA_SET_NAME EQUALS rs0")}, False),
        ({"alertTypeNames": ["HOST"], "hosts": "db3.example.com:27017"}, False),
        ({"alertTypeNames": ["REPLICA_SET"]}, False),
    ],
)
def test_muted_hosts_whose_replica_sets_are_not_muted_are_named(
    changes: dict[str, Any], is_loud: bool, console: Client, project: Project
) -> None:
    ingest(project, host_report("db1.example.com", replica_set_name="rs0"))
    make_host(project, "db3.example.com")
    answer = confirm(console, ADD, preview="yes", **typed(project, **changes))
    assert answer.context["form"].effect is not None
    page = page_of(ReplicaSet.objects.get())
    assert (f'href="{page}"' in text_of(answer)) is is_loud


def test_seldom_muted_categories_are_folded_until_one_is_selected(console: Client, project: Project) -> None:
    page = shown(console, f"{ADD}?group={project.id}&alertTypeNames=HOST")
    first, _, more = page.partition("<summary>More alert types</summary>")
    assert '<details class="console-more">' in first
    assert 'value="REPLICA_SET"' in first
    assert {name for name in ALERT_CATEGORIES if f'value="{name}"' in more} == {
        "BACKUP",
        "BI_CONNECTOR",
        "DATA_EXPLORER",
        "TEAM",
        "USER",
    }
    opened = shown(console, f"{ADD}?group={project.id}&alertTypeNames=BACKUP")
    assert '<details class="console-more" open>' in opened


def test_a_window_without_description_is_called_by_what_it_mutes_and_when(
    console: Client, project: Project
) -> None:
    window = make_window(project, description=None)
    page = shown(console, page_of(window))
    assert window.id not in page.partition("</title>")[0]
    assert f"{window.start:%Y-%m-%d %H:%M} to" in page.partition("</title>")[0]


def notices_of(answer: Any) -> str:
    """The messages after a form was sent."""
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


def test_hosts_that_do_not_exist_are_named_when_the_window_is_saved(
    console: Client, operator: User, project: Project
) -> None:
    known, unknown = "db1.example.com:27017", [f"db{number}.example:1" for number in range(7)]
    make_host(project, "db1.example.com")
    values = typed(project, alertTypeNames=["HOST"], hosts="\n".join([known, *unknown]))
    made = confirm(console, ADD, **values)
    said = notices_of(made)
    shown(console, made["Location"])
    assert f"Not hosts of the project now: {', '.join(unknown[:5])}, … and 2 more." in said
    assert "and 5 more hosts in" in said
    values = typed(project, alertTypeNames=["HOST"], hosts=known)
    assert "Not hosts" not in notices_of(confirm(console, ADD, **values))


def test_a_window_that_is_over_is_not_said_to_mute_anything(
    console: Client, operator: User, project: Project
) -> None:
    values = typed(project, startDate="2020-01-01 02:00", endDate="2020-01-01 04:00")
    said = notices_of(confirm(console, ADD, **values))
    assert "This window is over, so it mutes nothing." in said
    assert "This window mutes" not in said
