"""Measurements of several hosts of a project at once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import Settings

from accesslist.models import Project
from automation.measurements import fleet_query
from automation.measurements.days import DAY, days_create
from automation.measurements.fleet_query import MOST_AGGREGATED, MOST_POINTS, MOST_SERIES, MOST_UNNAMED
from automation.metrics import Metric
from automation.models import Host
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import make_host, measure

NOW = datetime(2099, 11, 21, 12, 0, 30, tzinfo=UTC)
LAST_HOUR = "granularity=PT1H&period=PT1H"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(db: None) -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


def sample(number: float, clock: str, metric: str = "CONNECTIONS") -> dict[str, Any]:
    """A value measured today at that time."""
    return {"metricName": metric, "number": number, "timestamp": f"2099-11-21T{clock}Z"}


MEASURED = {
    "db1": [sample(10, "11:00:30"), sample(20, "11:00:59"), sample(3, "11:59:59"), sample(9, "12:03:00")],
    "db2": [sample(40, "11:30:00"), sample(2, "11:30:00", "SYSTEM_MEMORY_FREE")],
    "db3": [sample(100, "11:30:00")],
}


@pytest.fixture
def path(agent: ApiClient, project: Project) -> str:
    """The path of the measurements of three hosts: two are members of a replica set."""
    hosts = [
        host(
            hostname=name,
            measurements=taken,
            replicaSetName=None if name == "db3" else "rs0",
            clusterName="orders" if name == "db1" else None,
        )
        for name, taken in MEASURED.items()
    ]
    answer = agent.report(project.id, report(*hosts))
    assert answer.status_code == 202, answer.json()
    return f"/groups/{project.id}/measurements"


@pytest.fixture
def path_of_all_days(settings: Settings, path: str) -> str:
    """The path, if measurements are kept forever."""
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 0
    return path


def id_of(name: str) -> str:
    return Host.objects.get(hostname=name).id


def series(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Host, metric and (time of day, value, minimum, maximum) of each point."""
    return [
        (
            found.get("hostname"),
            found["metricName"],
            [
                (point["timestamp"][11:19], point["value"], point["minimum"], point["maximum"])
                for point in found["dataPoints"]
            ],
        )
        for found in document["series"]
    ]


def test_the_answer_says_of_which_hosts_from_when_to_when_in_which_units(
    reader: ApiClient, project: Project, path: str
) -> None:
    query = f"{LAST_HOUR}&m=CONNECTIONS&hostId={id_of('db1')}"
    base = "http://testserver/api/public/v1.0"
    assert reader.get(f"{path}?{query}").json() == {
        "start": "2099-11-21T11:00:00Z",
        "end": "2099-11-21T12:00:30Z",
        "granularity": "PT1H",
        "tier": "RAW",
        "series": [
            {
                "hostId": id_of("db1"),
                "hostname": "db1",
                "port": 27017,
                "metricName": "CONNECTIONS",
                "units": "RAW",
                "dataPoints": [
                    {"timestamp": "2099-11-21T11:00:00Z", "value": 11.0, "minimum": 3.0, "maximum": 20.0}
                ],
            }
        ],
        "links": [
            {"href": f"{base}{path}?{query}", "rel": "self"},
            {"href": f"{base}/groups/{project.id}", "rel": "urn:opsapi:rel:group"},
        ],
    }


ALL = [("db1", 11.0), ("db2", 40.0), ("db3", 100.0)]


@each(
    ("filters", "found"),
    [
        ("", ALL),
        ("hostId={db2}&hostId={db1}&hostId={db2}", ALL[:2]),
        ("replicaSetName=rs0", ALL[:2]),
        ("replicaSetName=rs0&hostId={db2}&hostId={db3}", ALL[1:2]),
        ("replicaSetName=RS0", []),
        ("replicaSetName=unknown", []),
        ("clusterId={orders}", ALL[:1]),
        ("clusterId={orders}&hostId={db2}", []),
        ("clusterId=69201a2b3c4d5e6f70819203", []),
    ],
)
def test_hosts_are_chosen_by_id_replica_set_and_cluster(
    reader: ApiClient, path: str, filters: str, found: list[tuple[str, float]]
) -> None:
    ids = {name: id_of(name) for name in MEASURED}
    cluster = Host.objects.get(hostname="db1").cluster_id
    filters = filters.format(**ids, orders=cluster)
    answer = reader.get(f"{path}?{LAST_HOUR}&m=CONNECTIONS&{filters}")
    assert answer.status_code == 200, answer.json()
    assert [(name, points[0][1]) for name, _, points in series(answer.json())] == found


def test_metrics_asked_for_are_there_though_nothing_was_measured(reader: ApiClient, path: str) -> None:
    query = f"{LAST_HOUR}&m=OPCOUNTER_CMD&m=CONNECTIONS&m=CONNECTIONS&replicaSetName=rs0"
    assert [
        (name, metric, len(points)) for name, metric, points in series(reader.get(f"{path}?{query}").json())
    ] == [
        ("db1", "CONNECTIONS", 1),
        ("db1", "OPCOUNTER_CMD", 0),
        ("db2", "CONNECTIONS", 1),
        ("db2", "OPCOUNTER_CMD", 0),
    ]


def test_without_a_name_every_metric_that_was_measured_is_shown(reader: ApiClient, path: str) -> None:
    assert [found[:2] for found in series(reader.get(f"{path}?{LAST_HOUR}").json())] == [
        ("db1", "CONNECTIONS"),
        ("db2", "CONNECTIONS"),
        ("db2", "SYSTEM_MEMORY_FREE"),
        ("db3", "CONNECTIONS"),
    ]


@each(
    ("aggregate", "point"),
    [
        ("SUM", (151.0, 143.0, 160.0)),
        ("AVG", (151 / 3, 143 / 3, 160 / 3)),
        ("MAX", (100.0, 100.0, 100.0)),
        ("MIN", (11.0, 3.0, 20.0)),
        ("P95", (94.0, 94.0, 94.0)),
    ],
)
def test_an_aggregate_is_one_series_of_all_hosts(
    reader: ApiClient, path: str, aggregate: str, point: tuple[float, ...]
) -> None:
    document = reader.get(f"{path}?{LAST_HOUR}&m=CONNECTIONS&aggregate={aggregate}").json()
    (found,) = document["series"]
    assert set(found) == {"metricName", "units", "dataPoints"}
    assert series(document)[0][2] == [("11:00:00", *map(pytest.approx, point))]


def test_an_aggregate_counts_the_hosts_with_values_in_a_bucket(reader: ApiClient, path: str) -> None:
    document = reader.get(f"{path}?granularity=PT1M&period=PT1H&m=CONNECTIONS&aggregate=SUM").json()
    assert series(document)[0][2] == [
        ("11:00:00", 15.0, 10.0, 20.0),
        ("11:30:00", 140.0, 140.0, 140.0),
        ("11:59:00", 3.0, 3.0, 3.0),
    ]


@each("aggregate", ["", "&aggregate=SUM"])
def test_a_project_without_hosts_has_no_series(reader: ApiClient, project: Project, aggregate: str) -> None:
    answer = reader.get(f"/groups/{project.id}/measurements?{LAST_HOUR}&m=CONNECTIONS{aggregate}")
    assert (answer.status_code, answer.json()["series"]) == (200, [])


@each(
    ("query", "granularity", "start"),
    [
        ("period=PT1M", "PT1M", "2099-11-21T11:59:00Z"),
        ("period=PT25H", "PT1M", "2099-11-20T11:01:00Z"),
        ("period=PT25H1S", "PT5M", "2099-11-20T11:00:00Z"),
        ("period=P5DT5H", "PT5M", "2099-11-16T07:05:00Z"),
        ("period=P5DT5H1S", "PT1H", "2099-11-16T07:00:00Z"),
        ("period=P62DT12H1S", "P1D", "2099-09-20T00:00:00Z"),
        ("period=PT1H&granularity=P1D", "P1D", "2099-11-21T00:00:00Z"),
        ("start=2099-11-21T10:59:59Z&end=2099-11-21T11:00:30Z", "PT1M", "2099-11-21T10:59:00Z"),
        ("start=2099-11-21T12:00:30Z", "PT1M", "2099-11-21T12:00:00Z"),
        ("start=0001-01-01T00:00:00Z&end=0001-01-01T00:00:01Z", "PT1M", "0001-01-01T00:00:00Z"),
        ("start=9999-12-31T23:59:58Z&end=9999-12-31T23:59:59Z", "PT1M", "9999-12-31T23:59:00Z"),
    ],
)
def test_the_granularity_is_the_shortest_that_fits(
    reader: ApiClient, path_of_all_days: str, query: str, granularity: str, start: str
) -> None:
    document = reader.get(f"{path_of_all_days}?m=CONNECTIONS&{query}").json()
    assert (document["granularity"], document["start"]) == (granularity, start)


@pytest.mark.slow
def test_a_series_never_has_more_points(reader: ApiClient, project: Project) -> None:
    measured = make_host(project)
    days_create([NOW.date() - DAY])
    moments = [NOW - timedelta(minutes=minutes) for minutes in range(MOST_POINTS + 10)]
    measure(measured, NOW, {Metric.CONNECTIONS: [(moment, 1.0) for moment in moments]})
    (found,) = reader.get(f"/groups/{project.id}/measurements?m=CONNECTIONS&period=PT25H").json()["series"]
    assert len(found["dataPoints"]) == MOST_POINTS


@each(
    ("query", "refused"),
    [
        ("", ("MISSING_QUERY_PARAMETER", ["period"])),
        ("end=2099-11-21T12:00:00Z", ("MISSING_QUERY_PARAMETER", ["start"])),
        ("granularity=PT2M&period=PT1H", ("INVALID_ENUM_VALUE", ["granularity"])),
        ("aggregate=MEDIAN&period=PT1H", ("INVALID_ENUM_VALUE", ["aggregate"])),
        ("aggregate=sum&period=PT1H", ("INVALID_ENUM_VALUE", ["aggregate"])),
        ("period=PT1H&m=X&m=CONNECTIONS", ("INVALID_METRIC_NAME", ["m"])),
        ("period=1h&m=X", ("INVALID_METRIC_NAME", ["m", "period"])),
        ("period=PT1H&hostId=x&clusterId=y", ("INVALID_QUERY_PARAMETER", ["hostId", "clusterId"])),
        ("period=PT1H&replicaSetName=", ("INVALID_QUERY_PARAMETER", ["replicaSetName"])),
        ("period=PT1H&replicaSetName=%00", ("INVALID_QUERY_PARAMETER", ["replicaSetName"])),
        ("start=yesterday&end=2099-11-21", ("INVALID_QUERY_PARAMETER", ["start", "end"])),
        ("period=PT1H&start=2099-11-21T11:00:00Z", ("INVALID_QUERY_PARAMETER", ["start"])),
        ("start=2099-11-21T12:00:31Z", ("INVALID_QUERY_PARAMETER", ["start"])),
        ("start=2099-11-21T12:00:01Z&end=2099-11-21T12:00:00Z", ("INVALID_QUERY_PARAMETER", ["start"])),
        ("granularity=PT1M&period=PT25H1S", ("INVALID_QUERY_PARAMETER", ["granularity"])),
        ("granularity=PT5M&period=P6D", ("INVALID_QUERY_PARAMETER", ["granularity"])),
        ("period=P1500DT1S", ("INVALID_QUERY_PARAMETER", ["period"])),
        ("period=PT999999999H", ("INVALID_QUERY_PARAMETER", ["period"])),
    ],
)
def test_a_wrong_question_is_refused_with_every_fault_named(
    reader: ApiClient, path_of_all_days: str, query: str, refused: tuple[str, list[str]]
) -> None:
    answer = reader.get(f"{path_of_all_days}?{query}")
    assert answer.status_code == 400
    named = [bad["field"] for bad in answer.json()["badFields"]]
    assert (answer.json()["errorCode"], named) == refused


@each(
    ("query", "allowed"),
    [
        ("granularity=PT1M&period=P2D", ["PT5M", "PT1H", "P1D"]),
        ("granularity=PT5M&period=P6D", ["PT1H", "P1D"]),
        ("granularity=x&period=PT1H", ["PT1M", "PT5M", "PT1H", "P1D"]),
        ("aggregate=x&period=PT1H", ["SUM", "AVG", "MAX", "MIN", "P95"]),
        ("period=PT1H&m=x", [metric.value for metric in Metric]),
    ],
)
def test_the_allowed_values_are_named(reader: ApiClient, path: str, query: str, allowed: list[str]) -> None:
    (bad,) = reader.get(f"{path}?{query}").json()["badFields"]
    assert bad["allowed"] == allowed


def test_a_host_of_another_project_is_not_found(reader: ApiClient, path: str) -> None:
    other = make_host(ProjectFactory.create(), "db9")
    for host_id in (other.id, "69201a2b3c4d5e6f70819203"):
        answer = reader.get(f"{path}?{LAST_HOUR}&m=CONNECTIONS&hostId={id_of('db1')}&hostId={host_id}")
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "HOST_NOT_FOUND")
        assert answer.json()["parameters"][0] == host_id


def test_a_deleted_host_is_not_found(reader: ApiClient, owner: ApiClient, path: str) -> None:
    host_id = id_of("db1")
    assert owner.delete(path.replace("measurements", f"hosts/{host_id}")).status_code == 204
    assert reader.get(f"{path}?{LAST_HOUR}&m=CONNECTIONS&hostId={host_id}").status_code == 404
    found = series(reader.get(f"{path}?{LAST_HOUR}&m=CONNECTIONS").json())
    assert [name for name, _, _ in found] == ["db2", "db3"]


@each(
    ("hosts", "query", "field"),
    [
        (MOST_SERIES, "m=CONNECTIONS", ""),
        (MOST_SERIES + 1, "m=CONNECTIONS", "hostId"),
        (MOST_SERIES // 2 + 1, "m=CONNECTIONS&m=OPCOUNTER_CMD", "hostId"),
        (MOST_SERIES + 1, "m=CONNECTIONS&aggregate=SUM", ""),
        (MOST_AGGREGATED + 1, "m=CONNECTIONS&aggregate=SUM", "hostId"),
        (MOST_UNNAMED, "", ""),
        (MOST_UNNAMED + 1, "", "hostId"),
        (0, "".join(f"&m={metric.value}" for metric in list(Metric)[: MOST_SERIES + 1]), "m"),
    ],
)
def test_the_number_of_series_is_limited(
    reader: ApiClient, project: Project, hosts: int, query: str, field: str
) -> None:
    Host.objects.bulk_create(
        [Host(group=project, hostname=f"db{number}", port=27017, created=NOW) for number in range(hosts)]
    )
    answer = reader.get(f"/groups/{project.id}/measurements?{LAST_HOUR}&{query}")
    assert (answer.status_code, [bad["field"] for bad in answer.json().get("badFields", [])]) == (
        (400, [field]) if field else (200, [])
    )


def test_the_measured_series_of_several_hosts_are_limited(
    reader: ApiClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("automation.measurements.views.MOST_SERIES", 3)
    monkeypatch.setattr(fleet_query, "MOST_SERIES", 3)
    answer = reader.get(f"{path}?{LAST_HOUR}")
    assert (answer.status_code, answer.json()["badFields"][0]["field"]) == (400, "m")
    assert reader.get(f"{path}?{LAST_HOUR}&aggregate=MAX").status_code == 200


def test_the_envelope_holds_the_answer(reader: ApiClient, path: str) -> None:
    document = reader.get(f"{path}?{LAST_HOUR}&m=CONNECTIONS&envelope=true&pretty=true&pageNum=0").json()
    assert document["status"] == 200
    assert len(document["content"]["series"]) == 3
