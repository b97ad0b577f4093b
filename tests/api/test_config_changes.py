"""Replacing and changing alert configurations of both kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, AlertConfig
from events.models import Event, Signal
from opsapi import clock
from tests.api import bodies
from tests.api.bodies import alert_config, email, host, metric_config, report, webhook
from tests.client import ApiClient
from tests.each import each

MATCHER = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1.example.com"}
MORNING, NOON = "2099-01-01T08:00:00Z", "2099-01-01T12:00:00Z"
pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class ConfigKind:
    """The path of a kind of configuration, and the additional fields of its bodies."""

    path: str
    scope: Mapping[str, Any]
    client: ApiClient

    def make(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration created from the body, as the API answers it."""
        made: dict[str, Any] = self.client.post(self.path, {**self.scope, **body}).json()
        return made

    def put(self, config: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
        """What replacing it answers."""
        return self.client.put(f"{self.path}/{config['id']}", {**self.scope, **body})

    def get(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """As it is read."""
        found: dict[str, Any] = self.client.get(f"{self.path}/{config['id']}").json()
        return found


@pytest.fixture(params=["project", "global"])
def kind(request: pytest.FixtureRequest, owner: ApiClient, project: Project) -> ConfigKind:
    """Either kind."""
    if request.param == "global":
        return ConfigKind("/globalAlertConfigs", {"forAllGroups": True}, owner)
    return ConfigKind(f"/groups/{project.id}/alertConfigs", {}, owner)


def evaluate() -> None:
    """Evaluate everything there is."""
    while evaluate_signals(now=clock.now()):
        pass


def down(owner: ApiClient, project: Project) -> None:
    """A host is down, with many connections."""
    sample = {"metricName": "CONNECTIONS", "number": 200}
    owner.report(project.id, report(host(reachable=False, measurements=[sample])))
    evaluate()


def recorded_since(count: int) -> list[str]:
    """The types of the events since there were so many."""
    return [event.event_type for event in Event.objects.order_by("id")[count:]]


def diff_of(event_type: str) -> dict[str, tuple[str | None, str | None]]:
    """Old and new of every field, of the only event of the type."""
    (diff,) = Event.objects.get(event_type=event_type).diffs
    return {param["param"]: (param.get("old"), param.get("new")) for param in diff["params"]}


@pytest.mark.slow
@each(
    "body",
    [
        alert_config(matchers=[MATCHER], notifications=[email(delayMin=5), webhook()]),
        metric_config(threshold=5, units="RAW"),
        alert_config(
            eventTypeName="TOO_FEW_HEALTHY_MEMBERS", threshold={"operator": "LESS_THAN", "threshold": 2}
        ),
        alert_config(enabled=False),
        metric_config(threshold=12345678901234567890, units="RAW"),
    ],
    ids=["matchers", "metric", "count", "disabled", "an integer that is no double"],
)
def test_what_was_read_can_be_written_back_and_changes_nothing(
    kind: ConfigKind, project: Project, body: dict[str, Any]
) -> None:
    with time_machine.travel(MORNING, tick=False):
        made = kind.make(body)
        down(kind.client, project)
    alerts, events = list(Alert.objects.values()), Event.objects.count()
    with time_machine.travel(NOON, tick=False):
        read = kind.get(made)
        assert kind.put(made, read).json() == read
        # Without what is read-only, and with what was sent at first.
        assert kind.put(made, {name: read[name] for name in read.keys() & body.keys()}).json() == read
        assert kind.put(made, body).json() == read
    assert read["updated"] == MORNING
    assert (list(Alert.objects.values()), Event.objects.count()) == (alerts, events)
    assert not Signal.objects.exists()


def test_a_threshold_written_otherwise_is_the_same(kind: ConfigKind) -> None:
    made = kind.make(metric_config(threshold=5))
    for same in (5, 5.0):
        assert kind.put(made, metric_config(threshold=same)).json()["updated"] == made["updated"]
    assert recorded_since(1) == []


def test_other_notifications_leave_the_alerts_alone(kind: ConfigKind, project: Project) -> None:
    with time_machine.travel(MORNING, tick=False):
        made = kind.make(alert_config())
        down(kind.client, project)
    with time_machine.travel(NOON, tick=False):
        changed = kind.put(made, alert_config(notifications=[webhook(), email(intervalMin=5)])).json()
    assert (changed["created"], changed["updated"]) == (MORNING, NOON)
    assert [notification["typeName"] for notification in changed["notifications"]] == ["WEBHOOK", "EMAIL"]
    assert list(Alert.objects.values_list("status", flat=True)) == ["OPEN"]
    assert not Signal.objects.exists()
    ((name, (old, new)),) = diff_of("ALERT_CONFIG_CHANGED_AUDIT").items()
    assert (name, "WEBHOOK" in str(old), "WEBHOOK" in str(new)) == ("notifications", False, True)
    assert bodies.SECRET not in str(list(Event.objects.values()))


@pytest.mark.slow
@each(
    ("before", "after"),
    [
        (alert_config(), alert_config(matchers=[MATCHER])),
        (alert_config(matchers=[MATCHER]), alert_config()),
        (metric_config(), metric_config(threshold=150)),
        (metric_config(), metric_config(units="RAW", threshold=99.5)),
        (alert_config(), metric_config()),
        (metric_config(), alert_config()),
    ],
)
def test_another_meaning_cancels_the_alert_and_looks_again(
    kind: ConfigKind, project: Project, before: dict[str, Any], after: dict[str, Any]
) -> None:
    made = kind.make(before)
    down(kind.client, project)
    count = Event.objects.count()
    changed = kind.put(made, after)
    assert changed.status_code == 200
    assert recorded_since(count) == ["ALERT_CONFIG_CHANGED_AUDIT", "ALERT_CANCELLED_AUDIT"]
    evaluate()
    alerts = Alert.objects.order_by("id").values_list("status", "event_type")
    assert list(alerts) == [("CANCELLED", before["eventTypeName"]), ("OPEN", after["eventTypeName"])]


def test_what_is_left_out_is_taken_away_but_enabled_stays(kind: ConfigKind) -> None:
    made = kind.make(alert_config(matchers=[MATCHER], enabled=False))
    changed = kind.put(made, alert_config()).json()
    assert (changed["matchers"], changed["enabled"]) == ([], False)
    assert recorded_since(1) == ["ALERT_CONFIG_CHANGED_AUDIT"]


def test_enabling_and_another_meaning_are_two_events(kind: ConfigKind) -> None:
    made = kind.make(alert_config(enabled=False))
    kind.put(made, alert_config(eventTypeName="NEW_HOST", enabled=True))
    assert recorded_since(1) == ["ALERT_CONFIG_ENABLED_AUDIT", "ALERT_CONFIG_CHANGED_AUDIT"]
    assert diff_of("ALERT_CONFIG_ENABLED_AUDIT") == {"enabled": ("false", "true")}
    assert diff_of("ALERT_CONFIG_CHANGED_AUDIT") == {
        "eventTypeName": ("HOST_DOWN", "NEW_HOST"),
        "severity": ("CRITICAL", "INFO"),
    }


def test_disabling_cancels_and_enabling_looks_again(kind: ConfigKind, project: Project) -> None:
    made = kind.make(alert_config())
    down(kind.client, project)
    for enabled, statuses in ((False, ["CANCELLED"]), (True, ["CANCELLED", "OPEN"])):
        changed = kind.client.patch(f"{kind.path}/{made['id']}", {"enabled": enabled})
        assert (changed.status_code, changed.json()["enabled"]) == (200, enabled)
        assert {**changed.json(), "enabled": True, "updated": ""} == {**made, "updated": ""}
        evaluate()
        assert list(Alert.objects.order_by("id").values_list("status", flat=True)) == statuses


@each("enabled", [True, False])
def test_a_switch_that_is_so_already_does_nothing(kind: ConfigKind, enabled: bool) -> None:
    made = kind.make(alert_config(enabled=enabled))
    Signal.objects.all().delete()
    assert kind.client.patch(f"{kind.path}/{made['id']}", {"enabled": enabled}).json() == made
    assert (recorded_since(1), Signal.objects.count()) == ([], 0)


def test_its_open_alerts_are_listed_and_no_others(kind: ConfigKind, project: Project) -> None:
    made = kind.make(alert_config())
    kind.make(alert_config())
    down(kind.client, project)
    kind.client.report(project.id, report(host(port=2, reachable=False)))
    evaluate()
    closed = Alert.objects.filter(config_id=made["id"]).order_by("id").first()
    assert closed
    Alert.objects.filter(id=closed.id).update(status="CLOSED")
    document = kind.client.get(f"{kind.path}/{made['id']}/alerts?itemsPerPage=1").json()
    assert document["totalCount"] == len(document["results"]) == 1
    (alert,) = document["results"]
    assert (alert["alertConfigId"], alert["status"]) == (made["id"], "OPEN")
    answer = kind.client.request("GET", alert["links"][0]["href"].removeprefix("http://testserver"), base="")
    assert answer.json()["id"] == alert["id"]


def test_a_change_leaves_what_it_does_not_name(owner: ApiClient, project: Project) -> None:
    kind = ConfigKind(f"/groups/{project.id}/alertConfigs", {}, owner)
    made = kind.make(alert_config(matchers=[MATCHER], notifications=[webhook(), email()]))
    path = f"{kind.path}/{made['id']}"
    metric = {name: metric_config()[name] for name in ("eventTypeName", "metricThreshold")}
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"matchers": []}, {"matchers": []}),
        ({"eventTypeName": "NEW_HOST"}, {"eventTypeName": "NEW_HOST"}),
        ({"notifications": made["notifications"][:1]}, {"notifications": made["notifications"][:1]}),
        ({"matchers": None, "enabled": None}, {}),
        ({}, {}),
        (
            metric,
            {**metric, "metricThreshold": {**metric["metricThreshold"], "mode": "AVERAGE", "units": "RAW"}},
        ),
    ]
    expected = made
    for body, changed in changes:
        shown = owner.patch(path, body).json()
        expected = {**expected, **changed, "updated": shown["updated"]}
        assert shown == expected


def test_a_threshold_goes_with_its_event_type(owner: ApiClient, project: Project) -> None:
    kind = ConfigKind(f"/groups/{project.id}/alertConfigs", {}, owner)
    made = kind.make(metric_config())
    shown = owner.patch(f"{kind.path}/{made['id']}", {"eventTypeName": "HOST_DOWN"}).json()
    assert (shown["eventTypeName"], "metricThreshold" in shown) == ("HOST_DOWN", False)


@each("name", ["id", "created", "updated"])
def test_what_is_read_only_may_say_only_what_is_stored(kind: ConfigKind, name: str) -> None:
    made = kind.make(alert_config())
    other = {"id": "a" * 24}.get(name, MORNING)
    answer = kind.put(made, {**made, name: other})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "ATTRIBUTE_READ_ONLY")
    assert answer.json()["badFields"][0]["field"] == name


def test_a_deleted_one_is_neither_replaced_nor_changed(kind: ConfigKind) -> None:
    made = kind.make(alert_config())
    path = f"{kind.path}/{made['id']}"
    assert kind.client.delete(path).status_code == 204
    code = "ALERT_CONFIG_NOT_FOUND" if "groups" in path else "GLOBAL_ALERT_CONFIG_NOT_FOUND"
    for answer in (
        kind.put(made, made),
        kind.client.patch(path, {"enabled": False}),
        kind.client.get(f"{path}/alerts"),
        kind.client.post(f"{path}/test", None),
    ):
        assert (answer.status_code, answer.json()["errorCode"]) == (404, code)
    assert AlertConfig.objects.get().enabled is False
