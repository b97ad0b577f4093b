"""How the states of many hosts are handed to alerting: in signals of a few, so that none takes long."""

from itertools import chain
from typing import Any

import pytest

from accesslist.models import Project
from automation.hosts.signals import STATES_AT_ONCE, hosts_signal
from events.models import Signal
from opsapi import clock
from tests.each import each

pytestmark = pytest.mark.django_db


def written() -> list[dict[str, Any]]:
    """What the signals say, in their order."""
    return list(Signal.objects.order_by("id").values_list("payload", flat=True))


@each(
    ("hosts", "sets", "clusters", "signals"),
    [
        (0, 0, 0, 0),
        (1, 0, 0, 1),
        (0, 1, 0, 1),
        (0, 0, 1, 1),
        (STATES_AT_ONCE, 1, 1, 1),
        (STATES_AT_ONCE + 1, 1, 0, 2),
        (3, 2 * STATES_AT_ONCE + 1, 0, 3),
        (0, 0, STATES_AT_ONCE + 1, 2),
    ],
)
def test_each_is_reported_once_in_order_a_few_in_a_signal(
    project: Project, hosts: int, sets: int, clusters: int, signals: int
) -> None:
    states = [{"hostId": str(number)} for number in range(hosts)]
    counted = [{"replicaSetName": str(number)} for number in range(sets)]
    left = [str(number) for number in range(clusters)]
    now = clock.now()
    hosts_signal(group_id=project.id, hosts=states, replica_sets=counted, clusters_left=left, now=now)
    said = written()
    assert len(said) == signals
    for name, expected in (("hosts", states), ("replicaSets", counted), ("clustersLeft", left)):
        assert list(chain.from_iterable(payload[name] for payload in said)) == expected
        assert all(len(payload[name]) <= STATES_AT_ONCE for payload in said)
    assert set(Signal.objects.values_list("kind", "group_id", "created")) <= {("hosts", project.id, now)}
