"""The recurrence and the targets of a window as people type them, and as its document has them. Pure."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from alerting.configs.matchers import matched_hosts
from alerting.windows.recurrence import WEEKDAYS
from opsapi.time_zones import UTC_NAME

_WEEKLY = re.compile(rf"FREQ=WEEKLY(?:;BYDAY=((?:{'|'.join(WEEKDAYS)})(?:,(?:{'|'.join(WEEKDAYS)}))*))?")


class Repeat(StrEnum):
    """How a window repeats, as people choose it."""

    ONCE = "ONCE"
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    RULE = "RULE"


REPEAT_WORDS: Mapping[Repeat, str] = {
    Repeat.ONCE: "Does not repeat",
    Repeat.DAILY: "Every day",
    Repeat.WEEKLY: "Every week",
    Repeat.RULE: "Custom rule",
}


def recurrence_typed(repeat: str, weekdays: Sequence[str], rrule: str, zone: str) -> dict[str, str]:
    """Return the recurrence of a request; empty for a window that occurs once."""
    match Repeat(repeat or Repeat.ONCE):
        case Repeat.ONCE:
            return {}
        case Repeat.DAILY:
            rule = "FREQ=DAILY"
        case Repeat.WEEKLY:
            rule = "FREQ=WEEKLY" + (f";BYDAY={','.join(weekdays)}" if weekdays else "")
        case Repeat.RULE:
            rule = rrule
    return {"rrule": rule, "timeZone": zone}


def recurrence_shown(recurrence: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the inputs that a stored recurrence fills in."""
    if not recurrence:
        return {"repeat": Repeat.ONCE.value, "timeZone": UTC_NAME}
    rule, zone = recurrence["rrule"], {"timeZone": recurrence["timeZone"]}
    if rule == "FREQ=DAILY":
        return {"repeat": Repeat.DAILY.value, **zone}
    if weekly := _WEEKLY.fullmatch(rule):
        days = weekly[1].split(",") if weekly[1] else []
        return {"repeat": Repeat.WEEKLY.value, "weekdays": days, **zone}
    return {"repeat": Repeat.RULE.value, "rrule": rule, **zone}


def matchers_shown(matchers: Sequence[Mapping[str, str]] | None) -> dict[str, Any]:
    """Return the inputs that stored matchers fill in: the hosts on lines, and the other matchers.

    A matcher of hosts that lines cannot show, such as of a host that it names twice, is shown as it is.
    """
    stored = list(matchers or ())
    hosts = matched_hosts(stored[0]) if stored else []
    if len(set(hosts)) < len(hosts) or any(not host or host != host.strip() for host in hosts):
        hosts = []
    return {"hosts": "\n".join(hosts), "matchers": stored[1:] if hosts else stored}


def matcher_lines(matchers: Sequence[Mapping[str, str]] | None) -> list[str]:
    """Return the hosts and the other matchers in words."""
    inputs = matchers_shown(matchers)
    others = (
        f"{matcher['fieldName']} {matcher['operator']} {matcher['value']}" for matcher in inputs["matchers"]
    )
    return [*inputs["hosts"].splitlines(), *others]


def in_zone(text: str, zone: str) -> str:
    """Return a local time of a picker as a time with its zone; another text as it is."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=ZoneInfo(zone)).isoformat()
    return text


def local_time(moment: datetime, zone: str) -> str:
    """Return a time as pickers show it."""
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M:%S}"
