"""What becomes of alerts about a host that is deleted or gets another address."""

from collections.abc import Callable

import pytest

from accesslist.models import Project
from alerting.models import Alert, AlertConfig
from automation.hosts.changes import host_change, host_delete
from automation.models import Host
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def config(project: Project, outside: Outside) -> AlertConfig:
    """Two hosts are down, and the webhook was notified of both."""
    made = make_config(project)
    ingest(project, host_report("db1", reachable=False), host_report("db2", reachable=False))
    evaluate()
    deliver_all()
    assert statuses(made) == ["OPEN", "OPEN"]
    return made


def delete(hostname: str) -> None:
    """Delete it, as the system."""
    host = Host.objects.get(hostname=hostname)
    host_delete(group_id=host.group_id, host_id=host.id, actor=SYSTEM, now=clock.now())


def move(name: str, **changes: object) -> None:
    """Give it another address."""
    host = Host.objects.get(hostname=name)
    host_change(group_id=host.group_id, host_id=host.id, changes=changes, actor=SYSTEM, now=clock.now())


def test_its_alerts_are_cancelled_and_notified_and_no_others(config: AlertConfig, outside: Outside) -> None:
    delete("db1")
    deliver_all()
    assert sorted(statuses(config)) == ["CANCELLED", "OPEN"]
    assert outside.kinds == [MessageKind.OPEN, MessageKind.OPEN, MessageKind.CANCEL]
    cancelled = Event.objects.filter(event_type=EventType.ALERT_CANCELLED_AUDIT.value)
    assert [event.details["hostname"] for event in cancelled] == ["db1"]


@pytest.mark.parametrize("changes", [{"hostname": "db3"}, {"port": 27018}], ids=["hostname", "port"])
def test_one_that_moves_leaves_its_alert_and_gets_a_new_one(
    config: AlertConfig, project: Project, changes: dict[str, object]
) -> None:
    move("db1", **changes)
    assert sorted(statuses(config)) == ["CANCELLED", "OPEN"]
    evaluate()
    assert sorted(statuses(config)) == ["CANCELLED", "OPEN", "OPEN"]


def test_another_spelling_of_its_name_is_no_other_address(config: AlertConfig) -> None:
    move("db1", hostname="DB1")
    assert statuses(config) == ["OPEN", "OPEN"]


def test_an_alert_that_an_event_began_before_the_host_was_known_ends_too(
    project: Project, outside: Outside
) -> None:
    certificate = make_config(project, eventTypeName=EventType.HOST_SSL_CERTIFICATE_STALE.value)
    stale = EventReport(event_type=EventType.HOST_SSL_CERTIFICATE_STALE, hostname="DB1", port=27017)
    ingest(project, events=[stale])
    evaluate()
    assert statuses(certificate) == ["OPEN"]
    ingest(project, host_report("db1"))
    delete("db1")
    assert statuses(certificate) == ["CANCELLED"]


@pytest.mark.parametrize(
    ("leave", "alerts"),
    [(lambda: delete("db1"), {"db2:27017"}), (lambda: move("db1", port=27018), {"db1:27018", "db2:27017"})],
    ids=["del", "move"],
)
def test_a_report_from_before_opens_nothing_that_nothing_would_close(
    project: Project, outside: Outside, leave: Callable[[], None], alerts: set[str]
) -> None:
    made = make_config(project)
    evaluate()
    ingest(project, host_report("db1", reachable=False), host_report("db2", reachable=False))
    leave()
    evaluate()
    facts = Alert.objects.filter(config_id=made.id).values_list("facts", flat=True)
    assert {f"{fact['hostname']}:{fact['port']}" for fact in facts} == alerts


@pytest.mark.parametrize(
    "leave", [lambda: delete("db1"), lambda: move("db1", port=27018)], ids=["del", "move"]
)
def test_an_event_from_before_opens_nothing_that_nothing_would_close(
    project: Project, outside: Outside, leave: Callable[[], None]
) -> None:
    certificate = make_config(project, eventTypeName=EventType.HOST_SSL_CERTIFICATE_STALE.value)
    rollback = make_config(project, eventTypeName=EventType.HOST_ROLLBACK.value)
    ingest(project, host_report("db1"), host_report("db2"))
    evaluate()
    stale, rolled_back = EventType.HOST_SSL_CERTIFICATE_STALE, EventType.HOST_ROLLBACK
    said = [(stale, "DB1"), (stale, "db2"), (rolled_back, "db1")]
    events = [EventReport(event_type=name, hostname=hostname, port=27017) for name, hostname in said]
    ingest(project, events=events)
    leave()
    evaluate()
    assert [alert.facts["hostname"] for alert in Alert.objects.filter(config_id=certificate.id)] == ["db2"]
    assert statuses(rollback) == []
    deliver_all()
    # What happened did happen.
    assert outside.kinds.count(MessageKind.INFORM) == 1
