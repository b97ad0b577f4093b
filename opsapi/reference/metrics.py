"""metrics.md, its first part: the series of `/metrics`."""

from opsapi.metric_series import DECLARED
from opsapi.reference.markdown import code, codes, table

_INTRODUCTION = """# Metrics

## What the platform tells of itself

At `/metrics`, in the text format of Prometheus, to loopback and `OPSAPI_METRICS_ALLOW`
([settings](settings.md)). Counters and histograms are those of one machine, from its start on; gauges are
asked of the database at each scrape.
"""


def page() -> str:
    """The series by name."""
    series = [DECLARED[name] for name in sorted(DECLARED)]
    rows = ((code(each.name), each.type.value, codes(each.labels), each.help) for each in series)
    return f"{_INTRODUCTION}\n{table(('series', 'type', 'labels', 'what it is'), rows)}"
