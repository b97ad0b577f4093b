"""The charts of hosts and of their sets: what is drawn, what is marked, and what is refused."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accesslist.models import Project, User
from automation.choices import HostType
from automation.hosts.charts import MOST_ADDED, MOST_HOSTS, MOST_USUAL
from automation.measurements.days import DAY, begin_of, days_create
from automation.measurements.packer import day_pack_some
from automation.measurements.rollups import rollups_compute_some
from automation.metrics import Metric
from automation.models import Cluster, Host, PackedReadings, ReplicaSet, Rollup
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.clock import wire_time
from opsapi.console.sessions import REFRESH_HEADER
from opsapi.roles import Role
from tests.admin.alert_pages import make_window
from tests.admin.operators import operator_with, page_of
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_alert, make_config, make_global_config
from tests.factories.automation import host_report, ingest, make_host, measure
from tests.steps import STEPS

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def charts(console: Client, row: Any, **query: Any) -> Mapping[str, Any]:
    """The data of the charts of a row's page."""
    answer = console.get(f"{data_of(row)}", query)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def data_of(row: Any) -> str:
    """The address of the data."""
    return page_of(row).replace("/change/", "/charts/")


def chart_of(drawn: Mapping[str, Any], metric: str) -> Mapping[str, Any]:
    return next(chart for chart in drawn["charts"] if chart["metric"] == metric)


def values(line: Mapping[str, Any], kind: str = "means") -> list[float]:
    return [value for value in line[kind] if value is not None]


def connections(number: float | None) -> dict[str, Any]:
    return {} if number is None else {"CONNECTIONS": number}


@pytest.fixture
def now() -> datetime:
    return clock.now()


@pytest.fixture
def replica_set(project: Project, now: datetime) -> ReplicaSet:
    """A set of three members, measured twice an hour ago and once 10 minutes ago; the third is down."""
    kinds = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY)
    for ago, numbers in ((61, (10.0, 20.0, 30.0)), (60, (12.0, 20.0, 30.0)), (10, (90.0, 20.0, None))):
        reports = [
            host_report(
                f"db{place}",
                type_name=kinds[place],
                replica_set_name="rs0",
                reachable=number is not None,
                **connections(number),
            )
            for place, number in enumerate(numbers)
        ]
        ingest(project, *reports, now=now - ago * MINUTE)
    return ReplicaSet.objects.get()


def test_all_members_of_a_set_are_lines_of_one_chart(console: Client, replica_set: ReplicaSet) -> None:
    drawn = charts(console, replica_set, range="6h")
    assert [row["name"] for row in drawn["rows"]] == ["db0:27017", "db1:27017", "db2:27017"]
    assert [row["state"] for row in drawn["rows"]] == ["no data · 10 min", "no data · 10 min", "down"]
    chart = chart_of(drawn, "CONNECTIONS")
    assert [values(line)[-1] for line in chart["lines"]] == [90, 20, 30]
    assert {len(line["means"]) for line in chart["lines"]} == {len(drawn["times"])}
    assert drawn["granularity"] == "PT1M"
    assert "Replication lag" in drawn["missing"]


def test_the_latest_value_is_the_newest_sample_with_its_time(
    console: Client, project: Project, now: datetime
) -> None:
    begin = now.replace(minute=0, second=0, microsecond=0) - HOUR
    for minute, number in ((0, 90.0), (1, 80.0)):
        ingest(project, host_report(CONNECTIONS=number), now=begin + minute * MINUTE)
    ingest(project, host_report(CURSORS_TOTAL_OPEN=7.0), now=begin - 2 * HOUR)
    drawn = charts(console, Host.objects.get(), range="24h")
    [line] = chart_of(drawn, "CONNECTIONS")["lines"]
    assert values(line) == [85]
    assert line["latest"] == {"at": (begin + MINUTE).timestamp(), "value": 80}
    [line] = chart_of(drawn, "CURSORS_TOTAL_OPEN")["lines"]
    assert line["latest"]["value"] == 7
    assert line["latest"]["at"] <= (begin - 2 * HOUR).timestamp() + 300


def test_the_latest_value_of_a_past_time_is_of_that_time(
    console: Client, replica_set: ReplicaSet, now: datetime
) -> None:
    since, until = (wire_time(now - ago * MINUTE) for ago in (70, 50))
    drawn = charts(console, replica_set, since=since, until=until)
    assert [line["latest"]["value"] for line in chart_of(drawn, "CONNECTIONS")["lines"]] == [12, 20, 30]


def test_only_a_member_that_is_up_shows_its_lag(console: Client, project: Project, now: datetime) -> None:
    lag: dict[str, Any] = {"OPLOG_SLAVE_LAG_MASTER_TIME": 401.0}
    for ago, down in ((2, ()), (1, ("db2",))):
        reports = [
            host_report(
                name,
                type_name=HostType.REPLICA_SECONDARY,
                replica_set_name="rs0",
                reachable=name not in down,
                **({} if name in down else lag),
            )
            for name in ("db1", "db2")
        ]
        ingest(project, *reports, now=now - ago * MINUTE)
    context = console.get(page_of(ReplicaSet.objects.get())).context
    assert [(card.state, card.lag) for card in context["members"]] == [("up", "6 min 41 s"), ("down", "")]


@each("step", [step for step in STEPS if step > timedelta()])
def test_pages_show_no_value_of_a_clock_that_was_ahead(
    console: Client, project: Project, now: datetime, step: timedelta
) -> None:
    secondary: dict[str, Any] = {"type_name": HostType.REPLICA_SECONDARY, "replica_set_name": "rs0"}
    ingest(project, host_report(OPLOG_SLAVE_LAG_MASTER_TIME=401.0, **secondary), now=now)
    host = Host.objects.get()
    measure(host, now + step + MINUTE, OPLOG_SLAVE_LAG_MASTER_TIME=0.0)
    [card] = console.get(page_of(ReplicaSet.objects.get())).context["members"]
    measured = console.get(page_of(host)).context["measured"]
    assert (card.lag, [newest.value for newest in measured.newest]) == ("6 min 41 s", ["6 min 41 s"])


def test_a_bucket_has_the_extremes_of_its_values(console: Client, project: Project, now: datetime) -> None:
    begin = now.replace(minute=0, second=0, microsecond=0) - 30 * HOUR
    for minute, number in enumerate((5.0, 100.0, 3.0)):
        ingest(project, host_report(CONNECTIONS=number), now=begin + minute * MINUTE)
    drawn = charts(console, Host.objects.get(), range="3d")
    [line] = chart_of(drawn, "CONNECTIONS")["lines"]
    assert drawn["granularity"] == "PT5M"
    assert (values(line), values(line, "minimums"), values(line, "maximums")) == ([36], [3], [100])
    assert drawn["times"][line["means"].index(36)] == begin.timestamp()


@each(
    ("metric", "number", "drawn"),
    [
        ("CACHE_USED_BYTES", 3.0 * 1024**3, ("GB", [3])),
        ("OPCOUNTER_QUERY", 7.0, ("/s", [7])),
        ("CONNECTIONS", 5.0, ("", [5])),
    ],
)
def test_values_are_in_the_most_readable_unit(
    metric: str, number: float, drawn: tuple[str, list[float]], console: Client, project: Project
) -> None:
    measured: dict[str, Any] = {metric: number}
    ingest(project, host_report(**measured), now=clock.now() - MINUTE)
    chart = chart_of(charts(console, Host.objects.get(), range="1h"), metric)
    assert (chart["units"], values(chart["lines"][0])) == drawn


@each("added", ["SYSTEM_MEMORY_FREE", "CONNECTIONS"])
def test_an_added_metric_is_drawn_first_and_once(
    added: str, console: Client, project: Project, now: datetime
) -> None:
    report = host_report(CONNECTIONS=5.0, SYSTEM_MEMORY_FREE=1.0, CACHE_FILL_RATIO=10.0)
    ingest(project, report, now=now - MINUTE)
    metrics = [chart["metric"] for chart in charts(console, Host.objects.get(), m=added)["charts"]]
    assert metrics[0] == added
    assert len(metrics) == len(set(metrics))


def test_a_page_begins_with_a_few_charts(console: Client, project: Project, now: datetime) -> None:
    usual = ("CONNECTIONS", "CACHE_FILL_RATIO", "OPCOUNTER_QUERY", "CACHE_USED_BYTES", "MEMORY_RESIDENT")
    more = (
        "SYSTEM_NORMALIZED_CPU_USER",
        "CURSORS_TOTAL_OPEN",
        "DISK_PARTITION_UTILIZATION",
        "OPLOG_MASTER_TIME",
    )
    measured: dict[str, Any] = dict.fromkeys((*usual, *more), 1.0)
    ingest(project, host_report(**measured), now=now - MINUTE)
    drawn = [chart["metric"] for chart in charts(console, Host.objects.get())["charts"]]
    assert len(drawn) == MOST_USUAL
    assert drawn[0] == "CONNECTIONS"


def test_thresholds_that_watch_a_member_are_drawn(
    console: Client, project: Project, replica_set: ReplicaSet
) -> None:
    only_db1 = {"matchers": [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}]}
    elsewhere = {"matchers": [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db9"}]}
    config = make_config(project, **CONNECTIONS_ABOVE_100, name="Busy", **only_db1)
    make_config(project, **CONNECTIONS_ABOVE_100, **elsewhere)
    make_config(project, **CONNECTIONS_ABOVE_100, enabled=False)
    [level] = chart_of(charts(console, replica_set), "CONNECTIONS")["levels"]
    since = config.created.timestamp()
    assert level == {"value": 100, "label": "Busy", "since": since, "url": page_of(config)}


def test_a_global_threshold_has_no_link_for_somebody_who_cannot_open_it(
    project: Project, replica_set: ReplicaSet
) -> None:
    make_global_config(**CONNECTIONS_ABOVE_100, forAllGroups=True)
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
    [level] = chart_of(charts(browser, replica_set), "CONNECTIONS")["levels"]
    assert (level["value"], level["url"]) == (100, "")


def test_alerts_are_spans_of_their_line_and_chart(
    console: Client, project: Project, replica_set: ReplicaSet, now: datetime
) -> None:
    host = Host.objects.get(hostname="db1")
    times = {"created": now - HOUR, "opens": now - HOUR}
    facts = {"hostId": host.id, "hostname": "db1", "port": 27017}
    of_metric = make_alert(
        project, event_type="OUTSIDE_METRIC_THRESHOLD", metric_name="CONNECTIONS", facts=facts, **times
    )
    of_set = make_alert(
        project,
        event_type="NO_PRIMARY",
        facts={"replicaSetName": "rs0"},
        status="CLOSED",
        resolved=now - 30 * MINUTE,
        **times,
    )
    never_opened = {"created": now - HOUR, "opens": now - 10 * MINUTE, "resolved": now - 20 * MINUTE}
    make_alert(project, facts=facts, status="CLOSED", **never_opened)
    make_alert(project, facts={"hostId": "f" * 24, "hostname": "db1", "port": 27018}, **times)
    drawn = charts(console, replica_set)
    spans = {span["url"]: span for span in drawn["spans"]}
    assert spans.keys() == {page_of(of_metric), page_of(of_set)}
    assert (spans[page_of(of_metric)]["metric"], spans[page_of(of_metric)]["row"]) == ("CONNECTIONS", 1)
    assert spans[page_of(of_metric)]["open"]
    assert (spans[page_of(of_set)]["metric"], spans[page_of(of_set)]["row"]) == ("", None)
    assert spans[page_of(of_set)]["until"] == (now - 30 * MINUTE).timestamp()


def test_changes_of_members_and_of_the_set_are_marked(
    console: Client, project: Project, replica_set: ReplicaSet, now: datetime
) -> None:
    host = Host.objects.get(hostname="db1")
    elsewhere = make_host(project, "db9")
    for event_type, facts in (
        (EventType.HOST_RESTARTED, EventFacts(host_id=host.id, hostname="db1", port=27017)),
        (EventType.PRIMARY_ELECTED, EventFacts(replica_set_name="rs0")),
        (EventType.HOST_RESTARTED, EventFacts(host_id=elsewhere.id, hostname="db9", port=27017)),
        (EventType.PRIMARY_ELECTED, EventFacts(replica_set_name="rs9")),
    ):
        event_record(event_type=event_type, group_id=project.id, facts=facts, actor=SYSTEM, now=now)
    labels = [mark["label"] for mark in charts(console, replica_set)["marks"]]
    assert {"Host restarted: db1:27017", "Primary elected: rs0"} <= set(labels)
    assert not any("db9" in label or "rs9" in label for label in labels)


@each(
    ("query", "parameter"),
    [
        ({"range": "2 weeks"}, "range"),
        ({"m": "NOTHING"}, "m"),
        ({"m": [metric.value for metric in list(Metric)[: MOST_ADDED + 1]]}, "m"),
        ({"since": "yesterday", "until": "2026-11-21T07:26:14Z"}, "since"),
        ({"since": "2026-11-21T07:26:14Z"}, "until"),
        ({"since": "2026-11-21T07:26:14Z", "until": "2026-11-21T07:26:15Z"}, "until"),
        ({"since": "2020-11-21T07:26:14Z", "until": "2026-11-21T07:26:14Z"}, "until"),
        ({"since": "2026-11-21T07:26:14Z", "until": "9999-12-31T23:59:59Z"}, "until"),
    ],
)
def test_charts_that_do_not_exist_are_refused_by_name(
    query: Mapping[str, Any], parameter: str, console: Client, project: Project
) -> None:
    answer = console.get(data_of(make_host(project)), query)
    assert answer.status_code == 400
    assert answer.json()["detail"].split()[0] == parameter


def test_a_time_range_can_be_in_the_past(console: Client, replica_set: ReplicaSet, now: datetime) -> None:
    since, until = (
        (now - ago * MINUTE).replace(microsecond=0).isoformat().replace("+00:00", "Z") for ago in (70, 50)
    )
    drawn = charts(console, replica_set, since=since, until=until)
    assert drawn["range"] == ""
    assert [values(line)[-1] for line in chart_of(drawn, "CONNECTIONS")["lines"]] == [12, 20, 30]


def test_days_whose_values_are_gone_are_drawn_from_rollups(
    console: Client, project: Project, settings: Settings
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 2
    now, host = clock.now(), make_host(project)
    begin = begin_of(now.date()) - 4 * DAY
    days_create([begin.date()])
    for minute, number in enumerate((5.0, 100.0, 3.0)):
        measure(host, begin + minute * MINUTE, CONNECTIONS=number)
    while day_pack_some(now=now) or rollups_compute_some(now=now):
        pass
    assert Rollup.objects.exists()
    PackedReadings.objects.all().delete()
    drawn = charts(console, host, range="7d")
    [line] = chart_of(drawn, "CONNECTIONS")["lines"]
    assert (drawn["tier"], values(line, "maximums")) == ("PT1H", [100])
    # Rollups round a mean by at most 0.8 % of the distance from the minimum to the maximum.
    assert values(line) == pytest.approx([36], abs=0.008 * 97)


def test_a_host_without_measurements_has_no_chart(console: Client, project: Project) -> None:
    drawn = charts(console, make_host(project))
    assert drawn["charts"] == []
    assert "Connections" in drawn["missing"]


def test_more_hosts_than_lines_are_said(console: Client, project: Project) -> None:
    reports = [
        host_report(f"db{place:02}", cluster_name="big", CONNECTIONS=1.0) for place in range(MOST_HOSTS + 1)
    ]
    ingest(project, *reports)
    drawn = charts(console, Cluster.objects.get())
    assert len(drawn["rows"]) == MOST_HOSTS
    assert drawn["leftOut"]


def test_many_lines_have_longer_buckets(console: Client, project: Project) -> None:
    ingest(
        project, *(host_report(f"db{place:02}", cluster_name="big", CONNECTIONS=1.0) for place in range(40))
    )
    cluster, added = Cluster.objects.get(), [metric.value for metric in list(Metric)[-MOST_ADDED:]]
    assert charts(console, cluster, range="3d")["granularity"] == "PT1H"
    assert charts(console, cluster, range="2y", m=added)["granularity"] == "P1D"
    assert charts(console, Host.objects.all()[0], range="3d")["granularity"] == "PT5M"


@each("since", ["0001-01-01T00:00:00Z", "1969-12-31T00:00:00Z", "9999-12-30T00:00:00Z"])
def test_a_time_range_at_the_ends_of_time_is_empty(since: str, console: Client, project: Project) -> None:
    until = since.replace("T00:00:00", "T12:00:00")
    drawn = charts(console, make_host(project), since=since, until=until)
    assert drawn["charts"] == []


def test_a_reader_of_another_project_gets_no_charts(project: Project) -> None:
    _, browser = operator_with(Role.GROUP_OWNER, project=ProjectFactory.create(name="theirs"))
    assert browser.get(data_of(make_host(project))).status_code == 404


def test_a_refresh_does_not_prolong_the_session(console: Client, operator: User, project: Project) -> None:
    host = make_host(project)
    session = console.session
    session.set_expiry(clock.now() + MINUTE)
    session.save()
    before = console.session.get_expiry_date()
    console.get(data_of(host), headers={REFRESH_HEADER: "1"})
    assert console.session.get_expiry_date() == before


def test_the_page_of_a_set_shows_its_members_and_their_alerts(
    console: Client, project: Project, replica_set: ReplicaSet
) -> None:
    host = Host.objects.get(hostname="db2")
    alert = make_alert(project, facts={"hostId": host.id, "hostname": "db2", "port": 27017})
    of_set = make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs0"})
    make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs9"})
    context = console.get(page_of(replica_set)).context
    assert [(card.type_name, card.state) for card in context["members"]][2] == ("REPLICA_SECONDARY", "down")
    [panel] = context["panels"]
    assert {row[0].url for row in panel.rows} == {page_of(alert), page_of(of_set)}


def test_only_the_named_metrics_are_drawn(console: Client, project: Project) -> None:
    host = make_host(project)
    measure(host, clock.now(), CONNECTIONS=5, CACHE_USED_BYTES=7)
    drawn = charts(console, host, m="CONNECTIONS", only="1")
    assert [chart["metric"] for chart in drawn["charts"]] == ["CONNECTIONS"]
    assert drawn["missing"] == []


def test_times_muted_by_a_window_are_marked(console: Client, project: Project) -> None:
    now = clock.now()
    members = ReplicaSet.objects.create(group=project, name="rs0", created=now)
    for name in ("db1", "db2"):
        make_host(project, name, replica_set=members)
    window = make_window(project, start=now - HOUR, end=now + HOUR, alert_types=["HOST"], description="disks")
    make_window(project, start=now - HOUR, end=now + HOUR, alert_types=["AGENT"])
    (span,) = charts(console, members, range="6h")["spans"]
    assert (span["isMute"], span["row"], span["label"]) == (True, None, "muted by disks")
    assert span["since"] == window.start.timestamp()
    window.matchers = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db2"}]
    window.save()
    (span,) = charts(console, members, range="6h")["spans"]
    assert span["row"] == 1
