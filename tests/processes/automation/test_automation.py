"""The agent carries out an automation configuration: real servers, and the real platform."""

import gzip
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.eventually import eventually, is_running
from tests.factories.documents import rotation
from tests.processes.agent import RunningAgent, running
from tests.processes.automated import HOST, NAME, AutomatedMachine, automated_machine
from tests.processes.mongod import NEWEST, OLDER_VERSIONS, VERSION, standalone
from tests.processes.platform import free_port
from tests.processes.scenario import Scenario

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

SECRET = "a-password-of-the-document"


@pytest.fixture
def machine(scenario: Scenario) -> Iterator[AutomatedMachine]:
    """A machine on which nothing runs yet."""
    with automated_machine(scenario) as made:
        yield made


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """A server over HTTP for the files of the directory; its URL."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(directory))
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()


def test_a_standalone_server_is_downloaded_and_started_and_outlives_the_agent(scenario: Scenario) -> None:
    with automated_machine(scenario, has_builds=False) as machine:
        machine.agent.start()
        machine.reaches(machine.publish())
        assert ("DOWNLOAD", "DONE") in machine.moves()
        pid = machine.pid()
        assert pid is not None
        assert os.getsid(pid) == pid
        assert machine.agent.stop() == 0
        assert is_running(pid)
        assert scenario.log().count("AUTOMATION_CONFIG_FETCHED_AUDIT") == 1


def test_an_agent_that_is_killed_while_it_downloads_over_http_downloads_again(scenario: Scenario) -> None:
    with automated_machine(scenario, has_builds=False) as machine, served(machine.directory) as url:
        machine.versions[0]["builds"][0]["url"] = f"{url}/{VERSION}"
        machine.agent.start()
        goal = machine.publish()
        _kill_at(machine, "DOWNLOAD")
        machine.reaches(goal)
        assert machine.ask({"buildInfo": 1})["version"] == VERSION


def test_a_parameter_changes_at_run_time_and_the_cache_size_by_a_restart(machine: AutomatedMachine) -> None:
    machine.agent.start()
    machine.reaches(machine.publish())
    pid = machine.pid()
    machine.reaches(machine.publish(machine.settings(setParameter={"notablescan": True})))
    assert machine.ask({"getParameter": 1, "notablescan": 1})["notablescan"] is True
    assert machine.pid() == pid
    # A server cannot return to a default at run time.
    machine.reaches(machine.publish(machine.settings(storage=machine.storage(0.5))))
    assert machine.pid() not in {pid, None}
    assert machine.ask({"getParameter": 1, "notablescan": 1})["notablescan"] is False
    cache = machine.ask({"serverStatus": 1})["wiredTiger"]["cache"]["maximum bytes configured"]
    assert cache == 512 * 1024 * 1024
    assert ("RESTART", "DONE") in machine.moves()
    config = next(machine.downloads.rglob("mongod.conf"))
    assert config.stat().st_mode & 0o777 == 0o600


def test_last_restart_restarts_once_and_disabled_stops_until_it_is_taken_back(
    machine: AutomatedMachine,
) -> None:
    machine.agent.start()
    machine.reaches(machine.publish())
    pid = machine.pid()
    restart = (datetime.now(UTC) + timedelta(hours=-1)).isoformat()
    machine.reaches(machine.publish(lastRestart=restart))
    assert machine.pid() == pid
    restart = datetime.now(UTC).isoformat()
    machine.reaches(machine.publish(lastRestart=restart))
    restarted = machine.pid()
    assert restarted not in {pid, None}
    machine.reaches(machine.publish(lastRestart=restart, disabled=True))
    assert machine.pid() is None
    machine.reaches(machine.publish(lastRestart=restart))
    assert machine.pid() not in {restarted, None}


def test_a_running_server_is_adopted_and_a_removed_process_keeps_running(machine: AutomatedMachine) -> None:
    with standalone() as server:
        machine.port, machine.data = server.port, server.directory / "data"
        settings = {
            "net": {"port": server.port, "bindIp": HOST, "unixDomainSocket": {"enabled": False}},
            "storage": {
                "dbPath": str(machine.data),
                "wiredTiger": {"engineConfig": {"cacheSizeGB": 0.25}},
            },
            "replication": {"oplogSizeMB": 64},
        }
        machine.allow(server.directory)
        pid = machine.pid()
        assert pid is not None
        machine.agent.start()
        machine.reaches(machine.publish(settings))
        assert machine.pid() == pid
        assert [kind for kind, _ in machine.moves()] == ["WRITE_FILE"]
        machine.publish_nothing()
        eventually(lambda: "processes=0" in machine.agent.log, message="the agent has the new document")
        assert machine.pid() == pid
        # After a loss of power, the lock file of another server names this process.
        machine.port, machine.data = free_port(), machine.directory / "data"
        machine.data.mkdir()
        (machine.data / "mongod.lock").write_text(f"{pid}\n")
        machine.reaches(machine.publish())
        assert machine.pid() not in {pid, None}
        assert is_running(pid)


def test_logs_are_rotated_compressed_and_deleted_as_the_document_says(machine: AutomatedMachine) -> None:
    machine.agent.start()
    small = rotation(sizeThresholdMB=0.001, timeThresholdHrs=0, numUncompressed=1)
    machine.reaches(machine.publish(logRotate=small))
    pid, log = machine.pid(), machine.data / "mongod.log"
    other = machine.data / "mongod.log.old"
    other.write_text("not a rotated log")
    packed = eventually(lambda: sorted(machine.data.glob("mongod.log.*.gz")), message="a compressed log")
    assert b"MongoDB starting" in gzip.decompress(packed[0].read_bytes())
    machine.publish(logRotate=rotation(numTotal=1))
    eventually(
        lambda: sorted(machine.data.glob("mongod.log*")) == [log, other], message="rotated logs are deleted"
    )
    assert machine.pid() == pid
    eventually(lambda: "errorString" not in machine.status(), message="no log has a problem")


def test_an_agent_that_is_killed_during_each_move_reaches_the_same_end(scenario: Scenario) -> None:
    old, new = OLDER_VERSIONS[-1], VERSION
    with automated_machine(scenario, old, new) as machine:
        machine.agent.start()
        goal = machine.publish(version=old)
        for move in ("WRITE_FILE", "START"):
            _kill_at(machine, move)
        machine.reaches(goal)
        changed = machine.settings(storage=machine.storage(0.5))
        goal = machine.publish(changed, version=old)
        _kill_at(machine, "RESTART")
        machine.reaches(goal)
        # The platform gives the turn to the next agent when the turn of the killed one has ended.
        cache = machine.ask({"serverStatus": 1})["wiredTiger"]["cache"]["maximum bytes configured"]
        assert cache == 512 * 1024 * 1024
        goal = machine.publish(changed, version=new)
        for move in ("CHANGE_VERSION", "SET_FEATURE_VERSION"):
            _kill_at(machine, move)
        machine.reaches(goal)
        feature = machine.ask({"getParameter": 1, "featureCompatibilityVersion": 1})
        assert feature["featureCompatibilityVersion"] == {"version": new.rpartition(".")[0]}
        changed["setParameter"] = {"notablescan": True}
        goal = machine.publish(changed, version=new)
        _kill_at(machine, "SET_PARAMETER")
        machine.reaches(goal)
        assert machine.ask({"getParameter": 1, "notablescan": 1})["notablescan"] is True
        goal = machine.publish(changed, version=new, disabled=True)
        _kill_at(machine, "STOP")
        machine.reaches(goal)
        assert machine.pid() is None


def _kill_at(machine: AutomatedMachine, move: str) -> None:
    """Kill the agent as soon as it begins a move, and start it again."""
    line = f"{NAME}: {move} begins"
    eventually(lambda: line in machine.agent.log, message=line, longest_pause=0.02)
    machine.agent.stop(signal.SIGKILL)
    machine.agent.start()


def test_two_agents_on_a_machine_make_each_move_once(machine: AutomatedMachine, tmp_path: Path) -> None:
    machine.agent.start()
    machine.reaches(machine.publish())
    second = RunningAgent(tmp_path)
    second.environment = {**machine.agent.environment, "OPSAPI_AGENT_SPOOL_DIR": str(second.spool)}
    second.directory = machine.agent.directory
    with running(second):
        eventually(second.rounds, message="both agents run")
        for number, cache in enumerate((0.5, 0.25, 0.5), start=1):
            pid = machine.pid()
            machine.reaches(machine.publish(machine.settings(storage=machine.storage(cache))))
            assert machine.pid() not in {pid, None}
            begun = [agent.log.count(": RESTART begins") for agent in (machine.agent, second)]
            assert sum(begun) == number


def test_a_refused_configuration_stops_the_plan_and_the_earlier_one_continues_it(
    machine: AutomatedMachine,
) -> None:
    machine.agent.start()
    machine.reaches(machine.publish())
    pid = machine.pid()
    secret = {"tls": {"certificateKeyFilePassword": SECRET}}
    wrong = machine.settings(bogus={"option": 1}, net={**machine.settings()["net"], **secret})
    machine.publish(wrong)
    eventually(lambda: "AUTOMATION_PLAN_STOPPED" in machine.scenario.log(), message="the plan stops")
    # The turn ends, and stops the plan, before the agent reports the move.
    failed = eventually(machine.failed_move, message="the failed move is reported")
    assert failed["move"] == "RESTART"
    assert "bogus.option" in failed["reason"]
    assert machine.pid() == pid
    eventually(lambda: "bogus.option" in machine.status().get("errorString", ""))
    assert SECRET not in machine.agent.log
    machine.reaches(machine.publish())
    assert machine.pid() == pid


def test_a_restart_that_is_cut_off_and_then_paused_brings_the_server_back(machine: AutomatedMachine) -> None:
    machine.agent.start()
    machine.reaches(machine.publish())
    pid = machine.pid()
    assert pid is not None
    # The state of the machine after the stop of a restart whose agent was killed.
    machine.agent.stop(signal.SIGKILL)
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not is_running(pid), message="the server ends")
    machine.pause()
    machine.publish(machine.settings(storage=machine.storage(0.5)))
    machine.agent.start()
    returned = eventually(machine.pid, message="the server starts")
    waits = eventually(lambda: machine.status().get("plan", {}).get("waits"), message="the rest waits")
    assert {wait["reason"] for wait in waits} == {"PAUSED"}
    goal = machine.publish(machine.settings(storage=machine.storage(0.5)), disabled=True)
    assert machine.pid() == returned
    machine.resume()
    machine.reaches(goal)
    assert machine.pid() is None


def is_stopped(machine: AutomatedMachine) -> bool:
    """Whether the status says that the plan stopped, and its alert is open."""
    waits = machine.status().get("plan", {}).get("waits", [])
    alerts = {alert["eventTypeName"]: alert["status"] for alert in machine.scenario.alerts()}
    is_said = any(wait["reason"] == "STOPPED" for wait in waits)
    return is_said and alerts.get("AUTOMATION_PLAN_STOPPED") == "OPEN"


def test_a_server_that_does_not_start_stops_the_plan_and_says_why(machine: AutomatedMachine) -> None:
    machine.scenario.configure({"eventTypeName": "AUTOMATION_PLAN_STOPPED"})
    machine.agent.start()
    machine.publish(machine.settings(setParameter={"wiredTigerEngineRuntimeConfig": "bogus=1"}))
    eventually(lambda: is_stopped(machine), message="the plan stops")
    failed = eventually(machine.failed_move, message="the failed move is reported")
    assert failed["move"] == "START"
    assert failed["reason"] in machine.status()["errorString"]
    machine.reaches(machine.publish())
    eventually(lambda: [a["status"] for a in machine.scenario.alerts()] == ["CLOSED"], message="it goes on")


def test_a_configuration_refused_at_the_first_start_stops_the_plan_until_it_is_resumed(
    machine: AutomatedMachine,
) -> None:
    machine.scenario.configure({"eventTypeName": "AUTOMATION_PLAN_STOPPED"})
    machine.agent.start()
    goal = machine.publish(machine.settings(bogus={"option": 1}))
    eventually(lambda: is_stopped(machine), message="the plan stops")
    eventually(machine.failed_move, message="the failed move is reported")
    assert machine.moves() == [("WRITE_FILE", "DONE"), ("START", "FAILED")]
    assert "bogus.option" in machine.status()["errorString"]
    machine.resume()
    # The cause is still there.
    stops = "AUTOMATION_PLAN_STOPPED"
    eventually(lambda: machine.scenario.log().count(stops) == 2, message="it stops again")
    assert machine.status()["lastGoalVersionAchieved"] < goal
    assert machine.pid() is None


def test_a_damaged_download_stops_the_plan_until_it_is_resumed(scenario: Scenario) -> None:
    with automated_machine(scenario, has_builds=False) as machine:
        scenario.configure({"eventTypeName": "AUTOMATION_PLAN_STOPPED"})
        archive = machine.directory / VERSION
        (build,) = machine.versions[0]["builds"]
        build["sha256"] = sha256(archive.read_bytes()).hexdigest()
        whole = archive.read_bytes()
        archive.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        machine.agent.start()
        goal = machine.publish()
        eventually(lambda: is_stopped(machine), message="the plan stops")
        eventually(machine.failed_move, message="the failed move is reported")
        assert machine.moves()[0] == ("DOWNLOAD", "FAILED")
        assert "checksum" in machine.status()["errorString"]
        assert not machine.data.exists()
        archive.write_bytes(whole)
        machine.resume()
        machine.reaches(goal)
        assert machine.moves()[:2] == [("DOWNLOAD", "FAILED"), ("DOWNLOAD", "DONE")]
        eventually(lambda: [a["status"] for a in scenario.alerts()] == ["CLOSED"], message="it goes on")


def test_a_replica_set_of_one_member_is_initiated_and_restarted(machine: AutomatedMachine) -> None:
    named = {"replication": {"replSetName": "rs", "oplogSizeMB": 64}}
    sets = [{"_id": "rs", "members": [{"_id": 0, "host": NAME}]}]
    machine.agent.start()
    machine.reaches(machine.publish(machine.settings(**named), replicaSets=sets))
    assert machine.ask({"hello": 1})["isWritablePrimary"] is True
    with machine.client() as client:
        client.shop.orders.insert_one({"_id": 1})
    larger = machine.settings(**named, storage=machine.storage(0.5))
    machine.reaches(machine.publish(larger, replicaSets=sets))
    assert ("RESTART", "DONE") in machine.moves()
    with machine.client() as client:
        assert client.shop.orders.count_documents({}) == 1


def test_a_server_changes_over_two_major_versions(scenario: Scenario) -> None:
    old, new = OLDER_VERSIONS[0], VERSION
    with automated_machine(scenario, *OLDER_VERSIONS, new, NEWEST) as machine:
        machine.agent.start()
        machine.reaches(machine.publish(version=old))
        # The version between does not know the parameter.
        parameter = "expiredChangeStreamPreImageRemovalJobSleepSecs"
        settings = machine.settings(setParameter={parameter: 30})
        machine.reaches(machine.publish(settings, version=new))
        assert machine.ask({"buildInfo": 1})["version"] == new
        assert machine.ask({"getParameter": 1, parameter: 1})[parameter] == 30
        feature = machine.ask({"getParameter": 1, "featureCompatibilityVersion": 1})
        assert feature["featureCompatibilityVersion"]["version"] == new.rpartition(".")[0]
        assert machine.moves().count(("CHANGE_VERSION", "DONE")) == 2
        machine.reaches(machine.publish(settings, version=NEWEST))
        assert machine.ask({"buildInfo": 1})["version"] == NEWEST
        assert machine.moves() == [("CHANGE_VERSION", "DONE")]
        machine.reaches(machine.publish(version=OLDER_VERSIONS[-1]))
        assert machine.ask({"buildInfo": 1})["version"] == OLDER_VERSIONS[-1]
        assert machine.moves() == [("SET_FEATURE_VERSION", "DONE"), ("CHANGE_VERSION", "DONE")]


def test_a_server_that_ends_before_its_version_changes_starts_with_the_file_of_its_version(
    scenario: Scenario,
) -> None:
    old = OLDER_VERSIONS[-1]
    with automated_machine(scenario, old, VERSION) as machine:
        machine.agent.start()
        machine.reaches(machine.publish(version=old))
        # The earlier version does not know the parameter, and would not start with it.
        settings = machine.settings(setParameter={"allowMultipleArbiters": True})
        goal = machine.publish(settings, version=VERSION)
        line = f"{NAME}: CHANGE_VERSION begins"
        eventually(lambda: line in machine.agent.log, message=line, longest_pause=0.02)
        machine.agent.stop(signal.SIGKILL)
        if pid := machine.pid():
            os.kill(pid, signal.SIGTERM)
        eventually(lambda: machine.pid() is None, message="the server ends")
        machine.agent.start()
        machine.reaches(goal)
        assert machine.ask({"buildInfo": 1})["version"] == VERSION


def test_a_version_that_does_not_start_is_taken_back_with_the_earlier_revision(scenario: Scenario) -> None:
    old = OLDER_VERSIONS[-1]
    with automated_machine(scenario, old, VERSION) as machine:
        scenario.configure({"eventTypeName": "AUTOMATION_PLAN_STOPPED"})
        machine.agent.start()
        machine.reaches(machine.publish(version=old))
        # The check of the configuration accepts an address of no machine, and the server ends when it starts.
        net = machine.settings()["net"]
        machine.publish(
            machine.settings(net={**net, "bindIp": f"{net['bindIp']},192.0.2.1"}), version=VERSION
        )
        eventually(lambda: is_stopped(machine), message="the plan stops")
        failed = eventually(machine.failed_move, message="the failed move is reported")
        assert (failed["move"], machine.pid()) == ("CHANGE_VERSION", None)
        machine.reaches(machine.publish(version=old))
        assert machine.ask({"buildInfo": 1})["version"] == old


def test_an_interrupted_change_of_the_feature_version_is_repeated_after_the_plan_is_resumed(
    machine: AutomatedMachine,
) -> None:
    old = OLDER_VERSIONS[-1].rpartition(".")[0]
    settings = machine.settings(setParameter={"enableTestCommands": True})
    machine.agent.start()
    machine.reaches(machine.publish(settings))
    machine.ask({"configureFailPoint": "failDowngrading", "mode": "alwaysOn"})
    machine.scenario.configure({"eventTypeName": "AUTOMATION_PLAN_STOPPED"})
    machine.publish(settings, featureCompatibilityVersion=old)
    eventually(lambda: is_stopped(machine), message="the plan stops")
    asked = {"getParameter": 1, "featureCompatibilityVersion": 1}
    assert machine.ask(asked)["featureCompatibilityVersion"]["targetVersion"] == old
    machine.ask({"configureFailPoint": "failDowngrading", "mode": "off"})
    # Another goal does not change the direction of the change that has begun.
    machine.reaches(machine.publish(settings))
    assert machine.ask(asked)["featureCompatibilityVersion"] == {"version": VERSION.rpartition(".")[0]}
    assert machine.moves() == [("SET_FEATURE_VERSION", "DONE")] * 2
