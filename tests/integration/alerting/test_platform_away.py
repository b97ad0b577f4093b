"""After the platform was away, an alert in its delay opens when a report confirms it, or after a time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import open_tracked
from alerting.insight.host_explanations import explain_config
from alerting.models import Alert, AlertConfig, Notification
from alerting.reasons import AlertReason, NotificationReason
from automation.agents.rules import HEARTBEAT_TIMEOUT
from automation.choices import HostType
from automation.models import Agent, FleetWatch, Host
from events.models import Signal
from integrations.choices import MessageKind
from tests.each import each
from tests.factories.alerting import WEBHOOK, make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, WorkerInTime, evaluate, statuses

pytestmark = pytest.mark.django_db
STOPPED = datetime(2025, 3, 4, 15, 0, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
BACK = STOPPED + 10 * MINUTE
DELAYED = [{**WEBHOOK, "delayMin": 5}]
PRIMARY: dict[str, Any] = {"type_name": HostType.REPLICA_PRIMARY, "replica_set_name": "rs0"}
SECONDARY: dict[str, Any] = {"type_name": HostType.REPLICA_SECONDARY, "replica_set_name": "rs0"}


def work(now: datetime, *, sweeps: bool = True) -> None:
    """The work of the only worker."""
    WORKERS[-1].work(now, sweeps=sweeps)


WORKERS: list[WorkerInTime] = []


@pytest.fixture(autouse=True)
def _worker() -> None:
    WORKERS[:] = [WorkerInTime(STOPPED)]


def run_until_the_stop(project: Project, *hosts: Any) -> None:
    """The platform has run for a day, and stops after a report."""
    ingest(project, *hosts, now=STOPPED)
    running = {"counting_since": STOPPED - timedelta(days=1), "swept": STOPPED - 15 * SECOND}
    FleetWatch.objects.update_or_create(id=1, defaults=running)
    work(STOPPED)


def tracked(project: Project, **facts: Any) -> Alert:
    """An alert with these facts whose delay ends while the platform is away."""
    times = {"created": STOPPED, "updated": STOPPED, "opens": STOPPED + MINUTE}
    return make_alert(project, status="TRACKING", facts=facts, **times)


@pytest.fixture
def down(project: Project) -> AlertConfig:
    """A configuration with a delay, about a host that is down when the platform stops."""
    config = make_config(project, notifications=DELAYED)
    run_until_the_stop(project, host_report(reachable=False))
    assert statuses(config) == ["TRACKING"]
    return config


def test_nobody_hears_of_what_ended_while_the_platform_was_away(
    project: Project, down: AlertConfig, outside: Outside
) -> None:
    work(BACK)
    work(BACK + SECOND)
    assert statuses(down) == ["TRACKING"]
    ingest(project, host_report(), now=BACK + 30 * SECOND)
    work(BACK + 30 * SECOND)
    assert statuses(down) == ["CLOSED"]
    assert outside.sent == []


def test_a_report_confirms_what_still_holds(project: Project, down: AlertConfig, outside: Outside) -> None:
    work(BACK)
    ingest(project, host_report(reachable=False), now=BACK + 30 * SECOND)
    work(BACK + 30 * SECOND)
    assert statuses(down) == ["OPEN"]
    assert Alert.objects.get().created == STOPPED
    assert len(outside.sent) == 1


@each("restarts", [False, True])
@each("platform_works", [False, True])
def test_what_nobody_evaluated_before_the_stop_opens_when_reports_confirm_it(
    project: Project, outside: Outside, restarts: bool, platform_works: bool
) -> None:
    """The workers stop, alone or soon followed by the whole platform: two hosts go down, and one returns."""
    outside.sent.clear()
    WORKERS.append(WorkerInTime(STOPPED))
    config = make_config(project, notifications=[WEBHOOK])
    run_until_the_stop(project, host_report("db1"), host_report("db2"))
    for host in ("db1", "db2"):
        ingest(project, host_report(host, reachable=False), agent=f"of-{host}", now=STOPPED + 2 * SECOND)
    if platform_works:
        ingest(project, host_report("db1"), agent="of-db1", now=STOPPED + 2 * MINUTE)
        ingest(project, host_report("db2", reachable=False), agent="of-db2", now=BACK - SECOND)
    if restarts:
        WORKERS.append(WorkerInTime(BACK))
    work(BACK)
    if not platform_works:
        assert outside.sent == []
        ingest(project, host_report("db1"), agent="of-db1", now=BACK + 5 * SECOND)
        work(BACK + 5 * SECOND)
        ingest(project, host_report("db2", reachable=False), agent="of-db2", now=BACK + 9 * SECOND)
        work(BACK + 9 * SECOND)
    alerts = Alert.objects.filter(config_id=config.id)
    ended = {alert.facts["hostname"]: (alert.status, alert.created) for alert in alerts}
    began = STOPPED + 2 * SECOND
    assert ended == {"db1": ("CLOSED", began), "db2": ("OPEN", began)}
    assert [(message.kind, message.target) for _, _, message in outside.sent] == [
        (MessageKind.OPEN, "db2:27017")
    ]


@each(("after", "status"), [(HEARTBEAT_TIMEOUT - SECOND, "TRACKING"), (HEARTBEAT_TIMEOUT, "OPEN")])
def test_without_a_report_an_alert_opens_after_the_heartbeat_timeout(
    down: AlertConfig, after: timedelta, status: str
) -> None:
    for quarter in range(16):
        work(BACK + quarter * 15 * SECOND)
    work(BACK + after)
    assert statuses(down) == [status]


@each(("last", "status"), [(False, "OPEN"), (True, "CLOSED")])
def test_a_backlog_confirms_nothing_before_its_last_report(
    project: Project, down: AlertConfig, last: bool, status: str
) -> None:
    work(BACK)
    for place in range(9):
        observed = STOPPED + (place + 1) * MINUTE
        host = host_report(reachable=False)
        ingest(project, host, observed=observed, waiting=9 - place, now=BACK + SECOND)
        work(BACK + SECOND)
    assert statuses(down) == ["TRACKING"]
    ingest(project, host_report(reachable=last), observed=BACK, waiting=0, now=BACK + 2 * SECOND)
    work(BACK + 2 * SECOND)
    assert statuses(down) == [status]


def test_a_report_that_is_not_evaluated_confirms_nothing(project: Project, down: AlertConfig) -> None:
    work(BACK)
    ingest(project, host_report(), now=BACK + 30 * SECOND)
    assert open_tracked(now=BACK + 31 * SECOND, absent_since=STOPPED + MINUTE) == 0
    Signal.objects.all().delete()
    assert open_tracked(now=BACK + 31 * SECOND, absent_since=STOPPED + MINUTE) == 1


def test_a_replica_set_waits_for_all_members(project: Project) -> None:
    config = make_config(project, eventTypeName="NO_PRIMARY", notifications=DELAYED)
    members = [host_report("db1", **SECONDARY), host_report("db2", **SECONDARY)]
    run_until_the_stop(project, host_report("db1", **PRIMARY), members[1])
    run_until_the_stop(project, *members)
    assert statuses(config) == ["TRACKING"]
    work(BACK)
    ingest(project, members[0], now=BACK + 20 * SECOND)
    work(BACK + 20 * SECOND)
    assert statuses(config) == ["TRACKING"]
    ingest(project, members[1], agent="agent2", now=BACK + 30 * SECOND)
    work(BACK + 30 * SECOND)
    assert statuses(config) == ["OPEN"]


def test_a_cluster_waits_for_all_hosts(project: Project) -> None:
    run_until_the_stop(project, host_report("db1", cluster_name="c"), host_report("db2", cluster_name="c"))
    facts = {"clusterName": "c", "clusterId": Host.objects.all()[0].cluster_id}
    alert = tracked(project, **facts)
    work(BACK)
    for host, status in (("db1", "TRACKING"), ("db2", "OPEN")):
        ingest(project, host_report(host, cluster_name="c"), now=BACK + 20 * SECOND)
        work(BACK + 20 * SECOND)
        alert.refresh_from_db()
        assert alert.status == status


def test_an_agent_has_time_to_report_before_its_alert_opens(project: Project, outside: Outside) -> None:
    config = make_config(project, eventTypeName="MONITORING_AGENT_DOWN", notifications=DELAYED)
    run_until_the_stop(project, host_report())
    ingest(project, agent="agent2", now=STOPPED + MINUTE)
    FleetWatch.objects.update(swept=STOPPED + 3 * MINUTE + 45 * SECOND)
    work(STOPPED + 4 * MINUTE)
    assert statuses(config) == ["TRACKING"]
    work(BACK)
    assert statuses(config) == ["TRACKING"]
    ingest(project, host_report(), now=BACK + 30 * SECOND)
    work(BACK + 30 * SECOND)
    assert statuses(config) == ["CLOSED"]
    assert not Agent.objects.filter(down=True).exists()
    assert outside.sent == []


def explained(config: AlertConfig, now: datetime) -> AlertReason | None:
    """Why the configuration does not alert on the host."""
    return explain_config(config=config, host=Host.objects.get(), now=now).explanation.reason


def test_an_explanation_says_that_the_alert_waits_for_a_report(project: Project, down: AlertConfig) -> None:
    assert explained(down, STOPPED) is AlertReason.TRACKED
    work(BACK)
    assert explained(down, BACK) is AlertReason.UNCONFIRMED
    ingest(project, host_report(reachable=False), now=BACK + 30 * SECOND)
    assert explained(down, BACK + 30 * SECOND) is AlertReason.UNCONFIRMED
    evaluate(BACK + 30 * SECOND)
    assert (statuses(down), explained(down, BACK + 30 * SECOND)) == (["TRACKING"], None)
    work(BACK + 30 * SECOND)
    assert (statuses(down), explained(down, BACK + 30 * SECOND)) == (["OPEN"], None)


def test_an_explanation_says_that_the_alert_waits_for_late_reports(
    project: Project, down: AlertConfig
) -> None:
    due, observed = STOPPED + 5 * MINUTE, STOPPED + MINUTE
    FleetWatch.objects.update(swept=due)
    ingest(project, host_report(reachable=False), observed=observed, waiting=1, now=due)
    work(due)
    assert (statuses(down), explained(down, due)) == (["TRACKING"], AlertReason.UNCONFIRMED)
    ingest(project, host_report(reachable=False), observed=due, waiting=0, now=due + SECOND)
    work(due + SECOND)
    assert (statuses(down), explained(down, due + SECOND)) == (["OPEN"], None)


ESCALATION = {**WEBHOOK, "webhookUrl": "http://127.0.0.1:9/escalation", "delayMin": 5}


@pytest.fixture
def opened(request: pytest.FixtureRequest, project: Project, outside: Outside) -> AlertConfig:
    """An alert of which a receiver was notified, and another message about it is due during the stop."""
    config = make_config(project, notifications=request.param)
    run_until_the_stop(project, host_report(reachable=False))
    assert outside.kinds == [MessageKind.OPEN]
    return config


DUE_LATER = pytest.mark.parametrize(
    "opened",
    [[WEBHOOK, ESCALATION], [{**WEBHOOK, "intervalMin": 5}]],
    ids=["escalation", "reminder"],
    indirect=True,
)


@DUE_LATER
def test_no_delayed_message_follows_what_ended_while_the_platform_was_away(
    project: Project, opened: AlertConfig, outside: Outside
) -> None:
    work(BACK)
    work(BACK + 6 * SECOND)
    assert outside.kinds == [MessageKind.OPEN]
    assert Notification.objects.filter(reason=NotificationReason.UNCONFIRMED.value).count() == 1
    ingest(project, host_report(), now=BACK + 10 * SECOND)
    work(BACK + 10 * SECOND)
    work(BACK + 20 * SECOND)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CLOSE]


@DUE_LATER
@each("reports", [True, False])
def test_a_delayed_message_follows_a_report_or_the_heartbeat_timeout(
    project: Project, opened: AlertConfig, outside: Outside, reports: bool
) -> None:
    outside.sent.clear()
    for second in range(0, 240, 15):
        work(BACK + second * SECOND)
        assert outside.sent == []
        if reports and second == 30:
            ingest(project, host_report(reachable=False), now=BACK + 31 * SECOND)
            break
    work(BACK + (40 * SECOND if reports else HEARTBEAT_TIMEOUT))
    assert len(outside.sent) == 1


def test_nothing_of_the_demonstration_waits_for_reports(project: Project, down: AlertConfig) -> None:
    agent_alert = tracked(project, hostname="agent1", sourceTypeName="MONITORING")
    Agent.objects.update(demonstration=True)
    work(BACK)
    assert statuses(down) == ["OPEN"]
    agent_alert.refresh_from_db()
    assert agent_alert.status == "OPEN"


def test_what_nobody_reports_opens_at_once(project: Project) -> None:
    run_until_the_stop(project, host_report())
    alert = tracked(project)
    work(BACK)
    alert.refresh_from_db()
    assert alert.status == "OPEN"


def test_an_alert_that_begins_after_the_return_opens_on_time(project: Project) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 1}])
    run_until_the_stop(project, host_report())
    work(BACK)
    ingest(project, host_report(reachable=False), now=BACK + 20 * SECOND)
    for later in (20, 50, 80):
        work(BACK + later * SECOND)
    assert statuses(config) == ["OPEN"]


def test_no_alert_waits_while_the_platform_runs(project: Project, down: AlertConfig) -> None:
    for quarter in range(1, 21):
        work(STOPPED + quarter * 15 * SECOND)
    assert statuses(down) == ["OPEN"]
    assert Notification.objects.exists()


@each("restarts", [False, True])
@each(("away", "status"), [(20 * SECOND, "OPEN"), (48 * SECOND, "TRACKING")])
def test_a_short_absence_counts_as_running(
    down: AlertConfig, away: timedelta, status: str, restarts: bool
) -> None:
    opens = STOPPED + 5 * MINUTE
    for quarter in range(1, 20):
        if opens - STOPPED - quarter * 15 * SECOND >= away:
            work(STOPPED + quarter * 15 * SECOND)
    if restarts:
        WORKERS.append(WorkerInTime(opens))
    work(opens + 3 * SECOND, sweeps=False)
    assert statuses(down) == [status]


def test_a_worker_whose_clock_is_wrong_waits_only_for_the_heartbeat_timeout(down: AlertConfig) -> None:
    """Such a worker never sweeps."""
    work(BACK, sweeps=False)
    for quarter in range(1, 16):
        work(BACK + quarter * 15 * SECOND, sweeps=False)
        assert statuses(down) == ["TRACKING"]
    work(BACK + HEARTBEAT_TIMEOUT, sweeps=False)
    assert statuses(down) == ["OPEN"]


def test_an_acknowledgement_or_a_late_end_confirms_nothing(project: Project, down: AlertConfig) -> None:
    work(BACK)
    Alert.objects.update(updated=BACK)
    work(BACK + SECOND)
    assert statuses(down) == ["TRACKING"]


def test_a_report_of_an_agent_that_is_not_evaluated_confirms_nothing(project: Project) -> None:
    run_until_the_stop(project, host_report())
    agent = Agent.objects.get()
    alert = tracked(project, hostname=agent.hostname, sourceTypeName=agent.agent_type)
    work(BACK)
    ingest(project, host_report(), now=BACK + 30 * SECOND)
    assert open_tracked(now=BACK + 31 * SECOND, absent_since=STOPPED + MINUTE) == 0
    alert.refresh_from_db()
    assert alert.status == "TRACKING"
    Signal.objects.all().delete()
    assert open_tracked(now=BACK + 31 * SECOND, absent_since=STOPPED + MINUTE) == 1
