"""Maintenance windows that recur, and windows that mute only some targets, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from events.models import Event
from opsapi import clock
from opsapi.clock import wire_time
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each

SUNDAYS = {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}
STAGING = [{"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"}]
MATCHERS = [{"fieldName": "REPLICA_SET_NAME", "operator": "EQUALS", "value": "rs0"}]
pytestmark = pytest.mark.django_db


def path_of(project: Project, window: dict[str, Any] | None = None) -> str:
    """The path of its windows, or of a window."""
    return f"/groups/{project.id}/maintenanceWindows{'/' + window['id'] if window else ''}"


def recurring(**changes: Any) -> dict[str, Any]:
    """A window that begins on a Sunday at 02:00 in Berlin."""
    fields: dict[str, Any] = {
        "startDate": "2099-11-29T01:00:00Z",
        "endDate": "2099-11-29T03:00:00Z",
        "recurrence": SUNDAYS,
    }
    return bodies.window(**{**fields, **changes})


def made(client: ApiClient, project: Project, **changes: Any) -> dict[str, Any]:
    """A recurring window."""
    answer = client.post(path_of(project), recurring(**changes))
    assert answer.status_code == 200, answer.json()
    document: dict[str, Any] = answer.json()
    return document


def columns() -> list[dict[str, Any]]:
    """Everything that is stored of windows."""
    return [dict(row) for row in MaintenanceWindow.objects.order_by("id").values()]


def test_a_window_has_its_recurrence_and_its_matchers(admin: ApiClient, project: Project) -> None:
    window = made(admin, project, matchers=MATCHERS, alertTypeNames=["HOST"])
    assert (window["recurrence"], window["matchers"]) == (SUNDAYS, MATCHERS)
    assert admin.get(path_of(project, window)).json() == window
    assert admin.get(path_of(project)).json()["results"] == [{**window, "links": window["links"][:1]}]


@each(
    "absent",
    [
        {},
        {"recurrence": None, "matchers": None},
        {"recurrence": {}, "matchers": []},
        {"recurrence": {"rrule": None}},
    ],
    ids=str,
)
def test_without_them_a_window_occurs_once_for_all_targets(
    admin: ApiClient, project: Project, absent: dict[str, Any]
) -> None:
    answer = admin.post(path_of(project), bodies.window() | absent)
    assert answer.status_code == 200
    assert not {"recurrence", "matchers"} & answer.json().keys()
    row = MaintenanceWindow.objects.get()
    assert (row.recurrence, row.matchers, row.last_end) == (None, None, None)


@each(
    ("changes", "code", "fields"),
    [
        ({"recurrence": "FREQ=DAILY"}, "INVALID_ATTRIBUTE", ["recurrence"]),
        ({"recurrence": {"rrule": "FREQ=DAILY"}}, "MISSING_ATTRIBUTE", ["recurrence.timeZone"]),
        ({"recurrence": {"timeZone": "UTC"}}, "MISSING_ATTRIBUTE", ["recurrence.rrule"]),
        ({"recurrence": {**SUNDAYS, "until": 1}}, "INVALID_ATTRIBUTE", ["recurrence.until"]),
        (
            {"recurrence": {"rrule": "FREQ=HOURLY", "timeZone": "Berlin"}},
            "INVALID_ATTRIBUTE",
            ["recurrence.rrule", "recurrence.timeZone"],
        ),
        ({"recurrence": {**SUNDAYS, "rrule": "x" * 201}}, "INVALID_ATTRIBUTE", ["recurrence.rrule"]),
        ({"recurrence": {**SUNDAYS, "rrule": 1}}, "INVALID_ATTRIBUTE", ["recurrence.rrule"]),
        ({"startDate": "2099-11-28T01:00:00Z"}, "INVALID_ATTRIBUTE", ["startDate"]),
        ({"endDate": "2099-12-07T01:00:00Z"}, "INVALID_ATTRIBUTE", ["endDate"]),
        ({"startDate": "0001-01-01T01:00:00Z"}, "INVALID_ATTRIBUTE", ["startDate"]),
        (
            {"startDate": "9999-12-30T01:00:00Z", "endDate": "9999-12-31T01:00:00Z"},
            "INVALID_ATTRIBUTE",
            ["startDate"],
        ),
        ({"matchers": MATCHERS}, "INVALID_ENUM_VALUE", ["matchers[0].fieldName"]),
        ({"matchers": MATCHERS, "alertTypeNames": ["AGENT"]}, "INVALID_ATTRIBUTE", ["matchers"]),
        ({"matchers": MATCHERS * 51, "alertTypeNames": ["HOST"]}, "INVALID_ATTRIBUTE", ["matchers"]),
        (
            {
                "matchers": [{"fieldName": "HOSTNAME", "operator": "REGEX", "value": "("}],
                "alertTypeNames": ["HOST"],
            },
            "INVALID_ATTRIBUTE",
            ["matchers[0].value"],
        ),
    ],
    ids=str,
)
def test_a_wrong_field_is_named_and_nothing_is_created(
    admin: ApiClient, project: Project, changes: dict[str, Any], code: str, fields: list[str]
) -> None:
    if changes.get("matchers") == MATCHERS and "alertTypeNames" not in changes:
        changes = {**changes, "alertTypeNames": ["HOST", "CLUSTER"]}
    answer = admin.post(path_of(project), recurring(**changes))
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == fields
    assert columns() == []


def test_a_field_that_a_category_lacks_is_answered_with_the_fields_it_has(
    admin: ApiClient, project: Project
) -> None:
    answer = admin.post(path_of(project), recurring(alertTypeNames=["CLUSTER"], matchers=MATCHERS))
    (bad,) = answer.json()["badFields"]
    assert bad["allowed"] == ["CLUSTER_NAME", "SHARD_NAME", "LABEL"]


def test_a_window_can_compare_labels_with_all_matchable_types(admin: ApiClient, project: Project) -> None:
    window = made(admin, project, matchers=STAGING, alertTypeNames=["HOST", "REPLICA_SET", "CLUSTER"])
    assert admin.get(path_of(project, window)).json()["matchers"] == STAGING


@each("operator", ["EQUALS", "NOT_EQUALS"])
def test_a_value_that_is_no_label_is_refused(admin: ApiClient, project: Project, operator: str) -> None:
    matcher = {**STAGING[0], "operator": operator, "value": "staging"}
    answer = admin.post(path_of(project), recurring(alertTypeNames=["HOST"], matchers=[matcher]))
    (bad,) = answer.json()["badFields"]
    assert (answer.status_code, bad["field"], bad["allowed"]) == (400, "matchers[0].value", ["name=value"])
    assert columns() == []


def test_an_alert_configuration_cannot_compare_labels(admin: ApiClient, project: Project) -> None:
    path = f"/groups/{project.id}/alertConfigs"
    answer = admin.post(path, bodies.alert_config(matchers=STAGING))
    (bad,) = answer.json()["badFields"]
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ENUM_VALUE")
    assert bad["field"] == "matchers[0].fieldName"
    assert bad["allowed"] == admin.get("/alertConfigs/matchers/fieldNames").json()


@each(
    ("change", "gone"),
    [
        ({"recurrence": {}}, "recurrence"),
        ({"matchers": []}, "matchers"),
    ],
    ids=str,
)
def test_a_change_to_empty_takes_it_away(
    admin: ApiClient, project: Project, change: dict[str, Any], gone: str
) -> None:
    window = made(admin, project, matchers=MATCHERS, alertTypeNames=["HOST"])
    changed = admin.patch(path_of(project, window), change).json()
    assert changed == {name: value for name, value in window.items() if name != gone} | {
        "updated": changed["updated"]
    }
    event = Event.objects.get(event_type="MAINTENANCE_WINDOW_CHANGED_AUDIT")
    assert [(param["param"], param.get("new")) for param in event.diffs[0]["params"]] == [(gone, None)]


def test_a_window_that_occurs_once_can_recur_later(admin: ApiClient, project: Project) -> None:
    window = made(admin, project, recurrence=None)
    changed = admin.patch(path_of(project, window), {"recurrence": SUNDAYS}).json()
    assert changed == {**window, "recurrence": SUNDAYS, "updated": changed["updated"]}


@each(
    "change",
    [
        {},
        {"recurrence": None, "matchers": None},
        {"recurrence": SUNDAYS},
        {"recurrence": {"timeZone": "Europe/Berlin", "rrule": "FREQ=WEEKLY;BYDAY=SU"}},
        {"matchers": MATCHERS},
    ],
    ids=str,
)
def test_what_changes_nothing_is_not_recorded(
    admin: ApiClient, project: Project, change: dict[str, Any]
) -> None:
    window = made(admin, project, matchers=MATCHERS, alertTypeNames=["HOST"])
    before = columns()
    for body in (change, {**window, **{name: value for name, value in change.items() if value is not None}}):
        answer = admin.patch(path_of(project, window), body)
        assert (answer.status_code, answer.json()) == (200, window)
    assert columns() == before
    assert not Event.objects.filter(event_type="MAINTENANCE_WINDOW_CHANGED_AUDIT").exists()


@each(
    ("change", "fields"),
    [
        ({"startDate": "2099-11-28T01:00:00Z"}, ["startDate"]),
        ({"endDate": "2099-12-07T01:00:00Z"}, ["endDate"]),
        ({"recurrence": {"rrule": "FREQ=WEEKLY;BYDAY=MO", "timeZone": "UTC"}}, ["startDate"]),
        ({"alertTypeNames": ["REPLICA_SET", "AGENT"]}, ["matchers"]),
        ({"matchers": [{**MATCHERS[0], "fieldName": "SHARD_NAME"}]}, ["matchers[0].fieldName"]),
    ],
    ids=str,
)
def test_a_change_has_to_fit_the_fields_that_stay(
    admin: ApiClient, project: Project, change: dict[str, Any], fields: list[str]
) -> None:
    window = made(admin, project, matchers=MATCHERS, alertTypeNames=["HOST"])
    before = columns()
    answer = admin.patch(path_of(project, window), change)
    assert answer.status_code == 400
    assert [bad["field"] for bad in answer.json()["badFields"]] == fields
    assert columns() == before


def test_recurrence_and_matchers_are_recorded(admin: ApiClient, project: Project) -> None:
    window = made(admin, project, matchers=MATCHERS, alertTypeNames=["HOST"])
    daily = {"rrule": "FREQ=DAILY", "timeZone": "Europe/Berlin"}
    admin.patch(path_of(project, window), {"recurrence": daily})
    added, changed = Event.objects.filter(event_type__startswith="MAINTENANCE_WINDOW_").order_by("id")
    said = {param["param"]: param["new"] for param in added.diffs[0]["params"]}
    assert said["recurrence"] == '{"rrule":"FREQ=WEEKLY;BYDAY=SU","timeZone":"Europe/Berlin"}'
    assert orjson.loads(said["matchers"]) == MATCHERS
    (change,) = changed.diffs[0]["params"]
    assert (change["param"], change["old"]) == ("recurrence", said["recurrence"])


def test_the_list_has_windows_that_occur_again_and_no_ended_windows(
    admin: ApiClient, project: Project
) -> None:
    start = (clock.now() - timedelta(days=100)).astimezone(UTC)

    def add(name: str, rrule: str | None) -> None:
        dates = {"startDate": wire_time(start), "endDate": wire_time(start + timedelta(hours=1))}
        repeats = {"rrule": rrule, "timeZone": "UTC"} if rrule else None
        admin.post(path_of(project), bodies.window(**dates, description=name, recurrence=repeats))

    def listed(query: str) -> set[str]:
        return {row["description"] for row in admin.get(path_of(project) + query).json()["results"]}

    until = datetime.now(UTC) + timedelta(days=365)
    add("once", None)
    add("for ever", "FREQ=WEEKLY")
    add("three times", "FREQ=WEEKLY;COUNT=3")
    add("hundreds of times", "FREQ=WEEKLY;COUNT=300")
    add("until long ago", f"FREQ=WEEKLY;UNTIL={start + timedelta(days=50):%Y%m%d}")
    add("until next year, but not again", f"FREQ=YEARLY;INTERVAL=2;UNTIL={until:%Y%m%d}")
    add("until next year", f"FREQ=WEEKLY;UNTIL={until:%Y%m%d}")
    again = {"for ever", "hundreds of times", "until next year"}
    assert listed("") == again
    assert listed("?includeExpired=true") == again | {
        "once",
        "three times",
        "until long ago",
        "until next year, but not again",
    }


def test_a_project_has_a_limited_number_of_windows_that_delivery_computes(
    admin: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.windows.changes.MOST_COSTLY_WINDOWS", 1)
    once = admin.post(path_of(project), bodies.window()).json()
    first = made(admin, project)
    before, recorded = columns(), Event.objects.count()
    for answer in (
        admin.post(path_of(project), recurring()),
        admin.post(path_of(project), bodies.window(matchers=MATCHERS)),
        admin.patch(path_of(project, once), {"matchers": MATCHERS}),
    ):
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "LIMIT_REACHED")
    assert (columns(), Event.objects.count()) == (before, recorded)
    assert admin.post(path_of(project), bodies.window()).status_code == 200
    assert admin.patch(path_of(project, first), {"recurrence": {}}).status_code == 200
    assert admin.post(path_of(project), recurring()).status_code == 200


def test_a_window_has_at_most_ten_matchers(admin: ApiClient, project: Project) -> None:
    answer = admin.post(path_of(project), bodies.window(matchers=MATCHERS * 11))
    assert (answer.status_code, answer.json()["badFields"][0]["field"]) == (400, "matchers")
