"""What alerting knows of a host, for the host's page in the console."""

from datetime import datetime

from alerting.choices import ACTIVE
from alerting.looks import alert_cells
from alerting.models import Alert
from alerting.selectors.alert_search import alerts_matching
from automation.models import Host
from opsapi.api.principal import Reach
from opsapi.console.first_rows import first_rows, in_reach
from opsapi.console.parts import Cell, Panel
from opsapi.console.places import list_url


def alerts_of_host(reach: Reach, host: Host, now: datetime) -> Panel:
    """Its open and tracking alerts, the newest first."""
    active = Alert.objects.filter(group=host.group_id, status__in=[one.value for one in ACTIVE])
    found = first_rows(
        alerts_matching(in_reach(active, reach), str(host), reach=reach).order_by("-created", "-id")
    )
    return Panel(
        name="alerts",
        title="Open alerts",
        unit="open alerts",
        headers=["What", "Status", "Age"],
        rows=[alert_cells(one, now) for one in found.rows],
        count=found.count,
        url=list_url(Alert, q=str(host)),
        empty="No alert about this host is open.",
        remedy=Cell("Its alerts so far", list_url(Alert, q=str(host))),
    )
