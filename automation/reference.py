"""The second part of metrics.md: metrics of hosts."""

from collections.abc import Sequence

from automation.metrics import Metric, allowed_units, base_unit, by_subject
from opsapi.reference.markdown import code, codes, table

_INTRODUCTION = """## Metrics of hosts

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


def host_metrics() -> str:
    """This part of the page, by subject."""
    sections = [f"\n### {subject}\n\n{_table(metrics)}" for subject, metrics in by_subject(Metric)]
    return _INTRODUCTION + "".join(sections)


def _table(metrics: Sequence[Metric]) -> str:
    return table(_COLUMNS, map(_row, metrics))


def _row(metric: Metric) -> Sequence[str]:
    spec = metric.spec
    units = code(base_unit(metric)), codes(allowed_units(metric))
    return code(metric), spec.kind.lower(), *units, codes(spec.engines), spec.meaning
