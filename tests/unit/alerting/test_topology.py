"""Which alerts are one outage, what its root is, and which changes matter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from alerting.incidents.topology import (
    FIRST,
    RECOVERED,
    FleetUnit,
    FleetUnits,
    OpenIncident,
    Opening,
    Picture,
    UnitKind,
    covered_unit,
    deciding_labels,
    deciding_units,
    grouped,
    is_important_change,
    kept_units,
    labels_held,
    picture,
    recent_labels,
    root_words,
    units_of,
)
from events.types import Target
from tests.each import each
from tests.steps import STEPS

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
WAIT = timedelta(seconds=15)
AGENT = "MONITORING mon1"


def host(number: int, **facts: str) -> frozenset[FleetUnit]:
    """The units of a host of an agent that watches all hosts."""
    return units_of({"hostname": f"db{number}", "port": 27017, **facts}, AGENT)


def opening(number: int, at: datetime = START, **facts: str) -> Opening:
    return Opening(f"alert{number}", host(number, **facts), at)


def incident(*openings: Opening, grown: datetime = START) -> OpenIncident:
    units = frozenset(unit.key for alert in openings for unit in alert.units)
    return OpenIncident("incident", units, START, grown)


@each("step", STEPS)
def test_an_incident_that_grew_at_a_wrong_time_relates_nothing_by_its_agent(step: timedelta) -> None:
    known = incident(opening(1), grown=START + step)
    joined = "incident" if step == timedelta(minutes=1) else None
    assert grouped([opening(2)], [known], wait=WAIT)[0][0] == joined


RELATED = {
    "machine": ({"hostname": "DB1", "port": "27018"}, True),
    "replica set": ({"replicaSetName": "rs0"}, True),
    "replica set of that name in another cluster": ({"replicaSetName": "rs0", "clusterName": "c2"}, False),
    "cluster": ({"clusterName": "c1"}, False),
    "nothing": ({}, False),
}


@each("facts, joins", RELATED.values(), ids=RELATED)
def test_a_late_alert_joins_an_incident_on_one_of_its_units(facts: dict[str, str], joins: bool) -> None:
    known = incident(opening(1, replicaSetName="rs0"))
    late = opening(2, START + 10 * WAIT, **facts)
    assert [found for found, _ in grouped([late], [known], wait=WAIT)] == ["incident" if joins else None]


def test_a_shard_and_its_cluster_are_related() -> None:
    first = opening(1, replicaSetName="s0", shardName="s0", clusterName="C1")
    late = opening(2, START + 10 * WAIT, replicaSetName="s1", shardName="s1", clusterName="c1")
    assert grouped([late], [incident(first)], wait=WAIT)[0][0] == "incident"


@each("waits, joined", [(1, "incident"), (2, None)], ids=["within the wait", "after it"])
def test_an_agent_relates_what_opens_together(waits: int, joined: str | None) -> None:
    late = opening(2, START + waits * WAIT)
    assert grouped([late], [incident(opening(1))], wait=WAIT)[0][0] == joined


def labelled(number: int, labels: Mapping[str, str], at: datetime = START) -> Opening:
    """An alert on a host with labels; each host has an agent of its own."""
    units = units_of({"hostname": f"db{number}", "port": 27017}, f"MONITORING mon{number}", labels)
    return Opening(f"alert{number}", units, at)


def deciding(openings: Sequence[Opening], *incidents: OpenIncident) -> list[FleetUnit]:
    """The labels that decide which openings are related, and which of the incidents they join."""
    recent = recent_labels(incidents, at=min(alert.at for alert in openings), wait=WAIT)
    return deciding_labels(labels_held(openings), recent)


EU, ENV = FleetUnit(UnitKind.LABEL, "region=eu"), FleetUnit(UnitKind.LABEL, "env=production")


@each("waits, joined", [(0, "incident"), (1, None)], ids=["within the wait", "at its end"])
def test_a_label_relates_what_opens_together(waits: int, joined: str | None) -> None:
    eu = {"region": "eu"}
    first, late = labelled(1, eu), labelled(2, eu, START + waits * WAIT)
    assert grouped([late], [incident(first)], wait=WAIT, labels={EU})[0][0] == joined
    assert grouped([late], [incident(first)], wait=WAIT)[0][0] is None


@each("step", STEPS)
def test_an_incident_that_began_at_a_wrong_time_relates_nothing_by_a_label(step: timedelta) -> None:
    eu = {"region": "eu"}
    known = replace(incident(labelled(1, eu)), created=START + step)
    joined = "incident" if step == timedelta(minutes=1) else None
    assert grouped([labelled(2, eu)], [known], wait=WAIT, labels={EU})[0][0] == joined


def test_a_label_relates_nothing_once_the_first_message_is_due() -> None:
    eu = {"region": "eu"}
    grows = incident(labelled(1, eu), grown=START + 4 * WAIT)
    late = labelled(2, eu, START + 4 * WAIT)
    assert deciding([late], grows) == []
    assert grouped([late], [grows], wait=WAIT, labels={EU})[0][0] is None
    same_agent = Opening("alert3", frozenset({FleetUnit(UnitKind.AGENT, AGENT)}), START + 5 * WAIT)
    assert grouped([same_agent], [grows], wait=WAIT)[0][0] == "incident"


def test_only_labels_that_relate_something_are_compared() -> None:
    alike = {"env": "production", "region": "eu"}
    first, second, other = labelled(1, alike), labelled(2, alike), labelled(3, {"env": "production"})
    assert deciding([first]) == []
    assert deciding([first, second, other]) == [ENV, EU]
    assert deciding([other], incident(first)) == [ENV]
    late = labelled(4, alike, START + 2 * WAIT)
    assert deciding([late], incident(first)) == []
    same_host = Opening("alert5", first.units, START)
    assert deciding([first, same_host]) == []


def test_few_labels_are_compared_the_most_frequent_first() -> None:
    many = {**{f"label{number:02}": "a" for number in range(16)}, "region": "eu"}
    openings = [labelled(1, many), labelled(2, many), labelled(3, {"region": "eu"})]
    found = deciding(openings)
    assert (len(found), found[0]) == (16, EU)


def test_an_alert_joins_the_oldest_of_several_incidents() -> None:
    both = [incident(opening(1)), OpenIncident("later", frozenset({"MACHINE:db1"}), START, START)]
    assert grouped([opening(1)], both, wait=WAIT)[0][0] == "incident"


FACTS = st.fixed_dictionaries(
    {},
    optional={
        "replicaSetName": st.sampled_from(["rs0", "rs1", "rs2"]),
        "clusterName": st.sampled_from(["c0", "c1"]),
        "shardName": st.sampled_from(["s0", "s1"]),
    },
)


@given(st.lists(st.tuples(st.integers(0, 9), FACTS, st.booleans())))
def test_every_alert_is_in_one_group_and_related_alerts_share_it(
    drawn: list[tuple[int, dict[str, str], bool]],
) -> None:
    openings = [
        Opening(
            f"alert{place}",
            units_of({"hostname": f"db{number}", "port": 1, **facts}, AGENT if watched else None),
            START,
        )
        for place, (number, facts, watched) in enumerate(drawn)
    ]
    groups = [members for _, members in grouped(openings, [], wait=WAIT)]
    assert sorted(alert.alert_id for group in groups for alert in group) == sorted(
        alert.alert_id for alert in openings
    )
    for place, group in enumerate(groups):
        units = {unit for alert in group for unit in alert.units}
        for other in groups[place + 1 :]:
            assert units.isdisjoint(unit for alert in other for unit in alert.units)


FLEET = FleetUnits.of(
    [
        *(host(number, replicaSetName="s0", shardName="s0", clusterName="c") for number in (1, 2, 3)),
        *(host(number, replicaSetName="s1", shardName="s1", clusterName="c") for number in (4, 5, 6)),
        host(7),
    ]
)


def covered(*numbers: int) -> list[FleetUnit | None]:
    return [FleetUnit(UnitKind.HOST, f"db{number}:27017") for number in numbers]


def root(*numbers: int, last: Picture | None = None, first_is_open: bool = True) -> str:
    return picture(covered(*numbers), FLEET, last=last, first_is_open=first_is_open).root


ROOTS = {
    "the first alert while nothing is wholly down": ((1, 2), FIRST),
    "a replica set": ((1, 2, 3, 4), "REPLICA_SET:s0\x1fc"),
    "a cluster": ((1, 2, 3, 4, 5, 6), "CLUSTER:c"),
    "all hosts of an agent": ((1, 2, 3, 4, 5, 6, 7), f"AGENT:{AGENT}"),
    "never a unit of one host": ((7,), FIRST),
}


@each("numbers, found", ROOTS.values(), ids=ROOTS)
def test_the_root_is_the_largest_thing_that_is_wholly_down(numbers: tuple[int, ...], found: str) -> None:
    assert root(*numbers) == found


def test_a_label_is_a_root_that_comes_after_an_agent_with_the_same_hosts() -> None:
    labels = [labelled(number, {"region": "eu"}).units for number in (1, 2)]
    one_agent = [host(number) | {EU} for number in (1, 2)]
    shown = [
        picture(covered(1, 2), FleetUnits.of(fleet), last=None, first_is_open=True).root
        for fleet in (labels, one_agent, [*labels, labelled(3, {"region": "eu"}).units])
    ]
    assert shown == [EU.key, f"AGENT:{AGENT}", FIRST]


def test_an_alert_about_a_replica_set_covers_its_hosts() -> None:
    about = covered_unit(Target.REPLICA_SET, units_of({"replicaSetName": "s0", "clusterName": "c"}))
    assert picture([about], FLEET, last=None, first_is_open=True).root == "REPLICA_SET:s0\x1fc"


def test_a_root_stays_until_all_its_hosts_have_recovered() -> None:
    last = Picture(3, "REPLICA_SET:s0\x1fc")
    assert root(3, 4, last=last) == last.root
    assert root(4, last=last) == RECOVERED
    assert root(4, 5, 6, last=last) == RECOVERED
    assert root(4, 5, 6, last=Picture(6, RECOVERED)) == RECOVERED
    assert root(4, 5, 6, last=Picture(1, RECOVERED)) == "REPLICA_SET:s1\x1fc"
    assert root(1, 2, 3, 4, 5, 6, last=last) == "CLUSTER:c"


def test_a_first_alert_that_ended_is_the_root_no_more() -> None:
    last = Picture(2, FIRST)
    assert root(2, last=last, first_is_open=False) == RECOVERED
    assert root(2, 4, last=Picture(1, RECOVERED), first_is_open=False) == RECOVERED


PLACES = st.fixed_dictionaries(
    {"hostname": st.sampled_from(["db0", "db1", "db2", "db3"]), "port": st.integers(1, 3)},
    optional={
        "replicaSetName": st.sampled_from(["rs0", "rs1"]),
        "clusterName": st.sampled_from(["c0", "c1"]),
        "shardName": st.sampled_from(["s0", "s1"]),
        "region": st.sampled_from(["eu", "us"]),
    },
)


@given(st.lists(PLACES, min_size=1, max_size=12), st.data())
def test_a_few_hosts_of_each_unit_decide_the_picture(
    drawn: list[dict[str, Any]], data: st.DataObject
) -> None:
    fleet = [units_of(facts, AGENT, {"region": facts.get("region", "none")}) for facts in drawn]
    whole = FleetUnits.of(fleet)
    units = sorted(whole.hosts, key=lambda unit: unit.key)
    about = data.draw(st.lists(st.sampled_from(units)))
    root = data.draw(st.sampled_from([FIRST, RECOVERED, *(unit.key for unit in units)]))
    last = Picture(data.draw(st.integers(1, 9)), root)
    affected = {number for unit in about for number in whole.hosts[unit]}
    roots = [FleetUnit.of_key(root)] if root not in {FIRST, RECOVERED} else []
    enough = deciding_units([fleet[number] for number in affected], roots)
    read = affected | {
        number for unit, most in enough.items() for number in sorted(whole.hosts[unit], reverse=True)[:most]
    }
    part = FleetUnits.of([fleet[number] for number in sorted(read)])
    for before in (None, last):
        assert picture(about, part, last=before, first_is_open=True) == picture(
            about, whole, last=before, first_is_open=True
        )


CHANGES = {
    "a root is recognized": (Picture(3, "CLUSTER:c"), True),
    "members doubled": (Picture(4, FIRST), True),
    "fewer than doubled": (Picture(3, FIRST), False),
    "the root recovered": (Picture(1, RECOVERED), True),
    "some recovered": (Picture(1, FIRST), False),
}


@each("now, is_important", CHANGES.values(), ids=CHANGES)
def test_important_changes(now: Picture, is_important: bool) -> None:
    assert is_important_change(Picture(2, FIRST), now) == is_important


@given(st.lists(st.sets(st.integers(1, 7), min_size=1), min_size=1))
def test_important_changes_are_few_however_often_hosts_change(steps: list[set[int]]) -> None:
    """Each message is about something new: the root changes, or the members double."""
    last = picture(covered(*sorted(steps[0])), FLEET, last=None, first_is_open=1 in steps[0])
    for numbers in steps[1:]:
        now = picture(covered(*sorted(numbers)), FLEET, last=last, first_is_open=1 in numbers)
        if is_important_change(last, now):
            last = now
        else:
            assert now.root == last.root
            assert now.members < 2 * last.members
    assert picture(covered(*sorted(steps[-1])), FLEET, last=last, first_is_open=True).members == len(
        steps[-1]
    )


def test_an_incident_keeps_its_largest_units() -> None:
    many = [f"HOST:db{number}:1" for number in range(3_000)]
    kept = kept_units([*many, "CLUSTER:c"], [])
    assert (len(kept), kept[0]) == (2_000, "CLUSTER:c")


def test_an_incident_keeps_its_earliest_and_most_frequent_labels() -> None:
    first = [labelled(number, {"region": "eu", "asset": str(number)}) for number in range(50)]
    kept = kept_units([], first)
    assert kept[0] == "LABEL:region=eu"
    for start in range(50, 1_000, 50):
        kept = kept_units(
            kept, [labelled(number, {"asset": str(number)}) for number in range(start, start + 50)]
        )
    labels = [key for key in kept if key.startswith("LABEL:")]
    assert (len(labels), labels[0]) == (100, "LABEL:region=eu")
    assert f"AGENT:{AGENT}" in kept


WORDS = {
    "a replica set": ("REPLICA_SET:rs 0", "replica set rs 0"),
    "of a cluster": ("SHARD:s0\x1fc", "shard s0 of cluster c"),
    "an agent": ("AGENT:MONITORING mon1", "hosts of agent MONITORING mon1"),
    "a label": ("LABEL:region=eu", "hosts with region=eu"),
    "the first alert": (FIRST, None),
}


@each("key, words", WORDS.values(), ids=WORDS)
def test_words_of_roots(key: str, words: str | None) -> None:
    assert root_words(key) == words
