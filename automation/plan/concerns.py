"""Default read and write concerns: as a document states them, and as a server says them. Pure.

Both are JSON texts by the names of the fields, so that equal values have equal texts. A default write concern
without `w` has 1, and without `wtimeout` has 0, as servers complete it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from automation.plan.values import GoalProcess, MemberConfig, Settings
from automation.plan.versions import SERIES, series
from automation.sections import Section, section

CONCERN = "defaultRWConcern"
"""The field of a process."""
READ, WRITE = "defaultReadConcern", "defaultWriteConcern"
CONCERNS_SINCE, IMPLIED_SINCE = SERIES.index("4.4"), SERIES.index("5.0")
"""The feature compatibility versions since which a replica set has default concerns, and since which servers
refuse a change of the members that changes the default write concern that the members imply."""
_LEVELS = frozenset({"available", "local", "majority"})
_SET = frozenset({None, "global"})
"""The source of a concern that somebody has set. Servers before 5.0 name no source, and have no others."""
_LARGEST = 2**31 - 1


def stated_concern(process: Section) -> Settings:
    """The default concerns that a process of the document states."""
    stated = section(process, CONCERN)
    read, write = section(stated, READ), section(stated, WRITE)
    texts = {}
    if read.get("level") is not None:
        texts[READ] = _text({"level": read["level"]})
    if any(write.get(name) is not None for name in ("w", "j", "wtimeout")):
        texts[WRITE] = _write(write, w=_count(write.get("w")))
    return texts


def set_concern(answer: Mapping[str, Any]) -> Settings:
    """The default concerns that somebody has set, of the answer of a server that computes the others."""
    texts = {}
    for name in (READ, WRITE):
        said = answer.get(name)
        if isinstance(said, Mapping) and said and answer.get(f"{name}Source") in _SET:
            texts[name] = _write(said, w=said.get("w")) if name == WRITE else _text(dict(said))
    return texts


def united_concern(
    processes: Sequence[GoalProcess], members: Sequence[MemberConfig] | None
) -> tuple[Settings, str]:
    """The default concerns of a replica set, and why they cannot be carried out; empty if they can.

    `members`: the members of the section replicaSets, if it states them.
    """
    united: dict[str, str] = {}
    for process in processes:
        for name, text in process.concern.items():
            if united.setdefault(name, text) != text:
                return {}, f"the processes of the replica set state different values of {name}"
    places = [series(process.feature_version) for process in processes]
    if united and any(place is not None and place < CONCERNS_SINCE for place in places):
        return {}, f"it needs featureCompatibilityVersion {SERIES[CONCERNS_SINCE]} or newer"
    fault = next(_faults(united, members), "")
    return ({}, fault) if fault else (united, "")


def _faults(united: Settings, members: Sequence[MemberConfig] | None) -> Iterator[str]:
    """Values that servers refuse, or with which no write would end."""
    level = str(json.loads(united.get(READ, "{}")).get("level", "local"))
    if level not in _LEVELS:
        yield f"a default read concern cannot have the level {level}"
    write = json.loads(united.get(WRITE, "{}"))
    w, data = write.get("w"), sum(not member.is_arbiter for member in members or ())
    if isinstance(w, int) and w < 1:
        yield "a default write concern needs a w from 1"
    elif isinstance(w, int) and members is not None and w > data:
        yield f"its w is {w}, and the section replicaSets states {data} members with data"
    if write.get("wtimeout", 0) < 0:
        yield f"a default write concern needs a wtimeout from 0 to {_LARGEST}"


def implies_majority(members: Sequence[MemberConfig]) -> bool:
    """Whether these members imply a majority as the default write concern, or 1.

    With arbiters, a majority can elect a primary while too few members have data to acknowledge a write.
    """
    voters = [member for member in members if member.votes > 0]
    data = sum(not member.is_arbiter for member in voters)
    return data == len(voters) or data > len(voters) // 2 + 1


def needed_members(concern: Settings) -> int:
    """The number of members with data that acknowledge each write; 0 if the concern names no number."""
    w = json.loads(concern.get(WRITE, "{}")).get("w")
    return w if isinstance(w, int) else 0


def _write(said: Section, *, w: Any) -> str:
    given = {} if said.get("j") is None else {"j": said["j"]}
    return _text({"w": 1 if w is None else w, "wtimeout": _whole(said.get("wtimeout") or 0), **given})


def _count(w: Any) -> Any:
    """The w of a document, in which a number can be a text of digits."""
    if isinstance(w, str) and w.isascii() and w.isdecimal():
        w = int(w) if len(w.lstrip("0")) < len(str(_LARGEST)) else -1
    return _whole(w) if isinstance(w, (int, float, Decimal)) else w


def _whole(number: Any) -> int:
    """The whole number that a server makes of it; -1 if it is no number, or too large."""
    is_number = isinstance(number, (int, float, Decimal)) and not isinstance(number, bool)
    return int(number) if is_number and abs(number) <= _LARGEST else -1


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, default=str)
