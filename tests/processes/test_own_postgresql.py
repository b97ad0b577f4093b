"""The platform on a PostgreSQL of the operator: standbys and their promotion, versions, pg_upgrade."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from opsapi.api.links import PUBLIC
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.conftest import ProcessCaller, make_first_user
from tests.processes.platform import RunningPlatform
from tests.processes.postgresql import VERSIONS, DebianServer, servers, single_server, upgrade
from tests.processes.scenario import WatchedProject
from tests.receivers import HttpReceiver

pytestmark = [pytest.mark.processes, pytest.mark.postgresql]

BREAKS_SEQUENCES = 16
"""Promotion breaks sequences of unlogged tables in version 16.14 of the tests, not in later releases."""
_OPEN, _CLOSE = "alert.open", "alert.close"
_STANDBY = "read-only: it is a standby"


def test_a_platform_on_a_standby_says_so_and_works_after_the_promotion(platform: RunningPlatform) -> None:
    with servers(BREAKS_SEQUENCES) as (primary, standby):
        primary.ask("CREATE DATABASE ops")
        lead(platform, primary)
        manage(platform, "prepare")
        exported = manage(platform, "create_key", "--export")
        public, private = re.findall(r"_KEY=(\S+)", exported)
        wait_followed(primary, standby)
        lead(platform, standby)
        platform.start()
        owner = ProcessCaller(platform, {"publicKey": public, "privateKey": private})
        answer = platform.get("/health/ready")
        assert (answer.status_code, answer.json()["missing"]) == (503, {"database": _STANDBY})
        document = owner._request("GET", f"{PUBLIC}/groups", None, 503)
        assert document["parameters"] == [f"the database is {_STANDBY}"]
        promote(primary, standby)
        eventually(lambda: platform.get("/health/ready").status_code == 200, message="the platform is ready")
        assert owner.get("/groups")["results"] == []
        assert platform.stop() == 0


@pytest.mark.skipif(not LONG, reason="two clusters of Debian: make faults")
def test_it_continues_after_pg_upgrade(platform: RunningPlatform) -> None:
    with HttpReceiver().running() as receiver, upgrade(14, 15) as (old, upgraded):
        old.ask("CREATE DATABASE ops")
        with running_on(platform, old):
            watched = notified_of_a_host_down(platform, receiver)
        new = upgraded()
        assert int(new.ask("SHOW server_version_num")) // 10_000 == 15
        with running_on(platform, new):
            watched.report(reachable=True)
            eventually(lambda: watched.webhooks(_CLOSE), message="the end of the alert")
            assert len(watched.webhooks(_OPEN)) == 1


@pytest.mark.skipif(not LONG, reason="the other tests try two versions, and make faults tries all")
@pytest.mark.parametrize("version", VERSIONS)
def test_it_works_with_each_version(version: int, platform: RunningPlatform) -> None:
    with HttpReceiver().running() as receiver, single_server(version) as server:
        server.ask("CREATE DATABASE ops")
        with running_on(platform, server):
            notified_of_a_host_down(platform, receiver)


def notified_of_a_host_down(
    platform: RunningPlatform, receiver: HttpReceiver
) -> WatchedProject[ProcessCaller]:
    """A new project, whose host is down and whose receiver knows."""
    watched = WatchedProject(make_first_user(platform), receiver)
    watched.report(reachable=False)
    eventually(lambda: watched.webhooks(_OPEN), message="a message")
    return watched


@contextmanager
def running_on(platform: RunningPlatform, server: DebianServer) -> Iterator[None]:
    """The platform, until the block ends."""
    lead(platform, server)
    platform.environment["OPSAPI_OUTBOUND_ALLOW"] = "127.0.0.0/8"
    platform.start()
    yield
    assert platform.stop() == 0


def lead(platform: RunningPlatform, server: DebianServer) -> None:
    """From the next start, the platform uses this server."""
    platform.environment["DATABASE_URL"] = f"postgresql://postgres@{server.address}/ops"


def manage(platform: RunningPlatform, *arguments: str) -> str:
    """What a command writes to stdout."""
    done = platform.manage(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_followed(primary: DebianServer, standby: DebianServer) -> None:
    """Until the standby has everything."""
    position = primary.ask("SELECT pg_current_wal_lsn()")
    eventually(lambda: standby.ask(f"SELECT pg_last_wal_replay_lsn() >= '{position}'"))


def promote(primary: DebianServer, standby: DebianServer) -> None:
    """The primary dies, and the standby takes its place."""
    wait_followed(primary, standby)
    primary.stop()
    standby.ask("SELECT pg_promote()")
    eventually(lambda: standby.ask("SELECT NOT pg_is_in_recovery()"), message="the promotion")
