"""The last days of a metric on the hosts of a project: the lines of the form of a configuration."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q

from automation.hosts.charts import MOST_HOSTS, ChartMetrics, ChartPeriod, charts_of
from automation.metrics import Metric, allowed_units, base_unit
from automation.models import Host
from automation.units import Unit, convert
from opsapi.api.principal import VisibleScope
from opsapi.first_rows import more_words

SHOWN_DAYS: Final = 7


def rule_lines(
    group_id: str, metric: Metric, scope: VisibleScope, now: datetime, *, first: Sequence[str] = ()
) -> Mapping[str, Any]:
    """Return a line for each of MOST_HOSTS hosts; hosts with an ID in `first` come before others.

    `factors`: by which a value in other units is multiplied for the units of the lines.
    """
    of_project = Host.objects.filter(group_id=group_id).order_by("hostname", "port")
    wanted = list(of_project.filter(id__in=first[:MOST_HOSTS]))
    others = of_project.filter(~Q(id__in=[host.id for host in wanted]))
    hosts = [*wanted, *others[: MOST_HOSTS - len(wanted)]]
    period = ChartPeriod(now - timedelta(days=SHOWN_DAYS), now)
    data = charts_of(hosts, ChartMetrics([metric], []), period, scope, now)
    charts = data["charts"]
    more = of_project.count() - len(hosts) if len(hosts) == MOST_HOSTS else 0
    return {
        "times": data["times"],
        "since": data["since"],
        "until": data["until"],
        "granularity": data["granularity"],
        "rows": [{"id": row["id"], "name": row["name"]} for row in data["rows"]],
        "chart": {**charts[0], "factors": _factors(metric, charts[0]["unit"])} if charts else None,
        "leftOut": more_words(more) if more > 0 else "",
    }


def _factors(metric: Metric, drawn: str) -> Mapping[str, float]:
    """By name of the units; the empty name is the base unit."""
    units = {unit.value: unit for unit in allowed_units(metric)}
    return {name: convert(1.0, unit, Unit(drawn)) for name, unit in {**units, "": base_unit(metric)}.items()}
