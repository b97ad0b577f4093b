"""Alerts on the page of a host."""

from datetime import datetime

from alerting.looks import alert_cells
from alerting.models import Alert
from alerting.selectors.alert_order import active_first_rows
from alerting.selectors.alert_search import alerts_matching
from alerting.selectors.windows import muting_windows
from automation.models import Host
from opsapi.api.principal import Reach
from opsapi.console.parts import Cell, Panel
from opsapi.console.places import list_url
from opsapi.first_rows import in_reach


def alerts_of_host(reach: Reach, host: Host, now: datetime) -> Panel:
    """Its open and pending alerts, in the usual order."""
    of_project = in_reach(Alert.objects.filter(group=host.group_id), reach)
    found = active_first_rows(alerts_matching(of_project, str(host), reach=reach), now=now)
    muted = muting_windows(found.rows, now=now)
    of_host: dict[str, str] = {"q": str(host), "group__id__exact": host.group_id}
    all_alerts = Cell("All alerts of this host", list_url(Alert, **of_host))
    return Panel(
        name="alerts",
        title="Open alerts",
        unit="open alerts",
        headers=["Alert", "Status", "Age"],
        rows=[alert_cells(one, now, is_muted=one.id in muted) for one in found.rows],
        count=found.count,
        url=list_url(Alert, status="active", **of_host),
        empty="No open alerts about this host.",
        remedy=all_alerts,
        facts=[all_alerts] if found.rows else [],
    )
