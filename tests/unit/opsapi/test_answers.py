"""Answers: how an object becomes a document, and how the fields become the example."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest
from rest_framework import serializers

from opsapi.api.answers import Answer
from opsapi.api.documents import Document, links_of, self_link
from opsapi.api.fields import ShownChoice, ShownId, ShownList, ShownNumber, ShownText, ShownTime


class Colour(StrEnum):
    """A closed set."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Wheel:
    """A part of a car."""

    size: int
    made: datetime | None = None


@dataclass(frozen=True)
class Car:
    """An object to show."""

    name: str
    colour: Colour
    spare: Wheel
    wheels: tuple[Wheel, ...] = ()
    owners: tuple[str, ...] = ()
    colours: tuple[Colour, ...] = ()
    trailer: Wheel | None = None
    sold: datetime | None = None


class WheelAnswer(Answer):
    """A wheel."""

    inches = ShownNumber(source="size", example=16)
    made = ShownTime(required=False)


class CarAnswer(Answer):
    """A car."""

    computed = {"letters": lambda car: len(car.name)}
    order = ("name", "sold")

    colour = ShownChoice([colour.value for colour in Colour], example=Colour.RED.value)
    name = ShownText(example="Ada")
    letters = ShownNumber()
    inches = ShownNumber(source="spare.size", example=15)
    wheels = WheelAnswer(many=True)
    owners = ShownList(child=serializers.CharField(), required=False, example=["Grace"])
    colours = ShownList(child=serializers.ChoiceField(["red", "blue"]))
    trailer = WheelAnswer(required=False, example={})
    sold = ShownTime(required=False)
    seller = ShownId(required=False)


class Loan(Document):
    """A document of another kind in an answer."""

    to = serializers.CharField()


class LentAnswer(Answer):
    """An answer with a single attribute, a document and links."""

    name = ShownText()
    loan = Loan()
    links = links_of("/cars/1")


NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
CAR = Car("Ada", Colour.RED, Wheel(15))
SELLER = {"seller": "1" * 24}


def of(**changes: Any) -> dict[str, Any]:
    """The document of the car with these changes."""
    return CarAnswer.of(replace(CAR, **changes), **SELLER)


def test_it_shows_attributes_paths_computed_and_given_values() -> None:
    expected = {
        "name": "Ada",
        "colour": "red",
        "letters": 3,
        "inches": 15,
        "wheels": [],
        "colours": [],
        **SELLER,
    }
    assert of() == expected


def test_it_writes_enums_as_plain_strings() -> None:
    shown = of(colours=(Colour.BLUE, Colour.RED))
    assert [type(shown["colour"]), *map(type, shown["colours"])] == [str, str, str]
    assert shown["colours"] == ["blue", "red"]


def test_it_writes_times_in_utc_with_whole_seconds() -> None:
    noon = NOON.replace(microsecond=999_999).astimezone(timezone(timedelta(hours=5)))
    assert of(sold=noon)["sold"] == "2026-11-21T12:00:00Z"


def test_it_shows_the_objects_of_nested_answers() -> None:
    shown = of(wheels=(Wheel(16), Wheel(17, NOON)), trailer=Wheel(10))
    assert shown["wheels"] == [{"inches": 16}, {"inches": 17, "made": "2026-11-21T12:00:00Z"}]
    assert shown["trailer"] == {"inches": 10}


def test_it_leaves_out_empty_arrays_only_if_they_are_optional() -> None:
    shown = of(owners=())
    assert "owners" not in shown
    assert shown["wheels"] == []
    assert of(owners=("Grace",))["owners"] == ["Grace"]


def test_it_keeps_values_that_are_false() -> None:
    shown = of(name="", spare=Wheel(0))
    assert (shown["name"], shown["letters"], shown["inches"]) == ("", 0, 0)


def test_it_has_the_order_of_the_declaration_after_the_fields_of_order() -> None:
    shown = of(sold=NOON, owners=("Grace",), trailer=Wheel(10))
    assert list(shown) == [
        "name",
        "sold",
        "colour",
        "letters",
        "inches",
        "wheels",
        "owners",
        "colours",
        "trailer",
        "seller",
    ]


def test_given_values_replace_attributes_and_functions_in_any_order() -> None:
    given = {"letters": 7, **SELLER, "name": "Bo", "sold": NOON}
    shown = CarAnswer.of(CAR, **given)
    reordered = CarAnswer.of(CAR, **dict(reversed(given.items())))
    assert (shown["letters"], shown["name"], shown["sold"]) == (7, "Bo", "2026-11-21T12:00:00Z")
    assert list(reordered.items()) == list(shown.items())


def test_given_none_leaves_out_the_field() -> None:
    assert "seller" not in CarAnswer.of(CAR, seller=None)


def test_documents_that_are_no_answers_are_shown_as_they_are() -> None:
    links = [{"href": "https://ops.example.com", "rel": "self"}]
    shown = LentAnswer.of(CAR, loan={"to": "Grace"}, links=links)
    assert shown == {"name": "Ada", "loan": {"to": "Grace"}, "links": links}


def test_it_refuses_given_and_computed_values_without_a_field() -> None:
    class Wrong(Answer):
        computed = {"other": len}

        name = ShownText()

    with pytest.raises(TypeError, match="Wrong has no fields \\['other'\\]"):
        Wrong.of(CAR)
    with pytest.raises(TypeError, match="WheelAnswer has no fields \\['spokes'\\]"):
        WheelAnswer.of(Wheel(16), spokes=3)


def test_an_attribute_that_is_missing_is_an_error() -> None:
    with pytest.raises(AttributeError, match="seller"):
        CarAnswer.of(CAR)


def test_the_example_consists_of_the_examples_of_the_fields_in_order() -> None:
    wheel = {"inches": 16, "made": "2026-11-21T07:26:14Z"}
    assert list(CarAnswer.sample().items()) == [
        ("name", "Ada"),
        ("sold", "2026-11-21T07:26:14Z"),
        ("colour", "red"),
        ("inches", 15),
        ("wheels", [wheel]),
        ("owners", ["Grace"]),
        ("seller", "69201a2b3c4d5e6f70819203"),
    ]


def test_a_field_can_have_another_example_than_its_document() -> None:
    class Garage(Document):
        best = WheelAnswer(example={"inches": 20})
        others = WheelAnswer(many=True, example={"inches": 18})
        any = WheelAnswer()

    assert Garage.sample() == {
        "best": {"inches": 20},
        "others": [{"inches": 18}],
        "any": WheelAnswer.sample(),
    }


def test_the_example_of_links_names_the_path() -> None:
    assert LentAnswer.sample() == {"links": self_link("/cars/1")}
