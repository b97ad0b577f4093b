"""Two texts side by side."""

from automation.document.beside import AROUND, MOST_LINES, Kind, Row, beside
from tests.each import each

SAME, CHANGED = Kind.SAME, Kind.CHANGED


@each(
    ("old", "new", "rows"),
    [
        ("a\nb", "a\nb", []),
        ("", "", []),
        ("", "a", [Row(CHANGED, None, "a")]),
        ("a", "", [Row(CHANGED, "a", None)]),
        ("a\nb\nc", "a\nx\nc", [Row(SAME, "a", "a"), Row(CHANGED, "b", "x"), Row(SAME, "c", "c")]),
        ("a\nc", "a\nb\nc", [Row(SAME, "a", "a"), Row(CHANGED, None, "b"), Row(SAME, "c", "c")]),
        ("a\nb", "x\ny\nz", [Row(CHANGED, "a", "x"), Row(CHANGED, "b", "y"), Row(CHANGED, None, "z")]),
    ],
    ids=["same", "empty", "added", "removed", "changed", "put in", "longer"],
)
def test_it_sets_lines_that_differ_beside_each_other(old: str, new: str, rows: list[Row]) -> None:
    assert beside(old, new) == rows


def test_equal_lines_far_from_a_change_are_left_out() -> None:
    equal = [str(number) for number in range(20)]
    rows = beside("\n".join(["a", *equal, "b"]), "\n".join(["x", *equal, "y"]))
    assert rows is not None
    shown = [row.old for row in rows]
    assert shown == ["a", *equal[:AROUND], None, *equal[-AROUND:], "b"]
    assert [row.kind for row in rows].count(Kind.LEFT_OUT) == 1


@each(("lines", "compared"), [(MOST_LINES, True), (MOST_LINES + 1, False)])
def test_texts_beyond_the_limit_are_not_compared(lines: int, compared: bool) -> None:
    text = "\n".join(str(number) for number in range(lines))
    assert (beside(text, text) is not None) is compared
    assert (beside("", text) is not None) is compared
