"""Acknowledging alerts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert
from events.models import Event
from opsapi.clock import wire_time
from opsapi.roles import Grant, Role
from tests.api.recipients import client, fields, group, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_alert

UNTIL, LATER, GONE = "2099-11-21T12:00:00Z", "2099-11-22T12:00:00Z", "2001-11-21T12:00:00Z"
SHOWN = {"acknowledgedUntil", "acknowledgementComment", "acknowledgingUsername"}
BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def alert(project: Project) -> Alert:
    """An open one."""
    return make_alert(project, created=BEFORE, updated=BEFORE)


@pytest.fixture
def keeper(project: Project) -> ApiClient:
    """Project Monitoring Admin: the lowest role that may."""
    return client(group(Role.GROUP_MONITORING_ADMIN, project))


def path_of(alert: Alert) -> str:
    """Where the API has the alert."""
    return f"/groups/{alert.group_id}/alerts/{alert.id}"


def asked(until: Any = UNTIL, **more: Any) -> dict[str, Any]:
    """What acknowledges."""
    return {"acknowledgedUntil": until, **more}


def recorded() -> list[str]:
    """The types of the events there are, oldest first."""
    return list(Event.objects.order_by("id").values_list("event_type", flat=True))


class TestGiving:
    """Acknowledging."""

    def test_it_answers_the_alert_with_who_until_when_and_why(self, keeper: ApiClient, alert: Alert) -> None:
        before = keeper.get(path_of(alert)).json()
        answer = keeper.patch(path_of(alert), asked(acknowledgementComment="on it"))
        assert answer.status_code == 200
        assert keeper.key
        assert answer.json() == {
            **before,
            "acknowledgedUntil": UNTIL,
            "acknowledgementComment": "on it",
            "acknowledgingUsername": keeper.key.public_key,
            "updated": answer.json()["updated"],
        }
        assert answer.json()["updated"] > before["updated"]
        assert keeper.get(path_of(alert)).json() == answer.json()

    def test_without_a_comment_none_is_shown(self, keeper: ApiClient, alert: Alert) -> None:
        document = keeper.patch(path_of(alert), asked(acknowledgementComment=None)).json()
        assert SHOWN & set(document) == {"acknowledgedUntil", "acknowledgingUsername"}

    def test_the_list_shows_it_too(self, keeper: ApiClient, alert: Alert) -> None:
        alone = keeper.patch(path_of(alert), asked(acknowledgementComment="on it")).json()
        (listed,) = keeper.get(f"/groups/{alert.group_id}/alerts").json()["results"]
        assert listed == {**alone, "links": listed["links"]}

    def test_its_event_shows_the_alert_and_the_changes(self, keeper: ApiClient, alert: Alert) -> None:
        document = keeper.patch(path_of(alert), asked()).json()
        event = Event.objects.get()
        assert (event.event_type, event.alert_id, event.group_id) == (
            "ALERT_ACKNOWLEDGED_AUDIT",
            alert.id,
            alert.group_id,
        )
        assert event.details["alertConfigId"] == alert.config_id
        assert event.diffs == [
            {
                "id": alert.id,
                "type": "ALERT_CONFIG",
                "status": "MODIFIED",
                "params": [
                    {"param": name, "display": name, "new": document[name]}
                    for name in ("acknowledgedUntil", "acknowledgingUsername")
                ],
            }
        ]

    def test_one_that_is_tracked_can_be(self, keeper: ApiClient, project: Project) -> None:
        alert = make_alert(project, status=AlertStatus.TRACKING.value)
        assert keeper.patch(path_of(alert), asked()).json()["acknowledgedUntil"] == UNTIL

    def test_a_time_without_zone_is_utc_and_its_fraction_cut(self, keeper: ApiClient, alert: Alert) -> None:
        document = keeper.patch(path_of(alert), asked("2099-11-21T12:00:00.999")).json()
        assert document["acknowledgedUntil"] == UNTIL

    @each("comment", ["é" * 500, "the disks\nare on their way"], ids=["longest", "lines"])
    def test_a_comment_has_up_to_500_characters(self, keeper: ApiClient, alert: Alert, comment: str) -> None:
        document = keeper.patch(path_of(alert), asked(acknowledgementComment=comment)).json()
        assert document["acknowledgementComment"] == comment

    def test_the_document_read_can_be_written_back(self, keeper: ApiClient, project: Project) -> None:
        alert = make_alert(
            project,
            event_type="OUTSIDE_METRIC_THRESHOLD",
            metric_name="CONNECTIONS",
            current_value=812.5,
            tags=["production"],
            last_notified=BEFORE,
            facts={"hostname": "db1", "port": 1, "hostId": "a" * 24, "replicaSetName": "rs0"},
        )
        read = keeper.get(path_of(alert)).json()
        document = keeper.patch(path_of(alert), {**read, "acknowledgedUntil": UNTIL}).json()
        assert document["acknowledgedUntil"] == UNTIL
        assert keeper.patch(path_of(alert), document).json() == document
        assert recorded() == ["ALERT_ACKNOWLEDGED_AUDIT"]


class TestChanging:
    """Acknowledging what is acknowledged."""

    @pytest.fixture(autouse=True)
    def _acknowledged(self, owner: ApiClient, alert: Alert) -> None:
        self.was = owner.patch(path_of(alert), asked(acknowledgementComment="on it")).json()
        Alert.objects.update(updated=BEFORE)

    @each("again", [asked(), asked(acknowledgementComment="on it")], ids=str)
    def test_the_same_again_changes_nothing_whoever_asks(
        self, keeper: ApiClient, alert: Alert, again: dict[str, Any]
    ) -> None:
        answer = keeper.patch(path_of(alert), again)
        assert answer.json() == {**self.was, "updated": wire_time(BEFORE)}
        assert recorded() == ["ALERT_ACKNOWLEDGED_AUDIT"]

    def test_another_time_keeps_the_comment(self, keeper: ApiClient, alert: Alert) -> None:
        document = keeper.patch(path_of(alert), asked(LATER)).json()
        assert keeper.key
        assert document["acknowledgedUntil"] == LATER
        assert document["acknowledgementComment"] == "on it"
        assert document["acknowledgingUsername"] == keeper.key.public_key
        assert document["updated"] > wire_time(BEFORE)

    def test_its_event_shows_the_old_and_the_new(self, keeper: ApiClient, alert: Alert) -> None:
        keeper.patch(path_of(alert), asked(acknowledgementComment="done by noon"))
        (changed,) = Event.objects.latest("id").diffs
        params = {param["param"]: (param.get("old"), param.get("new")) for param in changed["params"]}
        assert keeper.key
        assert params == {
            "acknowledgementComment": ("on it", "done by noon"),
            "acknowledgingUsername": (self.was["acknowledgingUsername"], keeper.key.public_key),
        }

    @each("more", [{}, {"acknowledgementComment": "on it"}], ids=str)
    def test_a_past_time_takes_it_back(self, keeper: ApiClient, alert: Alert, more: dict[str, Any]) -> None:
        document = keeper.patch(path_of(alert), asked(GONE, **more)).json()
        assert not SHOWN & set(document)
        assert document["updated"] > wire_time(BEFORE)
        assert recorded() == ["ALERT_ACKNOWLEDGED_AUDIT", "ALERT_UNACKNOWLEDGED_AUDIT"]
        (changed,) = Event.objects.latest("id").diffs
        assert {param["param"]: set(param) for param in changed["params"]} == {
            name: {"param", "display", "old"} for name in SHOWN
        }

    def test_once_lapsed_its_fields_are_absent(self, keeper: ApiClient, alert: Alert) -> None:
        Alert.objects.update(acknowledged_until=BEFORE)
        assert not SHOWN & set(keeper.get(path_of(alert)).json())
        (listed,) = keeper.get(f"/groups/{alert.group_id}/alerts").json()["results"]
        assert not SHOWN & set(listed)

    def test_once_lapsed_there_is_nothing_to_take_back(self, keeper: ApiClient, alert: Alert) -> None:
        Alert.objects.update(acknowledged_until=BEFORE)
        assert keeper.patch(path_of(alert), asked(GONE)).json()["updated"] == wire_time(BEFORE)
        assert recorded() == ["ALERT_ACKNOWLEDGED_AUDIT"]

    def test_once_lapsed_a_new_one_has_no_old_comment(self, keeper: ApiClient, alert: Alert) -> None:
        Alert.objects.update(acknowledged_until=BEFORE)
        assert "acknowledgementComment" not in keeper.patch(path_of(alert), asked()).json()


def test_taking_back_what_nobody_gave_changes_nothing(keeper: ApiClient, alert: Alert) -> None:
    before = keeper.get(path_of(alert)).json()
    answer = keeper.patch(path_of(alert), asked(GONE))
    assert (answer.status_code, answer.json(), recorded()) == (200, before, [])


def test_the_present_takes_it_back(keeper: ApiClient, alert: Alert) -> None:
    keeper.patch(path_of(alert), asked())
    now = wire_time(datetime.now(UTC))
    assert not SHOWN & set(keeper.patch(path_of(alert), asked(now)).json())


REFUSED = [
    (asked(""), "acknowledgedUntil", "INVALID_ATTRIBUTE"),
    (asked("tomorrow"), "acknowledgedUntil", "INVALID_ATTRIBUTE"),
    (asked("2099-11-21"), "acknowledgedUntil", "INVALID_ATTRIBUTE"),
    (asked("9999-12-31T23:59:59-01:00"), "acknowledgedUntil", "INVALID_ATTRIBUTE"),
    (asked(acknowledgingUsername="ada"), "acknowledgingUsername", "ATTRIBUTE_READ_ONLY"),
    (asked(status="CLOSED"), "status", "ATTRIBUTE_READ_ONLY"),
    (asked(groupId="a" * 24), "groupId", "ATTRIBUTE_READ_ONLY"),
    (asked(currentValue={"number": 1, "units": "RAW"}), "currentValue", "ATTRIBUTE_READ_ONLY"),
    (asked(tags=["production"]), "tags", "ATTRIBUTE_READ_ONLY"),
    (asked(comment="on it"), "comment", "INVALID_ATTRIBUTE"),
]


@each(("body", "field", "code"), REFUSED, ids=lambda value: str(value)[:60])
def test_a_wrong_field_refuses_it(
    keeper: ApiClient, alert: Alert, body: dict[str, Any], field: str, code: str
) -> None:
    before = keeper.get(path_of(alert)).json()
    answer = keeper.patch(path_of(alert), body)
    assert refusal(answer) == (400, code)
    assert fields(answer) == [field]
    assert keeper.get(path_of(alert)).json() == before
    assert recorded() == []


def test_every_wrong_field_is_named_in_the_documented_order(keeper: ApiClient, alert: Alert) -> None:
    body = {"acknowledgementComment": "x" * 501, "acknowledgedUntil": "x", "status": "CLOSED"}
    answer = keeper.patch(path_of(alert), body)
    assert refusal(answer) == (400, "ATTRIBUTE_READ_ONLY")
    assert fields(answer) == ["status", "acknowledgedUntil", "acknowledgementComment"]


@each("until", [UNTIL, GONE])
@each("status", ["CLOSED", "CANCELLED"])
def test_what_is_over_is_refused(keeper: ApiClient, project: Project, status: str, until: str) -> None:
    alert = make_alert(project, status=status, resolved=BEFORE, acknowledged_until="2099-01-01T00:00:00Z")
    before = keeper.get(path_of(alert)).json()
    answer = keeper.patch(path_of(alert), asked(until))
    assert refusal(answer) == (400, "INVALID_ALERT_STATUS")
    assert fields(answer) == ["status"]
    assert answer.json()["badFields"][0]["allowed"] == ["TRACKING", "OPEN"]
    assert status in answer.json()["detail"]
    assert keeper.get(path_of(alert)).json() == before
    assert recorded() == []


def test_an_alert_of_another_project_is_not_found(keeper: ApiClient, project: Project) -> None:
    other = make_alert(ProjectFactory.create())
    answer = keeper.patch(f"/groups/{project.id}/alerts/{other.id}", asked())
    assert refusal(answer) == (404, "ALERT_NOT_FOUND")
    assert answer.json()["parameters"] == [other.id, project.id]
    assert Alert.objects.get().acknowledged_until is None


@each("role", [Role.GROUP_READ_ONLY, Role.GROUP_AUTOMATION_ADMIN, Role.GROUP_USER_ADMIN])
def test_other_roles_read_but_do_not_acknowledge(project: Project, alert: Alert, role: Role) -> None:
    caller = ApiClient(make_key(Grant(role, group_id=project.id)))
    assert caller.get(path_of(alert)).status_code == 200
    assert refusal(caller.patch(path_of(alert), asked())) == (403, "USER_UNAUTHORIZED")
    assert recorded() == []
