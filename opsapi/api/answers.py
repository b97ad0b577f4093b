"""Answers: documents that show an object of the code.

An answer declares each field once. The declaration is used in two directions:

    object → `source` or `computed` → `of`: responses
    `example` → `sample`: the OpenAPI document
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from rest_framework import serializers

from opsapi.api.documents import Document
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject

_Field = serializers.Field[Any, Any, Any, Any]
_Write = Callable[[Any], Any]


class Answer(Document):
    """A document that shows an object: a field shows the attribute that its `source` names.

    A source with dots is a path of attributes. `computed`: functions of the object, for the fields that are
    no attribute. Texts, enums and times are written as the API shows them. An answer in a field shows the
    object, or the objects, of the attribute, unless they are documents already.

    A field is left out if its value is None. An optional array is also left out if it is empty.
    `answer_order` names the fields that come first, if an answer has another order than the example.
    """

    computed: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    answer_order: ClassVar[Sequence[str]] = ()

    @classmethod
    def of(cls, item: Any, **given: Any) -> JsonObject:
        """Return the document of an object. `given`: the values of fields that the object does not have."""
        read, steps = _compiled(cls, tuple(given))
        values = (*read(item), *given.values()) if given else read(item)
        document = {}
        for name, place, write in steps:
            value = values[place]
            if value is not None:
                value = value if write is None else write(value)
                if value is not None:
                    document[name] = value
        return document


@cache
def _compiled(
    answer: type[Answer], given: tuple[str, ...]
) -> tuple[Callable[[Any], tuple[Any, ...]], list[tuple[str, int, _Write | None]]]:
    """Return how to read an object, and for each field the place of its value and how to write it."""
    in_order = answer.in_order()
    fields = {**{name: in_order[name] for name in answer.answer_order}, **in_order}
    unknown = {*given, *answer.computed} - fields.keys()
    if unknown:
        raise TypeError(f"{answer.__name__} has no fields {sorted(unknown)}")
    computed = [name for name in answer.computed if name not in given]
    named = [name for name in fields if name not in given and name not in answer.computed]
    places = {name: place for place, name in enumerate([*named, *computed, *given])}
    steps = [(name, places[name], _writing(field)) for name, field in fields.items()]
    return _reading(
        [str(fields[name].source) for name in named], [answer.computed[name] for name in computed]
    ), steps


def _reading(sources: list[str], functions: list[Callable[[Any], Any]]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads the attributes and calls the functions; attrgetter alone is fastest."""
    getters: list[Callable[[Any], Any]] = [*map(attrgetter, sources), *functions]
    if len(sources) < 2:
        return lambda item: tuple([read(item) for read in getters])
    attributes = attrgetter(*sources)
    if not functions:
        return attributes
    return lambda item: (*attributes(item), *[read(item) for read in functions])


def _writing(field: _Field) -> _Write | None:
    """Return how a value of the field is written; None if it is a value of JSON already."""
    if isinstance(field, Answer):
        of = type(field).of
        return lambda item: item if type(item) is dict else of(item)
    if isinstance(field, serializers.DateTimeField):
        return wire_time
    if isinstance(field, (serializers.ChoiceField, serializers.CharField)):
        return str
    if isinstance(field, (serializers.ListField, serializers.ListSerializer)):
        return _writing_items(field)
    return None


def _writing_items(field: Any) -> _Write:
    write = _writing(field.child)
    if not field.required:
        return lambda items: [item if write is None else write(item) for item in items] or None
    return list if write is None else lambda items: [write(item) for item in items]
