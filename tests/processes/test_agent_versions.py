"""The agent and MongoDB servers of other versions and kinds than in `test_agent_servers`."""

from contextlib import closing

import pytest

from automation.agent.rates import Why
from tests.hostile.budget import LONG
from tests.processes.mongod import OLDER_VERSIONS, PRIMARY, replica_set
from tests.processes.watched import asked, assert_as_recorded, host_of, measured

pytestmark = [pytest.mark.processes, pytest.mark.mongod]


@pytest.mark.parametrize("version", OLDER_VERSIONS if LONG else OLDER_VERSIONS[:1])
def test_a_member_of_an_older_version_has_what_its_recording_has(version: str) -> None:
    with replica_set([PRIMARY], version) as members, closing(host_of(members.primary())) as host:
        measured(host)
        with members.admin() as client:
            client.shop.orders.insert_one({"total": 2})  # the oplog has a beginning and an end
        assert_as_recorded(host, "primary", version)
        answer = host.poll()
    assert Why.REFUSED not in host.missing.values()
    assert (answer.version, answer.problem) == (version, "")


def test_a_config_server_of_a_sharded_cluster_is_reported_as_one_and_measured() -> None:
    with replica_set([PRIMARY], is_config=True) as members:
        reading, reasons = asked(members.seed)
    assert (reading.type_name, reading.replica_set) == ("SHARD_CONFIG", members.name)
    assert Why.REPORTED in reasons
    assert Why.REFUSED not in reasons
