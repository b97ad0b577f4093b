"""Items of a body that name something (accesslist.references)."""

import pytest

from accesslist.references import refuse_unknown_and_repeated
from opsapi.api.errors import ApiError
from tests.each import each

TWICE, UNKNOWN = "is given twice", "names no user"


@each(
    ("named", "faults"),
    [
        ([None], [UNKNOWN]),
        ([None, None], [UNKNOWN, UNKNOWN]),
        (["a", "a"], [None, TWICE]),
        (["a", "b", "a", "a"], [None, None, TWICE, TWICE]),
        (["a", None, "a"], [None, UNKNOWN, TWICE]),
    ],
    ids=str,
)
def test_it_names_every_unknown_and_repeated_item(named: list[str | None], faults: list[str | None]) -> None:
    with pytest.raises(ApiError) as refused:
        refuse_unknown_and_repeated(((str(place), name) for place, name in enumerate(named)), unknown=UNKNOWN)
    expected = [(str(place), message) for place, message in enumerate(faults) if message]
    assert [(bad.field, bad.message) for bad in refused.value.bad_fields] == expected


@each("named", [[], ["a"], ["a", "b"]], ids=str)
def test_it_accepts_existing_objects_without_repetition(named: list[str]) -> None:
    refuse_unknown_and_repeated(((name, name) for name in named), unknown=UNKNOWN)
