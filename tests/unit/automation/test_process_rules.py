"""How far processes have come, of the wanted and the reported processes."""

from automation.desired_state.store import ProcessState, process_states
from tests.each import each

A, B = ProcessState("a", "db1", 3), ProcessState("b", "db2", 2, "no disk")


@each(
    ("wanted", "reported", "expected"),
    [
        ([], [], []),
        ([("a", "db1")], [], [ProcessState("a", "db1", 0)]),
        ([("a", "db1")], [A], [A]),
        ([("a", "db9")], [A], [A]),
        ([("b", "db2"), ("a", "db1")], [B], [ProcessState("a", "db1", 0), B]),
        ([], [B, A], [A, B]),
        ([("a", "db1"), ("a", "db9")], [], [ProcessState("a", "db9", 0)]),
    ],
    ids=["nothing", "not yet reported", "reported", "elsewhere", "by name", "not wanted", "named twice"],
)
def test_states(
    wanted: list[tuple[str, str]], reported: list[ProcessState], expected: list[ProcessState]
) -> None:
    assert process_states(wanted, reported) == expected
