"""Two texts side by side."""

from automation.desired_state.document.text import AROUND, MOST_LINES, LineKind, LinePair, side_by_side
from tests.each import each

SAME, CHANGED = LineKind.SAME, LineKind.CHANGED


@each(
    ("old", "new", "rows"),
    [
        ("a\nb", "a\nb", []),
        ("", "", []),
        ("", "a", [LinePair(CHANGED, None, "a")]),
        ("a", "", [LinePair(CHANGED, "a", None)]),
        (
            "a\nb\nc",
            "a\nx\nc",
            [LinePair(SAME, "a", "a"), LinePair(CHANGED, "b", "x"), LinePair(SAME, "c", "c")],
        ),
        (
            "a\nc",
            "a\nb\nc",
            [LinePair(SAME, "a", "a"), LinePair(CHANGED, None, "b"), LinePair(SAME, "c", "c")],
        ),
        (
            "a\nb",
            "x\ny\nz",
            [LinePair(CHANGED, "a", "x"), LinePair(CHANGED, "b", "y"), LinePair(CHANGED, None, "z")],
        ),
    ],
    ids=["same", "empty", "added", "removed", "changed", "put in", "longer"],
)
def test_it_sets_lines_that_differ_side_by_side(old: str, new: str, rows: list[LinePair]) -> None:
    assert side_by_side(old, new) == rows


def test_equal_lines_far_from_a_change_are_left_out() -> None:
    equal = [str(number) for number in range(20)]
    rows = side_by_side("\n".join(["a", *equal, "b"]), "\n".join(["x", *equal, "y"]))
    assert rows is not None
    shown = [row.old for row in rows]
    assert shown == ["a", *equal[:AROUND], None, *equal[-AROUND:], "b"]
    assert [row.kind for row in rows].count(LineKind.LEFT_OUT) == 1


def test_texts_with_too_many_equal_lines_are_not_compared() -> None:
    old, new = (
        "\n".join(f"x{number % 60}\n{side}{number}" for number in range(2_400)) for side in ("a", "b")
    )
    assert side_by_side(old, new) is None
    few = "\n".join(f"x{number % 60}" for number in range(1_000))
    assert side_by_side(few, f"{few}\nx") is not None


@each(("lines", "compared"), [(MOST_LINES, True), (MOST_LINES + 1, False)])
def test_texts_beyond_the_limit_are_not_compared(lines: int, compared: bool) -> None:
    text = "\n".join(str(number) for number in range(lines))
    assert (side_by_side(text, text) is not None) is compared
    assert (side_by_side("", text) is not None) is compared
