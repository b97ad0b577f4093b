"""The alerts that a page of the list shows: the button that acknowledges all of them, and the undo.

A button names its alerts, so that it never acknowledges an alert that opened after the page was loaded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.admin.views.main import PAGE_VAR
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from alerting.incidents.inbox import InboxAlert, InboxIncident
from alerting.incidents.models import Alert
from opsapi.clock import wire_time

LISTED: Final = "listed"
"""The field with the IDs of alerts, separated by commas."""

NONE_LISTED: Final = "All of these alerts have changed since you loaded the list. Nothing was changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAlerts:
    """The alerts of a page that the operator can acknowledge. `is_all`: whether the list has no others."""

    ids: Sequence[str]
    is_all: bool

    @property
    def value(self) -> str:
        """The IDs, as LISTED has them."""
        return ",".join(self.ids)

    @property
    def words(self) -> str:
        """`all 3`, or `50 on this page`."""
        return f"all {len(self.ids)}" if self.is_all else f"{len(self.ids)} on this page"


def listed_alerts(rows: Iterable[InboxAlert | InboxIncident], *, is_only_page: bool) -> ListedAlerts | None:
    """Return what a button for all alerts of the page acknowledges; None for fewer than two alerts."""
    alerts = [alert for row in rows for alert in (row.alerts if isinstance(row, InboxIncident) else [row])]
    ids = [alert.alert.id for alert in alerts if alert.can_be_acknowledged]
    if len(ids) < 2:
        return None
    return ListedAlerts(ids=ids, is_all=is_only_page and len(ids) == len(alerts))


def listed_ids(request: HttpRequest) -> list[str]:
    """Return the IDs that a button sent, each once."""
    return [name for name in dict.fromkeys(request.POST.get(LISTED, "").split(",")) if name]


def without_page(query: str) -> str:
    """Return the query of the list without the number of the page: the list may have fewer pages now."""
    parameters = QueryDict(query, mutable=True)
    parameters.pop(PAGE_VAR, None)
    return parameters.urlencode()


def left_out_words(number: int) -> str:
    """Say that listed alerts were not changed, because they had changed since the page was loaded.

    Empty if there is none.
    """
    if not number:
        return ""
    alerts = "1 alert has" if number == 1 else f"{number} alerts have"
    return f"{alerts} changed since you loaded the list, and did not change now."


def ended_words(number: int) -> str:
    """Say that selected alerts were not changed, because they had ended. Empty if there is none."""
    if not number:
        return ""
    alerts = "1 selected alert has" if number == 1 else f"{number} selected alerts have"
    return f"{alerts} ended, and did not change."


def undo_button(alerts: Iterable[Alert], until: datetime) -> SafeString:
    """A button of the list that removes the acknowledgements of these alerts until this time."""
    html = (
        '<button type="submit" form="acknowledge-form" formaction="{}" name="{}" value="{}" '
        'class="inbox-undo">Undo</button>'
    )
    url = reverse("admin:alerting_alert_unacknowledge", args=[wire_time(until)])
    return format_html(html, url, LISTED, ",".join(alert.id for alert in alerts))
