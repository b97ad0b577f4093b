"""Maps refusals of the API to the inputs they concern."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from opsapi.api.errors import BadField

_LAST_STEP = re.compile(r"(\.[^.\[\]]*|\[[0-9]*\])$")


@dataclass(frozen=True, slots=True)
class InputFault:
    """An error and its input; None for the whole form."""

    name: str | None
    message: str


def faults_of(bad_fields: Iterable[BadField], names: Collection[str]) -> list[InputFault]:
    """Each refusal at the innermost input, part or row that contains its field."""
    return [InputFault(_nearest(field.field, names), _sentence(field)) for field in bad_fields]


def _nearest(field: str, names: Collection[str]) -> str | None:
    while field and field not in names:
        step = _LAST_STEP.search(field)
        field = field[: step.start()] if step else ""
    return field or None


def _sentence(bad: BadField) -> str:
    allowed = f" Allowed: {', '.join(bad.allowed)}." if bad.allowed else ""
    return f"{bad.message[:1].upper()}{bad.message[1:]}.{allowed}"
