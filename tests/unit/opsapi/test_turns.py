"""Whose request gets the next thread."""

from opsapi.supervisor.turns import Turns


def taken(turns: Turns[str]) -> list[str]:
    """All that waits, in the order of turns."""
    return [request for request in iter(turns.take, None) if request]


def test_callers_take_turns_and_each_one_s_requests_keep_their_order() -> None:
    turns = Turns[str]()
    for request in ("a1", "a2", "a3", "b1", "c1", "c2"):
        turns.add(request[0], request)
    assert taken(turns) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_caller_who_was_served_stands_behind_those_who_came_meanwhile() -> None:
    turns = Turns[str]()
    turns.add("a", "a1")
    turns.add("a", "a2")
    assert turns.take() == "a1"
    turns.add("b", "b1")
    turns.add("a", "a3")
    assert taken(turns) == ["a2", "b1", "a3"]


def test_nothing_is_taken_of_nothing() -> None:
    assert Turns[str]().take() is None
