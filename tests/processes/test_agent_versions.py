"""The agent at MongoDB servers of older versions: of each it measures what its recording says."""

from contextlib import closing

import pytest

from automation.agent.rates import Why
from tests.processes.mongod import OLDER_VERSIONS, PRIMARY, replica_set
from tests.processes.watched import assert_as_recorded, host_of, measured

pytestmark = [pytest.mark.processes, pytest.mark.mongod]


@pytest.mark.parametrize("version", OLDER_VERSIONS)
def test_a_member_of_an_older_version_has_what_its_recording_has(version: str) -> None:
    with replica_set([PRIMARY], version) as members, closing(host_of(members.primary())) as host:
        measured(host)
        with members.admin() as client:
            client.shop.orders.insert_one({"total": 2})  # the oplog has a beginning and an end
        assert_as_recorded(host, "primary", version)
        answer = host.poll()
    assert Why.REFUSED not in host.missing.values()
    assert (answer.version, answer.problem) == (version, "")
