"""Reasons of a plan as a text."""

from automation.plan.wording import cut_at_clause, together
from tests.each import each


def test_each_clause_is_there_once_in_order() -> None:
    assert together(["p2 is down", "no primary", "p2 is down"]) == "p2 is down; no primary"


@each(
    ("text", "most", "expected"),
    [
        ("one; two", 8, "one; two"),
        ("one; two; three", 10, "one; two"),
        ("One. Two. Three", 10, "One. Two"),
        ("one; a long clause", 10, "one; a lo…"),
        ("a long clause", 10, "a long cl…"),
    ],
)
def test_a_text_is_cut_at_the_end_of_a_clause(text: str, most: int, expected: str) -> None:
    assert cut_at_clause(text, most) == expected
