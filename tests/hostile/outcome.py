"""What comes of a call that may refuse."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


def outcome(call: Callable[[], T], refusal: type[E]) -> tuple[T | None, E | None]:
    """What the call returned, or the refusal it raised; any other error passes."""
    try:
        return call(), None
    except refusal as error:
        return None, error
