"""The agents of three machines carry out the section `auth` of a replica set: real servers under a load."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.eventually import eventually
from tests.plugin import SUMMARY
from tests.processes.automated_set import MACHINES, AutomatedSet, automated_set
from tests.processes.mongod import OLDER_VERSIONS, Client
from tests.processes.scenario import Scenario

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

NAMES = ("rs_0", "rs_1", "rs_2")
KEY = "bG9uZyBlbm91Z2ggZm9yIGEga2V5"
APP, WRITER = {"username": "app", "password": "first: p@ss"}, {"username": "writer", "password": "w/riter"}


def auth(password: str, *roles: str) -> dict[str, Any]:
    """The section with an application and a writer. `roles`: of the application in its database."""
    own = [{"db": "shop", "role": role} for role in roles]
    writer = [{"db": "shop", "role": "readWrite"}, {"db": "admin", "role": "clusterMonitor"}]
    return {
        "autoUser": "mms-automation",
        "autoPwd": "not:a@simple/password%",
        "autoAuthMechanism": "SCRAM-SHA-256",
        "deploymentAuthMechanisms": ["SCRAM-SHA-256"],
        "key": KEY,
        "usersWanted": [
            {"user": APP["username"], "db": "admin", "roles": own, "pwd": password},
            {"user": WRITER["username"], "db": "admin", "roles": writer, "initPwd": WRITER["password"]},
        ],
    }


UNAUTHORIZED, WRONG_PASSWORD = 13, 18
OLDEST = OLDER_VERSIONS[0]


def refusal(client: Client, *, writes: bool = True) -> int | None:
    """The code with which the server refuses a write, or a read; None if it does not."""
    try:
        if writes:
            client.shop.orders.insert_one({})
        else:
            client.shop.orders.find_one()
    except OperationFailure as error:
        return error.code
    return None


def test_a_replica_set_has_its_users_and_its_key_file_after_one_publication(
    three_machines: AutomatedSet, record_property: Any
) -> None:
    replica_set = three_machines
    first = auth(APP["password"], "readWrite")
    goal = replica_set.publish(*map(replica_set.process, NAMES), auth=first)
    replica_set.reaches(goal, *NAMES, killed_at=["WRITE_KEY_FILE", "INITIATE", "SET_USERS"])
    assert replica_set.key_file.stat().st_mode & 0o777 == 0o600
    with replica_set.client() as stranger, replica_set.client(**APP) as app:
        assert (refusal(stranger), refusal(app)) == (UNAUTHORIZED, None)
    replica_set.login = dict(WRITER)
    with replica_set.load() as writes:
        # Another password and another role, and a restart. A member copies all data, too.
        other, changed = auth("second: p@ss", "read"), {**APP, "password": "second: p@ss"}
        concern: dict[str, Any] = {"defaultRWConcern": {"defaultWriteConcern": {"w": "majority"}}}
        resync: dict[str, Any] = {"rs_0": {"lastResync": datetime.now(UTC).isoformat()}}
        larger = [replica_set.process(name, cache=0.5, **concern, **resync.get(name, {})) for name in NAMES]
        replica_set.reaches(replica_set.publish(*larger, auth=other), *NAMES, killed_at=["STEP_DOWN"])
        with replica_set.client(**APP) as app, replica_set.client(**changed) as new:
            assert refusal(app) == WRONG_PASSWORD
            assert (refusal(new), refusal(new, writes=False)) == (UNAUTHORIZED, None)
        assert ("rs_0", "RESYNC", "DONE") in replica_set.moves("rs_0")
    # An arbiter has no users, and its agent knows its state.
    kinds, arbiter = [{}, {}, {}, {"arbiterOnly": True}], replica_set.process("rs_3", **concern)
    replica_set.reaches(replica_set.publish(*larger, arbiter, members=kinds, auth=other), *NAMES, "rs_3")
    eventually(lambda: replica_set.member_states()["rs_3"] == "ARBITER", message="the primary hears from it")
    eventually(lambda: replica_set.measured() == {*NAMES}, message="the agents measure as their user")
    record_property(SUMMARY, writes.summary)
    assert writes.failures == []
    secrets = (KEY, APP["password"], changed["password"], WRITER["password"], first["autoPwd"])
    assert not any(secret in machine.agent.log for machine in replica_set.machines for secret in secrets)


@pytest.fixture
def three_older_machines(scenario: Scenario) -> Iterator[AutomatedSet]:
    """As `three_machines`, with an older version."""
    with automated_set(scenario, *MACHINES, versions=[OLDEST]) as replica_set:
        yield replica_set


def test_a_running_replica_set_gets_users_and_a_key_file_without_a_lost_write(
    three_older_machines: AutomatedSet, record_property: Any
) -> None:
    replica_set, section = three_older_machines, auth(APP["password"], "readWrite")
    before = [replica_set.process(name, release=OLDEST) for name in NAMES]
    replica_set.reaches(replica_set.publish(*before), *NAMES)
    replica_set.publish(*before, auth=section)
    refused = "transitionToAuth true for all members first"
    eventually(
        lambda: all(refused in each.get("errorString", "") for each in replica_set.statuses().values()),
        message="the members would not talk to each other",
    )
    security = {"transitionToAuth": True}
    between = [replica_set.process(name, release=OLDEST, security=security) for name in NAMES]
    with replica_set.load() as open_writes:
        replica_set.reaches(replica_set.publish(*between, auth=section), *NAMES)
        with replica_set.client(**APP) as app:
            assert refusal(app) is None
    replica_set.login = dict(WRITER)
    # Retries cross from servers with transitionToAuth to servers without.
    with replica_set.load(accepts_duplicates=True) as writes:
        replica_set.reaches(replica_set.publish(*before, auth=section), *NAMES)
        replica_set.login = {}
        with replica_set.client() as stranger:
            assert refusal(stranger) == UNAUTHORIZED
    record_property(SUMMARY, writes.summary)
    assert (open_writes.failures, writes.failures) == ([], [])
