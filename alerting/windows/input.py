"""The recurrence and the targets of a window as people type them, and as its document has them. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from alerting.configs.matchers import matched_hosts
from alerting.windows.recurrence import WEEKDAYS
from events.types import Category
from opsapi.clock import typed_time
from opsapi.time_zones import UTC_NAME, in_zone, local_time

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
    """Return the inputs that a stored recurrence fills in; without one, the time zone is not known."""
    if not recurrence:
        return {"repeat": Repeat.ONCE.value}
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


def only_hosts(matchers: Sequence[Mapping[str, str]] | None) -> list[str]:
    """Return the hosts, if the matchers only name hosts."""
    inputs = matchers_shown(matchers)
    return [] if inputs["matchers"] else inputs["hosts"].splitlines()


def matcher_lines(matchers: Sequence[Mapping[str, str]] | None) -> list[str]:
    """Return the hosts and the other matchers in words."""
    inputs = matchers_shown(matchers)
    others = (
        f"{matcher['fieldName']} {matcher['operator']} {matcher['value']}" for matcher in inputs["matchers"]
    )
    return [*inputs["hosts"].splitlines(), *others]


def zone_for(moments: Iterable[datetime], zone: str) -> str:
    """Return the zone, or UTC if a local time would mean another time: the clock is set back then."""
    is_clear = all(
        datetime.fromisoformat(in_zone(local_time(at, zone), zone)) == at.replace(microsecond=0)
        for at in moments
    )
    return zone if is_clear else UTC_NAME


class WindowPreset(StrEnum):
    """What a new window is often for."""

    HOUR = "hour"
    TONIGHT = "tonight"
    SUNDAYS = "sundays"


PRESET_WORDS: Mapping[WindowPreset, str] = {
    WindowPreset.HOUR: "1 h from now",
    WindowPreset.TONIGHT: "Tonight",
    WindowPreset.SUNDAYS: "Sundays 02–04",
}
_EVENING, _MORNING = time(22), time(6)
_SUNDAY = 6


def preset_inputs(preset: WindowPreset, now: datetime, zone: str) -> dict[str, Any]:
    """Return the inputs of a preset, in local time; alerts of hosts and replica sets."""
    here = now.astimezone(ZoneInfo(zone)).replace(second=0, microsecond=0, tzinfo=None)
    begins, ends = _preset_times(preset, here)
    inputs = {
        "startDate": typed_time(begins),
        "endDate": typed_time(ends),
        "timeZone": zone,
        "alertTypeNames": [Category.HOST.value, Category.REPLICA_SET.value],
    }
    weekly = {"repeat": Repeat.WEEKLY.value, "weekdays": ["SU"]}
    return inputs | (weekly if preset is WindowPreset.SUNDAYS else {})


def _preset_times(preset: WindowPreset, here: datetime) -> tuple[datetime, datetime]:
    """The local start and end; a night that has begun starts now."""
    today, day = here.date(), timedelta(days=1)
    match preset:
        case WindowPreset.HOUR:
            return here, here + timedelta(hours=1)
        case WindowPreset.TONIGHT if here.time() < _MORNING:
            return here, datetime.combine(today, _MORNING)
        case WindowPreset.TONIGHT:
            evening = datetime.combine(today, _EVENING)
            return max(here, evening), datetime.combine(today + day, _MORNING)
        case WindowPreset.SUNDAYS:
            ahead = (_SUNDAY - today.weekday()) % 7
            sunday = datetime.combine(today + ahead * day, time(2))
            sunday += timedelta(weeks=1) if sunday < here else timedelta()
            return sunday, sunday + timedelta(hours=2)
