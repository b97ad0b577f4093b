"""Alerts on the page of a host, and the maintenance window of hosts that are selected in their list."""

from collections.abc import Sequence
from datetime import datetime

from alerting.access import WRITE
from alerting.models import Alert
from alerting.presentation import alert_cells
from alerting.rules.matchers import MAX_REGEX_LENGTH, hosts_matcher
from alerting.selectors.alert_order import active_first_rows
from alerting.selectors.alert_search import alerts_matching
from alerting.selectors.windows import muting_windows
from automation.models import Host
from events.types import Category
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import LinkOfRows
from opsapi.console.admin_urls import add_url_named, list_url
from opsapi.console.widgets import Cell, Panel
from opsapi.first_rows import in_visible_scope


def alerts_of_host(visible_scope: VisibleScope, host: Host, now: datetime) -> Panel:
    """Its open and pending alerts, in the usual order."""
    of_project = in_visible_scope(Alert.objects.filter(group=host.group_id), visible_scope)
    found = active_first_rows(alerts_matching(of_project, str(host), visible_scope=visible_scope), now=now)
    muted = muting_windows(found.rows, now=now)
    of_host: dict[str, str] = {"q": str(host), "group__id__exact": host.group_id}
    all_alerts = Cell("All alerts of this host", list_url(Alert, **of_host))
    return Panel(
        name="alerts",
        title="Open alerts",
        unit="open alerts",
        headers=["Alert", "Status", "Age"],
        rows=[alert_cells(row, now, is_muted=row.id in muted) for row in found.rows],
        count=found.count,
        url=list_url(Alert, status="active", **of_host),
        empty="No open alerts about this host.",
        remedy=all_alerts,
        facts=[all_alerts] if found.rows else [],
    )


def _window_of(hosts: Sequence[Host]) -> str:
    """The form of a maintenance window for these hosts."""
    if len({host.group_id for host in hosts}) > 1:
        raise ValueError("Select hosts of one project: a maintenance window belongs to one project.")
    names = sorted(str(host) for host in hosts)
    if len(hosts_matcher(names)["value"]) > MAX_REGEX_LENGTH:
        raise ValueError("Select fewer hosts, or create a maintenance window with a matcher.")
    return add_url_named(
        "alerting.maintenancewindow",
        group=hosts[0].group_id,
        alertTypeNames=Category.HOST.value,
        hosts="\n".join(names),
    )


MUTE_HOSTS = LinkOfRows(name="mute", label="Mute", access=WRITE, url_of=_window_of)
