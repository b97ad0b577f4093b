"""The inputs of the form, derived from the schemas of the API."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rest_framework import serializers

from opsapi.api.documents import Document
from opsapi.api.fields import Flag, ListOf, Number, OneOf, Text, Whole

Field = serializers.Field[Any, Any, Any, Any]


class InputKind(StrEnum):
    """How a value is entered; the values appear in the page."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"
    CHOICES = "choices"
    LINES = "lines"
    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret


@dataclass(frozen=True, slots=True)
class Input:
    """An input; `name` is the wire name.

    `choices` are the allowed values of a closed set. `ticked` is the initial value of a FLAG.
    """

    name: str
    kind: InputKind
    choices: tuple[str, ...] = ()
    ticked: bool = False


def inputs_of(
    document: Document, *, secrets: Iterable[str] = (), leave_out: Iterable[str] = ()
) -> tuple[Input, ...]:
    """The inputs for a document, in its order: every writable field, with some exceptions."""
    hidden, left_out = frozenset(secrets), frozenset(leave_out)
    return tuple(
        input_of(name, field, secret=name in hidden)
        for name, field in document.fields.items()
        if not field.read_only and name not in left_out
    )


def input_of(name: str, field: Field, *, secret: bool = False) -> Input:
    """The kind of input for a field."""
    kind = InputKind.SECRET if secret else _kind(field)
    return Input(name, kind, _choices(field), field.default is True)


def _kind(field: Field) -> InputKind:
    if isinstance(field, ListOf):
        return InputKind.LINES if isinstance(field.child, Text) else InputKind.CHOICES
    kinds = (
        (Flag, InputKind.FLAG),
        (OneOf, InputKind.CHOICE),
        (Whole, InputKind.WHOLE),
        (Number, InputKind.NUMBER),
    )
    return next((kind for form, kind in kinds if isinstance(field, form)), InputKind.TEXT)


def _choices(field: Field) -> tuple[str, ...]:
    asked = field.child if isinstance(field, ListOf) else field
    return tuple(asked.allowed) if isinstance(asked, OneOf) else ()
