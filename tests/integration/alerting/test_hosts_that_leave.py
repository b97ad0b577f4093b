"""What becomes of a replica set, a shard and a cluster when a host becomes standalone."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import Alert, AlertConfig
from automation.choices import HostType
from automation.models import Host, ReplicaSet
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from tests.each import each
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate, statuses

pytestmark = pytest.mark.django_db
PRIMARY, SECONDARY, STANDALONE = (
    HostType.REPLICA_PRIMARY,
    HostType.REPLICA_SECONDARY,
    HostType.STANDALONE,
)
MEMBERSHIP = ("replica_set_name", "replica_set_id", "shard_name", "cluster_name", "cluster_id")


def member(hostname: str, type_name: HostType = SECONDARY, **said: Any) -> Any:
    """What is said of a member of rs0 in shard s0 of cluster c."""
    place = {"replica_set_name": "rs0", "shard_name": "s0", "cluster_name": "c"}
    return host_report(hostname, type_name=type_name, **{**place, **said})


def alone(hostname: str, **said: Any) -> Any:
    """The report of a STANDALONE host."""
    return host_report(hostname, type_name=STANDALONE, **said)


def stored(hostname: str) -> dict[str, Any]:
    """Where the host is, as known."""
    found: dict[str, Any] = Host.objects.values(*MEMBERSHIP).get(hostname=hostname)
    return found


def members(name: str = "rs0", **where: Any) -> tuple[int, int, int]:
    """Primaries, healthy and unhealthy members of the set."""
    replica_set = ReplicaSet.objects.get(name=name, **where)
    return replica_set.primaries, replica_set.healthy, replica_set.unhealthy


def held_against(project: Project, name: str, operator: str, limit: int) -> AlertConfig:
    """A configuration with a threshold."""
    threshold = {"operator": operator, "threshold": limit, "units": "RAW"}
    return make_config(project, eventTypeName=name, threshold=threshold)


@pytest.fixture
def configs(project: Project) -> list[AlertConfig]:
    """What is wrong with a set whose members were lost."""
    return [
        make_config(project, eventTypeName="NO_PRIMARY"),
        held_against(project, "TOO_FEW_HEALTHY_MEMBERS", "LESS_THAN", 3),
        held_against(project, "TOO_MANY_UNHEALTHY_MEMBERS", "GREATER_THAN", 0),
    ]


def test_the_alerts_of_a_set_its_last_member_left_are_cancelled(
    project: Project, configs: list[AlertConfig]
) -> None:
    ingest(project, member("a", reachable=False))
    evaluate()
    assert [statuses(config) for config in configs] == [["OPEN"]] * 3
    ingest(project, alone("a"))
    evaluate()
    assert [statuses(config) for config in configs] == [["CANCELLED"]] * 3
    assert set(stored("a").values()) == {None}
    assert members() == (0, 0, 0)


def test_a_set_with_members_left_is_evaluated_again(project: Project, configs: list[AlertConfig]) -> None:
    ingest(project, member("a", PRIMARY), member("b"), member("c"))
    evaluate()
    assert [statuses(config) for config in configs] == [[], [], []]
    ingest(project, alone("a"))
    evaluate()
    assert [statuses(config) for config in configs] == [["OPEN"], ["OPEN"], []]
    assert members() == (0, 2, 0)
    assert stored("b")["replica_set_name"] == "rs0"
    ingest(project, member("b", PRIMARY), member("a"))
    evaluate()
    assert [statuses(config) for config in configs] == [["CLOSED"], ["CLOSED"], []]
    assert members() == (1, 3, 0)


def test_the_alerts_of_a_cluster_its_last_host_left_are_cancelled(project: Project) -> None:
    config = make_config(project, eventTypeName="CLUSTER_MONGOS_IS_MISSING")
    missing = EventReport(event_type=EventType.CLUSTER_MONGOS_IS_MISSING, cluster_name="c")
    ingest(project, member("a"), member("b"), events=[missing])
    ingest(project, alone("a"))
    evaluate()
    assert statuses(config) == ["OPEN"]
    ingest(project, alone("b"))
    evaluate()
    assert statuses(config) == ["CANCELLED"]


def test_the_alert_of_a_host_that_comes_back_alone_ends_as_ever(project: Project) -> None:
    config = make_config(project)
    ingest(project, member("a", reachable=False))
    evaluate()
    ingest(project, alone("a"))
    evaluate()
    assert statuses(config) == ["CLOSED"]
    assert Alert.objects.get().facts["replicaSetName"] == "rs0"


def test_the_event_names_no_set_that_was_left(project: Project) -> None:
    ingest(project, member("a", PRIMARY))
    ingest(project, alone("a"))
    (event,) = Event.objects.filter(event_type="HOST_NOW_STANDALONE")
    assert event.details.keys() >= {"hostname", "hostId"}
    assert not event.details.keys() & {"replicaSetName", "shardName", "clusterName", "clusterId"}
    assert not Event.objects.filter(event_type="NO_PRIMARY").exists()


@each(
    ("named", "kept"),
    [
        ({}, []),
        ({"replica_set_name": "rs0"}, ["replica_set_id", "replica_set_name"]),
        ({"shard_name": "s0"}, ["shard_name"]),
        ({"cluster_name": "c"}, ["cluster_id", "cluster_name"]),
        (
            {"replica_set_name": "rs0", "shard_name": "s0", "cluster_name": "c"},
            sorted(MEMBERSHIP),
        ),
    ],
    ids=["nothing", "set", "shard", "cluster", "all"],
)
def test_what_the_same_report_names_it_is_in(
    project: Project, named: dict[str, str], kept: list[str]
) -> None:
    ingest(project, member("a"), member("b"))
    ingest(project, alone("a", **named))
    assert sorted(name for name, value in stored("a").items() if value is not None) == kept
    in_the_old_set = {"replica_set_name", "cluster_name"} <= named.keys()
    assert members(cluster__name="c") == (0, 1, int(in_the_old_set))
    assert set(stored("b")) == set(MEMBERSHIP)


@each(
    "said",
    [
        host_report("a", type_name=PRIMARY),
        host_report("a", type_name=HostType.RECOVERING),
        host_report("a", type_name=HostType.SHARD_STANDALONE),
        host_report("a", type_name=STANDALONE, reachable=False),
    ],
    ids=["primary", "recovering", "in-a-shard", "unreachable"],
)
def test_in_every_other_case_what_is_left_out_stays(project: Project, said: Any) -> None:
    ingest(project, member("a"), member("b", PRIMARY))
    before = stored("a")
    assert None not in before.values()
    ingest(project, said)
    assert stored("a") == before


def test_what_stood_alone_all_along_keeps_what_it_was_said_to_be_in(project: Project) -> None:
    ingest(project, alone("a", cluster_name="c", shard_name="s0"))
    before = stored("a")
    ingest(project, alone("a"))
    assert stored("a") == before
    assert (before["cluster_name"], before["shard_name"]) == ("c", "s0")
