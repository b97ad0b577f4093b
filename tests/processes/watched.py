"""Servers as the agent watches them, and whether it measures of them what was recorded."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from automation.agent.engine import HostReading, ServerAddress
from automation.agent.machine.reader import LocalMachine
from automation.agent.mongodb.connection import read
from automation.agent.mongodb.engine import MongoDB
from automation.agent.mongodb.host import MongoAnswer, MongoHost
from automation.agent.mongodb.metrics import METRICS, OF_AGENT, OF_DATABASES
from automation.agent.rates import Why
from tests.eventually import eventually
from tests.processes.mongod import MONITOR, PASSWORD, VERSION, Mongod
from tests.unit.automation.agent.recorded import recording

ELSEWHERE = LocalMachine("/nonexistent")
"""A machine on which no server runs."""


def host_of(
    server: Mongod,
    user: str = MONITOR,
    password: str = PASSWORD,
    machine: LocalMachine = ELSEWHERE,
    **more: Any,
) -> MongoHost:
    """A host that is asked as this user, from this machine."""
    access = read(f"mongodb://{server.address}/")
    options: Mapping[str, Any] = {"username": user, "password": password}
    access = type(access)(access.seeds, options)
    return MongoHost(ServerAddress("127.0.0.1", server.port), access, str, machine=machine, **more)


def asked(connection_string: str) -> tuple[HostReading, set[Why]]:
    """What is reported of the only server of a deployment, and why metrics are missing, after a poll."""
    with closing(MongoDB([connection_string])) as engine:
        (host,) = eventually(engine.targets, message="the server is found")
        engine.learn(host, host.poll())
        (reading,) = engine.readings()
        host.close()
    assert reading.reachable
    return reading, set(host.missing.values())


def measured(host: MongoHost) -> MongoAnswer:
    """Its answer once there is a pair of polls: the server takes its numbers each second."""

    def has_rates() -> MongoAnswer | None:
        answer = host.poll()
        return answer if host.missing.get("NETWORK_NUM_REQUESTS") is Why.REPORTED else None

    answer = eventually(has_rates, message="rates")
    assert answer is not None
    return answer


def assert_as_recorded(host: MongoHost, kind: str, version: str = VERSION) -> None:
    """It has what its recording has, once the server took all of its numbers for the first time.

    The recorded servers have a full oplog.
    """
    _, recorded = recording(kind, version).values()
    others = OF_DATABASES | OF_AGENT | {"OPLOG_MASTER_TIME", "OPLOG_MASTER_LAG_TIME_DIFF"}
    others |= METRICS - recorded.keys()
    absent = {metric for metric, why in recorded.items() if why is Why.ABSENT} - others

    def found() -> set[str]:
        measured(host)
        return {metric for metric, why in host.missing.items() if why is Why.ABSENT} - others

    eventually(lambda: found() == absent, 30, message=f"{kind} of {version} lacks {absent}")
