"""What messages say of alerts and events."""

from datetime import UTC, datetime, timedelta
from typing import Any

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator
from alerting.configs.rules import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.configs.wording import comparison
from alerting.engine.messages import alert_facts, alert_headline, event_facts, facts_of_test
from alerting.engine.transition import ConfigView
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType
from integrations.choices import MessageKind
from tests.each import each

_ABOVE, _BELOW = ThresholdOperator.GREATER_THAN, ThresholdOperator.LESS_THAN
CREATED = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)
GIGABYTE = MetricThreshold(Metric.MEMORY_RESIDENT, _ABOVE, 1, Unit.GIGABYTES)
CONNECTIONS = MetricThreshold(Metric.CONNECTIONS, _ABOVE, 900, Unit.RAW)
ON_PAY = (Matcher(MatcherField.HOSTNAME, MatcherOperator.STARTS_WITH, "pay-"),)
CONFIG = ConfigView("c", EventType.OUTSIDE_METRIC_THRESHOLD, matchers=ON_PAY, threshold=GIGABYTE)


def alert(**changes: Any) -> dict[str, Any]:
    """The document of an alert of memory."""
    document = {
        "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
        "created": "2026-11-21T07:26:14Z",
        "status": "OPEN",
        "metricName": "MEMORY_RESIDENT",
        "currentValue": {"number": 2.0**31, "units": "BYTES"},
        "hostnameAndPort": "db1:27017",
        "replicaSetName": "rs0",
        "clusterName": "orders",
    }
    return document | changes


OVER = {"resolved": "2026-11-21T10:46:14Z", "currentValue": {"number": 2.0**29, "units": "BYTES"}}


def headline(
    document: dict[str, Any], config: ConfigView | None = CONFIG, kind: MessageKind = MessageKind.OPEN
) -> str:
    """Of a message a minute short of four hours after the alert began."""
    return alert_headline(document, config, kind=kind, now=CREATED + timedelta(hours=3, minutes=59))


@each(
    ("value", "threshold", "words"),
    [
        (2.0**31, GIGABYTE, "2 GB > 1 GB"),
        (2.0**31, MetricThreshold(Metric.MEMORY_RESIDENT, _ABOVE, 2**30, Unit.BYTES), "2 GB > 1 GB"),
        (300, MetricThreshold(Metric.MEMORY_RESIDENT, _BELOW, 1, Unit.GIGABYTES), "300 B < 1 GB"),
        (1650, CONNECTIONS, "1,650 > 900"),
        (82.5, MetricThreshold(Metric.CONNECTIONS_PERCENT, _ABOVE, 80, Unit.PERCENT), "82.5 % > 80 %"),
        (90, MetricThreshold(Metric.OPLOG_MASTER_TIME, _ABOVE, 1, Unit.MINUTES), "1 min 30 s > 1 min"),
        (401, MetricThreshold(Metric.OPLOG_MASTER_TIME, _ABOVE, 60, Unit.SECONDS), "6 min 41 s > 60 s"),
        (60.2, MetricThreshold(Metric.OPLOG_MASTER_TIME, _ABOVE, 60, Unit.SECONDS), "60.2 s > 60 s"),
        # Values that would look equal get as many places as distinguish them.
        (900.0004, CONNECTIONS, "900.0004 > 900"),
        (2**30 + 1024, GIGABYTE, "1.00000095367432 GB > 1 GB"),
    ],
)
def test_it_compares_value_and_threshold_in_readable_units(
    value: float, threshold: MetricThreshold, words: str
) -> None:
    assert comparison(threshold.metric, value, threshold) == words


@each("operator", list(ThresholdOperator))
def test_every_operator_has_a_sign(operator: ThresholdOperator) -> None:
    threshold = MetricThreshold(Metric.CONNECTIONS, operator, 900, Unit.RAW)
    assert comparison(Metric.CONNECTIONS, 900, threshold).split()[1] in {"<", ">"}


@each(
    ("document", "config", "kind", "words"),
    [
        (alert(), CONFIG, MessageKind.OPEN, "Resident memory 2 GB > 1 GB"),
        (alert(), None, MessageKind.OPEN, "Resident memory 2 GB"),
        (alert(), CONFIG, MessageKind.ACKNOWLEDGE, "Resident memory 2 GB > 1 GB"),
        (alert(), CONFIG, MessageKind.UPDATE, "Resident memory 2 GB > 1 GB for 3 h 59 min"),
        (alert(**OVER), CONFIG, MessageKind.CLOSE, "Resident memory > 1 GB after 3 h 20 min"),
        # The alert is over while its opening is still being sent again.
        (alert(**OVER), CONFIG, MessageKind.OPEN, "Resident memory > 1 GB"),
        (alert(**OVER), None, MessageKind.CANCEL, "Resident memory 512 MB after 3 h 20 min"),
    ],
)
def test_a_headline_says_what_is_wrong_and_of_an_end_how_long_it_lasted(
    document: dict[str, Any], config: ConfigView | None, kind: MessageKind, words: str
) -> None:
    assert headline(document, config, kind) == words


def test_a_headline_of_what_is_not_measured_is_its_event_type_in_words() -> None:
    document = {"eventTypeName": "HOST_DOWN", "created": "2026-11-21T07:26:14Z"}
    assert headline(document, None) == "Host down"


def test_a_headline_without_a_value_says_the_threshold() -> None:
    document = alert()
    del document["currentValue"]
    assert headline(document) == "Resident memory > 1 GB"
    assert headline(document, None) == "Resident memory"


def test_the_facts_of_an_alert_name_everything_in_order_of_importance() -> None:
    facts = alert_facts(alert(), CONFIG, project="payments")
    assert list(facts.items()) == [
        ("Alert", "Outside metric threshold (OUTSIDE_METRIC_THRESHOLD)"),
        ("Metric", "Resident memory (MEMORY_RESIDENT)"),
        ("Value", "2 GB"),
        ("Threshold", "above 1 GB"),
        ("Host", "db1:27017"),
        ("Replica set", "rs0"),
        ("Cluster", "orders"),
        ("Project", "payments"),
        ("Since", "2026-11-21 07:26:14Z"),
        ("Configuration", "Resident memory above 1 GB, where HOSTNAME starts with “pay-”"),
    ]


def test_the_facts_of_an_end_say_when_it_was_and_how_long_it_lasted() -> None:
    facts = alert_facts(alert(**OVER), CONFIG, project="payments")
    assert (facts["Value"], facts["Until"], facts["Duration"]) == (
        "0.5 GB",
        "2026-11-21 10:46:14Z",
        "3 h 20 min",
    )


def test_the_facts_of_an_acknowledged_alert_say_who_until_when_and_why() -> None:
    acknowledged = {
        "acknowledgingUsername": "ada",
        "acknowledgedUntil": "2026-11-21T12:00:00Z",
        "acknowledgementComment": "on it",
    }
    facts = alert_facts(alert(**acknowledged), CONFIG, project="payments")
    assert facts["Acknowledged by"] == "ada"
    assert facts["Acknowledged until"] == "2026-11-21 12:00:00Z"
    assert facts["Comment"] == "on it"


def test_a_count_of_members_has_a_threshold() -> None:
    config = ConfigView("c", EventType.TOO_FEW_HEALTHY_MEMBERS, threshold=CountThreshold(_BELOW, 3))
    document = {"eventTypeName": "TOO_FEW_HEALTHY_MEMBERS", "created": "2026-11-21T07:26:14Z"}
    facts = alert_facts(document, config, project="payments")
    assert (facts["Threshold"], facts["Configuration"]) == ("below 3", "Healthy members below 3")


def test_matchers_of_a_global_configuration_are_hidden_from_others() -> None:
    config = ConfigView(
        "c", EventType.HOST_DOWN, matchers=ON_PAY, is_global=True, tags=("customers of the old contract",)
    )
    facts = alert_facts(
        {"eventTypeName": "HOST_DOWN", "created": "2026-11-21T07:26:14Z"}, config, project="payments"
    )
    assert facts["Configuration"] == "Host down (global)"


def event(name: str) -> dict[str, Any]:
    """The document of an event that somebody caused."""
    return {
        "eventTypeName": name,
        "created": "2026-11-21T07:26:14Z",
        "hostname": "db1",
        "port": 27017,
        "username": "ada",
        "targetUsername": "grace",
    }


def test_the_facts_of_an_event_say_what_where_and_who() -> None:
    assert event_facts(event("HOST_ROLLBACK"), project="payments") == {
        "Event": "Host rollback (HOST_ROLLBACK)",
        "Host": "db1:27017",
        "User": "grace",
        "By": "ada",
        "Project": "payments",
        "Time": "2026-11-21 07:26:14Z",
    }


def test_nothing_that_a_stranger_wrote_is_among_the_facts() -> None:
    facts = event_facts(event("USER_CREATED_AUDIT"), project=None)
    assert not {"ada", "grace"} & set(facts.values())


def test_a_test_names_the_configuration_and_who_asked_for_it() -> None:
    facts = facts_of_test(event("ALERT_CONFIG_TESTED_AUDIT"), CONFIG, project="payments")
    assert facts["Alert"] == "Outside metric threshold (OUTSIDE_METRIC_THRESHOLD)"
    assert facts["Configuration"].startswith("Resident memory above 1 GB")
    assert (facts["By"], facts["Project"]) == ("ada", "payments")
    assert "Event" not in facts
