"""The agent and a real cluster under Patroni: its replica set, and the roles after a switchover."""

from collections.abc import Mapping

import pytest

from automation.agent.postgresql.engine import PostgreSQL
from tests.eventually import eventually
from tests.processes.networks import own_network
from tests.processes.patroni import PatroniCluster, cluster
from tests.processes.postgresql import MONITOR

pytestmark = [pytest.mark.processes, pytest.mark.patroni]

LEASE = 20
PRIMARY, STANDBY = "REPLICA_PRIMARY", "REPLICA_SECONDARY"


def test_a_cluster_of_patroni_is_a_replica_set_and_changes_its_roles() -> None:
    with own_network(), cluster(LEASE) as made:
        first = made.wait_primary()
        with first.connect("postgres") as connection:
            connection.execute(f"CREATE ROLE {MONITOR} LOGIN PASSWORD 'a-word' IN ROLE pg_monitor")
        engine = PostgreSQL([uri(made)])
        try:
            eventually(
                lambda: len(set(types(engine).values())) == 2 and types(engine)[first.address] == PRIMARY
            )
            assert set(engine.sets().values()) == {"ops"}
            made.switch_over(first)
            second = eventually(
                lambda: next((node for node in made.nodes if node is not first and node.is_primary()), None)
            )
            expected = {node.address: PRIMARY if node is second else STANDBY for node in made.nodes}
            eventually(lambda: types(engine) == expected)
        finally:
            engine.close()


def uri(made: PatroniCluster) -> str:
    """All nodes, as a user writes them."""
    return f"postgresql://{MONITOR}:a-word@{','.join(node.address for node in made.nodes)}/postgres"


def types(engine: PostgreSQL) -> Mapping[str, str]:
    """The type of each server, after a poll."""
    for host in engine.targets():
        engine.learn(host, host.poll())
    return {reading.address.hostname: reading.type_name for reading in engine.readings()}
