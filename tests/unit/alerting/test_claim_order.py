"""Which of the notifications that are due go out next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from alerting.engine.claim_rules import (
    AT_ONE_DESTINATION,
    AT_ONE_HOST,
    BURST,
    YOUNG,
    Candidate,
    RunningRequest,
    choose,
    next_free_slot,
)

NOW = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SLOTS = 8


def candidate(number: int, project: str = "a", **changes: object) -> Candidate:
    """A message to a destination of its own, due for so many seconds."""
    message = Candidate(
        id=f"{project}{number}",
        destination=f"{project}{number}",
        project=project,
        host=f"https://{project}{number}:443",
        due=NOW - number * SECOND,
        sequence=number,
        steady=True,
    )
    return replace(message, **changes)  # type: ignore[arg-type]


def running(
    number: int, project: str = "a", age: timedelta = timedelta(), **changes: object
) -> RunningRequest:
    """A request of this worker to a destination of its own."""
    request = RunningRequest(
        destination=f"{project}{number}",
        project=project,
        host=f"https://{project}{number}:443",
        began=NOW - age,
        steady=True,
        mine=True,
    )
    return replace(request, **changes)  # type: ignore[arg-type]


def test_what_was_created_first_goes_first_among_messages_due_together() -> None:
    due_together = [candidate(number, project="a", due=NOW) for number in (3, 1, 2)]
    assert choose(due_together, [], slots=SLOTS, now=NOW) == ["a1", "a2", "a3"]


def test_messages_to_several_people_go_in_the_order_of_their_ids() -> None:
    people = [replace(candidate(number, due=NOW), sequence=7) for number in (3, 1, 2)]
    for given in (people, people[::-1]):
        assert choose(given, [], slots=SLOTS, now=NOW) == ["a1", "a2", "a3"]


def test_what_is_due_longest_goes_first() -> None:
    assert choose([candidate(1), candidate(3), candidate(2)], [], slots=SLOTS, now=NOW) == ["a3", "a2", "a1"]


def test_projects_take_turns_whatever_their_backlog() -> None:
    backlog = [candidate(number) for number in range(10, 20)]
    assert choose([*backlog, candidate(1, "b")], [], slots=SLOTS, now=NOW)[:2] == ["a19", "b1"]


def test_the_project_with_fewer_running_requests_goes_first() -> None:
    chosen = choose([candidate(9), candidate(1, "b")], [running(1)], slots=SLOTS, now=NOW)
    assert chosen == ["b1", "a9"]


def test_a_project_holds_half_of_the_slots_at_most() -> None:
    backlog = [candidate(number) for number in range(20)]
    assert len(choose(backlog, [], slots=SLOTS, now=NOW)) == SLOTS // 2


def test_requests_that_last_no_longer_hold_a_slot() -> None:
    """A message to a healthy receiver is sent, however many receivers hang."""
    hanging = [running(number, f"p{number}") for number in range(SLOTS)]
    assert choose([candidate(1, "b")], hanging, slots=SLOTS, now=NOW) == []
    old = [replace(request, began=NOW - YOUNG) for request in hanging]
    assert choose([candidate(1, "b")], old, slots=SLOTS, now=NOW) == ["b1"]


def test_all_that_is_in_hand_is_bounded() -> None:
    old = [running(number, f"p{number}", YOUNG) for number in range(SLOTS * BURST)]
    assert choose([candidate(1, "b")], old, slots=SLOTS, now=NOW) == []


def test_a_project_holds_no_more_than_is_left_for_the_others() -> None:
    hanging = [running(number, "a", YOUNG) for number in range(SLOTS * BURST // 2)]
    waiting = [candidate(99), candidate(1, "b", steady=False)]
    assert choose(waiting, hanging, slots=SLOTS, now=NOW) == ["b1"]
    left = [running(number, f"p{number}", YOUNG) for number in range(SLOTS * BURST // 2 - 1)]
    assert choose([candidate(1, "b", steady=False)], hanging + left, slots=SLOTS, now=NOW) == ["b1"]


def test_the_project_with_less_that_lasts_goes_first() -> None:
    chosen = choose([candidate(9), candidate(1, "b")], [running(1, age=YOUNG)], slots=1, now=NOW)
    assert chosen == ["b1"]


def test_a_destination_that_answers_has_several_in_hand_another_one() -> None:
    for steady, most in ((True, AT_ONE_DESTINATION), (False, 1)):
        backlog = [
            candidate(number, destination="d", steady=steady) for number in range(AT_ONE_DESTINATION + 2)
        ]
        assert len(choose(backlog, [], slots=64, now=NOW)) == most


def test_what_other_workers_have_in_hand_counts_for_a_destination_and_not_for_our_slots() -> None:
    theirs = [running(number, mine=False, destination="d") for number in range(AT_ONE_DESTINATION)]
    assert choose([candidate(1, destination="d")], theirs, slots=1, now=NOW) == []
    assert choose([candidate(1, destination="e")], theirs, slots=1, now=NOW) == ["a1"]


def test_a_host_that_is_down_gets_one_message_of_another_destination_each_time() -> None:
    waiting = [
        candidate(3, host="h", host_down=True, tried=NOW - SECOND),
        candidate(2, host="h", host_down=True, tried=NOW - 2 * SECOND),
        candidate(1, "b", host="h", host_down=True, tried=NOW),
    ]
    assert choose(waiting, [], slots=SLOTS, now=NOW) == ["a2"]
    probed = [running(9, "c", host="h", age=YOUNG)]
    assert choose(waiting, probed, slots=SLOTS, now=NOW) == []


def test_requests_of_one_project_at_one_host_are_bounded() -> None:
    held = [running(number, host="h", age=YOUNG) for number in range(AT_ONE_HOST)]
    assert choose([candidate(1, host="h")], held, slots=512, now=NOW) == []
    assert choose([candidate(1, "b", host="h")], held, slots=512, now=NOW) == ["b1"]


def test_the_next_free_slot_is_that_of_the_oldest_request_that_still_holds_a_slot() -> None:
    began = [NOW - YOUNG, NOW - 3 * YOUNG, NOW - YOUNG * 0.75, NOW]
    assert next_free_slot(began, NOW) == YOUNG * 0.25
    assert next_free_slot(began[:2], NOW) is None


def test_a_server_at_which_all_requests_hang_leaves_room_for_others() -> None:
    """However many projects send mails to a mail server that never replies."""
    host = "smtp://mail:25"
    hanging: list[RunningRequest] = []
    for project in range(200):
        backlog = [candidate(number, f"p{project}", host=host) for number in range(20)]
        chosen = choose(backlog, hanging, slots=SLOTS, now=NOW)
        hanging += [running(0, f"p{project}", YOUNG, host=host) for _ in chosen]
    assert SLOTS * BURST // 2 < len(hanging) <= SLOTS * BURST * 3 // 4
    assert choose([candidate(1, "b")], hanging, slots=SLOTS, now=NOW) == ["b1"]


def test_a_project_leaves_room_at_a_server_for_the_mails_of_others() -> None:
    host = "smtp://mail:25"
    backlog = [candidate(number, host=host) for number in range(200)]
    hanging: list[RunningRequest] = []
    for _ in range(20):
        chosen = choose(backlog, hanging, slots=SLOTS, now=NOW)
        hanging += [running(0, "a", YOUNG, host=host) for _ in chosen]
    assert choose([candidate(1, "b", host=host)], hanging, slots=SLOTS, now=NOW) == ["b1"]
