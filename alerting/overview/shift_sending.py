"""Sending the shift report of a project to one of its services."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.http import urlencode

from alerting.configs.notification_tests import report_send
from alerting.engine.messages import message_of_report, with_report
from alerting.overview.shift_report import ShiftReport
from events.models import Event
from integrations.channels import CHANNELS
from integrations.channels.outcome import Outcome
from integrations.choices import ChannelType, DeliveryStatus
from integrations.messages import Message
from integrations.models import Integration
from opsapi.api.principal import Actor, VisibleScope
from opsapi.clock import wire_time
from opsapi.first_rows import in_visible_scope
from opsapi.page_paths import CONSOLE_PATH

PATH = f"{CONSOLE_PATH}shift-report/"


@dataclass(frozen=True, slots=True)
class SentReport:
    """The outcome, and how many rows of a section were sent at most; `is_cut`: some section has more."""

    outcome: Outcome
    rows: int
    is_cut: bool

    @property
    def is_delivered(self) -> bool:
        return self.outcome.status is DeliveryStatus.DELIVERED


def report_services(visible_scope: VisibleScope) -> Iterator[Integration]:
    """The services in reach whose messages can be a report, by project.

    Services that keep an alert open until it ends take no reports.
    """
    rows = in_visible_scope(Integration.objects.filter(group__deleted=None), visible_scope)
    for row in rows.select_related("group").defer("secrets").order_by("group__name", "group_id", "type"):
        channel = CHANNELS.get(ChannelType(row.type))
        if channel and channel.shows_report and not channel.tracks_alerts(row.fields):
            yield row


def shift_report_send(
    service: Integration, report: ShiftReport, *, actor: Actor, now: datetime
) -> SentReport:
    """Send the report of the project of a service, with as many rows as a message of the service can have.

    Raises:
        ApiError: RATE_LIMITED, GROUP_NOT_FOUND, as `report_send`.
    """
    channel, rows = CHANNELS[ChannelType(service.type)], report.most_rows
    query = urlencode({"since": wire_time(report.since), "project": service.group_id})

    def message_of(event: Event, config: Mapping[str, str]) -> Message:
        nonlocal rows
        bare = message_of_report(event, title=report.title, path=f"{PATH}?{query}", now=now)

        def is_too_long(most: int) -> bool:
            message = with_report(bare, report.lines(most))
            return not (channel.shows_report and channel.shows_report(config, message))

        # One less than the first number of rows that is too long; the titles are always sent.
        rows = max(0, bisect_left(range(rows + 1), True, key=is_too_long) - 1)
        return with_report(bare, report.lines(rows))

    outcome = report_send(
        group_id=service.group_id, channel=channel.type, message_of=message_of, actor=actor, now=now
    )
    is_cut = any(section.more_than(min(rows, len(section.rows))) for section in report.sections)
    return SentReport(outcome, rows, is_cut)
