"""Decides whether a host that is reachable is measured. Pure.

A report measures a host if it has a value of the host or of a database, and no problem. Times are times of
observation (docs/observations.md).
"""

from dataclasses import dataclass
from datetime import datetime

from automation.choices import HostType
from automation.reports import HostReport
from automation.rules.heartbeats import HEARTBEAT_TIMEOUT
from events.types import EventType

UNMEASURED_TIMEOUT = HEARTBEAT_TIMEOUT
"""A host that is reachable without a measurement for this long is not measured."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """Whether a host is measured.

    `unmeasured_since` is the first of the newest observations that reached the host and did not measure it;
    None if the newest observation measured the host or did not reach it, or if the host timed out.
    `not_measured`: that lasted for the timeout, and no report has measured the host since.
    """

    unmeasured_since: datetime | None = None
    not_measured: bool = False


def measures(report: HostReport) -> bool:
    """Whether the report measures the host."""
    return report.problem is None and report.sample_count > 0


def measuring_after(
    before: Measuring,
    report: HostReport,
    *,
    type_name: HostType,
    observed: datetime,
    is_monitoring: bool = True,
) -> Measuring:
    """Whether the host is measured after a report, which is its newest observation.

    `is_monitoring`: a monitoring agent reports. Other agents never measure, so their reports decide nothing.
    `type_name`: its type after the report. An arbiter has no users and no data, so nothing is expected of it.
    While a host is down, `not_measured` stays as it is: HOST_DOWN says why there are no measurements. The
    time without measurements starts again when the host is reachable again.
    """
    if not report.reachable:
        return Measuring(not_measured=before.not_measured)
    if not is_monitoring:
        return before
    if measures(report) or type_name is HostType.REPLICA_ARBITER:
        return Measuring()
    since = before.unmeasured_since
    # A stored time that is later was stored while a clock was ahead.
    if since is None or since > observed:
        since = observed
    return Measuring(since, not_measured=before.not_measured or observed - since >= UNMEASURED_TIMEOUT)


def measuring_event(before: Measuring, after: Measuring) -> EventType | None:
    """HOST_NOT_MEASURED when the condition starts, HOST_MEASURED when it ends, otherwise None."""
    if before.not_measured is after.not_measured:
        return None
    return EventType.HOST_NOT_MEASURED if after.not_measured else EventType.HOST_MEASURED


def since_late_report(
    unmeasured_since: datetime | None, report: HostReport, *, observed: datetime
) -> datetime | None:
    """Since when the host is not measured, after a report that is not the newest observation.

    It measured the host after the stored time, so the newest observations without a measurement began later.
    """
    if unmeasured_since is None or unmeasured_since >= observed or not measures(report):
        return unmeasured_since
    return observed
