"""Forms of actions on alerts: API documents with the most common values preselected."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms

from alerting.forms.windows import WindowFields
from alerting.rules.state import MORNING, AcknowledgementPreset, until_of
from alerting.rules.windows import named_target
from alerting.serializers.alerts import AcknowledgementDocument
from alerting.serializers.windows import WindowDocument
from events.types import EVENT_TYPES, EventType
from opsapi import clock
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import DateTimeText, LinesField

_PRESETS = [
    (AcknowledgementPreset.HOUR.value, "1 hour"),
    (AcknowledgementPreset.FOUR_HOURS.value, "4 hours"),
    (AcknowledgementPreset.TOMORROW.value, f"Tomorrow, {MORNING:02}:00 UTC"),
    (AcknowledgementPreset.OWN.value, "Custom time"),
]
_USUAL_WINDOW = timedelta(hours=2)


class AcknowledgeForm(DocumentForm):
    """The end of the acknowledgement, and a comment."""

    document = AcknowledgementDocument

    until = forms.ChoiceField(
        label="For", choices=_PRESETS, initial=AcknowledgementPreset.HOUR.value, widget=forms.RadioSelect
    )
    acknowledgedUntil = DateTimeText(required=False, max_length=40, label="Custom time (UTC)")
    acknowledgementComment = LinesField(
        required=False,
        label="Comment",
        help_text="Up to 500 characters. Leave blank to keep the current comment.",
        widget=forms.Textarea({"maxlength": 500}),
    )

    def stored(self) -> Mapping[str, Any]:
        row = self.row
        return {"acknowledgementComment": row.acknowledgement_comment or ""} if row else {}

    def body(self) -> Mapping[str, Any]:
        typed = self.cleaned_data
        until = until_of(AcknowledgementPreset(typed["until"]), clock.now())
        body = {
            "acknowledgedUntil": clock.wire_time(until) if until else typed["acknowledgedUntil"],
            "acknowledgementComment": typed["acknowledgementComment"],
        }
        return {name: value for name, value in body.items() if value}

    def clean(self) -> dict[str, Any]:
        """A time in the past would remove the acknowledgement, and an unused time would mislead."""
        typed = super().clean()
        if typed.get("acknowledgedUntil") and typed.get("until") != AcknowledgementPreset.OWN:
            self.add_error("until", "Select “Custom time”, or leave this field blank.")
        if not self.errors and self.values["acknowledgedUntil"] <= clock.now():
            self.add_error("acknowledgedUntil", "This time is in the past.")
        return typed


class AlertWindowForm(WindowFields):
    """A maintenance window for an alert: its project and category, starting now."""

    document = WindowDocument

    def stored(self) -> Mapping[str, Any]:
        if not self.row:
            return {}
        alert, now = self.row, clock.now()
        return {
            "startDate": now,
            "endDate": now + _USUAL_WINDOW,
            "alertTypeNames": [EVENT_TYPES[EventType(alert.event_type)].category.value],
            "description": f"{alert} (alert {alert.id})",
        }

    def muted_target(self) -> str:
        return named_target(self.row.facts)
