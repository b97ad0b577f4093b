"""The inputs of the condition of an alert configuration, and which event types have them."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from alerting.rules.matchers import fields_for
from alerting.serializers.configs import AlertableType
from automation.metrics import Metric, MetricKind, allowed_units, base_unit, by_subject
from events.types import EVENT_TYPES, EventType, EventTypeSpec, Needs
from events.wording import in_words
from opsapi.console.document_inputs import NONE_CHOSEN, MarkedSelect

THRESHOLD_OF: Mapping[Needs, str] = {
    Needs.METRIC_THRESHOLD: "metricThreshold",
    Needs.THRESHOLD: "threshold",
}
"""The part of a configuration that an event type requires."""


def event_types(*, is_global: bool) -> list[EventTypeSpec]:
    """The event types for configurations of projects, or for global ones."""
    return [EVENT_TYPES[EventType(name)] for name in AlertableType(with_global=is_global).open]


def matched_fields(spec: EventTypeSpec) -> list[str]:
    """The fields that matchers of an event type can compare."""
    return [field.value for field in fields_for(spec.category)] if spec.supports_matchers else []


def event_input(*, is_global: bool) -> forms.Field:
    """The event type, by category; its options have attributes for the script."""
    by_category: dict[str, list[tuple[str, str]]] = {}
    for spec in (specs := event_types(is_global=is_global)):
        by_category.setdefault(in_words(spec.category), []).append((spec.name, in_words(spec.name)))
    marks = {
        spec.name: {
            "title": spec.name,
            "data-matchers": " ".join(matched_fields(spec)),
            "data-threshold": THRESHOLD_OF.get(spec.needs, ""),
            **({"data-global": ""} if spec.global_only else {}),
        }
        for spec in specs
    }
    return _marked("Event type", by_category.items(), marks)


def metric_input() -> forms.Field:
    """The metric, by subject; its options have attributes for the script."""
    marks = {
        metric.value: {
            "title": metric.value,
            "data-units": " ".join(allowed_units(metric)),
            "data-base": base_unit(metric).value,
            "data-meaning": metric.spec.meaning
            + (" Rate per second." if metric.spec.kind is MetricKind.RATE else ""),
        }
        for metric in Metric
    }
    choices = (
        (subject.value, [(metric.value, metric.spec.words) for metric in all_of])
        for subject, all_of in by_subject(Metric)
    )
    return _marked("Metric", choices, marks)


def _marked(
    label: str, choices: Iterable[tuple[str, Any]], marks: Mapping[str, Mapping[str, str]]
) -> forms.Field:
    widget = MarkedSelect([NONE_CHOSEN, *choices], marks)
    return forms.CharField(required=False, label=label, widget=widget, empty_value=None)
