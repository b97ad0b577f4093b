"""Windows that recur, and windows of some targets, in the console: typed, shown, and previewed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from accesslist.models import Project, User
from alerting import budgets
from alerting.models import MaintenanceWindow
from alerting.windows import previews
from automation.models import Host
from opsapi.roles import Role
from tests.admin.operators import action_url, browser_with, page_of
from tests.admin.test_windows import ADD, ADDED, LIST, make_window, matcher_rows, typed
from tests.admin.typed import typed_in
from tests.admin.writing import confirm, leaves_events, post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import host_report, ingest

HOSTS = "/admin/automation/host/"
SUNDAY = {"startDate": "2099-12-06T02:00", "endDate": "2099-12-06T04:00", "timeZone": "Europe/Berlin"}
NOW = datetime(2026, 11, 24, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def hosts(project: Project) -> list[Host]:
    """Three hosts, by name."""
    ingest(project, *(host_report(f"db{number}.example.com") for number in (1, 2, 3)), now=NOW)
    return list(Host.objects.order_by("hostname"))


@each(
    ("inputs", "rrule"),
    [
        ({"repeat": "DAILY"}, "FREQ=DAILY"),
        ({"repeat": "WEEKLY"}, "FREQ=WEEKLY"),
        ({"repeat": "WEEKLY", "weekdays": ["SA", "SU"]}, "FREQ=WEEKLY;BYDAY=SA,SU"),
        ({"repeat": "RULE", "rrule": "FREQ=MONTHLY;BYDAY=1SU"}, "FREQ=MONTHLY;BYDAY=1SU"),
    ],
)
def test_a_repeating_window_is_typed_in_its_time_zone(
    console: Client, operator: User, project: Project, inputs: dict[str, Any], rrule: str
) -> None:
    with leaves_events(operator, ADDED):
        confirm(console, ADD, **typed(project, **SUNDAY, **inputs))
    window = MaintenanceWindow.objects.get()
    assert window.recurrence == {"rrule": rrule, "timeZone": "Europe/Berlin"}
    assert (window.start, window.end - window.start) == (
        datetime(2099, 12, 6, 1, tzinfo=UTC),
        timedelta(hours=2),
    )


def test_a_window_that_does_not_repeat_is_typed_in_a_time_zone_too(console: Client, project: Project) -> None:
    confirm(console, ADD, **typed(project, **SUNDAY))
    window = MaintenanceWindow.objects.get()
    assert (window.start, window.recurrence) == (datetime(2099, 12, 6, 1, tzinfo=UTC), None)


@each(
    ("inputs", "matchers"),
    [
        (
            {"hosts": "db1.example.com:27017\r\n"},
            [{"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": "db1.example.com:27017"}],
        ),
        (
            {"hosts": "db1:27017\r\ndb2:27017", **matcher_rows("TYPE_NAME NOT_EQUALS MONGOS")},
            [
                {"fieldName": "HOSTNAME_AND_PORT", "operator": "REGEX", "value": "^(db1:27017|db2:27017)$"},
                {"fieldName": "TYPE_NAME", "operator": "NOT_EQUALS", "value": "MONGOS"},
            ],
        ),
        (
            matcher_rows("LABEL EQUALS env=staging"),
            [{"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"}],
        ),
    ],
)
def test_targets_are_typed(
    console: Client, project: Project, inputs: dict[str, str], matchers: list[dict[str, str]]
) -> None:
    confirm(console, ADD, **typed(project, alertTypeNames=["HOST"], **inputs))
    assert MaintenanceWindow.objects.get().matchers == matchers


@pytest.mark.slow
@each(
    ("changes", "message"),
    [
        ({"repeat": "WEEKLY", "weekdays": ["MO"]}, "Must be the first occurrence"),
        ({"repeat": "RULE", "rrule": "FREQ=HOURLY"}, "FREQ must be one of"),
        ({"repeat": "RULE"}, "Must have 1 to 200 characters"),
        ({"repeat": "HOURLY"}, "Select a valid choice"),
        ({"repeat": "DAILY", "timeZone": "Berlin"}, "Select a valid choice"),
        ({"hosts": "db1:27017", "alertTypeNames": ["HOST", "AGENT"]}, "have no fields to match"),
        ({"hosts": "x" * 1001, "alertTypeNames": ["HOST"]}, "Must have 1 to 1000 characters"),
        (matcher_rows("REPLICA_SET_NAME  rs0"), "Is required."),
        (
            {**matcher_rows("SHARD_NAME EQUALS rs0"), "alertTypeNames": ["HOST"]},
            "Is not a field of HOST alerts",
        ),
        (matcher_rows("SHARDS EQUALS rs0"), "Must be one of HOSTNAME"),
        (
            {**matcher_rows("LABEL EQUALS staging"), "alertTypeNames": ["HOST"]},
            "Must be a label with its value",
        ),
    ],
    ids=str,
)
def test_a_wrong_input_is_shown_and_nothing_is_saved(
    console: Client, operator: User, project: Project, changes: dict[str, Any], message: str
) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, **{**SUNDAY, **changes}))
    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.slow
@each(
    "document",
    [
        {"recurrence": {"rrule": "FREQ=DAILY", "timeZone": "Europe/Berlin"}},
        {"recurrence": {"rrule": "FREQ=WEEKLY", "timeZone": "America/New_York"}},
        {"recurrence": {"rrule": "FREQ=DAILY;INTERVAL=3;COUNT=7", "timeZone": "UTC"}},
        {"matchers": [{"fieldName": "HOSTNAME", "operator": "REGEX", "value": "^db 1|x$"}]},
        {"matchers": [{"fieldName": "LABEL", "operator": "CONTAINS", "value": "staging"}]},
        {
            "matchers": [
                {"fieldName": "HOSTNAME_AND_PORT", "operator": "REGEX", "value": r"^(a\.b:1|c-d:2)$"},
                {"fieldName": "PORT", "operator": "EQUALS", "value": "27017"},
            ]
        },
        {"matchers": [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "  db  1 "}]},
        {"matchers": [{"fieldName": "HOSTNAME", "operator": "CONTAINS", "value": "db"}] * 10},
        {"matchers": [{"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": " db1:1"}]},
        {"matchers": [{"fieldName": "HOSTNAME_AND_PORT", "operator": "REGEX", "value": "^(a:1|a:1)$"}]},
        {"matchers": [{"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": "a:1"}] * 2},
        {
            "matchers": [
                {"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"},
                {"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": "a:1"},
            ]
        },
    ],
    ids=str,
)
def test_a_window_sent_back_as_it_is_shown_changes_nothing(
    console: Client, operator: User, project: Project, document: dict[str, Any]
) -> None:
    window = make_window(project, **document)
    url = action_url(window, "change")
    form = typed_in(console.get(url).content.decode())
    with leaves_events(operator):
        assert post(console, url, **form).status_code == 302
    assert MaintenanceWindow.objects.get().updated == window.updated


def test_a_change_to_empty_inputs_takes_recurrence_and_targets_away(
    console: Client, project: Project
) -> None:
    window = make_window(
        project,
        recurrence={"rrule": "FREQ=DAILY", "timeZone": "UTC"},
        matchers=[{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}],
    )
    url = action_url(window, "change")
    form = typed_in(console.get(url).content.decode())
    form |= {"repeat": ["ONCE"], "matchers[0].removed": ["on"]}
    post(console, url, **form)
    window.refresh_from_db()
    assert (window.recurrence, window.matchers) == (None, None)


def test_without_script_a_row_is_added_by_the_page_and_nothing_is_saved(
    console: Client, operator: User, project: Project
) -> None:
    inputs = typed(project, alertTypeNames=["HOST"], **matcher_rows("HOSTNAME EQUALS db1"))
    with leaves_events(operator):
        page = confirm(console, ADD, add="matchers", **inputs).content.decode()
    form = typed_in(page)
    assert form["matchers[0].value"] == ["db1"]
    assert form["matchers[1].fieldName"] == [""]
    assert (form["startDate"], form["description"]) == ([inputs["startDate"]], [inputs["description"]])
    assert 'class="errorlist' not in page


@each(
    ("hosts", "place"),
    [("", "matchers[1].value"), ("db1:1\r\ndb2:1", "matchers[1].value")],
)
def test_a_wrong_matcher_is_reported_next_to_its_input(
    console: Client, project: Project, hosts: str, place: str
) -> None:
    rows = matcher_rows("HOSTNAME EQUALS db1", "PORT EQUALS none")
    answer = confirm(console, ADD, **typed(project, alertTypeNames=["HOST"], hosts=hosts, **rows))
    assert list(answer.context["form"].errors) == [place]
    assert typed_in(answer.content.decode())[place] == ["none"]


def test_a_wrong_host_is_reported_next_to_the_hosts(console: Client, project: Project) -> None:
    rows = matcher_rows("HOSTNAME EQUALS db1")
    answer = confirm(console, ADD, **typed(project, alertTypeNames=["HOST"], hosts="x" * 1001, **rows))
    assert list(answer.context["form"].errors) == ["hosts"]


def test_too_many_matchers_are_reported_and_shown(console: Client, project: Project) -> None:
    rows = matcher_rows(*(f"HOSTNAME CONTAINS db{number}" for number in range(11)))
    answer = confirm(console, ADD, **typed(project, alertTypeNames=["HOST"], **rows))
    assert answer.context["form"].row_part("matchers").faults == ["Must have at most 10 items."]
    assert typed_in(answer.content.decode())["matchers[10].value"] == ["db10"]
    assert not MaintenanceWindow.objects.exists()


def test_the_preview_shows_occurrences_hosts_and_alerts_and_saves_nothing(
    console: Client, project: Project, hosts: list[Host]
) -> None:
    inputs = typed(
        project, **SUNDAY, repeat="WEEKLY", alertTypeNames=["HOST"], hosts="\n".join(map(str, hosts[:2]))
    )
    page = post(console, ADD, confirmed="yes", preview="yes", **inputs).content.decode()
    assert page.count("02:00–04:00") == 4
    assert 'datetime="2099-12-06"' in page
    assert page_of(hosts[0]) in page
    assert page_of(hosts[1]) in page
    assert page_of(hosts[2]) not in page
    assert not MaintenanceWindow.objects.exists()


def test_the_page_of_a_window_shows_its_weeks_and_its_hosts(
    console: Client, project: Project, hosts: list[Host]
) -> None:
    matcher = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db2.example.com"}
    window = make_window(
        project, recurrence={"rrule": "FREQ=DAILY", "timeZone": "Asia/Tokyo"}, matchers=[matcher]
    )
    page = console.get(page_of(window)).content.decode()
    assert page.count("window-muted") > 20
    assert "every day, Asia/Tokyo" in page
    assert page_of(hosts[1]) in page
    assert page_of(hosts[0]) not in page
    assert "every day, Asia/Tokyo" in console.get(LIST).content.decode()


def test_the_page_of_a_window_says_that_its_preview_is_incomplete(
    console: Client, project: Project, hosts: list[Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}
    window = make_window(project, matchers=[matcher])
    assert "window can mute more" not in console.get(page_of(window)).content.decode()
    with monkeypatch.context() as patch:
        patch.setattr(previews, "_HOST_SECONDS", 0)
        cut = console.get(page_of(window)).content.decode()
    assert "compared no hosts, so" in cut
    assert "at least 0" in cut
    assert "No host is muted" not in cut
    monkeypatch.setattr(budgets, "AT_ONCE_IN_PROJECT", 0)
    full = console.get(page_of(window)).content.decode()
    assert "were not compared" in full
    assert "No open alert is muted" not in full


def test_the_page_of_a_window_shows_the_hosts_with_its_label(
    console: Client, project: Project, hosts: list[Host]
) -> None:
    ingest(project, host_report("db2.example.com"), labels={"env": "staging"}, now=NOW)
    matcher = {"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"}
    page = console.get(page_of(make_window(project, matchers=[matcher]))).content.decode()
    assert "LABEL EQUALS env=staging" in page
    assert [page_of(host) in page for host in hosts] == [False, True, False]


@each("state", ["PENDING", "ACTIVE", "EXPIRED"])
def test_recurring_windows_are_found_by_their_state(console: Client, project: Project, state: str) -> None:
    daily = {"rrule": "FREQ=DAILY", "timeZone": "UTC"}
    windows = {
        "PENDING": make_window(project, timedelta(hours=-30), recurrence=daily, description="between"),
        "ACTIVE": make_window(project, timedelta(hours=-25), recurrence=daily, description="again"),
        "EXPIRED": make_window(
            project,
            timedelta(hours=-49),
            recurrence={"rrule": "FREQ=DAILY;COUNT=2", "timeZone": "UTC"},
            description="gone",
        ),
    }
    rows = console.get(LIST, {"state": state}).context["cl"].result_list
    assert [row.id for row in rows] == [windows[state].id]


def test_selected_hosts_lead_to_a_filled_in_form(
    console: Client, project: Project, hosts: list[Host]
) -> None:
    ids = [host.id for host in hosts[:2]]
    answer = post(console, HOSTS, action="mute", _selected_action=ids)
    assert answer.status_code == 302
    assert urlsplit(answer["Location"]).path == ADD
    form = typed_in(console.get(answer["Location"]).content.decode())
    assert (form["group"], form["alertTypeNames"]) == ([project.id], ["HOST"])
    assert form["hosts"] == ["db1.example.com:27017\ndb2.example.com:27017"]
    post(console, ADD, **{**form, "startDate": "2099-01-01T00:00", "endDate": "2099-01-01T01:00"})
    (matcher,) = MaintenanceWindow.objects.get().rule.matchers
    assert matcher.value == r"^(db1\.example\.com:27017|db2\.example\.com:27017)$"


def test_hosts_of_two_projects_and_too_many_hosts_are_refused(
    console: Client, project: Project, hosts: list[Host]
) -> None:
    other = ProjectFactory.create()
    ingest(other, host_report("elsewhere"), now=NOW)
    names = [f"db-with-a-long-name-{number}.example.com" for number in range(40)]
    ingest(project, *(host_report(name) for name in names), now=NOW)
    many = list(Host.objects.filter(hostname__in=names).values_list("id", flat=True))
    for ids, reason in [
        ([hosts[0].id, Host.objects.get(group=other).id], "one project"),
        (many, "fewer hosts"),
    ]:
        answer = post(console, HOSTS, action="mute", _selected_action=ids)
        assert answer["Location"] == HOSTS
        assert reason in str(list(get_messages(answer.wsgi_request))[-1])


@each(("role", "may"), [(Role.GROUP_MONITORING_ADMIN, True), (Role.GROUP_READ_ONLY, False)])
def test_operators_who_can_create_windows_can_mute_hosts(
    project: Project, hosts: list[Host], role: Role, may: bool
) -> None:
    console = browser_with(role, project=project)
    assert ('value="mute"' in console.get(HOSTS).content.decode()) is may
    post(console, HOSTS, action="mute", _selected_action=[hosts[0].id])
    assert not MaintenanceWindow.objects.exists()
