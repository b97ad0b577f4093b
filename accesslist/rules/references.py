"""Arrays whose items name something: each something that exists, and none what another names. Pure."""

from collections.abc import Hashable, Iterable

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField


def refuse_unknown_and_repeated(
    named: Iterable[tuple[str, Hashable | None]], *, unknown: str = "does not exist"
) -> None:
    """Refuse items that name nothing (None), with the message `unknown`, or what one before them names.

    `named` are the items in order: the path of the field that names, and what it names.

    Raises:
        ApiError: INVALID_ATTRIBUTE, with every such item in `badFields`.
    """
    bad, seen = [], set[Hashable]()
    for path, one in named:
        if one is None or one in seen:
            message = unknown if one is None else "is given twice"
            bad.append(BadField(path, ErrorCode.INVALID_ATTRIBUTE, message))
        seen.add(one)
    if bad:
        raise ApiError.of_fields(bad)
