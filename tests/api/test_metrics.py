"""`/metrics`: what Prometheus gets, and who may ask."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector
from pytest_django import Settings

from accesslist.models import Project
from alerting.destinations.choices import DestinationState
from alerting.engine.choices import NotificationStatus
from alerting.engine.leases import worker_seen, worker_stuck
from alerting.incidents.choices import AlertStatus
from alerting.models import Notification, UnreachableHost, WorkerHeartbeat
from events.models import Signal
from integrations.channels.delivery import deliver
from integrations.choices import ChannelType
from opsapi import clock
from opsapi.ids import first_id, new_id
from opsapi.metric_files import VARIABLE
from tests.api import bodies
from tests.client import ApiClient, authorization
from tests.each import each
from tests.factories.accesslist import make_entry
from tests.factories.alerting import make_alert, make_destination, make_notification
from tests.scraping import counted, samples, scrape, value
from tests.unit.integrations.messages import make_message

HERE = "192.0.2.7"
# Later than the clock that creates ids, so that no other row is newer.
NOW = datetime(2099, 6, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


# --- who may ask ----------------------------------------------------------------------------------


@each("path", ["/metrics", "/metrics/"])
def test_a_scraper_on_this_machine_needs_no_key(path: str) -> None:
    answer = scrape(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize(
    ("allow", "address", "headers", "status"),
    [
        pytest.param([], "127.0.0.1", {}, 200, id="loopback"),
        pytest.param([], "127.8.8.8", {}, 200, id="all of loopback"),
        pytest.param([], "::1", {}, 200, id="loopback over IPv6"),
        pytest.param([], "::ffff:127.0.0.1", {}, 200, id="loopback as mapped IPv4"),
        pytest.param([], HERE, {}, 403, id="somebody else"),
        pytest.param([], "", {}, 403, id="nobody knows who"),
        pytest.param(["192.0.2.0/24"], HERE, {}, 200, id="allowed"),
        pytest.param(["192.0.2.0/24"], "192.0.3.0", {}, 403, id="beside what is allowed"),
        pytest.param(["192.0.2.0/24"], "127.0.0.1", {}, 200, id="loopback beside what is allowed"),
        pytest.param([], "127.0.0.1", {"HTTP_X_FORWARDED_FOR": HERE}, 403, id="through a proxy here"),
        pytest.param([], HERE, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 403, id="says it is loopback"),
        pytest.param(
            ["192.0.2.0/24"], HERE, {"HTTP_VIA": "1.1 p"}, 403, id="through a proxy that is allowed"
        ),
    ],
)
def test_only_loopback_and_allowed_addresses_may_read(
    settings: Settings, allow: list[str], address: str, headers: dict[str, str], status: int
) -> None:
    settings.OPSAPI_METRICS_ALLOW = [ip_network(network) for network in allow]
    answer = scrape(REMOTE_ADDR=address, **headers)
    assert answer.status_code == status
    assert (b"opsapi_" in answer.content) is (status == 200)
    if status == 403:
        assert answer.json()["errorCode"] == "IP_ADDRESS_NOT_ON_ACCESS_LIST"


def test_a_trusted_proxy_does_not_make_others_welcome(settings: Settings) -> None:
    settings.OPSAPI_TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]
    assert scrape(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="127.0.0.1").status_code == 403


@each("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_another_method_is_refused_as_everywhere(method: str) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, "/metrics")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["errorCode"] == "METHOD_NOT_ALLOWED"


def test_head_has_no_body() -> None:
    answer = Client().head("/metrics")
    assert (answer.status_code, answer.content) == (200, b"")


# --- what is counted ------------------------------------------------------------------------------


def test_requests_are_counted_by_method_and_status_class(owner: ApiClient, stranger: ApiClient) -> None:
    with counted("http_requests_total", 2, method="POST", status="2xx"):
        for name in ("one", "two"):
            assert owner.post("/groups", {"name": name}).status_code == 201
    with counted("http_requests_total", 1, method="DELETE", status="4xx"):
        assert stranger.delete("/groups").status_code == 401
    with counted("http_requests_total", 3, method="other", status="4xx"):
        for method in ("BREW", "TRACE", "x" * 500):
            assert Client().generic(method, "/health/live").status_code == 405


def _wrong(authorization: str) -> int:
    return int(ApiClient().get("/groups", HTTP_AUTHORIZATION=authorization, REMOTE_ADDR=HERE).status_code)


def test_failed_authentications_are_counted_by_reason(owner: ApiClient, settings: Settings) -> None:
    digest = (
        'Digest username="x", realm="Ops Public API", nonce="n", uri="/", algorithm=MD5, qop=auth, '
        'nc=00000001, cnonce="c", response="0123456789abcdef0123456789abcdef"'
    )
    for wrong, reason in (("Bearer x", "malformed"), (digest, "wrong_credentials")):
        with counted("failed_authentications_total", 1, reason=reason):
            assert _wrong(wrong) == 401
    settings.OPSAPI_RATE_FAILED_AUTH = 1
    with counted("failed_authentications_total", 1, reason="throttled"):
        assert _wrong("Bearer x") == 429


def test_right_credentials_for_another_path_are_counted(owner: ApiClient) -> None:
    assert owner.key
    other = authorization(owner.key, "GET", "/behind/a/proxy")
    with counted("failed_authentications_total", 1, reason="other_uri"):
        assert owner.get("/groups", HTTP_AUTHORIZATION=other).status_code == 400


def test_a_scraper_with_wrong_credentials_is_counted(project: Project) -> None:
    path = f"/prometheus/v1.0/groups/{project.id}/discovery"
    with counted("failed_authentications_total", 1, reason="scraper_credentials"):
        assert Client().get(path, HTTP_AUTHORIZATION="Basic eDp5").status_code == 401


def test_an_address_no_access_list_has_is_counted(owner: ApiClient, settings: Settings) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = [ip_network("127.0.0.0/8")]
    make_entry("10.0.0.0/8")
    with counted("failed_authentications_total", 1, reason="refused_address"):
        assert owner.get("/groups", REMOTE_ADDR=HERE).status_code == 403


def test_a_log_in_that_fails_is_counted(project: Project) -> None:
    with counted("failed_authentications_total", 1, reason="console_credentials"):
        Client().post("/admin/login/", {"username": "nobody", "password": "wrong"})


def test_absent_and_correct_credentials_are_not_failures(owner: ApiClient, stranger: ApiClient) -> None:
    def failures() -> float:
        return sum(count for (name, _), count in samples().items() if "failed_authentications" in name)

    before = failures()
    assert (stranger.get("/groups").status_code, owner.get("/groups").status_code) == (401, 200)
    assert failures() == before


def test_attempts_of_deliveries_are_counted_and_timed(settings: Settings) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = []
    labels = {"channel": "WEBHOOK", "outcome": "retry"}
    with (
        counted("delivery_attempts_total", 1, **labels),
        counted("delivery_seconds_count", 1, channel="WEBHOOK"),
    ):
        deliver(ChannelType("WEBHOOK"), {"url": "http://127.0.0.1:9/"}, make_message(), now=NOW)


def test_shared_counters_are_read_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stranger: ApiClient
) -> None:
    stranger.get("/groups")
    (tmp_path / "counter_1.db").touch()  # of a process that was killed while it began
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    exposed = samples()
    assert value(exposed, "database_up") == 1
    assert not [name for name, _ in exposed if "requests" in name]


def _count_in(file: Path, count: float) -> None:
    """As a process does that counted requests."""
    counts = MmapedDict(str(file))
    name = "opsapi_http_requests"
    key = mmap_key(name, f"{name}_total", ["method", "status"], ["GET", "2xx"], "Requests.")
    counts.write_value(key, count, 0.0)
    counts.close()


def test_a_file_removed_before_its_check_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _count_in(tmp_path / "counter_1.db", 3)
    (tmp_path / "counter_2.db").symlink_to(tmp_path / "gone")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert value(samples(), "http_requests_total", method="GET", status="2xx") == 3


def test_files_removed_before_reading_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 5):
        _count_in(tmp_path / f"counter_{number}.db", number)
    merge, leaving = MultiProcessCollector.merge, [tmp_path / "counter_4.db", tmp_path / "counter_2.db"]

    def merge_while_they_go(files: list[str]) -> Any:
        """Another process begins, and takes away what ended ones left."""
        if leaving:
            leaving.pop().unlink()
        return merge(files)

    monkeypatch.setattr(MultiProcessCollector, "merge", staticmethod(merge_while_they_go))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert value(samples(), "http_requests_total", method="GET", status="2xx") == 1 + 3


# --- what the database knows ----------------------------------------------------------------------


def test_an_idle_installation_has_zero_values() -> None:
    exposed = samples()
    expected = {
        "database_up": 1.0,
        "evaluation_lag_seconds": 0.0,
        "signals_set_aside": 0.0,
        "notifications_due": 0.0,
        "notification_oldest_due_seconds": 0.0,
        "delivery_lag_seconds": 0.0,
        "workers": 0.0,
        "workers_stuck": 0.0,
    }
    assert {name: value(exposed, name) for name in expected} == expected
    for status in AlertStatus:
        assert value(exposed, "alerts", status=status) == 0.0


def test_the_queue_has_a_length_and_an_age(project: Project) -> None:
    for seconds in (90, 0, -1):
        make_notification(project, due=NOW - timedelta(seconds=seconds))
    make_notification(project, due=NOW - timedelta(hours=1), status=NotificationStatus.FAILED.value)
    with time_machine.travel(NOW, tick=False):
        exposed = samples()
    assert value(exposed, "notifications_due") == 2
    assert value(exposed, "notification_oldest_due_seconds") == 90


def test_the_lag_is_the_age_of_the_oldest_signal_that_waits(project: Project) -> None:
    for seconds, failed in ((600, NOW), (45, None), (5, None)):
        created = NOW - timedelta(seconds=seconds)
        Signal.objects.create(created=created, group_id=project.id, kind="EVENT", payload={}, failed=failed)
    with time_machine.travel(NOW, tick=False):
        exposed = samples()
    assert value(exposed, "evaluation_lag_seconds") == 45
    assert value(exposed, "signals_set_aside") == 1


def test_a_signal_in_the_future_has_no_age(project: Project) -> None:
    for seconds in (-86_400, 30):
        Signal.objects.create(
            created=NOW - timedelta(seconds=seconds), group_id=project.id, kind="EVENT", payload={}
        )
    with time_machine.travel(NOW, tick=False):
        assert value(samples(), "evaluation_lag_seconds") == 30


_STEADY = {"failures": 0, "failing_since": None, "answered": NOW}


@each(
    ("message", "place", "lag"),
    [
        ({}, None, 90),
        ({"due": NOW + timedelta(seconds=1)}, None, 0),
        ({"status": NotificationStatus.DELIVERED.value}, None, 0),
        ({"lease_token": UUID(int=1), "lease_until": NOW}, None, 0),
        ({}, _STEADY, 90),
        ({}, {**_STEADY, "next_try": NOW}, 90),
        ({}, {**_STEADY, "tried": NOW - timedelta(seconds=20)}, 20),
        ({}, {**_STEADY, "tried": NOW + timedelta(seconds=20)}, 0),
        ({}, {**_STEADY, "failures": 1}, 0),
        ({}, {**_STEADY, "answered": None}, 0),
        ({}, {**_STEADY, "pace_ms": 100}, 0),
        ({}, {**_STEADY, "next_try": NOW + timedelta(seconds=1)}, 0),
    ],
)
def test_the_lag_of_delivery_leaves_out_what_is_held_back(
    project: Project, message: dict[str, Any], place: dict[str, Any] | None, lag: int
) -> None:
    destination = make_destination(project, **place).id if place else ""
    values = {"due": NOW - timedelta(seconds=90), "destination": destination}
    make_notification(project, **(values | message))
    with time_machine.travel(NOW, tick=False):
        assert value(samples(), "delivery_lag_seconds") == lag


def test_messages_to_a_host_that_is_down_are_held_back(project: Project) -> None:
    place = make_destination(project, **_STEADY)
    make_notification(project, due=NOW - timedelta(seconds=90), destination=place.id)
    UnreachableHost.objects.create(host=place.host, failures=1, since=NOW, next_try=NOW)
    with time_machine.travel(NOW, tick=False):
        assert value(samples(), "delivery_lag_seconds") == 0


def test_the_largest_difference_of_a_clock_is_shown() -> None:
    worker_seen(name="gone", now=NOW - timedelta(minutes=2), clock_ahead=timedelta(hours=1))
    for name, ahead in (("a", 5), ("b", -90), ("c", 60)):
        worker_seen(name=name, now=NOW, clock_ahead=timedelta(seconds=ahead))
    with time_machine.travel(NOW, tick=False):
        exposed = samples()
    assert value(exposed, "clock_ahead_seconds", process="worker") == -90
    assert value(exposed, "clock_ahead_seconds", process="web") == 0


def test_stuck_workers_are_counted_for_a_day() -> None:
    for name, seconds in (("a", 0), ("b", 86_399), ("c", 86_400)):
        worker_stuck(name=name, loop="evaluate", now=NOW - timedelta(seconds=seconds))
    with time_machine.travel(NOW, tick=False):
        assert value(samples(), "workers_stuck") == 2


def test_alerts_are_counted_by_status_ended_alerts_for_an_hour(project: Project) -> None:
    for status, count in ((AlertStatus.OPEN, 3), (AlertStatus.TRACKING, 2)):
        for _ in range(count):
            make_alert(project, status=status.value)
    for seconds in (0, 3600, 3601):
        make_alert(project, status=AlertStatus.CLOSED.value, resolved=NOW - timedelta(seconds=seconds))
    make_alert(project, status=AlertStatus.CANCELLED.value, resolved=NOW)
    with time_machine.travel(NOW, tick=False):
        exposed = samples()
    counts = {status.value: value(exposed, "alerts", status=status) for status in AlertStatus}
    assert counts == {"OPEN": 3, "TRACKING": 2, "CLOSED": 2, "CANCELLED": 1}


def test_notifications_of_the_last_hour_are_counted_by_channel_and_status(project: Project) -> None:
    def made(moment: datetime, **changes: Any) -> Notification:
        return make_notification(project, id=first_id(moment)[:12] + new_id()[12:], created=moment, **changes)

    for status in (NotificationStatus.DELIVERED, NotificationStatus.FAILED, NotificationStatus.FAILED):
        made(NOW - timedelta(minutes=59), status=status.value)
    made(NOW, channel=None, type_name="GROUP")
    made(NOW - timedelta(minutes=61), status=NotificationStatus.DROPPED.value)
    with time_machine.travel(NOW, tick=False):
        exposed = samples()
    found = {labels: count for (name, labels), count in exposed.items() if name == "opsapi_notifications"}
    assert found == {
        frozenset({("channel", "EMAIL"), ("status", "DELIVERED")}): 1,
        frozenset({("channel", "EMAIL"), ("status", "FAILED")}): 2,
        frozenset({("channel", "people"), ("status", "PENDING")}): 1,
    }


def test_destinations_are_counted_by_state(project: Project) -> None:
    healthy = {"failures": 0, "failing_since": None, "answered": NOW}
    for changes in ({}, {}, healthy, {**healthy, "pace_ms": 100}, {**healthy, "answered": None}):
        make_destination(project, **changes)
    exposed = samples()
    counts = {state.value: value(exposed, "destinations", state=state) for state in DestinationState}
    assert counts == {"failing": 2, "slowed_down": 1, "healthy": 1, "not_tried": 1}


def test_waiting_notifications_are_counted_by_channel(project: Project) -> None:
    chat, hook = make_destination(project, channel="CHAT_SERVICE"), make_destination(project)
    hour, minute = timedelta(hours=1), timedelta(minutes=1)
    of_chat, of_hook = (
        {"destination": destination.id, "channel": destination.channel, "type_name": destination.channel}
        for destination in (chat, hook)
    )
    make_notification(project, **of_chat, due=NOW + minute, first_attempt=NOW - hour)
    make_notification(project, **of_chat, due=NOW - minute)
    make_notification(project, **of_hook, due=NOW + minute)
    make_notification(project, **of_hook, due=NOW - hour, status="DELIVERED")
    make_notification(project, due=NOW - hour)
    with time_machine.travel(NOW, tick=False):
        exposed = samples()
    found = {
        channel: (
            value(exposed, "destination_waiting", channel=channel),
            value(exposed, "destination_oldest_waiting_seconds", channel=channel),
        )
        for channel in ("CHAT_SERVICE", "WEBHOOK", "SMS")
    }
    assert found == {"CHAT_SERVICE": (2, 3600), "WEBHOOK": (1, 0), "SMS": (0, 0)}


def test_workers_of_the_last_minute_are_counted() -> None:
    for name, seconds in (("a", 0), ("b", 59), ("c", 61)):
        WorkerHeartbeat.objects.create(name=name, seen=NOW - timedelta(seconds=seconds))
    with time_machine.travel(NOW, tick=False):
        assert value(samples(), "workers") == 2


def test_counters_are_served_without_the_database(
    monkeypatch: pytest.MonkeyPatch, stranger: ApiClient
) -> None:
    stranger.get("/groups")

    def away(*_: object) -> None:
        raise OperationalError("the connection was lost\nDETAIL: not for everybody")

    with connection.execute_wrapper(away):
        exposed = samples()
    assert value(exposed, "database_up") == 0
    assert value(exposed, "http_requests_total", method="GET", status="4xx")
    assert value(exposed, "notifications_due") is None


def test_the_statements_of_a_scrape_are_few_bounded_in_time_and_do_not_grow_with_rows(
    project: Project,
) -> None:
    for _ in range(20):
        make_notification(project)
        make_alert(project)
    with CaptureQueriesContext(connection) as statements:
        scrape()
    exposed = [statement["sql"] for statement in statements]
    assert any("statement_timeout" in sql for sql in exposed)
    assert len([sql for sql in exposed if "SAVEPOINT" not in sql]) <= 10


def test_labels_have_closed_sets_of_values(owner: ApiClient) -> None:
    owner.post("/groups", {"name": bodies.SECRET})
    owner.get(f"/groups/{new_id()}")
    names = {name for (_, labels) in samples() for name, _ in labels}
    assert names <= {"method", "status", "reason", "channel", "outcome", "state", "process", "le"}
    answer = scrape().content.decode()
    assert bodies.SECRET not in answer
    assert clock.now().isoformat()[:10] not in answer
