"""metrics.md, its second part: what hosts report."""

from automation.metrics import Metric, allowed_units, base_unit
from opsapi.reference.markdown import code, codes, table

_INTRODUCTION = """## What hosts report

The metrics that agents report of hosts and databases, and alert configurations set thresholds on. Values are
stored and shown in the base unit, which a report without units means; reports and thresholds may use the
others. `GET /api/public/v1.0/metricNames` tells the same.
"""


def host_metrics() -> str:
    """The part of the page."""
    rows = ((code(name), code(base_unit(name)), codes(allowed_units(name))) for name in Metric)
    return f"{_INTRODUCTION}\n{table(('metric', 'base unit', 'allowed'), rows)}"
