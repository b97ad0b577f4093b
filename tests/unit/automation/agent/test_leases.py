"""Which hosts are an agent's: as the platform says, as it said last, or all."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from automation.agent.client import Client
from automation.agent.engine import ServerAddress
from automation.agent.leases import ASK_ANEW, FILE, MOST_METRIC_SETS, SOONEST, Leases, metric_sets
from automation.agent.rates import Why
from tests.unit.automation.agent.stand_ins import platform

A, B = ServerAddress("a", 1), ServerAddress("b", 2)
OF_A = {"hosts": [{"hostname": "a", "port": 1, "lease": "first", "until": "2026-11-23T12:00:00Z"}]}
NOBODY = "http://127.0.0.1:1"


class LeaseClock:
    """Seconds that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        """The current time."""
        return self.now


def leases(directory: Path, url: str = NOBODY, **options: Any) -> Leases:
    """The leases of an agent with this directory."""
    client = Client(url=url, group_id="0" * 24, public_key="ABCDEFGH", private_key="x")
    return Leases(client, directory, hostname="agent1", version="1.0", interval=60, **options)


def ours(found: Leases) -> dict[ServerAddress, str | None]:
    """The hosts that are ours, with their leases."""
    return {host: found.lease_of(host) for host in (A, B) if found.watches(host)}


def asked(bodies: Sequence[bytes]) -> Mapping[str, Any]:
    """What the last report asked for."""
    found: Mapping[str, Any] = json.loads(bodies[-1])["leases"]
    return found


def test_what_the_platform_says_is_ours_is_ours(tmp_path: Path) -> None:
    found = leases(tmp_path)
    with platform(202, leases={**OF_A, "askAgainInSeconds": 12.5}) as (url, bodies):
        found = leases(tmp_path, url)
        found.ask([A, B], [], {})
    assert (ours(found), found.has_answer, found.again) == ({A: "first"}, True, 12.5)
    request = asked(bodies)
    assert (request["intervalSeconds"], len(request["instance"])) == (60, 32)
    assert request["hosts"] == [{"hostname": "a", "port": 1}, {"hostname": "b", "port": 2}]


def test_what_was_ours_stays_so_while_the_platform_does_not_answer_and_after_a_restart(
    tmp_path: Path,
) -> None:
    with platform(202, leases=OF_A) as (url, bodies):
        found = leases(tmp_path, url)
        found.ask([A, B], [], {})
        instance = asked(bodies)["instance"]
    found.ask([A, B], [], {})
    assert (ours(found), found.has_answer, found.again) == ({A: "first"}, False, None)
    with platform(503, "SERVICE_UNAVAILABLE") as (url, bodies):
        again = leases(tmp_path, url)
        assert ours(again) == {A: "first"}
        again.ask([A, B], [], {})
        assert asked(bodies)["instance"] == instance
    assert ours(again) == {A: "first"}


def test_before_any_answer_all_hosts_are_asked_under_a_lease_of_our_own(tmp_path: Path) -> None:
    found = leases(tmp_path)
    found.ask([A, B], [], {})
    (own,) = set(ours(found).values())
    assert ours(found) == {A: own, B: own}
    assert ours(leases(tmp_path)) == ours(found)


def test_at_a_platform_that_shares_no_hosts_all_are_ours_and_it_is_asked_again_later(tmp_path: Path) -> None:
    clock = LeaseClock()
    with platform(400, "INVALID_ATTRIBUTE", badFields=[{"field": "leases"}]) as (url, bodies):
        found = leases(tmp_path, url, clock=clock)
        found.ask([A, B], [], {})
        assert ours(found) == {A: None, B: None}
        count = len(bodies)
        clock.now += ASK_ANEW - 1
        found.ask([A, B], [], {})
        assert len(bodies) == count
        clock.now += 1
        found.ask([A, B], [], {})
        assert len(bodies) > count


def test_it_says_why_the_agent_did_not_update_itself_unless_the_platform_does_not_know_this(
    tmp_path: Path,
) -> None:
    with platform(202, leases=OF_A) as (url, bodies):
        found = leases(tmp_path, url)
        found.ask([A], [], {})
        found.update_problem = "no TLS"
        found.ask([A], [], {})
    assert [json.loads(body).get("updateProblem") for body in bodies if body] == [None, "no TLS"]
    with platform(400, "INVALID_ATTRIBUTE", badFields=[{"field": "updateProblem"}]) as (url, bodies):
        found = leases(tmp_path, url)
        found.update_problem = "no TLS"
        found.ask([A], [], {})
        found.ask([A], [], {})
    assert [json.loads(body).get("updateProblem") for body in bodies if body] == ["no TLS", None]
    assert ours(found) == {A: "first"}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (202, {}),
        (202, {"leases": []}),
        (400, {"badFields": [{"field": "leases.hosts[0].hostname"}]}),
        (403, {}),
        (429, {}),
    ],
)
def test_an_answer_that_says_nothing_changes_nothing(
    tmp_path: Path, status: int, said: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with platform(202, leases=OF_A) as (url, _):
        leases(tmp_path, url).ask([A, B], [], {})
    with platform(status, **said) as (url, _):
        found = leases(tmp_path, url)
        found.ask([A, B], [], {})
        found.ask([A, B], [], {})
    assert ours(found) == {A: "first"}
    assert caplog.text.count("did not assign hosts") == 1


@pytest.mark.parametrize(
    "hosts",
    [
        None,
        {},
        [None, 1, "a"],
        [{"hostname": "a"}],
        [{"hostname": "a", "port": "1", "lease": "x"}],
        [{"hostname": "a", "port": 1, "lease": ""}],
        [{"hostname": "a", "port": 1, "lease": 5}],
        [{"hostname": "a b", "port": 1, "lease": "x"}],
        [{"hostname": "a", "port": 70_000, "lease": "x"}],
    ],
)
def test_hosts_of_an_answer_that_cannot_be_read_are_not_ours(tmp_path: Path, hosts: Any) -> None:
    with platform(202, leases={"hosts": hosts, "askAgainInSeconds": "soon"}) as (url, _):
        found = leases(tmp_path, url)
        found.ask([A, B], [], {})
    assert (ours(found), found.again) == ({}, None)


def test_the_platform_is_not_asked_again_at_once(tmp_path: Path) -> None:
    with platform(202, leases={"hosts": [], "askAgainInSeconds": -5}) as (url, _):
        found = leases(tmp_path, url)
        found.ask([A], [], {})
    assert found.again == SOONEST


@pytest.mark.parametrize(
    "kept", ["", "{}", "[]", '{"instance": "", "held": null}', '{"instance": "x", "held": [1]}', "\0"]
)
def test_a_file_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, kept: str) -> None:
    (tmp_path / FILE).write_text(kept)
    found = leases(tmp_path)
    assert len(str(found.lease_of(A))) == 32
    assert json.loads((tmp_path / FILE).read_text())["instance"] == found.lease_of(A)


def test_when_it_stops_it_gives_back_what_it_holds_and_remembers_it(tmp_path: Path) -> None:
    with platform(202, leases=OF_A) as (url, bodies):
        found = leases(tmp_path, url)
        found.give_back()
        assert bodies == []
        found.ask([A, B], [], {})
        found.give_back()
        assert asked(bodies)["stopping"] is True
    assert ours(leases(tmp_path)) == {A: "first"}


def test_metrics_are_reported_of_hosts_that_are_ours(tmp_path: Path) -> None:
    with platform(202, leases=OF_A) as (url, bodies):
        found = leases(tmp_path, url)
        found.ask([A, B], [], {})
        found.ask([A, B], [("pg_monitor", {A: {"X": Why.REFUSED}, B: {"X": Why.REPORTED}})], {B: "rs0"})
    assert asked(bodies)["hosts"] == [
        {"hostname": "a", "port": 1, "metricSet": 0},
        {"hostname": "b", "port": 2, "together": "rs0"},
    ]
    assert asked(bodies)["metricSets"] == [{"refused": ["X"], "role": "pg_monitor"}]


def test_hosts_with_the_same_metrics_share_a_set() -> None:
    same = {"Z": Why.REPORTED, "A": Why.IDLE, "B": Why.WAITS, "C": Why.ABSENT, "D": Why.FAILED}
    sets, places = metric_sets([("role", {A: same, B: dict(reversed(same.items()))}), ("other", {})])
    assert sets == [{"reported": ["A", "B", "Z"], "absent": ["C"], "failed": ["D"]}]
    assert places == {A: 0, B: 0}


def test_a_host_of_which_nothing_is_known_has_no_set() -> None:
    assert metric_sets([("role", {A: {}})]) == ([], {})


def test_no_more_sets_are_reported_than_the_platform_takes() -> None:
    hosts = {
        ServerAddress("a", number): {f"M{number}": Why.REPORTED} for number in range(MOST_METRIC_SETS + 1)
    }
    sets, places = metric_sets([("role", hosts)])
    assert len(sets) == len(places) == MOST_METRIC_SETS
