"""Transactions that overlap: what the later one does has seen what the earlier one said."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import transaction

from accesslist.models import Project
from automation.choices import HostType
from automation.hosts.versions import version_marks_update
from automation.models import Agent, Host, ReplicaSet
from events.models import Event, Signal
from opsapi import clock
from tests.eventually import eventually
from tests.factories.automation import host_report, ingest, sweep
from tests.racing import on_own_connection, somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(minutes=9)
PRIMARY, SECONDARY = HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY


def overlap(first: Callable[[], None], second: Callable[[], None]) -> None:
    """The second begins while the first has done everything but commit."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            other = pool.submit(on_own_connection, second)
            eventually(lambda: somebody_waits() or other.done())
        other.result()


@pytest.mark.parametrize("known", [True, False], ids=["known", "new"])
def test_reports_of_members_of_one_set_count_each_other(project: Project, known: bool) -> None:
    secondary = host_report("a", type_name=SECONDARY, replica_set_name="rs0")
    other = host_report("b", type_name=SECONDARY, replica_set_name="rs0")
    if known:
        ingest(project, host_report("a", type_name=PRIMARY, replica_set_name="rs0"), agent="one")
        ingest(project, host_report("b", type_name=PRIMARY, replica_set_name="rs0"), agent="two")
    overlap(lambda: ingest(project, secondary, agent="one"), lambda: ingest(project, other, agent="two"))
    counted = ReplicaSet.objects.get()
    assert (counted.primaries, counted.healthy) == (0, 2)
    states = [signal.payload["replicaSets"] for signal in Signal.objects.filter(kind="hosts").order_by("id")]
    assert [(state["primaries"], state["healthy"]) for state in states[-1]] == [(0, 2)]
    assert Event.objects.filter(event_type="NO_PRIMARY").count() == 1


def test_a_host_reported_during_the_search_for_timeouts_has_none(project: Project) -> None:
    now = clock.now()
    ingest(project, host_report("a"), host_report("b"), now=now - LONG_AGO)
    ingest(project, host_report("a"), now=now)
    overlap(lambda: ingest(project, host_report("b"), agent="two", now=now), lambda: sweep(now))
    assert not Host.objects.filter(down=True).exists()
    assert not Event.objects.filter(event_type="HOST_DOWN").exists()


def test_an_agent_that_reports_during_the_search_for_timeouts_has_none(project: Project) -> None:
    now = clock.now()
    ingest(project, now=now - LONG_AGO)
    overlap(lambda: ingest(project, now=now), lambda: sweep(now))
    assert not Agent.objects.filter(down=True).exists()
    assert not Event.objects.filter(event_type="MONITORING_AGENT_DOWN").exists()


def test_a_project_deleted_during_the_search_for_timeouts_is_skipped(project: Project) -> None:
    now = clock.now()
    ingest(project, now=now - LONG_AGO)

    def delete() -> None:
        Project.objects.select_for_update().get(id=project.id)
        Project.objects.filter(id=project.id).update(deleted=now, org=None)

    overlap(delete, lambda: sweep(now))
    assert not Agent.objects.filter(down=True).exists()


def test_a_host_upgraded_while_versions_are_weighed_is_not_behind(project: Project) -> None:
    ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.1"))
    ingest(project, host_report("c", version="7.0.2"))
    overlap(
        lambda: ingest(project, host_report("a", version="7.0.2")),
        lambda: version_marks_update(group_id=project.id, now=clock.now()),
    )
    assert list(Host.objects.filter(version_behind=True).values_list("hostname", flat=True)) == ["b"]
