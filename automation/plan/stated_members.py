"""The members that a document states in the section `replicaSets`, and the faults of the section. Pure.

No field is ignored: the plan refuses fields that it does not carry out, unless their value changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from automation.plan.set_moves import MOST_VOTERS
from automation.plan.values import GoalProcess, MemberConfig
from automation.plan.versions import SERIES, series
from automation.sections import Section, items, shortened, text

MOST_MEMBERS = 50
"""The maximum number of members of a replica set of MongoDB."""
MOST_PRIORITY = 1000
_LARGEST = 2**31 - 1
_MOST_FAULTS = 20
_SMALL_ID = 255
"""The largest `_id` of a member for servers before `_ANY_ID_SINCE`."""
_ANY_ID_SINCE = SERIES.index("5.0")
_OF_SET = ("_id", "members")
_CHANGE_NOTHING: Mapping[str, Sequence[Any]] = {
    "buildIndexes": (True,),
    "protocolVersion": (1, "1"),
    "settings": ({},),
    "slaveDelay": (0,),
    "tags": ({},),
}
"""Values of fields that are not carried out, as servers show them if nobody has set them."""


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # A number of JSON can have more digits than an integer should be computed of.
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return is_number and abs(value) <= _LARGEST


def _is_whole(value: Any) -> bool:
    return _is_number(value) and value == int(value) and value >= 0


_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "_id": (_is_whole, f"a whole number from 0 to {_LARGEST}"),
    "host": (lambda value: isinstance(value, str), "the name of a process with this replSetName"),
    "priority": (
        lambda value: _is_number(value) and 0 <= value <= MOST_PRIORITY,
        f"a number from 0 to {MOST_PRIORITY}",
    ),
    "votes": (lambda value: _is_number(value) and value in {0, 1}, "0 or 1"),
    "hidden": (_is_flag, "true or false"),
    "secondaryDelaySecs": (_is_whole, f"a whole number from 0 to {_LARGEST}"),
    "arbiterOnly": (_is_flag, "true or false"),
}
"""The fields of a member: whether a value is allowed, and the allowed values in words."""
_REQUIRED = ("_id", "host")


def stated_members(stated: Section) -> tuple[MemberConfig, ...]:
    """Return the members of a replica set. A value that is not allowed counts as left out."""
    return tuple(_member(member) for _, member in items(stated, "members"))


def _member(member: Section) -> MemberConfig:
    right = {name: member[name] for name in _FIELDS if member.get(name) is not None and _fits(member, name)}
    is_arbiter = right.get("arbiterOnly", False)
    return MemberConfig(
        process=right.get("host", ""),
        number=int(right.get("_id", -1)),
        priority=0.0 if is_arbiter else float(right.get("priority", 1)),
        votes=int(right.get("votes", 1)),
        is_hidden=right.get("hidden", False),
        delay=int(right.get("secondaryDelaySecs", 0)),
        is_arbiter=is_arbiter,
    )


def _fits(member: Section, name: str) -> bool:
    """Whether the value of a field is allowed. A field without a value is left out."""
    value = member.get(name)
    return name not in _REQUIRED if value is None else _FIELDS[name][0](value)


def set_faults(
    stated: Section, members: Sequence[MemberConfig], processes: Sequence[GoalProcess]
) -> list[str]:
    """Return the first faults that servers would refuse, or that the plan does not carry out."""
    return list(islice(_faults(stated, members, processes), _MOST_FAULTS))


def _faults(
    stated: Section, members: Sequence[MemberConfig], processes: Sequence[GoalProcess]
) -> Iterator[str]:
    listed = stated.get("members")
    if not isinstance(listed, list) or not members or len(members) < len(listed):
        yield "members must be a list of objects"
    yield from unknown_fields(stated, _OF_SET)
    names = {process.name for process in processes}
    for (at, member), config in zip(items(stated, "members"), members, strict=True):
        named = text(member, "host")
        place = f"members[{at}] ({shortened(named)})" if named else f"members[{at}]"
        yield from (f"{place}: {fault}" for fault in _member_faults(member, config, names))
    yield from _repeated("host", (member.process for member in members if member.process))
    yield from _repeated("_id", (member.number for member in members if member.number >= 0))
    yield from _large_ids(members, processes)
    if len(members) > MOST_MEMBERS:
        yield f"a replica set has at most {MOST_MEMBERS} members"
    if sum(member.votes for member in members) > MOST_VOTERS:
        yield f"at most {MOST_VOTERS} members vote"
    if not any(member.is_electable for member in members):
        yield "no member can become the primary"


def _member_faults(member: Section, config: MemberConfig, names: Iterable[str]) -> Iterator[str]:
    yield from unknown_fields(member, tuple(_FIELDS))
    wrong = [name for name in _FIELDS if not _fits(member, name)]
    if "host" not in wrong and config.process not in names:
        wrong.append("host")
    yield from (f"{name} must be {_FIELDS[name][1]}" for name in wrong)
    if wrong:
        return
    if config.is_arbiter:
        if config.votes != 1:
            yield "votes must be 1, because arbiterOnly is true"
        return
    causes = (
        (config.is_hidden, "hidden is true"),
        (config.delay > 0, f"secondaryDelaySecs is {config.delay}"),
        (config.votes == 0, "votes is 0"),
    )
    why = " and ".join(words for applies, words in causes if applies)
    if why and config.priority > 0:
        yield f"priority must be 0, because {why}"


def unknown_fields(stated: Section, allowed: Sequence[str]) -> Iterator[str]:
    """The fields of a part of the section that the plan does not carry out, with the allowed fields."""
    others = [
        shortened(name)
        for name, value in stated.items()
        if name not in allowed and value is not None and value not in _CHANGE_NOTHING.get(name, ())
    ]
    if others:
        yield f"the plan does not carry out {', '.join(others)}: allowed are {', '.join(allowed)}"


def _repeated(field: str, values: Iterable[object]) -> Iterator[str]:
    for value, count in Counter(values).items():
        if count > 1:
            yield f"two members have the same {field}: {value}"


def _large_ids(members: Iterable[MemberConfig], processes: Iterable[GoalProcess]) -> Iterator[str]:
    """Servers before 5.0 refuse members with a large `_id`."""
    old = [p.version for p in processes if (place := series(p.version)) is not None and place < _ANY_ID_SINCE]
    for member in members if old else ():
        if member.number > _SMALL_ID:
            yield f"the _id of {member.process} must be at most {_SMALL_ID}, because a version is {old[0]}"
