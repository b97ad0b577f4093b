"""Addresses of processes that no plan can carry out."""

from pathlib import Path
from typing import Any

from automation.agent.automation.part import read_part
from automation.desired_state.document.machine import machine_part
from automation.plan.places import place_faults
from automation.plan.reading import read_goal
from tests.each import each
from tests.factories.documents import document, process


def at(name: str, hostname: str, port: int = 27017, **fields: Any) -> dict[str, Any]:
    """A single server at an address."""
    settings = {"net": {"port": port}, "storage": {"dbPath": f"/data/{name}"}}
    return process(name=name, hostname=hostname, args2_6=settings, **fields)


ONE_ADDRESS = [at("p1", "db1.example.com"), at("p2", "DB1.example.com."), at("p3", "db3.example.com")]
ONE_ALIAS = [
    at("p1", "db1.example.com", alias="db2.example.com"),
    at("p2", "db2.example.com"),
    at("p3", "db3.example.com"),
]
OTHER_PORT = [at("p1", "db1.example.com", 27018, alias="db2.example.com"), *ONE_ALIAS[1:]]
SAME_ALIAS = [
    at("p1", "db1.example.com", alias="al.example.com"),
    at("p2", "db2.example.com", 27018, alias="al.example.com"),
]


@each("processes", [ONE_ADDRESS, ONE_ALIAS, OTHER_PORT, SAME_ALIAS])
def test_both_processes_are_refused_and_named(processes: list[Any]) -> None:
    units = read_goal(document(processes=processes)).units
    refused = {hold.process: hold.sentence for unit in units for hold in unit.refused}
    assert sorted(refused) == ["p1", "p2"]
    assert all("p1" in sentence and "p2" in sentence for sentence in refused.values())


@each(
    "processes",
    [
        [at("p1", "db1.example.com", alias="al.example.com"), at("p2", "db1.example.com", 27018)],
        [at(name, "db1.example.com", n, alias="al.example.com") for n, name in enumerate(("p1", "p2"), 1)],
        [at("p1", "db1.example.com", alias="DB1.example.com"), at("p2", "db2.example.com")],
    ],
)
def test_names_of_one_machine_are_no_fault(processes: list[Any]) -> None:
    assert place_faults(processes) == {}


def test_the_agents_of_both_machines_refuse_a_process_of_both() -> None:
    """The machine of the host name gets no name of a process that it does not know."""
    for key in ("db1.example.com", "db2.example.com"):
        part = machine_part(document(processes=ONE_ALIAS), key)
        assert "p3" not in str(part)
        assert ("p2" in str(part)) is (key == "db2.example.com")
        goal = read_part({**part, "paused": False}, key, [Path("/")]).goal
        assert {unit.processes[0].name: bool(unit.refused) for unit in goal.units}["p1"]
