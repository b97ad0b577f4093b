"""What alerting knows of a host, for the host's page in the console."""

from collections.abc import Sequence
from datetime import datetime

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.selectors.alert_search import alerts_matching
from automation.models import Host
from events.wording import type_in_words
from opsapi.api.principal import Reach
from opsapi.console.ages import age_words
from opsapi.console.parts import Cell, Panel, Tone
from opsapi.console.places import list_url, page_url
from opsapi.first_rows import first_rows, in_reach


def alerts_of_host(reach: Reach, host: Host, now: datetime) -> Panel:
    """Its open and tracking alerts, the newest first."""
    active = Alert.objects.filter(group=host.group_id, status__in=[one.value for one in ACTIVE])
    found = first_rows(alerts_matching(in_reach(active, reach), str(host)).order_by("-created", "-id"))
    return Panel(
        name="alerts",
        title="Open alerts",
        unit="open alerts",
        headers=["What", "Status", "Age"],
        rows=[_alert(one, now) for one in found.rows],
        count=found.count,
        url=list_url(Alert, q=str(host)),
        empty="No alert about this host is open.",
        remedy=Cell("Its alerts so far", list_url(Alert, q=str(host))),
    )


def _alert(alert: Alert, now: datetime) -> Sequence[Cell]:
    metric = f": {alert.metric_name}" if alert.metric_name else ""
    tone = Tone.BAD if alert.status == AlertStatus.OPEN else Tone.WARNING
    return [
        Cell(type_in_words(alert.event_type) + metric, page_url(alert)),
        Cell(alert.status.lower(), tone=tone),
        Cell(age_words(now - alert.created)),
    ]
