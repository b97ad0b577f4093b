"""Hosts that are deleted or move: who is notified, what is left, what races."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.dispatch import Signal

from accesslist.models import Project
from automation.hooks import host_deleting, host_moving
from automation.hosts import changes as hosts_service
from automation.hosts.changes import deleted_host_purge, host_change, host_create, host_delete
from automation.hosts.store import hosts_locked, hosts_locked_if_known, known_addresses
from automation.measurements.store import newest_measurements
from automation.metrics import Metric
from automation.models import Host, Reading
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.factories.automation import host_report, ingest, make_host
from tests.racing import THREADS, at_once, while_it_waits

HeardHooks = list[tuple[Signal, str]]
MORE_THAN_PARAMETERS = 65_536
pytestmark = pytest.mark.django_db


@pytest.fixture
def heard_hooks() -> Iterator[HeardHooks]:
    """What the hooks say: which, and the address of the host as it was."""
    heard: HeardHooks = []

    def listen(signal: Signal, host: Host, **_: Any) -> None:
        assert transaction.get_connection().in_atomic_block
        heard.append((signal, str(host)))

    for hook in (host_deleting, host_moving):
        hook.connect(listen)
    yield heard
    for hook in (host_deleting, host_moving):
        hook.disconnect(listen)


def delete(host: Host) -> None:
    """Delete it."""
    host_delete(group_id=host.group_id, host_id=host.id, actor=SYSTEM, now=clock.now())


def change(host: Host, **changes: Any) -> None:
    """Change it."""
    host_change(group_id=host.group_id, host_id=host.id, changes=changes, actor=SYSTEM, now=clock.now())


def test_hooks_are_called_for_a_host_that_is_deleted(project: Project, heard_hooks: HeardHooks) -> None:
    delete(make_host(project))
    assert heard_hooks == [(host_deleting, "db1:27017")]


@pytest.mark.parametrize(
    ("changes", "moves"),
    [
        ({"port": 1}, True),
        ({"hostname": "db2"}, True),
        ({"hostname": "DB1"}, False),
        ({"port": 27017}, False),
        ({}, False),
    ],
)
def test_hooks_are_called_for_a_host_that_moves(
    project: Project, heard_hooks: HeardHooks, changes: dict[str, Any], moves: bool
) -> None:
    change(make_host(project), **changes)
    assert heard_hooks == ([(host_moving, "db1:27017")] if moves else [])


def test_what_was_measured_goes_a_batch_at_a_time_and_the_host_last(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts_service, "MEASUREMENTS_AT_ONCE", 2)
    for _ in range(5):
        ingest(project, host_report("a", CONNECTIONS=1.0), host_report("b", CONNECTIONS=1.0))
    assert not deleted_host_purge()
    delete(Host.objects.get(hostname="a"))
    left = []
    while deleted_host_purge():
        readings = Reading.objects.filter(source__host__hostname="a").count()
        left.append((readings, Host.with_deleted.count()))
    assert left == [(3, 2), (1, 2), (0, 2), (0, 1)]
    assert Reading.objects.filter(source__host__hostname="b").count() == 5


def test_the_newest_measurement_of_each_host_is_found(project: Project) -> None:
    for number in (1.0, 2.0):
        ingest(project, host_report("a", CONNECTIONS=number), host_report("b", CONNECTIONS=-number))
    ingest(project, host_report("c"))
    newest = newest_measurements(Host.objects.values_list("id", flat=True))
    names = dict(Host.objects.values_list("id", "hostname"))
    values = {
        names[host]: measurement.samples[Metric.CONNECTIONS][0][1] for host, measurement in newest.items()
    }
    assert values == {"a": 2.0, "b": -2.0}


@pytest.mark.slow
def test_more_hosts_than_a_statement_has_parameters_can_be_looked_for(project: Project) -> None:
    ingest(project, host_report("a", CONNECTIONS=1))
    host = Host.objects.get()
    keys = {host.address.key} | {(f"h{number}", 27017) for number in range(MORE_THAN_PARAMETERS)}
    assert known_addresses(project.id, keys) == {host.address.key}
    with transaction.atomic():
        assert hosts_locked(project.id, keys) == {host.address.key: host}
        assert hosts_locked_if_known(project.id, {host.address.key}, keys) == {host.address.key: host}
    assert newest_measurements([host.id, *(name for name, _ in keys)]).keys() == {host.id}


def test_hosts_are_locked_together_or_not_at_all(project: Project) -> None:
    ingest(project, host_report("a"), host_report("b"))
    known, unknown = {("a", 27017), ("b", 27017)}, ("c", 27017)
    with transaction.atomic():
        assert hosts_locked_if_known(project.id, known, known | {unknown}).keys() == known
        assert hosts_locked_if_known(project.id, known | {unknown}, known | {unknown}) == {}
        assert hosts_locked_if_known(project.id, set(), {unknown}) == {}


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """Whoever comes first, nothing is counted twice and no report falls over a host that goes."""

    def counts(self, project: Project) -> tuple[int, int]:
        """Hosts there are, and hosts that are counted."""
        project.refresh_from_db()
        return Host.objects.count(), project.host_count

    def outcome(self, act: Any) -> str:
        """How it ended."""
        try:
            act()
        except ApiError as error:
            return error.code.value
        return "done"

    def test_a_host_is_deleted_once(self, project: Project) -> None:
        host = make_host(project)
        ended = at_once(lambda _: self.outcome(lambda: delete(host)))
        assert sorted(ended) == ["HOST_NOT_FOUND"] * (THREADS - 1) + ["done"]
        assert self.counts(project) == (0, 0)
        assert Event.objects.filter(event_type="DELETE_HOST_AUDIT").count() == 1

    def test_of_two_changes_at_once_none_is_lost(self, project: Project, heard_hooks: HeardHooks) -> None:
        host = make_host(project)
        while_it_waits(lambda: change(host, hostname="db2"), lambda: change(host, port=27018))
        assert str(Host.objects.get()) == "db2:27018"
        assert heard_hooks == [(host_moving, "db1:27017"), (host_moving, "db1:27018")]

    def test_one_that_moves_meanwhile_is_deleted_from_where_it_is(
        self, project: Project, heard_hooks: HeardHooks
    ) -> None:
        host = make_host(project)
        while_it_waits(lambda: delete(host), lambda: change(host, port=27018))
        assert not Host.objects.exists()
        assert heard_hooks == [(host_moving, "db1:27017"), (host_deleting, "db1:27018")]

    def test_an_address_is_given_once(self, project: Project) -> None:
        values = {"hostname": "db1", "port": 27017}

        def make(_: int) -> str:
            return self.outcome(
                lambda: host_create(group_id=project.id, values=values, actor=SYSTEM, now=clock.now())
            )

        assert sorted(at_once(make)) == ["HOST_ALREADY_EXISTS"] * (THREADS - 1) + ["done"]
        assert self.counts(project) == (1, 1)

    def test_reports_deletions_and_renames_do_not_trip_over_each_other(self, project: Project) -> None:
        ingest(project, *(host_report(f"h{number}") for number in range(4)))
        known = list(Host.objects.order_by("hostname"))

        def act(number: int) -> str:
            if number % 4 == 0:
                return self.outcome(lambda: delete(known[number // 4 % 4]))
            if number % 4 == 1:
                return self.outcome(lambda: change(known[2], hostname=f"moved{number}"))
            names = [f"h{(number + place) % 4}" for place in range(4)]
            return self.outcome(
                lambda: ingest(project, *(host_report(name, CONNECTIONS=1.0) for name in names))
            )

        assert set(at_once(act)) <= {"done", "HOST_NOT_FOUND"}
        there, counted = self.counts(project)
        assert there == counted
        assert Host.objects.filter(hostname="h3").exists()


def test_a_report_from_before_the_deletion_does_not_add_the_host_again(project: Project) -> None:
    """A backlog of an agent can arrive after a user has deleted one of its hosts."""
    minute, start = timedelta(minutes=1), clock.now() - timedelta(hours=1)

    def known() -> list[str]:
        return sorted(Host.objects.filter(group=project).values_list("hostname", flat=True))

    def report(observed: datetime, now: datetime) -> None:
        hosts = (host_report("DB1", CONNECTIONS=5), host_report("db2", CONNECTIONS=5))
        down = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
        ingest(project, *hosts, events=(down,), observed=observed, now=now)

    report(start, start)
    host = Host.objects.get(group=project, hostname="DB1")
    host_delete(group_id=project.id, host_id=host.id, actor=SYSTEM, now=start + 5 * minute)
    report(start + minute, start + 6 * minute)
    assert known() == ["db2"]
    assert Host.objects.get(group=project).observed == (start + minute)
    report(start + 6 * minute, start + 7 * minute)
    assert known() == ["DB1", "db2"]


def test_a_user_can_add_a_deleted_host_again_while_old_reports_arrive(project: Project) -> None:
    minute, start = timedelta(minutes=1), clock.now() - timedelta(hours=1)
    ingest(project, host_report("db1"), observed=start, now=start)
    delete_at, add_at = start + 5 * minute, start + 6 * minute
    host_delete(group_id=project.id, host_id=Host.objects.get().id, actor=SYSTEM, now=delete_at)
    values = {"hostname": "db1", "port": 27017}
    host_create(group_id=project.id, values=values, actor=SYSTEM, now=add_at)
    ingest(project, host_report("db1"), observed=start + minute, now=start + 7 * minute)
    assert Host.objects.get().observed == start + minute


def test_a_deletion_in_the_future_keeps_no_host_away(project: Project) -> None:
    """It was recorded while the clock was ahead."""
    minute, start = timedelta(minutes=1), clock.now() - timedelta(hours=1)
    ingest(project, host_report("db1"), observed=start, now=start)
    host_delete(
        group_id=project.id, host_id=Host.objects.get().id, actor=SYSTEM, now=start + timedelta(days=1)
    )
    ingest(project, host_report("db1"), observed=start + minute, now=start + 2 * minute)
    assert Host.objects.count() == 1
