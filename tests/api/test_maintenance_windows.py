"""Maintenance windows over HTTP: created (endpoint 7), listed, read, changed, deleted."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from events.models import Event
from events.types import ALERT_CATEGORIES
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key

CATEGORIES = [category.value for category in ALERT_CATEGORIES]
MISSING = "MISSING_MAINTENANCE_WINDOW"
BACKWARDS = "MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE"
START, END = bodies.window()["startDate"], bodies.window()["endDate"]
pytestmark = pytest.mark.django_db


def windows_of(project: Project) -> str:
    """The path of its windows."""
    return f"/groups/{project.id}/maintenanceWindows"


def made(client: ApiClient, project: Project, **changes: Any) -> dict[str, Any]:
    """A window."""
    answer = client.post(windows_of(project), bodies.window(**changes))
    assert answer.status_code == 200, answer.json()
    document: dict[str, Any] = answer.json()
    return document


def wrong_fields(answer: Any) -> list[str]:
    """The fields that are named."""
    return [bad["field"] for bad in answer.json()["badFields"]]


def rows() -> list[dict[str, Any]]:
    """Everything that is stored of windows."""
    return [dict(row) for row in MaintenanceWindow.objects.order_by("id").values()]


def recorded() -> list[str]:
    """The types of the events about windows, oldest first."""
    about = Event.objects.filter(event_type__startswith="MAINTENANCE_WINDOW_").order_by("id")
    return [event.event_type for event in about]


def moment(now: datetime, **ahead: float) -> str:
    """A time relative to now."""
    return wire_time(now + timedelta(**ahead))


class TestMaking:
    """Endpoint 7."""

    @each("slash", ["/", ""], ids=["with a slash", "without"])
    def test_it_answers_the_window_with_200(self, admin: ApiClient, project: Project, slash: str) -> None:
        before = wire_time(clock.now())
        answer = admin.post(windows_of(project) + slash, bodies.window())
        assert answer.status_code == 200
        document = answer.json()
        path = f"http://testserver/api/public/v1.0{windows_of(project)}/{document['id']}"
        assert document == {
            "id": MaintenanceWindow.objects.get().id,
            "groupId": project.id,
            "created": document["created"],
            "updated": document["created"],
            "startDate": START,
            "endDate": END,
            "alertTypeNames": ["HOST", "REPLICA_SET"],
            "description": "new disks",
            "links": [
                {"href": path, "rel": "self"},
                {"href": path.split("/maintenanceWindows", maxsplit=1)[0], "rel": "urn:opsapi:rel:group"},
            ],
        }
        assert before <= document["created"] <= wire_time(clock.now())
        assert admin.get(f"{windows_of(project)}/{document['id']}").json() == document

    def test_it_is_recorded_with_who_and_what(self, admin: ApiClient, project: Project) -> None:
        window = made(admin, project)
        event = Event.objects.get(event_type="MAINTENANCE_WINDOW_ADDED_AUDIT")
        assert admin.key
        assert event.group_id == project.id
        assert event.details["publicKey"] == admin.key.public_key
        assert event.details["maintenanceWindowId"] == window["id"]
        (change,) = event.diffs
        assert (change["id"], change["type"], change["status"]) == (window["id"], "MAINTENANCE_WINDOW", "NEW")
        said = {param["param"]: param["new"] for param in change["params"]}
        assert said["alertTypeNames"] == '["HOST","REPLICA_SET"]'
        assert (said["startDate"], said["endDate"], said["description"]) == (START, END, "new disks")
        shown = admin.get(f"/groups/{project.id}/events/{event.id}").json()
        assert shown["maintenanceWindowId"] == window["id"]

    @each(
        ("sent", "shown"),
        [
            ("2099-11-28T23:30:00+01:30", START),
            ("2099-11-28T22:00:00.999Z", START),
            ("2099-11-28T22:00:00", START),
            ("2099-11-28T22:00Z", START),
        ],
    )
    def test_times_are_shown_in_utc_and_whole_seconds(
        self, admin: ApiClient, project: Project, sent: str, shown: str
    ) -> None:
        assert made(admin, project, startDate=sent)["startDate"] == shown

    @each(
        ("start", "end"),
        [
            ("2001-01-01T00:00:00Z", "2001-01-01T00:00:01Z"),
            ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
        ],
    )
    def test_it_may_be_past_and_as_long_as_anybody_likes(
        self, admin: ApiClient, project: Project, start: str, end: str
    ) -> None:
        window = made(admin, project, startDate=start, endDate=end)
        assert (window["startDate"], window["endDate"]) == (start, end)

    @each("description", [None, "x", "x" * 1000, "first line\nsecond line"])
    def test_a_description_is_shown_where_one_was_given(
        self, admin: ApiClient, project: Project, description: str | None
    ) -> None:
        assert made(admin, project, description=description).get("description") == description

    def test_it_mutes_any_category(self, admin: ApiClient, project: Project) -> None:
        assert made(admin, project, alertTypeNames=CATEGORIES)["alertTypeNames"] == CATEGORIES

    def test_windows_may_overlap_and_be_alike(self, admin: ApiClient, project: Project) -> None:
        assert made(admin, project)["id"] != made(admin, project)["id"]

    @each(
        ("body", "code", "fields"),
        [
            ({}, f"{MISSING}_START_DATE", ["startDate", "endDate", "alertTypeNames"]),
            (bodies.window(startDate=None), f"{MISSING}_START_DATE", ["startDate"]),
            (bodies.window() | {"startDate": None}, f"{MISSING}_START_DATE", ["startDate"]),
            (bodies.window(endDate=None), f"{MISSING}_END_DATE", ["endDate"]),
            (bodies.window() | {"endDate": None}, f"{MISSING}_END_DATE", ["endDate"]),
            (bodies.window(alertTypeNames=None), f"{MISSING}_ALERT_TYPE_NAME", ["alertTypeNames"]),
            (bodies.window(alertTypeNames=[]), f"{MISSING}_ALERT_TYPE_NAME", ["alertTypeNames"]),
            (bodies.window(endDate=START), BACKWARDS, ["endDate"]),
            (bodies.window(startDate=END), BACKWARDS, ["endDate"]),
            (bodies.window(endDate="2099-11-28T22:00:00.9Z"), BACKWARDS, ["endDate"]),
            (bodies.window(endDate="2099-11-28T22:59:59+01:00"), BACKWARDS, ["endDate"]),
            (bodies.window(endDate="2000-01-01T00:00:00Z"), BACKWARDS, ["endDate"]),
            (bodies.window(startDate="2099-11-28"), "INVALID_ATTRIBUTE", ["startDate"]),
            (bodies.window(startDate=4098117600), "INVALID_ATTRIBUTE", ["startDate"]),
            (bodies.window(endDate=""), "INVALID_ATTRIBUTE", ["endDate"]),
            (bodies.window(endDate="9999-12-31T23:59:59-01:00"), "INVALID_ATTRIBUTE", ["endDate"]),
            (bodies.window(alertTypeNames="HOST"), "INVALID_ATTRIBUTE", ["alertTypeNames"]),
            (bodies.window(alertTypeNames=[None]), "INVALID_ATTRIBUTE", ["alertTypeNames[0]"]),
            (bodies.window(alertTypeNames=["HOST", 1]), "INVALID_ATTRIBUTE", ["alertTypeNames[1]"]),
            (
                bodies.window(alertTypeNames=["HOST", "TEAM", "HOST", "HOST"]),
                "INVALID_ATTRIBUTE",
                ["alertTypeNames[2]", "alertTypeNames[3]"],
            ),
            (bodies.window(description=""), "INVALID_ATTRIBUTE", ["description"]),
            (bodies.window(description="x" * 1001), "INVALID_ATTRIBUTE", ["description"]),
            (bodies.window(description=1), "INVALID_ATTRIBUTE", ["description"]),
            (bodies.window(state="ACTIVE"), "INVALID_ATTRIBUTE", ["state"]),
            (bodies.window(id="69201a2b3c4d5e6f70819203"), "ATTRIBUTE_READ_ONLY", ["id"]),
            (bodies.window(groupId="69201a2b3c4d5e6f70819203"), "ATTRIBUTE_READ_ONLY", ["groupId"]),
            (
                bodies.window(endDate=START, alertTypeNames=["HOST", "HOST"], description=""),
                BACKWARDS,
                ["endDate", "alertTypeNames[1]", "description"],
            ),
        ],
        ids=str,
    )
    def test_a_wrong_field_is_named_and_nothing_created(
        self, admin: ApiClient, project: Project, body: dict[str, Any], code: str, fields: list[str]
    ) -> None:
        answer = admin.post(windows_of(project), body)
        assert refusal(answer) == (400, code)
        assert wrong_fields(answer) == fields
        assert (rows(), recorded()) == ([], [])

    @each("name", ["HOST_DOWN", "host", "", "ALERT_CONFIG", "MAINTENANCE_WINDOW"])
    def test_an_unknown_category_is_refused_with_the_allowed_values(
        self, admin: ApiClient, project: Project, name: str
    ) -> None:
        answer = admin.post(windows_of(project), bodies.window(alertTypeNames=["HOST", name]))
        assert refusal(answer) == (400, "INVALID_ENUM_VALUE")
        (bad,) = answer.json()["badFields"]
        assert (bad["field"], bad["allowed"]) == ("alertTypeNames[1]", CATEGORIES)
        assert rows() == []


class TestReading:
    """GET."""

    def test_the_list_has_what_is_not_over_in_the_order_it_begins(
        self, admin: ApiClient, reader: ApiClient, project: Project
    ) -> None:
        now = clock.now()
        periods = {
            "later": ({"days": 2}, {"days": 3}),
            "active": ({"hours": -1}, {"hours": 1}),
            "over": ({"days": -2}, {"days": -1}),
            "next": ({"days": 1}, {"days": 4}),
        }
        for name, (start, end) in periods.items():
            made(
                admin,
                project,
                description=name,
                startDate=moment(now, **start),
                endDate=moment(now, **end),
            )
        made(admin, project, description="alike", startDate=moment(now, days=2), endDate=moment(now, days=3))

        def listed(query: str) -> list[str]:
            return [row["description"] for row in reader.get(windows_of(project) + query).json()["results"]]

        assert listed("") == ["active", "next", "later", "alike"]
        assert listed("?includeExpired=false") == listed("")
        assert listed("?includeExpired=TRUE") == ["over", "active", "next", "later", "alike"]
        assert listed("?includeExpired=true&itemsPerPage=2&pageNum=2") == ["next", "later"]

    def test_in_the_list_there_is_only_the_link_to_itself(self, admin: ApiClient, project: Project) -> None:
        window = made(admin, project)
        document = admin.get(windows_of(project)).json()
        assert document["totalCount"] == 1
        assert document["results"] == [{**window, "links": window["links"][:1]}]

    def test_one_that_is_over_is_still_found_by_its_id(self, admin: ApiClient, project: Project) -> None:
        window = made(admin, project, startDate="2001-01-01T00:00:00Z", endDate="2001-01-02T00:00:00Z")
        assert admin.get(f"{windows_of(project)}/{window['id']}").json() == window

    def test_a_wrong_flag_is_named(self, reader: ApiClient, project: Project) -> None:
        answer = reader.get(f"{windows_of(project)}?includeExpired=yes")
        assert refusal(answer) == (400, "INVALID_QUERY_PARAMETER")
        assert answer.json()["badFields"][0]["allowed"] == ["true", "false"]

    @each("method", ["GET", "PATCH", "DELETE"])
    @each(
        ("window_id", "code"),
        [
            ("f" * 24, "MAINTENANCE_WINDOW_NOT_FOUND"),
            ("F" * 24, "INVALID_MAINTENANCE_WINDOW_ID"),
            ("1", "INVALID_MAINTENANCE_WINDOW_ID"),
        ],
    )
    def test_what_is_not_there_is_404(
        self, admin: ApiClient, project: Project, method: str, window_id: str, code: str
    ) -> None:
        body = {"description": "x"} if method == "PATCH" else None
        assert refusal(admin.request(method, f"{windows_of(project)}/{window_id}", body)) == (404, code)

    @each("method", ["GET", "PATCH", "DELETE"])
    def test_another_projects_window_is_not_found(
        self, owner: ApiClient, project: Project, method: str
    ) -> None:
        window = made(owner, ProjectFactory.create())
        before = rows()
        body = {"description": "x"} if method == "PATCH" else None
        answer = owner.request(method, f"{windows_of(project)}/{window['id']}", body)
        assert refusal(answer) == (404, "MAINTENANCE_WINDOW_NOT_FOUND")
        assert rows() == before


class TestChanging:
    """PATCH."""

    @each(
        "change",
        [
            {"startDate": "2099-11-28T21:00:00Z"},
            {"endDate": "2099-11-29T03:00:00Z"},
            {"endDate": "2099-11-28T22:00:01Z"},
            {"startDate": "2001-01-01T00:00:00Z", "endDate": "2001-01-02T00:00:00Z"},
            {"startDate": END, "endDate": "2099-11-30T00:00:00Z"},
            {"alertTypeNames": ["AGENT"]},
            {"alertTypeNames": ["REPLICA_SET", "HOST"]},
            {"description": "newer disks"},
        ],
        ids=str,
    )
    def test_what_is_named_changes_and_the_rest_stays(
        self, admin: ApiClient, project: Project, change: dict[str, Any]
    ) -> None:
        window = made(admin, project)
        MaintenanceWindow.objects.update(updated=datetime.fromisoformat("2020-01-01T00:00:00Z"))
        answer = admin.patch(f"{windows_of(project)}/{window['id']}", change)
        assert answer.status_code == 200
        changed = answer.json()
        assert changed == {**window, **change, "updated": changed["updated"]}
        assert changed["updated"] >= window["created"]
        assert admin.get(f"{windows_of(project)}/{window['id']}").json() == changed
        assert recorded() == ["MAINTENANCE_WINDOW_ADDED_AUDIT", "MAINTENANCE_WINDOW_CHANGED_AUDIT"]

    def test_a_description_is_given_later(self, admin: ApiClient, project: Project) -> None:
        window = made(admin, project, description=None)
        answer = admin.patch(f"{windows_of(project)}/{window['id']}", {"description": "new disks"})
        assert answer.json()["description"] == "new disks"

    def test_the_change_is_recorded(self, admin: ApiClient, project: Project) -> None:
        window = made(admin, project)
        admin.patch(f"{windows_of(project)}/{window['id']}", {"alertTypeNames": ["HOST"]})
        event = Event.objects.get(event_type="MAINTENANCE_WINDOW_CHANGED_AUDIT")
        assert event.details["maintenanceWindowId"] == window["id"]
        (change,) = event.diffs
        assert (change["id"], change["status"]) == (window["id"], "MODIFIED")
        assert change["params"] == [
            {
                "param": "alertTypeNames",
                "display": "alertTypeNames",
                "old": '["HOST","REPLICA_SET"]',
                "new": '["HOST"]',
            }
        ]

    @each(
        "change",
        [
            {},
            {"description": None},
            {"startDate": None, "endDate": None},
            {"alertTypeNames": []},
            {"alertTypeNames": ["HOST", "REPLICA_SET"]},
            {"endDate": "2099-11-29T03:00:00+01:00"},
            {"links": []},
        ],
        ids=str,
    )
    def test_what_changes_nothing_changes_nothing(
        self, admin: ApiClient, project: Project, change: dict[str, Any]
    ) -> None:
        window = made(admin, project)
        before = rows()
        answer = admin.patch(f"{windows_of(project)}/{window['id']}", change)
        assert (answer.status_code, answer.json()) == (200, window)
        assert rows() == before
        assert recorded() == ["MAINTENANCE_WINDOW_ADDED_AUDIT"]

    @each("description", ["new disks", None])
    def test_what_was_read_can_be_written_back(
        self, admin: ApiClient, project: Project, description: str | None
    ) -> None:
        window = made(admin, project, description=description)
        before = rows()
        assert admin.patch(f"{windows_of(project)}/{window['id']}", window).json() == window
        assert rows() == before

    @each(
        ("change", "code", "fields"),
        [
            ({"startDate": END}, BACKWARDS, ["endDate"]),
            ({"startDate": "2100-01-01T00:00:00Z"}, BACKWARDS, ["endDate"]),
            ({"endDate": START}, BACKWARDS, ["endDate"]),
            ({"endDate": "2001-01-01T00:00:00Z"}, BACKWARDS, ["endDate"]),
            ({"startDate": END, "endDate": START}, BACKWARDS, ["endDate"]),
            ({"endDate": START, "description": ""}, BACKWARDS, ["endDate", "description"]),
            ({"startDate": "soon", "endDate": START}, "INVALID_ATTRIBUTE", ["startDate"]),
            ({"description": ""}, "INVALID_ATTRIBUTE", ["description"]),
            ({"alertTypeNames": ["HOST", "HOST"]}, "INVALID_ATTRIBUTE", ["alertTypeNames[1]"]),
            ({"alertTypeNames": ["HOSTS"]}, "INVALID_ENUM_VALUE", ["alertTypeNames[0]"]),
            ({"state": "ACTIVE"}, "INVALID_ATTRIBUTE", ["state"]),
            ({"updated": "2020-01-01T00:00:00Z"}, "ATTRIBUTE_READ_ONLY", ["updated"]),
            ({"id": "f" * 24, "description": "x"}, "ATTRIBUTE_READ_ONLY", ["id"]),
        ],
        ids=str,
    )
    def test_a_wrong_field_is_named_and_nothing_changed(
        self, admin: ApiClient, project: Project, change: dict[str, Any], code: str, fields: list[str]
    ) -> None:
        window = made(admin, project)
        before = rows()
        answer = admin.patch(f"{windows_of(project)}/{window['id']}", change)
        assert refusal(answer) == (400, code)
        assert wrong_fields(answer) == fields
        assert rows() == before
        assert recorded() == ["MAINTENANCE_WINDOW_ADDED_AUDIT"]


class TestDeleting:
    """DELETE."""

    def test_it_is_gone_and_recorded(self, admin: ApiClient, project: Project) -> None:
        kept, gone = made(admin, project), made(admin, project)
        answer = admin.delete(f"{windows_of(project)}/{gone['id']}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert [row["id"] for row in rows()] == [kept["id"]]
        again = admin.delete(f"{windows_of(project)}/{gone['id']}")
        assert refusal(again) == (404, "MAINTENANCE_WINDOW_NOT_FOUND")
        event = Event.objects.get(event_type="MAINTENANCE_WINDOW_DELETED_AUDIT")
        assert event.details["maintenanceWindowId"] == gone["id"]
        (change,) = event.diffs
        assert (change["id"], change["status"]) == (gone["id"], "REMOVED")


@pytest.mark.slow
@each(
    ("role", "place", "may"),
    [
        (Role.GLOBAL_OWNER, {}, True),
        (Role.GLOBAL_MONITORING_ADMIN, {}, True),
        (Role.ORG_OWNER, {"org_id"}, True),
        (Role.GROUP_OWNER, {"group_id"}, True),
        (Role.GROUP_MONITORING_ADMIN, {"group_id"}, True),
        (Role.GLOBAL_READ_ONLY, {}, False),
        (Role.GLOBAL_USER_ADMIN, {}, False),
        (Role.GLOBAL_BACKUP_ADMIN, {}, False),
        (Role.GLOBAL_AUTOMATION_ADMIN, {}, False),
        (Role.ORG_READ_ONLY, {"org_id"}, False),
        (Role.GROUP_READ_ONLY, {"group_id"}, False),
        (Role.GROUP_USER_ADMIN, {"group_id"}, False),
        (Role.GROUP_BACKUP_ADMIN, {"group_id"}, False),
        (Role.GROUP_AUTOMATION_ADMIN, {"group_id"}, False),
        (Role.GROUP_DATA_ACCESS_ADMIN, {"group_id"}, False),
    ],
    ids=str,
)
def test_who_may_write_and_who_may_only_read(
    owner: ApiClient, project: Project, role: Role, place: set[str], may: bool
) -> None:
    where = {"org_id": project.org_id, "group_id": project.id}
    caller = ApiClient(make_key(Grant(role, **{name: where[name] for name in place})))
    window = made(owner, project)
    path = f"{windows_of(project)}/{window['id']}"
    assert caller.get(path).status_code == 200
    assert caller.get(windows_of(project)).status_code == 200
    expected = {
        True: (200, 200, 204),
        False: (403, 403, 403),
    }[may]
    answers = (
        caller.post(windows_of(project), bodies.window()),
        caller.patch(path, {"description": "newer disks"}),
        caller.delete(path),
    )
    assert tuple(answer.status_code for answer in answers) == expected
