"""metrics.md: the series of `/metrics`, and the metrics that hosts report."""

from collections.abc import Sequence

from automation.metrics import Metric, allowed_units, base_unit, by_subject
from opsapi.metric_series import DECLARED
from tools.reference.markdown import code, codes, table

_INTRODUCTION = """# Metrics

## Metrics of the platform

Prometheus reads them at `/metrics`, from loopback and the networks in `OPSAPI_METRICS_ALLOW`
([settings](settings.md)). Counters and histograms cover one machine since its start. Gauges are queries at
each scrape, the same on all machines.
"""
_HOSTS = """## Metrics of hosts

Agents report these metrics of hosts and databases, and alert configurations can have thresholds for them.
`GET /api/public/v1.0/metricNames` lists the same.

- **Units.** Values are stored and shown in the base unit, which is also the default of reports. Reports and
  thresholds can use the other allowed units.
- **Kinds.** A gauge is a level, or a share or mean since the previous sample. A rate is the increase of a
  counter per second, computed by the agent.
- Metrics under *No longer measured* are deprecated. Servers no longer have them; reports can still contain
  them.
"""
_COLUMNS = ("metric", "kind", "base unit", "allowed", "engines", "meaning")


def page() -> str:
    """The series by name, then the metrics of hosts subject by subject."""
    series = [DECLARED[name] for name in sorted(DECLARED)]
    rows = ((code(each.name), each.type.value, codes(each.labels), each.help) for each in series)
    sections = [
        f"\n### {subject}\n\n{table(_COLUMNS, map(_row, metrics))}" for subject, metrics in by_subject(Metric)
    ]
    platform = table(("series", "type", "labels", "meaning"), rows)
    return f"{_INTRODUCTION}\n{platform}\n{_HOSTS}{''.join(sections)}"


def _row(metric: Metric) -> Sequence[str]:
    spec = metric.spec
    units = code(base_unit(metric)), codes(allowed_units(metric))
    return code(metric), spec.kind.lower(), *units, codes(spec.engines), spec.meaning
