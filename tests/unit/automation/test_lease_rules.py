"""Which agent watches which host: one each, fairly, and with little movement."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automation.leases.rules import (
    FORGOTTEN_AFTER,
    Ask,
    Key,
    Lease,
    LeaseAnswer,
    LeaseWatcher,
    holder_of,
    lease_end,
    shares_given_back,
)

BEGIN = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
INTERVAL = timedelta(seconds=60)
LEASE = lease_end(BEGIN, INTERVAL) - BEGIN


def hosts(count: int) -> list[Key]:
    """So many hosts."""
    return [(f"db{number:04}.example.com", 27017) for number in range(count)]


@dataclass
class LeasedProject:
    """The leases of a project, and watchers that ask for them when the test says so."""

    now: datetime = BEGIN
    interval: timedelta = INTERVAL
    leases: dict[Key, Lease] = field(default_factory=dict)
    watchers: dict[str, LeaseWatcher] = field(default_factory=dict)
    answers: dict[str, LeaseAnswer] = field(default_factory=dict)
    moves: int = 0
    together: dict[Key, str] = field(default_factory=dict)

    def ask(
        self, me: str, candidates: Iterable[Key], together: Mapping[Key, str] | None = None
    ) -> LeaseAnswer:
        """The answer, written."""
        shares = Ask(
            me,
            candidates={key: (together or self.together).get(key, "") for key in candidates},
            leases=self.leases,
            watchers=self.watchers,
            interval=self.interval,
            now=self.now,
        ).shares()
        self.leases |= shares.changed
        for key in shares.forgotten:
            del self.leases[key]
        self.watchers[me] = LeaseWatcher(self.now, self.interval, lease_end(self.now, self.interval))
        self.answers[me] = shares
        self.moves += len(shares.gained)
        return shares

    def stop(self, me: str) -> None:
        """The watcher gives back what it holds."""
        self.leases |= shares_given_back(me, leases=self.leases, now=self.now)
        watcher = self.watchers[me]
        self.watchers[me] = LeaseWatcher(watcher.asked, watcher.interval, self.now)

    def rounds(self, candidates: Mapping[str, Sequence[Key]], count: int = 1) -> None:
        """So many intervals, in which each of these asks once."""
        for _ in range(count):
            for place, (me, named) in enumerate(candidates.items()):
                self.now += self.interval / len(candidates)
                self.ask(me, named)
                assert place >= 0
                self.check()

    def holders(self) -> dict[Key, str]:
        """Who holds each host that is held."""
        found = {key: holder_of(lease, self.watchers, self.now) for key, lease in self.leases.items()}
        return {key: holder for key, holder in found.items() if holder is not None}

    def loads(self) -> Counter[str]:
        """How many hosts each holds."""
        return Counter(self.holders().values())

    def check(self) -> None:
        """A host of an unexpired answer belongs to exactly one watcher."""
        holders = self.holders()
        leased_hosts = Counter(
            key for shares in self.answers.values() for key, until in shares.held.items() if until > self.now
        )
        assert all(count == 1 for count in leased_hosts.values()), leased_hosts.most_common(1)
        for me, shares in self.answers.items():
            assert all(holders.get(key) == me for key, until in shares.held.items() if until > self.now)


@pytest.fixture
def project() -> LeasedProject:
    """In which nobody asked yet."""
    return LeasedProject()


def test_one_agent_watches_all_it_names_from_the_first_ask_on(project: LeasedProject) -> None:
    shares = project.ask("a", hosts(3))
    assert shares.held == dict.fromkeys(hosts(3), BEGIN + LEASE)
    assert (shares.gained, shares.ask_again) == (frozenset(hosts(3)), None)
    project.now += INTERVAL
    assert project.ask("a", hosts(3)).changed == {}


def test_a_lease_lasts_two_and_a_half_intervals_and_no_less_than_five_seconds() -> None:
    assert timedelta(seconds=150) == LEASE
    assert lease_end(BEGIN, timedelta(seconds=1)) == BEGIN + timedelta(seconds=5)


def test_an_agent_that_joins_gets_half_and_each_host_is_handed_over_at_the_end_of_a_round(
    project: LeasedProject,
) -> None:
    all_hosts = hosts(100)
    project.ask("a", all_hosts)
    project.now += INTERVAL / 2
    joined = project.ask("b", all_hosts)
    assert joined.held == {}
    project.now += INTERVAL / 2
    letting_go = project.ask("a", all_hosts)
    assert Counter(letting_go.held.values()) == {
        project.now + LEASE: 50,
        project.now + INTERVAL * 0.9: 50,
    }
    project.now += INTERVAL / 2
    soon = project.ask("b", all_hosts)
    assert (soon.held, soon.ask_again) == ({}, project.now + INTERVAL * 0.4)
    project.now = soon.ask_again or project.now
    taken = project.ask("b", all_hosts)
    assert len(taken.held) == 50
    assert taken.held.keys().isdisjoint(key for key, until in letting_go.held.items() if until > project.now)
    project.rounds({"a": all_hosts, "b": all_hosts}, 3)
    assert (project.loads(), project.moves) == ({"a": 50, "b": 50}, 150)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_agents_that_name_the_same_hosts_share_them_evenly(project: LeasedProject, count: int) -> None:
    asked = {f"agent{number}": hosts(100) for number in range(count)}
    project.rounds(asked, 8)
    loads = project.loads()
    assert sum(loads.values()) == 100
    assert max(loads.values()) - min(loads[agent] for agent in asked) <= 1
    moves = project.moves
    project.rounds(asked, 5)
    assert project.moves == moves


def test_when_an_agent_dies_its_hosts_alone_move_and_each_other_takes_its_part(
    project: LeasedProject,
) -> None:
    asked = {name: hosts(90) for name in "abc"}
    project.rounds(asked, 8)
    before, moves = project.holders(), project.moves
    died = project.watchers["c"].until
    del asked["c"]
    project.rounds(asked, 2)
    assert project.moves == moves  # its leases run still
    project.now = died
    for me, named in asked.items():
        project.ask(me, named)
    after = project.holders()
    assert project.loads() == {"a": 45, "b": 45}
    assert {key for key in after if after[key] != before[key]} == {
        key for key in before if before[key] == "c"
    }


def test_who_waits_is_reported_when_the_lease_of_a_late_agent_ends(project: LeasedProject) -> None:
    asked = {name: hosts(4) for name in "ab"}
    project.rounds(asked, 6)
    end = project.watchers["b"].until
    assert project.answers["a"].ask_again is None
    project.rounds({"a": hosts(4)}, 2)
    assert project.answers["a"].ask_again == end
    project.now = end
    assert project.ask("a", hosts(4)).held.keys() == set(hosts(4))


def test_what_the_other_does_not_take_is_taken_at_the_next_ask(project: LeasedProject) -> None:
    """The other cannot watch it, though nobody says so."""
    project.rounds({"a": hosts(3), "b": hosts(1)}, 4)
    assert project.loads() == {"a": 2, "b": 1}
    fresh = [(f"new{number}", 1) for number in range(5)]
    project.now += INTERVAL
    project.ask("b", hosts(1))
    shares = project.ask("a", [*hosts(3), *fresh])
    assert len(shares.held) == 4
    assert shares.ask_again == project.now + INTERVAL / 2
    project.now = shares.ask_again
    assert len(project.ask("a", [*hosts(3), *fresh]).held) == 7


def test_an_agent_that_stops_leaves_its_hosts_to_others_at_once(project: LeasedProject) -> None:
    asked = {name: hosts(10) for name in "ab"}
    project.rounds(asked, 6)
    project.stop("b")
    project.now += timedelta(seconds=1)
    assert project.ask("a", hosts(10)).held.keys() == set(hosts(10))


def test_a_host_that_is_not_named_any_more_is_given_back(project: LeasedProject) -> None:
    project.rounds({"a": hosts(2), "b": []}, 2)
    project.ask("a", hosts(1))
    assert project.ask("b", hosts(2)).gained == {hosts(2)[1]}


def test_agents_that_name_different_hosts_take_nothing_from_each_other(project: LeasedProject) -> None:
    first, second = hosts(10)[:8], hosts(10)[8:]
    project.rounds({"a": first, "b": second}, 6)
    assert project.loads() == {"a": 8, "b": 2}
    assert project.moves == 10


def test_an_agent_that_another_lets_go_for_and_that_dies_takes_nothing_with_it(
    project: LeasedProject,
) -> None:
    project.ask("a", hosts(4))
    project.now += INTERVAL / 2
    project.ask("b", hosts(4))
    for _ in range(4):
        project.now += INTERVAL
        project.ask("a", hosts(4))
    assert project.holders() == dict.fromkeys(hosts(4), "a")


def test_after_the_platform_was_away_each_agent_has_what_it_had(project: LeasedProject) -> None:
    asked = {name: hosts(30) for name in "abc"}
    project.rounds(asked, 8)
    before, moves = project.holders(), project.moves
    project.now += timedelta(minutes=30)
    for me, named in reversed(asked.items()):
        project.ask(me, named)
    assert (project.holders(), project.moves) == (before, moves)


def test_an_agent_that_died_while_the_platform_was_away_is_replaced_at_the_second_ask(
    project: LeasedProject,
) -> None:
    project.rounds({"a": hosts(3)}, 2)
    project.now += timedelta(minutes=30)
    assert project.ask("b", hosts(3)).held == {}
    project.now += INTERVAL
    assert len(project.ask("b", hosts(3)).held) == 3


def test_an_agent_that_slept_past_its_lease_holds_what_others_left(project: LeasedProject) -> None:
    project.rounds({"a": hosts(4), "b": hosts(4)[:1]}, 4)
    kept = {key for key, holder in project.holders().items() if holder == "a"}
    project.rounds({"b": hosts(4)[:1]}, 6)
    assert project.ask("a", hosts(4)).held.keys() == kept
    assert project.answers["a"].gained == frozenset()


def test_leases_that_ended_long_ago_are_forgotten(project: LeasedProject) -> None:
    project.ask("a", hosts(2))
    project.now += FORGOTTEN_AFTER + LEASE
    assert project.ask("b", []).forgotten == frozenset()
    project.now += timedelta(seconds=1)
    assert project.ask("b", []).forgotten == frozenset(hosts(2))
    assert project.leases == {}


def in_sets(count: int, size: int) -> dict[Key, str]:
    """Hosts in replica sets of this size."""
    return {key: f"rs{place // size}" for place, key in enumerate(hosts(count))}


def sets_of(project: LeasedProject, together: Mapping[Key, str]) -> dict[str, set[str]]:
    """Who watches members of each set."""
    found: dict[str, set[str]] = {}
    for key, holder in project.holders().items():
        found.setdefault(together[key], set()).add(holder)
    return found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_members_of_a_set_are_watched_by_one_agent_and_sets_are_shared(
    project: LeasedProject, count: int
) -> None:
    project.together = in_sets(36, 3)
    project.rounds({f"agent{number}": hosts(36) for number in range(count)}, 8)
    assert all(len(watched_by) == 1 for watched_by in sets_of(project, project.together).values())
    assert set(project.loads().values()) == {36 // count}


def test_a_set_moves_as_a_whole_when_its_agent_dies(project: LeasedProject) -> None:
    project.together = in_sets(12, 3)
    project.rounds({name: hosts(12) for name in "abc"}, 8)
    project.now = project.watchers["c"].until
    for _ in range(2):
        for me in "ab":
            project.ask(me, hosts(12))
    assert all(len(watched_by) == 1 for watched_by in sets_of(project, project.together).values())
    assert set(project.loads().values()) == {6}


def test_a_new_member_goes_to_the_agent_that_has_its_set(project: LeasedProject) -> None:
    project.together = in_sets(6, 3)
    project.rounds({name: hosts(6) for name in "ab"}, 8)
    fresh = ("new.example.com", 27017)
    project.together[fresh] = "rs0"
    holder = sets_of(project, project.together)["rs0"].pop()
    project.rounds({name: [*hosts(6), fresh] for name in "ab"}, 2)
    assert project.holders()[fresh] == holder
    assert project.moves == 6 + 3 + 1


def test_a_set_in_several_hands_comes_to_who_has_the_most_of_it(project: LeasedProject) -> None:
    project.rounds({name: hosts(3) for name in "ab"}, 8)
    most = project.loads().most_common(1)[0][0]
    assert len(project.loads()) == 2
    project.together = in_sets(3, 3)
    project.rounds({name: hosts(3) for name in "ab"}, 4)
    assert project.loads() == {most: 3}


def test_an_agent_that_does_not_know_the_set_takes_no_member_out_of_it(project: LeasedProject) -> None:
    known = in_sets(6, 6)
    for _ in range(4):
        project.now += INTERVAL / 2
        project.ask("a", hosts(6), known)
        project.now += INTERVAL / 2
        project.ask("b", hosts(6))
        project.check()
    assert project.loads() == {"a": 6}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "ask", "stop", "sleep"]),
        st.sampled_from("abcd"),
        st.integers(1, 100),
        st.integers(0, 2**8 - 1),
    ),
    max_size=60,
)


@settings(deadline=None)
@given(STEPS, st.sampled_from([1, 2, 3]))
def test_whatever_happens_no_host_is_reported_to_two_and_no_host_is_left(
    steps: list[tuple[str, str, int, int]], size: int
) -> None:
    project = LeasedProject(together=in_sets(8, size) if size > 1 else {})
    named: dict[str, list[Key]] = {}
    for kind, me, seconds, choice in steps:
        project.now += timedelta(seconds=seconds * (20 if kind == "sleep" else 1))
        if kind == "ask":
            named[me] = [key for place, key in enumerate(hosts(8)) if choice >> place & 1]
            shares = project.ask(me, named[me])
            assert shares.held.keys() <= set(named[me])
        elif kind == "stop" and me in project.watchers:
            project.stop(me)
            project.answers.pop(me, None)
        project.check()
    # Once all go on in turn, each host that somebody can watch is watched, and shared as evenly as can be.
    named["e"] = hosts(8)
    project.rounds(named, 20)
    assert project.holders().keys() == set(hosts(8))
    moves = project.moves
    project.rounds(named, 4)
    assert project.moves == moves
    if size > 1:
        return
    loads = project.loads()
    for key, holder in project.holders().items():
        rivals = [loads[me] for me, can in named.items() if key in can]
        assert loads[holder] <= min(rivals) + 1
