"""Why a configuration alerts on a host now, or why it does not, over HTTP."""

from datetime import timedelta

import pytest

from accesslist.models import Project
from alerting.models import Alert, Notification
from alerting.windows import store as windows
from events.models import Event
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.roles import Role
from tests.api import bodies
from tests.api.explainer import Explainer
from tests.api.recipients import client, group, refusal
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.integration.alerting.pipeline import evaluate

pytestmark = pytest.mark.django_db
TYPE_IS_PRIMARY = {"fieldName": "TYPE_NAME", "operator": "EQUALS", "value": "PRIMARY"}


@pytest.fixture
def fleet(owner: ApiClient, project: Project) -> Explainer:
    """The project of the tests, without hosts."""
    return Explainer(owner, project)


def test_a_host_that_is_down_alerts(fleet: Explainer) -> None:
    config = fleet.config()
    fleet.report(reachable=False)
    alert = Alert.objects.get()
    document = fleet.explain(config)
    assert document["wouldAlert"] is True
    assert "reason" not in document
    assert (document["alertConfigId"], document["hostId"]) == (config, fleet.host_id)
    assert (document["alertId"], document["opens"]) == (alert.id, wire_time(alert.opens))


def test_a_host_that_is_up_does_not_alert(fleet: Explainer) -> None:
    config = fleet.config()
    fleet.report()
    assert fleet.reason(config) == "CONDITION_FALSE"


def test_a_disabled_configuration_is_the_first_reason(fleet: Explainer) -> None:
    config = fleet.config(enabled=False, matchers=[TYPE_IS_PRIMARY])
    fleet.report(reachable=False)
    assert fleet.reason(config) == "DISABLED"


def test_a_matcher_is_shown_with_the_value_that_it_was_compared_with(fleet: Explainer) -> None:
    matching = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "DB"}
    config = fleet.config(matchers=[matching, TYPE_IS_PRIMARY])
    fleet.report(reachable=False)
    document = fleet.explain(config)
    assert document["reason"] == "MATCHER"
    assert document["matchers"] == [
        {**matching, "actualValue": "db1.example.com", "matched": True},
        {**TYPE_IS_PRIMARY, "actualValue": "STANDALONE", "matched": False},
    ]


def test_an_open_alert_stays_open_whatever_its_matchers_say_now(fleet: Explainer) -> None:
    config = fleet.config(matchers=[TYPE_IS_PRIMARY])
    fleet.report(reachable=False, typeName="REPLICA_PRIMARY")
    fleet.report(reachable=False, typeName="REPLICA_SECONDARY")
    assert Alert.objects.get().status == "OPEN"
    assert fleet.reason(config) is None


def test_a_host_that_no_agent_has_reported_does_not_alert(fleet: Explainer) -> None:
    fleet.owner.post(f"{fleet.base}/hosts", bodies.new_host())
    assert fleet.reason(fleet.config()) == "NOT_REPORTED"


def test_a_metric_that_the_newest_measurements_do_not_contain(fleet: Explainer) -> None:
    config = fleet.config(bodies.metric_config())
    fleet.report(("OPCOUNTER_QUERY", 1))
    document = fleet.explain(config)
    assert document["reason"] == "METRIC_NOT_REPORTED"
    assert "currentValue" not in document
    assert document["measured"] <= wire_time(clock.now())


def test_a_value_inside_the_threshold(fleet: Explainer) -> None:
    config = fleet.config(bodies.metric_config())
    fleet.report(("CONNECTIONS", 100))
    document = fleet.explain(config)
    assert document["reason"] == "INSIDE_THRESHOLD"
    assert document["currentValue"] == {"number": 100, "units": "RAW"}


def test_a_value_outside_the_threshold(fleet: Explainer) -> None:
    config = fleet.config(bodies.metric_config())
    fleet.report(("CONNECTIONS", 101))
    document = fleet.explain(config)
    assert document["wouldAlert"] is True
    assert document["currentValue"] == {"number": 101, "units": "RAW"}


def test_members_of_a_replica_set_are_counted(fleet: Explainer) -> None:
    threshold = {"operator": "LESS_THAN", "threshold": 1}
    config = fleet.config(eventTypeName="TOO_FEW_HEALTHY_MEMBERS", threshold=threshold)
    fleet.report(typeName="REPLICA_PRIMARY", replicaSetName="rs0")
    document = fleet.explain(config)
    assert (document["reason"], document["currentValue"]["number"]) == ("INSIDE_THRESHOLD", 1)
    fleet.report(typeName="REPLICA_PRIMARY", replicaSetName="rs0", reachable=False)
    assert fleet.reason(config) is None


def test_several_primaries_are_not_true_while_there_is_none(fleet: Explainer) -> None:
    none, several = (fleet.config(eventTypeName=name) for name in ("NO_PRIMARY", "MULTIPLE_PRIMARIES"))
    fleet.report(typeName="REPLICA_SECONDARY", replicaSetName="rs0")
    assert (fleet.reason(none), fleet.reason(several)) == (None, "CONDITION_FALSE")


def test_an_event_type_about_something_else(fleet: Explainer) -> None:
    agents = fleet.config(eventTypeName="MONITORING_AGENT_DOWN")
    sets = fleet.config(eventTypeName="NO_PRIMARY")
    fleet.report()
    assert (fleet.reason(agents), fleet.reason(sets)) == ("OTHER_TARGET", "OTHER_TARGET")


def test_a_type_that_only_an_event_opens(fleet: Explainer) -> None:
    stale = fleet.config(eventTypeName="HOST_SSL_CERTIFICATE_STALE")
    restarted = fleet.config(eventTypeName="HOST_RESTARTED")
    fleet.report()
    assert (fleet.reason(stale), fleet.reason(restarted)) == ("NO_EVENT", "NO_EVENT")
    event = {"eventTypeName": "HOST_SSL_CERTIFICATE_STALE", "hostname": "db1.example.com", "port": 27017}
    fleet.owner.report(fleet.project.id, bodies.report(bodies.host(), events=[event]))
    evaluate()
    assert fleet.reason(stale) is None


def test_a_condition_is_tracked_until_the_smallest_delay_has_passed(fleet: Explainer) -> None:
    notifications = [bodies.email(delayMin=30), bodies.email(emailAddress="b@example.com", delayMin=10)]
    config = fleet.config(notifications=notifications)
    fleet.report(reachable=False)
    alert = Alert.objects.get()
    document = fleet.explain(config)
    assert (document["reason"], document["alertId"]) == ("TRACKED", alert.id)
    assert document["opens"] == wire_time(alert.created + timedelta(minutes=10))


def test_a_maintenance_window_mutes_the_alert(fleet: Explainer) -> None:
    config = fleet.config()
    fleet.report(reachable=False)
    window = bodies.window(startDate=wire_time(clock.now() - timedelta(hours=1)))
    made = fleet.owner.post(f"{fleet.base}/maintenanceWindows", window).json()
    document = fleet.explain(config)
    assert (document["reason"], document["maintenanceWindowId"]) == ("MUTED", made["id"])


def test_a_maintenance_window_mutes_the_alert_as_long_as_the_host_has_the_label(fleet: Explainer) -> None:
    config = fleet.config()
    fleet.report(reachable=False)
    window = bodies.window(
        startDate=wire_time(clock.now() - timedelta(hours=1)),
        alertTypeNames=["HOST"],
        matchers=[{"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"}],
    )
    assert fleet.owner.post(f"{fleet.base}/maintenanceWindows", window).status_code == 200
    reasons = []
    for labels in ({}, {"env": "staging"}, {"env": "production"}):
        body = bodies.report(bodies.host(reachable=False), labels=labels)
        assert fleet.owner.report(fleet.project.id, body).status_code == 202
        reasons.append(fleet.reason(config))
    assert reasons == [None, "MUTED", None]


def test_it_writes_nothing(fleet: Explainer) -> None:
    config = fleet.config()
    fleet.report(reachable=False)
    before = [list(model.objects.order_by("id").values()) for model in (Alert, Event, Notification)]
    fleet.explain(config)
    after = [list(model.objects.order_by("id").values()) for model in (Alert, Event, Notification)]
    assert after == before


def test_readers_may_ask(fleet: Explainer) -> None:
    config = fleet.config()
    fleet.report()
    reader, stranger = (
        client(group(Role.GROUP_READ_ONLY, each)) for each in (fleet.project, ProjectFactory.create())
    )
    assert fleet.ask(config, caller=reader).status_code == 200
    assert refusal(fleet.ask(config, caller=stranger)) == (403, "NOT_IN_GROUP")


def test_hosts_of_other_projects_are_not_found(fleet: Explainer, owner: ApiClient) -> None:
    config, other = fleet.config(), Explainer(owner, ProjectFactory.create())
    other.report()
    assert refusal(fleet.ask(config, other.host_id)) == (404, "HOST_NOT_FOUND")
    assert refusal(fleet.ask(config, "x")) == (400, "INVALID_ATTRIBUTE")


def test_it_says_when_windows_were_not_compared_in_time(
    fleet: Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = fleet.config()
    fleet.report(reachable=False)
    path = f"/groups/{fleet.project.id}"
    body = bodies.window(
        alertTypeNames=["HOST"], startDate="2001-01-01T00:00:00Z", endDate="2099-01-01T00:00:00Z"
    )
    assert fleet.owner.post(f"{path}/maintenanceWindows", body).status_code == 200
    explanation = f"{path}/alerts/{Alert.objects.get().id}/explanation"
    assert fleet.reason(config) == "MUTED"
    assert "truncated" not in fleet.owner.get(explanation).json()
    monkeypatch.setattr(windows, "COMPARE_SECONDS", 0)
    document = fleet.explain(config)
    assert (document["wouldAlert"], document["reason"]) == (False, "PERHAPS_MUTED")
    assert fleet.owner.get(explanation).json()["truncated"] == {"reason": "TIME"}
