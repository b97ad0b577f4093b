"""The preview of a maintenance window: the effect of a window before it is saved."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import BoundedSemaphore
from typing import Any

import pytest

from accesslist.models import Project
from alerting import budgets
from alerting.models import Alert, MaintenanceWindow
from alerting.windows import previews
from alerting.windows.previews import window_preview
from alerting.windows.rules import WindowRule, window_rule
from alerting.windows.store import muting_windows
from automation.models import Host
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_alert
from tests.factories.automation import host_report, ingest

NOW = datetime(2026, 11, 24, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def path_of(project: Project) -> str:
    """The path of previews."""
    return f"/groups/{project.id}/maintenanceWindows/preview"


def preview(client: ApiClient, project: Project, **changes: Any) -> dict[str, Any]:
    """The preview of a window for hosts."""
    answer = client.post(path_of(project), bodies.window(**{"alertTypeNames": ["HOST"], **changes}))
    assert answer.status_code == 200, answer.json()
    document: dict[str, Any] = answer.json()
    return document


def matcher(value: str, operator: str = "EQUALS", field: str = "HOSTNAME") -> dict[str, str]:
    """A matcher."""
    return {"fieldName": field, "operator": operator, "value": value}


def names(listed: dict[str, Any]) -> list[str]:
    """The names of hosts."""
    return [host["hostname"] for host in listed["results"]]


@pytest.fixture
def hosts(project: Project) -> None:
    """Three hosts, the third with labels, and a host of another project."""
    ingest(project, *(host_report(name, replica_set_name="rs0") for name in ("db2", "db1", "db3")), now=NOW)
    labels = {"env": "staging", "region": "eu"}
    ingest(project, host_report("db3", replica_set_name="rs0"), labels=labels, now=NOW)
    ingest(ProjectFactory.create(), host_report("db1"), labels=labels, now=NOW)


def test_it_has_the_next_ten_occurrences(admin: ApiClient, project: Project) -> None:
    recurrence = {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}
    found = preview(
        admin,
        project,
        startDate="2099-10-18T00:00:00Z",
        endDate="2099-10-18T01:00:00Z",
        recurrence=recurrence,
    )["occurrences"]
    assert len(found) == 10
    # The clocks change on 25 October 2099: 02:00 stays 02:00.
    assert found[:3] == [
        {"startDate": "2099-10-18T00:00:00Z", "endDate": "2099-10-18T01:00:00Z"},
        {"startDate": "2099-10-25T00:00:00Z", "endDate": "2099-10-25T01:00:00Z"},
        {"startDate": "2099-11-01T01:00:00Z", "endDate": "2099-11-01T02:00:00Z"},
    ]


def test_it_has_no_occurrences_of_the_past(admin: ApiClient, project: Project) -> None:
    dates = {"startDate": "2001-01-01T01:00:00Z", "endDate": "2001-01-01T02:00:00Z"}
    assert preview(admin, project, **dates)["occurrences"] == []
    daily = {"rrule": "FREQ=DAILY", "timeZone": "UTC"}
    first = preview(admin, project, **dates, recurrence=daily)["occurrences"][0]
    assert first["endDate"] > datetime.now(UTC).isoformat()


@each(
    ("matchers", "expected"),
    [
        ([], ["db1", "db2", "db3"]),
        ([matcher("DB2")], ["db2"]),
        ([matcher("^db[13]$", "REGEX")], ["db1", "db3"]),
        ([matcher("rs0", field="REPLICA_SET_NAME"), matcher("db1", "NOT_EQUALS")], ["db2", "db3"]),
        ([matcher("27017", field="PORT")], ["db1", "db2", "db3"]),
        ([matcher("MONGOS", field="TYPE_NAME")], []),
        ([matcher("env=staging", field="LABEL")], ["db3"]),
        ([matcher("env=staging", "NOT_EQUALS", field="LABEL")], ["db1", "db2"]),
        ([matcher("region=", "STARTS_WITH", field="LABEL"), matcher("db3", "NOT_EQUALS")], []),
    ],
    ids=str,
)
def test_it_has_the_hosts_that_the_matchers_match(
    admin: ApiClient, project: Project, hosts: None, matchers: list[dict[str, str]], expected: list[str]
) -> None:
    found = preview(admin, project, matchers=matchers)["hosts"]
    assert (found["totalCount"], names(found)) == (len(expected), expected)


def test_its_hosts_are_as_in_the_list(admin: ApiClient, project: Project, hosts: None) -> None:
    listed = admin.get(f"/groups/{project.id}/hosts").json()["results"]
    assert preview(admin, project)["hosts"]["results"] == listed


def test_a_window_for_other_alerts_has_no_hosts(admin: ApiClient, project: Project, hosts: None) -> None:
    found = preview(admin, project, alertTypeNames=["AGENT", "REPLICA_SET"])
    assert found["hosts"] == {"totalCount": 0, "results": []}


def test_it_names_a_hundred_hosts_and_counts_all(admin: ApiClient, project: Project) -> None:
    Host.objects.bulk_create(
        Host(group=project, hostname=f"db{number:03}", port=27017, type_name="STANDALONE", created=NOW)
        for number in range(150)
    )
    for matchers in ([], [matcher("db", "STARTS_WITH")]):
        found = preview(admin, project, matchers=matchers)["hosts"]
        assert (found["totalCount"], len(found["results"])) == (150, 100)
        assert names(found)[::99] == ["db000", "db099"]


def test_it_has_the_open_alerts_that_delivery_would_mute(admin: ApiClient, project: Project) -> None:
    alerts = {
        name: make_alert(project, facts={"hostname": name, "port": 27017}, created=NOW + timedelta(minutes=n))
        for n, name in enumerate(["db1", "db2", "db3"])
    }
    make_alert(project, facts={"hostname": "db1", "port": 27017}, status="CLOSED")
    make_alert(project, facts={"hostname": "db1", "port": 27017}, status="TRACKING")
    make_alert(project, facts={"hostname": "db1"}, event_type="MONITORING_AGENT_DOWN")
    make_alert(ProjectFactory.create(), facts={"hostname": "db1", "port": 27017})
    matchers = [matcher("db3", "NOT_EQUALS")]
    found = preview(admin, project, matchers=matchers)["alerts"]
    assert [alert["id"] for alert in found["results"]] == [alerts["db2"].id, alerts["db1"].id]
    assert found["totalCount"] == 2
    listed = admin.get(f"/groups/{project.id}/alerts?status=OPEN").json()["results"]
    assert all(alert in listed for alert in found["results"])
    # The same rule decides after the window is saved.
    dates = {"startDate": "2001-01-01T00:00:00Z", "endDate": "2099-01-01T00:00:00Z"}
    body = bodies.window(alertTypeNames=["HOST"], matchers=matchers, **dates)
    admin.post(f"/groups/{project.id}/maintenanceWindows", body)
    opened = Alert.objects.filter(group=project, status="OPEN")
    muted = muting_windows(list(opened), now=datetime.now(UTC))
    assert set(muted) == {alert["id"] for alert in found["results"]}


def test_it_has_the_open_alerts_about_hosts_with_a_label(
    admin: ApiClient, project: Project, hosts: None
) -> None:
    alerts = {
        host.hostname: make_alert(
            project, facts={"hostId": host.id, "hostname": host.hostname, "port": host.port}
        )
        for host in Host.objects.filter(group=project)
    }
    make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs0"})
    matchers, both = [matcher("env=staging", field="LABEL")], ["HOST", "REPLICA_SET"]
    found = preview(admin, project, matchers=matchers, alertTypeNames=both)["alerts"]
    assert [alert["id"] for alert in found["results"]] == [alerts["db3"].id]


def test_a_preview_ends_with_its_time(project: Project, hosts: None) -> None:
    for name in ("db1", "db2"):
        make_alert(project, facts={"hostname": name, "port": 27017}, created=NOW)
    compared: list[Any] = []

    def matches(rule: WindowRule, subject: object, check: Callable[[], None]) -> bool:
        check()
        compared.append(subject)
        return True

    rule = window_rule(
        start=NOW,
        end=NOW + timedelta(hours=1),
        alert_types=["HOST"],
        matchers=[matcher("db", "STARTS_WITH")],
    )

    def found_within(most: int) -> previews.WindowPreview:
        compared.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WindowRule, "matches", matches)
            return window_preview(
                group_id=project.id,
                rule=rule,
                now=NOW,
                clock=lambda: 100.0 if len(compared) >= most else 0.0,
            )

    cut = found_within(2)
    assert len(compared) == 2
    assert (cut.hosts.count, cut.hosts.compared, cut.alerts.compared) == (2, 2, 0)
    assert not cut.is_complete
    in_alerts = found_within(4)
    assert (in_alerts.hosts.compared, in_alerts.alerts.compared, in_alerts.alerts.count) == (None, 1, 1)
    assert found_within(9).is_complete


def test_an_answer_says_where_it_ended(
    admin: ApiClient, project: Project, hosts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_alert(project, facts={"hostname": "db1", "port": 27017})
    matchers = [matcher("db", "STARTS_WITH")]
    assert "truncated" not in preview(admin, project, matchers=matchers)
    monkeypatch.setattr(previews, "_HOST_SECONDS", 0)
    found = preview(admin, project, matchers=matchers)
    assert found["truncated"] == {"reason": "TIME", "comparedHosts": 0}
    assert (found["hosts"]["totalCount"], found["alerts"]["totalCount"]) == (0, 1)
    monkeypatch.setattr(previews, "SECONDS", 0)
    found = preview(admin, project, matchers=matchers)
    assert found["truncated"] == {"reason": "TIME", "comparedHosts": 0, "comparedAlerts": 0}


def test_previews_with_matchers_share_the_slots_of_dry_runs(
    admin: ApiClient, project: Project, hosts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = BoundedSemaphore(1)
    monkeypatch.setattr(budgets, "_slots", slots)
    with_matchers = bodies.window(alertTypeNames=["HOST"], matchers=[matcher("db1")])
    with slots:
        refused = admin.post(path_of(project), with_matchers)
        assert (refused.status_code, refused.json()["errorCode"]) == (429, "RATE_LIMITED")
        assert preview(admin, project)["hosts"]["totalCount"] == 3
    assert admin.post(path_of(project), with_matchers).status_code == 200


@each(
    ("changes", "code"),
    [
        ({"startDate": None}, "MISSING_MAINTENANCE_WINDOW_START_DATE"),
        ({"endDate": "2001-01-01T00:00:00Z"}, "MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE"),
        ({"recurrence": {"rrule": "FREQ=SECONDLY", "timeZone": "UTC"}}, "INVALID_ATTRIBUTE"),
        ({"unknown": 1}, "INVALID_ATTRIBUTE"),
    ],
    ids=str,
)
def test_it_refuses_what_creating_refuses(
    admin: ApiClient, project: Project, changes: dict[str, Any], code: str
) -> None:
    body = bodies.window(**changes)
    answers = [
        admin.post(path, body) for path in (path_of(project), path_of(project).removesuffix("/preview"))
    ]
    assert [(answer.status_code, answer.json()["errorCode"]) for answer in answers] == [(400, code)] * 2
    assert answers[0].json()["badFields"] == answers[1].json()["badFields"]


def test_it_saves_and_records_nothing(admin: ApiClient, project: Project, hosts: None) -> None:
    before = Event.objects.count()
    preview(admin, project)
    assert not MaintenanceWindow.objects.exists()
    assert Event.objects.count() == before


@each(
    ("role", "status"),
    [(Role.GROUP_MONITORING_ADMIN, 200), (Role.GROUP_OWNER, 200), (Role.GROUP_READ_ONLY, 403)],
    ids=str,
)
def test_it_has_the_access_of_creating(project: Project, role: Role, status: int) -> None:
    caller = ApiClient(make_key(Grant(role, group_id=project.id)))
    assert caller.post(path_of(project), bodies.window()).status_code == status
