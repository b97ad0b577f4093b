"""The severity of configurations and alerts in statements: `events.types.severity_of` in SQL."""

from collections.abc import Mapping, Sequence

from django.db.models import CharField, IntegerField, Q, Value
from django.db.models.expressions import Case, F, When
from django.db.models.functions import Coalesce

from events.types import EVENT_TYPES, Severity

SEVERITIES = [severity.value for severity in Severity]
SEVERITY_CHOICES = [(severity, severity) for severity in SEVERITIES]
"""As the choices of a column."""
_TYPES: Mapping[str, Sequence[str]] = {
    severity.value: [name.value for name, spec in EVENT_TYPES.items() if spec.severity is severity]
    for severity in Severity
}
"""The event types with each severity, for rows of builds without severities."""

SEVERITY = Coalesce(
    F("severity"),
    Case(
        *(When(event_type__in=types, then=Value(severity)) for severity, types in _TYPES.items()),
        output_field=CharField(),
    ),
)
"""The severity of a row, for the ORM."""


def has_severity(*severities: str) -> Q:
    """The rows with any of the severities."""
    return Q(severity__in=severities) | Q(severity=None, event_type__in=types_of(*severities))


def types_of(*severities: str) -> list[str]:
    """The event types whose rows without a severity have any of these severities."""
    return [name for severity in severities for name in _TYPES[severity]]


SEVERITY_RANK = Case(
    *(When(has_severity(severity.value), then=Value(severity.rank)) for severity in Severity),
    output_field=IntegerField(),
)
"""The place of the severity of a row in the order of severities, to sort by."""
