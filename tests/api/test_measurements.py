"""Measurements of hosts and databases over time."""

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accesslist.models import Project
from automation.metrics import Metric
from automation.models import Host
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each

# In the future: nonces from before the start of the tests are refused.
NOW = datetime(2099, 11, 21, 12, 0, 30, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(db: None) -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


def sample(number: float, clock: str, metric: str = "CONNECTIONS", **changes: Any) -> dict[str, Any]:
    """A value measured today at that time."""
    return {"metricName": metric, "number": number, "timestamp": f"2099-11-21T{clock}Z", **changes}


@pytest.fixture
def place(agent: ApiClient, project: Project) -> str:
    """The path of a host with some values, of its own and of a database."""
    own = [
        sample(10, "11:00:30"),
        sample(20, "11:00:59"),
        sample(5, "11:01:00"),
        sample(1, "11:59:59"),
        sample(3, "12:00:30"),
        sample(9, "12:03:00"),
        sample(2, "11:30:00", "SYSTEM_MEMORY_FREE", units="KILOBYTES"),
    ]
    databases = [{"databaseName": "orders", "measurements": [sample(7, "11:30:00", "DB_STORAGE_TOTAL")]}]
    answer = agent.report(project.id, report(host(measurements=own, databases=databases)))
    assert answer.status_code == 202
    return f"/groups/{project.id}/hosts/{Host.objects.get().id}"


def series(document: dict[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Metric → (time of day, value)."""
    return {
        measurement["name"]: [
            (point["timestamp"][11:19], point["value"]) for point in measurement["dataPoints"]
        ]
        for measurement in document["measurements"]
    }


def test_the_answer_says_of_what_from_when_to_when_in_what_units(
    reader: ApiClient, project: Project, place: str
) -> None:
    path = f"{place}/measurements?granularity=PT1M&period=PT1H&m=SYSTEM_MEMORY_FREE"
    document = reader.get(path).json()
    base = "http://testserver/api/public/v1.0"
    assert document == {
        "groupId": project.id,
        "hostId": Host.objects.get().id,
        "processId": "db1.example.com:27017",
        "granularity": "PT1M",
        "start": "2099-11-21T11:00:00Z",
        "end": "2099-11-21T12:00:30Z",
        "measurements": [
            {
                "name": "SYSTEM_MEMORY_FREE",
                "units": "BYTES",
                "dataPoints": [{"timestamp": "2099-11-21T11:30:00Z", "value": 2048.0}],
            }
        ],
        "links": [
            {"href": f"{base}{path}", "rel": "self"},
            {"href": f"{base}/groups/{project.id}", "rel": "urn:opsapi:rel:group"},
            {"href": f"{base}{place}", "rel": "urn:opsapi:rel:host"},
        ],
    }


@each(
    ("query", "points"),
    [
        (
            "granularity=PT1M&period=PT1H",
            [("11:00:00", 15.0), ("11:01:00", 5.0), ("11:59:00", 1.0), ("12:00:00", 3.0)],
        ),
        ("granularity=PT5M&period=PT1H", [("11:00:00", 35 / 3), ("11:55:00", 1.0), ("12:00:00", 3.0)]),
        ("granularity=PT1H&period=PT1H", [("11:00:00", 9.0), ("12:00:00", 3.0)]),
        ("granularity=P1D&period=P1D", [("00:00:00", 39 / 5)]),
        ("granularity=PT1M&period=PT1M", [("11:59:00", 1.0), ("12:00:00", 3.0)]),
        ("granularity=PT1M&period=PT30S", [("12:00:00", 3.0)]),
        ("granularity=PT1M&start=2099-11-21T12:00:00Z", [("12:00:00", 3.0)]),
        (
            "granularity=PT1M&start=2099-11-21T12:00:00Z&end=2099-11-21T12:03:00Z",
            [("12:00:00", 3.0), ("12:03:00", 9.0)],
        ),
        ("granularity=PT1M&start=2099-11-21T12:00:00Z&end=2099-11-21T12:02:59Z", [("12:00:00", 3.0)]),
        ("granularity=PT1M&start=2099-11-21T11:00:45&end=2099-11-21T11:00:59", [("11:00:00", 15.0)]),
        ("granularity=PT1M&start=2099-11-21T13:00:45%2B02:00&end=2099-11-21T11:00:59", [("11:00:00", 15.0)]),
        ("granularity=PT1M&start=2099-11-21T10:00:00Z&end=2099-11-21T11:00:29Z", []),
        # One instant: of its bucket what was measured up to it.
        ("granularity=PT1M&start=2099-11-21T12:03:00Z&end=2099-11-21T12:03:00Z", [("12:03:00", 9.0)]),
        ("granularity=PT1M&start=2099-11-21T12:02:59Z&end=2099-11-21T12:02:59Z", []),
        ("granularity=PT1H&start=2099-11-21T11:00:30Z&end=2099-11-21T11:00:30Z", [("11:00:00", 10.0)]),
        ("granularity=PT1M&start=2099-11-21T12:00:30Z", [("12:00:00", 3.0)]),
        ("granularity=PT1M&start=0001-01-01T00:00:00Z&end=0001-01-01T00:00:01Z", []),
        ("granularity=PT1M&start=9999-12-31T23:59:58Z&end=9999-12-31T23:59:59Z", []),
    ],
)
def test_a_point_is_the_mean_of_its_bucket_and_empty_buckets_are_left_out(
    reader: ApiClient, place: str, query: str, points: list[tuple[str, float]]
) -> None:
    answer = reader.get(f"{place}/measurements?{query}&m=CONNECTIONS")
    assert answer.status_code == 200, answer.json()
    assert series(answer.json()) == {"CONNECTIONS": points}


def test_without_a_name_every_metric_that_was_measured_is_shown(reader: ApiClient, place: str) -> None:
    document = reader.get(f"{place}/measurements?granularity=PT1H&period=PT1H").json()
    assert list(series(document)) == ["CONNECTIONS", "SYSTEM_MEMORY_FREE"]


def test_metrics_asked_for_are_there_though_nothing_was_measured(reader: ApiClient, place: str) -> None:
    query = "granularity=PT1H&period=PT1H&m=OPCOUNTER_CMD&m=CONNECTIONS&m=CONNECTIONS"
    document = reader.get(f"{place}/measurements?{query}").json()
    assert [(name, bool(points)) for name, points in series(document).items()] == [
        ("CONNECTIONS", True),
        ("OPCOUNTER_CMD", False),
    ]


def test_a_databases_own_measurements_are_shown(reader: ApiClient, project: Project, place: str) -> None:
    path = f"{place}/databases/orders/measurements?granularity=PT1H&period=PT1H"
    document = reader.get(path).json()
    assert document["databaseName"] == "orders"
    assert series(document) == {"DB_STORAGE_TOTAL": [("11:00:00", 7.0)]}
    relations = [link["rel"].rpartition(":")[2] for link in document["links"]]
    assert relations == ["self", "group", "host", "database"]


def test_what_was_just_accepted_is_shown(agent: ApiClient, reader: ApiClient, project: Project) -> None:
    agent.report(project.id, report(host(measurements=[{"metricName": "CONNECTIONS", "number": 8}])))
    path = f"/groups/{project.id}/hosts/{Host.objects.get().id}/measurements"
    document = reader.get(f"{path}?granularity=PT1M&period=PT1M").json()
    assert series(document) == {"CONNECTIONS": [("12:00:00", 8.0)]}


def test_samples_of_several_reports_share_a_bucket(
    agent: ApiClient, reader: ApiClient, project: Project, place: str
) -> None:
    agent.report(project.id, report(host(measurements=[sample(30, "11:00:45")])))
    document = reader.get(f"{place}/measurements?granularity=PT1M&period=PT1H").json()
    assert series(document)["CONNECTIONS"][0] == ("11:00:00", 20.0)


@each("number", [1.7e308, -1.7e308, 5e-324, 0.1, 2**53 + 2])
def test_the_mean_of_equal_numbers_is_that_number(
    agent: ApiClient, reader: ApiClient, project: Project, number: float
) -> None:
    taken = [sample(number, "11:01:00"), sample(number, "11:01:01")]
    agent.report(project.id, report(host(measurements=taken)))
    path = f"/groups/{project.id}/hosts/{Host.objects.get().id}/measurements"
    document = reader.get(f"{path}?granularity=PT1M&period=PT1H").json()
    assert series(document) == {"CONNECTIONS": [("11:01:00", number)]}


def test_a_mean_nearer_to_zero_than_any_number_is_zero(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(
        project.id, report(host(measurements=[sample(5e-324, "11:01:00"), *2 * [sample(0, "11:01:00")]]))
    )
    path = f"/groups/{project.id}/hosts/{Host.objects.get().id}/measurements"
    document = reader.get(f"{path}?granularity=PT1M&period=PT1H").json()
    assert series(document) == {"CONNECTIONS": [("11:01:00", 0.0)]}


@each("metrics", [1, len(Metric)])
def test_one_statement_answers_whatever_is_asked(reader: ApiClient, place: str, metrics: int) -> None:
    names = "".join(f"&m={metric.value}" for metric in list(Metric)[:metrics])
    with CaptureQueriesContext(connection) as queries:
        reader.get(f"{place}/measurements?granularity=PT1H&period=PT1H{names}")
    assert sum("automation_reading" in query["sql"] for query in queries.captured_queries) == 1


@each(
    ("query", "refused"),
    [
        ("", ("MISSING_QUERY_PARAMETER", ["granularity", "period"])),
        ("period=PT1H", ("MISSING_QUERY_PARAMETER", ["granularity"])),
        ("granularity=PT1M", ("MISSING_QUERY_PARAMETER", ["period"])),
        ("granularity=PT1M&end=2099-11-21T12:00:00Z", ("MISSING_QUERY_PARAMETER", ["start"])),
        ("granularity=PT2M&period=PT1H", ("INVALID_ENUM_VALUE", ["granularity"])),
        ("granularity=&period=PT1H", ("INVALID_ENUM_VALUE", ["granularity"])),
        ("granularity=PT1M&period=1h&m=X", ("INVALID_QUERY_PARAMETER", ["period", "m"])),
        ("granularity=PT1M&period=PT1H&m=X&m=CONNECTIONS", ("INVALID_METRIC_NAME", ["m"])),
        ("granularity=PT1M&start=yesterday&end=2099-11-21", ("INVALID_QUERY_PARAMETER", ["start", "end"])),
        ("granularity=PT1M&period=PT1H&start=2099-11-21T11:00:00Z", ("INVALID_QUERY_PARAMETER", ["start"])),
        ("granularity=PT1M&start=2099-11-21T12:00:31Z", ("INVALID_QUERY_PARAMETER", ["start"])),
        (
            "granularity=PT1M&start=2099-11-21T12:00:01Z&end=2099-11-21T12:00:00Z",
            ("INVALID_QUERY_PARAMETER", ["start"]),
        ),
        ("granularity=PT1M&period=PT5001M", ("INVALID_QUERY_PARAMETER", ["period"])),
        ("granularity=P1D&period=P8D", ("INVALID_QUERY_PARAMETER", ["period"])),
    ],
)
@each("below", ["", "/databases/orders"])
def test_a_wrong_question_is_refused_with_every_fault_named(
    reader: ApiClient, place: str, below: str, query: str, refused: tuple[str, list[str]]
) -> None:
    answer = reader.get(f"{place}{below}/measurements?{query}")
    assert answer.status_code == 400
    named = [bad["field"] for bad in answer.json()["badFields"]]
    assert (answer.json()["errorCode"], named) == refused


@each(
    ("query", "allowed"),
    [
        ("granularity=x&period=PT1H", ["PT1M", "PT5M", "PT1H", "P1D"]),
        ("granularity=PT1M&period=PT1H&m=x", [metric.value for metric in Metric]),
    ],
)
def test_the_allowed_values_are_named(reader: ApiClient, place: str, query: str, allowed: list[str]) -> None:
    (bad,) = reader.get(f"{place}/measurements?{query}").json()["badFields"]
    assert bad["allowed"] == allowed


@pytest.mark.parametrize(("days", "status"), [(7, 400), (8, 200), (0, 200)])
def test_nobody_asks_for_more_than_is_kept(
    reader: ApiClient, settings: Settings, place: str, days: int, status: int
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = days
    assert reader.get(f"{place}/measurements?granularity=P1D&period=P8D").status_code == status


def test_another_hosts_measurements_are_not_shown(
    agent: ApiClient, reader: ApiClient, project: Project, place: str
) -> None:
    agent.report(project.id, report(host(hostname="db9")))
    other = Host.objects.get(hostname="db9")
    path = f"/groups/{project.id}/hosts/{other.id}/measurements?granularity=P1D&period=P1D"
    assert reader.get(path).json()["measurements"] == []
