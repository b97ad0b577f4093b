"""Whose request gets the next thread."""

from opsapi.supervisor.callers import Turns


def waiting(threads: int, *requests: str) -> Turns[str]:
    """Requests that came in this order; the first letter is the caller."""
    turns = Turns[str](threads)
    for request in requests:
        turns.add(request[0], request)
    return turns


def taken(turns: Turns[str]) -> list[str]:
    """What gets a thread now, in the order of turns."""
    return [request for request in iter(turns.take, None) if request]


def test_callers_take_turns_and_requests_of_each_keep_their_order() -> None:
    assert taken(waiting(8, "a1", "a2", "a3", "b1", "c1", "c2")) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_served_caller_waits_behind_callers_that_came_meanwhile() -> None:
    turns = waiting(8, "a1", "a2")
    assert turns.take() == "a1"
    turns.add("b", "b1")
    turns.add("a", "a3")
    assert taken(turns) == ["a2", "b1", "a3"]


def test_a_request_that_waits_can_be_dropped() -> None:
    turns = waiting(8, "a1", "a2", "b1")
    turns.drop("a", "a1")
    turns.drop("b", "b1")
    assert list(turns.waiting()) == ["a2"]
    assert taken(turns) == ["a2"]


def test_a_quarter_of_the_threads_is_kept_for_others() -> None:
    turns = waiting(4, "a1", "a2", "a3", "a4", "a5")
    assert taken(turns) == ["a1", "a2", "a3"]
    turns.add("b", "b1")
    turns.add("b", "b2")
    assert taken(turns) == ["b1"]
    turns.done("b")
    assert taken(turns) == ["b2"]
    turns.done("a")
    assert taken(turns) == ["a4"]


def test_a_single_thread_is_for_everybody() -> None:
    turns = waiting(1, "a1", "a2", "b1")
    assert taken(turns) == ["a1"]
    turns.done("a")
    assert taken(turns) == ["b1"]


def test_without_requests_nothing_is_returned() -> None:
    assert Turns[str](1).take() is None
