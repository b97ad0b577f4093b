"""Maintenance windows as the API shows and accepts them."""

from collections.abc import Iterable
from datetime import datetime

from events.types import ALERT_CATEGORIES, Category
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import ANOTHER_ID, LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import DateTime, ListOf, OneOf, ShownId, ShownTime, VisibleText
from opsapi.api.resources import Resource
from opsapi.clock import parse_time

ENDS_TOO_EARLY = BadField(
    "endDate", ErrorCode.MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE, "must be later than startDate"
)


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
        example="2026-11-28T22:00:00Z",
    )
    endDate = DateTime(
        source="end",
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_END_DATE,
        help_text="Exclusive; must be later than startDate.",
        example="2026-11-29T02:00:00Z",
    )
    alertTypeNames = ListOf(
        OneOf([category.value for category in ALERT_CATEGORIES]),
        source="alert_types",
        unique=True,
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME,
        help_text="Categories of event types, without duplicates.",
        example=[Category.HOST.value, Category.REPLICA_SET.value],
    )
    description = VisibleText(max_length=1000, single_line=False, required=False, example="new disks")
    links = LinkDocument(many=True, read_only=True)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """The window ends after it starts, whichever of the two is stored already."""
        if bad & {"startDate", "endDate"}:
            return
        stored = self.context.get("stored") or {}
        start = values.get("start") or _moment(stored.get("startDate"))
        end = values.get("end") or _moment(stored.get("endDate"))
        if start and end and end <= start:
            yield ENDS_TOO_EARLY


class WindowChange(WindowDocument):
    """A change of a window; missing fields stay."""

    is_change = True


def _moment(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
