"""The explanation of an alert configuration on a host, as the API shows it."""

from rest_framework import serializers

from alerting.explanations import HostExplanation
from alerting.models import AlertConfig
from alerting.rules.explanation import ComparedMatcher, NoAlertReason
from alerting.rules.matchers import CONFIG_FIELDS, MatcherField, MatcherOperator
from alerting.selectors.alerts import current_value
from events.serializers import CurrentValueDocument
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document
from opsapi.api.fields import Identifier
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject, without_nulls

REASONS = [reason.value for reason in NoAlertReason]
"""The wire values of the reason why a configuration does not alert."""


class ExplainedHost(Document):
    """The host that is compared with the configuration."""

    hostId = Identifier(example=ANOTHER_ID, help_text="A host of the project.")


class ComparedMatcherDocument(Document):
    """A matcher, and the value that it was compared with."""

    example = {
        "fieldName": MatcherField.TYPE_NAME.value,
        "operator": MatcherOperator.EQUALS.value,
        "value": "PRIMARY",
        "actualValue": "PRIMARY",
        "matched": True,
    }

    fieldName = serializers.ChoiceField(CONFIG_FIELDS)
    operator = serializers.ChoiceField([operator.value for operator in MatcherOperator])
    value = serializers.CharField()
    actualValue = serializers.CharField(allow_blank=True, help_text="Empty if the host does not have it.")
    matched = serializers.BooleanField()


class ExplanationDocument(Document):
    """Whether a configuration alerts on a host now, or the first reason why it does not."""

    example = {
        "alertConfigId": AN_ID,
        "hostId": ANOTHER_ID,
        "wouldAlert": False,
        "reason": NoAlertReason.INSIDE_THRESHOLD.value,
        "detail": "CONNECTIONS is 812, which is not above 900.",
        "matchers": [ComparedMatcherDocument.example],
        "currentValue": CurrentValueDocument.sample(),
        "measured": A_TIME,
    }

    alertConfigId = serializers.CharField()
    hostId = serializers.CharField()
    wouldAlert = serializers.BooleanField(
        help_text="Whether an alert is open, or would open now, and no maintenance window mutes it."
    )
    reason = serializers.ChoiceField(
        REASONS,
        required=False,
        help_text="The first reason why not, in this order; absent if wouldAlert is true.",
    )
    detail = serializers.CharField(help_text="The same as a sentence, with the compared values.")
    matchers = ComparedMatcherDocument(many=True)
    currentValue = CurrentValueDocument(
        required=False,
        help_text="The value that was compared with the threshold, or the number of members.",
    )
    measured = serializers.DateTimeField(
        required=False, help_text="Time of the newest measurements of the host."
    )
    opens = serializers.DateTimeField(
        required=False, help_text="When the alert opened, or opens if its condition stays true."
    )
    alertId = serializers.CharField(required=False, help_text="The active alert.")
    maintenanceWindowId = serializers.CharField(required=False, help_text="The window that mutes it.")


def present_explanation(found: HostExplanation, *, config: AlertConfig, host_id: str) -> JsonObject:
    """The explanation of a configuration on a host."""
    explanation, threshold = found.explanation, config.metric_threshold
    return without_nulls(
        {
            "alertConfigId": config.id,
            "hostId": host_id,
            "wouldAlert": explanation.would_alert,
            "reason": explanation.reason.value if explanation.reason else None,
            "detail": explanation.detail,
            "matchers": [present_matcher(compared) for compared in explanation.matchers],
            "currentValue": current_value(threshold and threshold["metricName"], explanation.value),
            "measured": wire_time(found.measured) if found.measured else None,
            "opens": wire_time(explanation.opens) if explanation.opens else None,
            "alertId": found.alert_id,
            "maintenanceWindowId": found.window_id,
        }
    )


def present_matcher(compared: ComparedMatcher) -> JsonObject:
    """A matcher, and the value that it was compared with."""
    matcher = compared.matcher
    return without_nulls(
        {
            "fieldName": matcher.field.value,
            "operator": matcher.operator.value,
            "value": matcher.value,
            "actualValue": compared.actual,
            "matched": compared.matched,
        }
    )
