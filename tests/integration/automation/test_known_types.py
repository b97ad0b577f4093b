"""What an agent assumes about a host that it cannot reach does not replace what is known."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import HostType
from automation.models import Host, ReplicaSet
from events.models import Event, Signal
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
PRIMARY, SECONDARY, STANDALONE = HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.STANDALONE


def roles() -> list[str]:
    """The events about roles, oldest first."""
    found = Event.objects.filter(event_type__startswith="HOST_NOW_").order_by("id")
    return list(found.values_list("event_type", flat=True))


def counted(name: str = "rs0") -> tuple[int, int, int]:
    """Primaries, healthy and unhealthy members of a replica set."""
    return ReplicaSet.objects.values_list("primaries", "healthy", "unhealthy").get(name=name)


def test_a_primary_that_is_down_keeps_its_type_and_counts_as_no_primary(project: Project) -> None:
    members: dict[str, Any] = {"replica_set_name": "rs0", "cluster_name": "orders"}
    ingest(
        project,
        host_report("a", type_name=PRIMARY, **members),
        host_report("b", type_name=SECONDARY, **members),
    )
    # An agent that starts during the outage has never seen the primary.
    assumed: dict[str, Any] = {"replica_set_name": "rs1", "cluster_name": "other", "shard_name": "s1"}
    ingest(project, host_report("a", type_name=SECONDARY, reachable=False, **assumed), agent="another")
    host = Host.objects.get(hostname="a")
    assert (host.type_name, host.type_guessed, host.down) == (PRIMARY, False, True)
    assert (host.replica_set_name, host.cluster_name) == ("rs0", "orders")
    assert counted() == (0, 1, 1)
    assert Event.objects.filter(event_type="NO_PRIMARY").count() == 1
    state = Signal.objects.filter(kind="hosts").latest("id").payload["hosts"][0]
    assert (state["typeName"], state["reachable"]) == (PRIMARY, False)
    ingest(project, host_report("b", type_name=PRIMARY, **members))
    assert counted() == (1, 1, 1)
    ingest(project, host_report("a", type_name=SECONDARY, **members))
    assert counted() == (1, 2, 0)
    assert roles() == ["HOST_NOW_PRIMARY", "HOST_NOW_SECONDARY"]
    assert not Event.objects.filter(event_type="MULTIPLE_PRIMARIES").exists()


def test_a_recovering_host_that_goes_down_has_not_recovered(project: Project) -> None:
    ingest(project, host_report(type_name=HostType.RECOVERING))
    ingest(project, host_report(type_name=SECONDARY, reachable=False))
    assert Host.objects.get().type_name == HostType.RECOVERING
    assert not Event.objects.filter(event_type="HOST_RECOVERED").exists()


def test_the_assumed_type_of_a_new_host_is_no_earlier_role(project: Project) -> None:
    ingest(project, host_report(type_name=SECONDARY, reachable=False, replica_set_name="rs0"))
    host = Host.objects.get()
    assert (host.type_name, host.type_guessed, host.replica_set_name) == (SECONDARY, True, "rs0")
    ingest(project, host_report(type_name=PRIMARY, reachable=False))
    host.refresh_from_db()
    assert (host.type_name, host.type_guessed) == (SECONDARY, True)
    ingest(project, host_report(type_name=STANDALONE))
    host.refresh_from_db()
    assert (host.type_name, host.type_guessed, host.replica_set_name) == (STANDALONE, False, None)
    assert roles() == []


def test_another_role_after_an_outage_is_an_event(project: Project) -> None:
    ingest(project, host_report(type_name=SECONDARY))
    ingest(project, host_report(type_name=SECONDARY, reachable=False))
    ingest(project, host_report(type_name=PRIMARY))
    assert roles() == ["HOST_NOW_PRIMARY"]
