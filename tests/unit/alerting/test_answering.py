"""What a process knows of the receivers it told."""

from alerting.answering import MOST, Answering


def test_one_that_fails_is_not_known_to_answer_any_more() -> None:
    answering = Answering()
    answering.note("a", answered=True)
    answering.note("b", answered=True)
    answering.note("a", answered=False)
    assert answering.keys() == {"b"}


def test_where_none_was_tried_nothing_is_known() -> None:
    answering = Answering()
    answering.note("", answered=True)
    assert answering.keys() == frozenset()


def test_those_that_answered_last_are_remembered() -> None:
    answering = Answering()
    for number in range(MOST):
        answering.note(str(number), answered=True)
    answering.note("0", answered=True)
    answering.note("new", answered=True)
    assert len(answering.keys()) == MOST
    assert {"0", "2", "new"} <= answering.keys()
    assert not {"1"} & answering.keys()
