"""Maintenance windows in the console: created, changed, deleted, and found by their state."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.models import MaintenanceWindow
from alerting.windows.changes import window_create
from alerting.windows.resource import WindowDocument
from automation.choices import HostType
from automation.models import Host
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.clock import wire_time
from opsapi.roles import Role
from tests.admin.alert_pages import alert_page
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.typed import typed_in
from tests.admin.writing import confirm, leaves_events, post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db

LIST = "/admin/alerting/maintenancewindow/"
ADD = f"{LIST}add/"
ADDED = EventType.MAINTENANCE_WINDOW_ADDED_AUDIT
CHANGED = EventType.MAINTENANCE_WINDOW_CHANGED_AUDIT
DELETED = EventType.MAINTENANCE_WINDOW_DELETED_AUDIT
ROLES = [
    (Role.GROUP_MONITORING_ADMIN, True),
    (Role.GROUP_AUTOMATION_ADMIN, False),
    (Role.GROUP_USER_ADMIN, False),
    (Role.GROUP_READ_ONLY, False),
]


def typed(project: Project, **changes: Any) -> dict[str, Any]:
    """What is typed to make a window."""
    values = {
        "group": project.id,
        "startDate": "2099-11-21T22:00:05",
        "endDate": "2099-11-22T02:00",
        "alertTypeNames": ["HOST", "REPLICA_SET"],
        "description": "new disks",
    }
    return values | changes


def matcher_rows(*matchers: str) -> dict[str, str]:
    """The rows of matchers, each given as `FIELD OPERATOR VALUE`."""
    names = ("fieldName", "operator", "value")
    return {
        f"matchers[{place}].{name}": text
        for place, matcher in enumerate(matchers)
        for name, text in zip(names, matcher.split(" ", 2), strict=True)
    }


def make_window(project: Project, begins: timedelta = timedelta(), **changes: Any) -> MaintenanceWindow:
    """A window of two hours that begins so long from now."""
    now = clock.now()
    document = {
        "startDate": wire_time(now + begins),
        "endDate": wire_time(now + begins + timedelta(hours=2)),
        "alertTypeNames": ["HOST"],
        "description": "new disks",
    }
    values = WindowDocument().read(document | changes)
    return window_create(group_id=project.id, values=values, actor=SYSTEM, now=now)


def test_a_window_is_created(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator, ADDED) as events:
        answer = confirm(console, ADD, **typed(project))
    window = MaintenanceWindow.objects.get()
    assert answer["Location"] == page_of(window)
    assert (window.group, window.alert_types) == (project, ["HOST", "REPLICA_SET"])
    assert window.start == datetime(2099, 11, 21, 22, 0, 5, tzinfo=UTC)
    assert (window.end, window.description) == (datetime(2099, 11, 22, 2, tzinfo=UTC), "new disks")
    assert events[0].group_id == project.id
    assert "new disks" in console.get(page_of(window)).content.decode()


@pytest.mark.slow
@each(
    ("changes", "message"),
    [
        ({"group": ""}, "This field is required."),
        ({"group": "nothing"}, "Select a valid choice"),
        ({"startDate": "yesterday"}, "such as 2026-11-29 02:00."),
        ({"endDate": "2099-11-21T22:00:05"}, "Must be later than “Start”"),
        ({"alertTypeNames": []}, "This field is required."),
        ({"alertTypeNames": ["HOSTS"]}, "Select a valid choice"),
        ({"description": "x" * 1001}, "Must have 1 to 1000 characters"),
    ],
)
def test_a_wrong_window_is_reported_and_not_created(
    changes: dict[str, Any], message: str, console: Client, operator: User, project: Project
) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, **changes))
    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert not MaintenanceWindow.objects.exists()


def test_a_page_of_another_version_loses_no_matchers(
    console: Client, operator: User, project: Project
) -> None:
    """An earlier version sends the matchers as a text, and no rows."""
    matchers = [{"fieldName": "HOSTNAME", "operator": "CONTAINS", "value": "db"}]
    window = make_window(project, matchers=matchers)
    sent = {**typed(project), "matchers": "HOSTNAME CONTAINS db"}
    with leaves_events(operator):
        changed = confirm(console, action_url(window, "change"), **sent)
        added = confirm(console, ADD, **sent)
    assert [answer.status_code for answer in (changed, added)] == [200, 200]
    assert MaintenanceWindow.objects.get().matchers == matchers


def test_each_form_of_a_window_has_the_rows_of_matchers_once(console: Client, project: Project) -> None:
    pages = [ADD, action_url(make_window(project), "change"), alert_page(make_alert(project), "window")]
    assert [console.get(page).content.decode().count('data-part="matchers"') for page in pages] == [1, 1, 1]


def test_an_address_says_what_is_in_the_form_at_first(console: Client, project: Project) -> None:
    query = {"group": project.id, "alertTypeNames": "HOST,CLUSTER", "description": "<disks>"}
    page = console.get(ADD, query).content.decode()
    form = typed_in(page)
    assert (form["group"], form["alertTypeNames"]) == ([project.id], ["CLUSTER", "HOST"])
    assert "&lt;disks&gt;" in page


def test_a_window_sent_back_as_it_is_changes_nothing(
    console: Client, operator: User, project: Project
) -> None:
    window = make_window(project)
    url = action_url(window, "change")
    form = typed_in(console.get(url).content.decode())
    with leaves_events(operator):
        post(console, url, **form)
    assert MaintenanceWindow.objects.get().updated == window.updated


def test_a_window_is_changed_and_loses_its_description(
    console: Client, operator: User, project: Project
) -> None:
    window = make_window(project)
    url = action_url(window, "change")
    form = typed_in(console.get(url).content.decode())
    form |= {"alertTypeNames": ["AGENT"], "description": [""]}
    with leaves_events(operator, CHANGED):
        answer = post(console, url, **form)
    assert answer.status_code == 302
    changed = MaintenanceWindow.objects.get()
    assert (changed.alert_types, changed.description) == (["AGENT"], None)
    assert (changed.start, changed.end) == (window.start, window.end)


def test_a_description_of_several_lines_is_kept_as_it_was_typed(console: Client, project: Project) -> None:
    window = make_window(project)
    url = action_url(window, "change")
    form = typed_in(console.get(url).content.decode())
    assert post(console, url, **form | {"description": ["one\r\ntwo"]}).status_code == 302
    assert MaintenanceWindow.objects.get().description == "one\ntwo"


def test_a_change_that_ends_before_it_begins_is_reported(
    console: Client, operator: User, project: Project
) -> None:
    window = make_window(project)
    url = action_url(window, "change")
    form = typed_in(console.get(url).content.decode())
    with leaves_events(operator):
        answer = post(console, url, **form | {"endDate": ["1999-01-01T00:00:00"]})
    assert "Must be later than “Start”" in answer.content.decode()
    assert MaintenanceWindow.objects.get().end == window.end


def test_windows_are_deleted_one_or_many(console: Client, operator: User, project: Project) -> None:
    windows = [make_window(project) for _ in range(3)]
    with leaves_events(operator, DELETED):
        answer = confirm(console, action_url(windows[0], "delete"))
    assert answer["Location"] == LIST
    chosen = [window.id for window in windows[1:]]
    with leaves_events(operator, DELETED, DELETED):
        confirm(console, LIST, action="delete", _selected_action=chosen)
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.slow
@each(("role", "may"), ROLES)
def test_who_writes_windows(role: Role, may: bool, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    window = make_window(project)
    change, delete = action_url(window, "change"), action_url(window, "delete")
    changed = typed(project, description="other")
    for url, values, event in ((ADD, changed, ADDED), (change, changed, CHANGED), (delete, {}, DELETED)):
        with leaves_events(user, *([event] if may else []), as_owner=False):
            answer = confirm(browser, url, **values)
        assert answer.status_code == (302 if may else 403)
    assert MaintenanceWindow.objects.filter(id=window.id).exists() is not may
    assert MaintenanceWindow.objects.count() == 1


def test_who_writes_in_one_project_only_reads_the_other(project: Project) -> None:
    other = ProjectFactory.create(name="theirs")
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=other)
    window = make_window(other)
    with leaves_events(user):
        answer = confirm(browser, ADD, **typed(other))
        assert confirm(browser, action_url(window, "delete")).status_code == 403
    assert "GROUP_MONITORING_ADMIN" in answer.content.decode()
    assert browser.get(page_of(window)).status_code == 200
    assert action_url(window, "delete") not in browser.get(page_of(window)).content.decode()
    assert list(MaintenanceWindow.objects.all()) == [window]


@each(("state", "found"), [("PENDING", "coming"), ("ACTIVE", "active"), ("EXPIRED", "over"), ("HUGE", None)])
def test_windows_are_found_by_their_state(
    state: str, found: str | None, console: Client, project: Project
) -> None:
    for word, begins in (("coming", 1), ("active", -1), ("over", -5)):
        make_window(project, timedelta(hours=begins), description=f"the {word} one")
    page = console.get(LIST, {"state": state}).content.decode()
    shown = [word for word in ("coming", "active", "over") if f"the {word} one" in page]
    assert shown == ([found] if found else [])


def test_alerts_of_the_sets_of_the_hosts_are_muted_by_a_second_window(
    console: Client, operator: User, project: Project
) -> None:
    for hostname, set_name in (("db1", "rs0"), ("db2", "rs0"), ("db3", "rs1"), ("db4", "rs2")):
        ingest(
            project, host_report(hostname, replica_set_name=set_name, type_name=HostType.REPLICA_SECONDARY)
        )
    hosts = Host.objects.filter(hostname__in=["db1", "db2", "db3"])
    values = typed(project, alertTypeNames=["HOST"], hosts="\n".join(map(str, hosts)).upper(), sets="on")
    page = confirm(console, ADD, preview="yes", **{**values, "sets": ""}).content.decode()
    assert "<strong>not mute</strong> alerts of the replica sets" in page
    page = confirm(console, ADD, preview="yes", **values).content.decode()
    assert "A second window mutes alerts of the replica sets of these hosts" in page
    with leaves_events(operator, ADDED, ADDED):
        assert confirm(console, ADD, **values).status_code == 302
    of_hosts, of_sets = MaintenanceWindow.objects.order_by("id")
    assert of_hosts.alert_types == ["HOST"]
    assert (of_sets.alert_types, of_sets.start, of_sets.end, of_sets.description) == (
        ["REPLICA_SET"],
        of_hosts.start,
        of_hosts.end,
        "new disks",
    )
    assert of_sets.matchers == [
        {"fieldName": "REPLICA_SET_NAME", "operator": "REGEX", "value": "^(rs0|rs1)$"}
    ]


@each("hosts", ["", "db9:27017"])
def test_hosts_without_a_set_have_no_second_window(
    hosts: str, console: Client, operator: User, project: Project
) -> None:
    ingest(project, host_report("db9"))
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, alertTypeNames=["HOST"], hosts=hosts, sets="on"))
    assert "sets" in answer.context["form"].errors
