"""Maintenance windows as the API shows and accepts them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rest_framework import serializers

from alerting.selectors.windows import WindowRow, window_facts
from alerting.services.windows import ENDS_TOO_EARLY
from events.types import ALERT_CATEGORIES, Category
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import BadField
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import ListOf, Moment, OneOf, VisibleText
from opsapi.api.links import Links
from opsapi.clock import parse_time

_CATEGORIES = [one.value for one in ALERT_CATEGORIES]
_LONGEST_DESCRIPTION = 1000


class WindowDocument(Document):
    """A maintenance window: from startDate on, and no more at endDate, its alert types are told to nobody."""

    refusals = (ErrorCode.MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE,)
    example = {
        "id": AN_ID,
        "groupId": ANOTHER_ID,
        "created": A_TIME,
        "updated": A_TIME,
        "startDate": "2026-11-28T22:00:00Z",
        "endDate": "2026-11-29T02:00:00Z",
        "alertTypeNames": [Category.HOST.value, Category.REPLICA_SET.value],
        "description": "new disks",
        "links": self_link(f"/groups/{ANOTHER_ID}/maintenanceWindows/{AN_ID}"),
    }

    id = serializers.CharField(read_only=True)
    groupId = serializers.CharField(read_only=True)
    created = serializers.DateTimeField(read_only=True)
    updated = serializers.DateTimeField(read_only=True)
    startDate = Moment(
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_START_DATE,
        help_text="Inclusive; can be in the past.",
    )
    endDate = Moment(
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_END_DATE,
        help_text="Exclusive; must be later than startDate.",
    )
    alertTypeNames = ListOf(
        OneOf(_CATEGORIES),
        unique=True,
        missing_code=ErrorCode.MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME,
        help_text="Categories of event types, without duplicates.",
    )
    description = VisibleText(max_length=_LONGEST_DESCRIPTION, single_line=False, required=False)
    links = LinkDocument(many=True, read_only=True)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """It ends after it starts, whichever of the two is stored already."""
        if bad & {"startDate", "endDate"}:
            return
        start, end = self._moment("startDate", values), self._moment("endDate", values)
        if start and end and end <= start:
            yield ENDS_TOO_EARLY

    def _moment(self, name: str, values: Mapping[str, Any]) -> datetime | None:
        stored = (self.context.get("stored") or {}).get(name)
        moment: datetime | None = values.get(name)
        return moment or (parse_time(stored) if stored else None)


class WindowChange(WindowDocument):
    """What changes a window; what is left out stays."""

    startDate = Moment(required=False, help_text="Inclusive; can be in the past.")
    endDate = Moment(required=False, help_text="Exclusive; must be later than startDate.")
    alertTypeNames = ListOf(
        OneOf(_CATEGORIES),
        unique=True,
        required=False,
        help_text="Categories of event types, without duplicates.",
    )


def present_window(row: WindowRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A maintenance window."""
    group = f"/groups/{row['group_id']}"
    relations = {"group": group} if alone else {}
    path = f"{group}/maintenanceWindows/{row['id']}"
    return {**window_facts(row), "links": links.related(path, relations)}
