"""metrics.md, its second part: what hosts report."""

from collections.abc import Sequence

from automation.metrics import Metric, allowed_units, base_unit, by_subject
from opsapi.reference.markdown import code, codes, table

_INTRODUCTION = """## What hosts report

The metrics that agents report of hosts and databases, and alert configurations set thresholds on. Values are
stored and shown in the base unit, which a report without units means; reports and thresholds may use the
others. A gauge is a level, or a share or mean of the time since the sample before; a rate is the growth of a
counter per second, which the agent computes. `GET /api/public/v1.0/metricNames` tells the same.

Metrics under *No longer measured* are deprecated: no server has them any more, and they stay accepted.
"""
_COLUMNS = ("metric", "kind", "base unit", "allowed", "engines", "meaning")


def host_metrics() -> str:
    """The part of the page, subject by subject."""
    sections = [f"\n### {subject}\n\n{_table(metrics)}" for subject, metrics in by_subject(Metric)]
    return _INTRODUCTION + "".join(sections)


def _table(metrics: Sequence[Metric]) -> str:
    return table(_COLUMNS, map(_row, metrics))


def _row(metric: Metric) -> Sequence[str]:
    spec = metric.spec
    units = code(base_unit(metric)), codes(allowed_units(metric))
    return code(metric), spec.kind.lower(), *units, codes(spec.engines), spec.meaning
