"""Maintenance windows as the API shows and accepts them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rest_framework import serializers

from alerting.budgets import CutReason
from alerting.configs.condition_documents import MatcherDocument
from alerting.configs.matchers import MatcherField, window_fields_for
from alerting.incidents.resource import AlertDocument
from alerting.incidents.store import alert_rows
from alerting.windows.muted_rows import MOST_NAMED
from alerting.windows.previews import MOST_OCCURRENCES, SECONDS, WindowPreview
from alerting.windows.recurrence import (
    MAX_RRULE_LENGTH,
    normal_rrule,
    normal_time_zone,
    parse_rrule,
    recurrence_fault,
    recurrence_of,
    time_zone,
)
from automation.hosts.resource import HostDocument
from automation.hosts.store import hosts_of
from events.types import ALERT_CATEGORIES, Category
from opsapi.api.answers import Answer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import ANOTHER_ID, Document, LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import (
    DateTime,
    ListOf,
    OneOf,
    ShownChoice,
    ShownId,
    ShownNumber,
    ShownTime,
    Text,
    VisibleText,
    without_margins,
)
from opsapi.api.links import Links
from opsapi.api.resources import Resource
from opsapi.clock import parse_time
from opsapi.wire_json import JsonObject

ENDS_TOO_EARLY = BadField(
    "endDate", ErrorCode.MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE, "must be later than startDate"
)

MOST_WINDOW_MATCHERS = 10
"""Fewer than a configuration has, because delivery compares each message with all windows of its project."""


class WindowMatcherDocument(MatcherDocument):
    """One rule on the field of a target, or on the labels of its hosts."""

    fieldName = OneOf([field.value for field in MatcherField])


class _RRule(Text):
    """A rule, in the form in which it is stored."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        return normal_rrule(super().run_validation(without_margins(data)))


class _TimeZone(Text):
    """The name of a time zone, as spelled in the time zone database."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        return normal_time_zone(super().run_validation(data))


class RecurrenceDocument(Document):
    """How a window repeats: both fields. In a request, an empty object means that the window occurs once."""

    rrule = _RRule(
        max_length=MAX_RRULE_LENGTH,
        required=False,
        help_text="RRULE of RFC 5545, section 3.3.10, with FREQ, INTERVAL, COUNT, UNTIL, WKST and BYDAY; "
        "if FREQ is MONTHLY or YEARLY, also with BYMONTHDAY and BYMONTH. FREQ is DAILY, WEEKLY, MONTHLY or "
        "YEARLY. It can begin with `RRULE:`, and is stored in upper case, without `RRULE:`.",
        example="FREQ=WEEKLY;BYDAY=SU",
    )
    timeZone = _TimeZone(
        max_length=64,
        required=False,
        help_text="Name in the IANA time zone database; every occurrence starts at the same time there.",
        example="Europe/Berlin",
    )

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Both parts are given and known, or none."""
        for name, parse in (("rrule", parse_rrule), ("timeZone", time_zone)):
            if name in values:
                try:
                    parse(values[name])
                except ValueError as error:
                    yield BadField(name, ErrorCode.INVALID_ATTRIBUTE, str(error))
            elif (values or bad) and name not in bad:
                yield BadField(name, ErrorCode.MISSING_ATTRIBUTE, "is required")


class WindowDocument(Resource):
    """A maintenance window: from startDate until before endDate, its alert types notify nobody."""

    path = "/groups/{groupId}/maintenanceWindows/{id}"
    relations = {"group": "/groups/{groupId}"}
    refusals = (ErrorCode.MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE,)

    id = ShownId(read_only=True)
    groupId = ShownId(source="group_id", read_only=True, example=ANOTHER_ID)
    created = ShownTime(read_only=True)
    updated = ShownTime(read_only=True)
    startDate = DateTime(
        source="start",
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_START_DATE,
        help_text="Inclusive; can be in the past.",
        example="2026-11-29T01:00:00Z",
    )
    endDate = DateTime(
        source="end",
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_END_DATE,
        help_text="Exclusive; must be later than startDate.",
        example="2026-11-29T03:00:00Z",
    )
    alertTypeNames = ListOf(
        OneOf([category.value for category in ALERT_CATEGORIES]),
        source="alert_types",
        unique=True,
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME,
        help_text="Categories of event types, without duplicates.",
        example=[Category.HOST.value, Category.REPLICA_SET.value],
    )
    recurrence = RecurrenceDocument(
        required=False,
        help_text="If left out, the window occurs once; otherwise startDate and endDate are its first "
        "occurrence.",
    )
    matchers = ListOf(
        WindowMatcherDocument(),
        max_length=MOST_WINDOW_MATCHERS,
        clearable=True,
        required=False,
        help_text="If left out, the window mutes all targets; otherwise only targets that match all "
        "matchers. Each field must be a field of all alertTypeNames. LABEL compares each label that the host "
        "has now, as name=value; a replica set or cluster matches if all its hosts do.",
    )
    description = VisibleText(max_length=1000, single_line=False, required=False, example="new disks")
    links = LinkDocument(many=True, read_only=True)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """The window ends after it starts, and its other fields fit, whichever of them are stored already."""
        stored = self.context.get("stored") or {}
        yield from window_faults(
            start=None if "startDate" in bad else values.get("start") or _moment(stored.get("startDate")),
            end=None if "endDate" in bad else values.get("end") or _moment(stored.get("endDate")),
            alert_types=values.get("alert_types") or stored.get("alertTypeNames", ()),
            recurrence=None if "recurrence" in bad else values.get("recurrence", stored.get("recurrence")),
            matchers=() if "matchers" in bad else values.get("matchers", stored.get("matchers")),
        )


class WindowChange(WindowDocument):
    """A change of a window; missing fields stay."""

    is_change = True


class OccurrenceDocument(Answer):
    """One period of a window."""

    startDate = ShownTime(source="start")
    endDate = ShownTime(source="end", help_text="Exclusive.")


class MutedHostsDocument(Document):
    """The muted hosts, by name."""

    totalCount = ShownNumber(help_text="Number of all muted hosts.", example=1)
    results = HostDocument(many=True, help_text=f"The first {MOST_NAMED}.")


class MutedAlertsDocument(Document):
    """The open alerts that the window mutes during its occurrences, newest first."""

    totalCount = ShownNumber(help_text="Number of all these alerts.", example=1)
    results = AlertDocument(many=True, help_text=f"The first {MOST_NAMED}.")


class PreviewCutDocument(Answer):
    """How far a preview came before its time was over. `hosts` and `alerts` count only what was compared."""

    computed = {"reason": lambda _: CutReason.TIME}

    reason = ShownChoice([CutReason.TIME.value], example=CutReason.TIME.value)
    comparedHosts = ShownNumber(
        source="hosts.compared",
        required=False,
        help_text="Absent if all hosts were compared.",
        example=4000,
    )
    comparedAlerts = ShownNumber(
        source="alerts.compared",
        required=False,
        help_text="Absent if all open alerts were compared.",
        example=12,
    )


class WindowPreviewDocument(Answer):
    """The effect of a window that is not saved."""

    computed = {"truncated": lambda preview: None if preview.is_complete else preview}

    occurrences = OccurrenceDocument(
        many=True, help_text=f"The occurrences that have not ended, at most {MOST_OCCURRENCES}."
    )
    gaps = OccurrenceDocument(
        many=True,
        required=False,
        help_text="The gaps that changes of the clock leave during a year between two occurrences that "
        "follow each other without a break by the local clock. Absent if there are none.",
    )
    truncated = PreviewCutDocument(
        required=False,
        help_text=f"Absent if the preview is complete. With matchers, a preview ends after {SECONDS:g} s.",
    )
    hosts = MutedHostsDocument(help_text="None if HOST is not among alertTypeNames.")
    alerts = MutedAlertsDocument()

    @classmethod
    def of_group(cls, preview: WindowPreview, links: Links, *, group_id: str, now: datetime) -> JsonObject:
        """Return a preview with the first hosts and alerts of the project, read now."""
        rows = HostDocument.rows(hosts_of(group_id).filter(id__in=preview.hosts.ids))
        hosts = [HostDocument.present(HostDocument.facts(row), links) for row in rows]
        alert_facts = alert_rows(preview.alerts.ids)
        alerts = [
            AlertDocument.present(alert_facts[alert_id], links, now=now)
            for alert_id in preview.alerts.ids
            if alert_id in alert_facts
        ]
        return cls.of(
            preview,
            hosts={"totalCount": preview.hosts.count, "results": hosts},
            alerts={"totalCount": preview.alerts.count, "results": alerts},
        )


def window_faults(
    *,
    start: datetime | None,
    end: datetime | None,
    alert_types: Iterable[str],
    recurrence: Mapping[str, str] | None,
    matchers: Sequence[Mapping[str, str]] | None,
) -> Iterator[BadField]:
    """Yield the faults between the valid fields of a window; a field that is missing or invalid is None."""
    if start and end:
        if end <= start:
            yield ENDS_TOO_EARLY
        elif recurrence and (fault := recurrence_fault(start, end, recurrence_of(recurrence))):
            yield BadField(fault[0], ErrorCode.INVALID_ATTRIBUTE, fault[1])
    for category in map(Category, alert_types):
        allowed = [field.value for field in window_fields_for(category)]
        if matchers and not allowed:
            message = (
                f"{category.value} alerts have no fields to match: only HOST, REPLICA_SET and CLUSTER do"
            )
            yield BadField("matchers", ErrorCode.INVALID_ATTRIBUTE, message)
            continue
        for place, matcher in enumerate(matchers or ()):
            if matcher["fieldName"] not in allowed:
                yield BadField(
                    f"matchers[{place}].fieldName",
                    ErrorCode.INVALID_ENUM_VALUE,
                    f"is not a field of {category.value} alerts",
                    allowed,
                )


def _moment(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
