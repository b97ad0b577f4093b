"""Arrays of references: each item must name an existing object, and no object twice. Pure."""

from collections.abc import Hashable, Iterable

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField


def refuse_unknown_and_repeated(
    named: Iterable[tuple[str, Hashable | None]], *, unknown: str = "does not exist"
) -> None:
    """Refuse references to unknown objects, with the message `unknown`, and repeated references.

    `named`: the references in order, each with the path of its field and the object, or None if unknown.

    Raises:
        ApiError: INVALID_ATTRIBUTE, with every wrong reference in `badFields`.
    """
    bad, seen = [], set[Hashable]()
    for path, target in named:
        if target is None or target in seen:
            message = unknown if target is None else "is given twice"
            bad.append(BadField(path, ErrorCode.INVALID_ATTRIBUTE, message))
        seen.add(target)
    if bad:
        raise ApiError.of_fields(bad)
