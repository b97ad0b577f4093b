"""Tables of rows: every row is tried, each failure is named, and no row sees what another wrote."""

from typing import Any

import pytest

from accesslist.models import Project
from tests.each import each
from tests.factories.accesslist import ProjectFactory


def tried(test: Any, *arguments: Any) -> list[str]:
    """The notes of the failing rows of a test."""
    with pytest.raises(BaseExceptionGroup) as raised:
        test(*arguments)
    return [note for fault in raised.value.exceptions for note in fault.__notes__]


def test_every_row_is_tried_and_each_that_fails_is_named() -> None:
    seen = []

    @each(("number", "word"), [(1, "a"), pytest.param(2, "b", id="the second"), (3, "c")])
    def odd_numbers_fail(number: int, word: str) -> None:
        seen.append((number, word))
        assert number % 2 == 0

    assert tried(odd_numbers_fail) == ["row 0: number=1, word='a'", "row 2: number=3, word='c'"]
    assert seen == [(1, "a"), (2, "b"), (3, "c")]


def test_a_row_goes_by_its_own_name() -> None:
    @each("number", [pytest.param(1, id="one"), 2], ids=["first", "second"])
    def none_passes(number: int) -> None:
        pytest.fail("no")

    assert tried(none_passes) == ["row 0: one", "row 1: second"]


def test_tables_multiply_and_a_class_has_them_for_every_test() -> None:
    seen = []

    @each("first", "ab")
    class Both:
        @each("second", [1, 2])
        def test_one(self, first: str, second: int) -> None:
            seen.append((first, second))

        def test_other(self, first: str) -> None:
            seen.append((first, 0))

    Both().test_one()  # type: ignore[call-arg]  # the rows give what it takes
    Both().test_other()  # type: ignore[call-arg]  # as above
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("a", 0), ("b", 0)]


@each("name", ["first", "second"])
@pytest.mark.django_db
def test_no_row_sees_what_another_wrote(project: Project, name: str) -> None:
    assert Project.objects.count() == 1
    ProjectFactory.create(name=name)


def test_a_row_with_a_mark_is_refused() -> None:
    with pytest.raises(AssertionError):
        each("number", [pytest.param(1, marks=pytest.mark.skip)])
    with pytest.raises(AssertionError):
        each("number", [])
