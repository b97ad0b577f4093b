"""metrics.md, its first part: the series of `/metrics`."""

from opsapi.metric_series import DECLARED
from opsapi.reference.markdown import code, codes, table

_INTRODUCTION = """# Metrics

## Metrics of the platform

Prometheus reads them at `/metrics`, from loopback and the networks in `OPSAPI_METRICS_ALLOW`
([settings](settings.md)). Counters and histograms cover one machine since its start. Gauges are queries at
each scrape, the same on all machines.
"""


def page() -> str:
    """The series by name."""
    series = [DECLARED[name] for name in sorted(DECLARED)]
    rows = ((code(each.name), each.type.value, codes(each.labels), each.help) for each in series)
    return f"{_INTRODUCTION}\n{table(('series', 'type', 'labels', 'meaning'), rows)}"
