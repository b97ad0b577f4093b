"""The explanation of an alert configuration on a host, as the API shows it."""

from rest_framework import serializers

from alerting.configs.matchers import CONFIG_FIELDS, MatcherField, MatcherOperator
from alerting.configs.models import AlertConfig
from alerting.incidents.store import current_value
from alerting.insight.host_explanations import HostExplanation
from alerting.reasons import AlertReason, ReasonQuestion
from events.log.resource import CurrentValueDocument
from opsapi.api.answers import Answer
from opsapi.api.documents import ANOTHER_ID, Document
from opsapi.api.fields import Identifier, ShownChoice, ShownFlag, ShownId, ShownText, ShownTime
from opsapi.wire_json import JsonObject

REASONS = [reason.name for reason in AlertReason if ReasonQuestion.HOST in reason.questions]
"""The wire values of the reason why a configuration does not alert."""


class ExplainedHost(Document):
    """The host that is compared with the configuration."""

    hostId = Identifier(example=ANOTHER_ID, help_text="A host of the project.")


class ComparedMatcherDocument(Answer):
    """A matcher, and the value that it was compared with."""

    fieldName = ShownChoice(CONFIG_FIELDS, source="matcher.field", example=MatcherField.TYPE_NAME.value)
    operator = ShownChoice(
        [operator.value for operator in MatcherOperator],
        source="matcher.operator",
        example=MatcherOperator.EQUALS.value,
    )
    value = ShownText(source="matcher.value", example="PRIMARY")
    actualValue = ShownText(
        source="actual",
        allow_blank=True,
        help_text="Empty if the host does not have it.",
        example="PRIMARY",
    )
    matched = ShownFlag(example=True)


def _code(explained: HostExplanation) -> str | None:
    reason = explained.explanation.reason
    return reason.name if reason else None


class ExplanationDocument(Answer):
    """Whether a configuration alerts on a host now, or the first reason why it does not."""

    computed = {"reason": _code}

    alertConfigId = ShownId()
    hostId = ShownId(example=ANOTHER_ID)
    wouldAlert = ShownFlag(
        source="explanation.would_alert",
        help_text="Whether an alert is open, or would open now, and no maintenance window mutes it.",
        example=False,
    )
    reason = ShownChoice(
        REASONS,
        required=False,
        help_text="The first reason why not, in this order; absent if wouldAlert is true.",
        example=AlertReason.INSIDE_THRESHOLD.name,
    )
    detail = ShownText(
        source="explanation.detail",
        help_text="The same as a sentence, with the compared values.",
        example="CONNECTIONS is 812, which is not above 900.",
    )
    matchers = ComparedMatcherDocument(many=True, source="explanation.matchers")
    currentValue = CurrentValueDocument(
        required=False,
        help_text="The value that was compared with the threshold, or the number of members.",
    )
    measured = ShownTime(required=False, help_text="Time of the newest measurements of the host.")
    opens = serializers.DateTimeField(
        source="explanation.opens",
        required=False,
        help_text="When the alert opened, or opens if its condition stays true.",
    )
    alertId = serializers.CharField(source="alert_id", required=False, help_text="The active alert.")
    maintenanceWindowId = serializers.CharField(
        source="window_id", required=False, help_text="The window that mutes it."
    )

    @classmethod
    def of_host(cls, explained: HostExplanation, *, config: AlertConfig, host_id: str) -> JsonObject:
        """Return the explanation of a configuration on a host."""
        threshold = config.metric_threshold
        value = current_value(threshold and threshold["metricName"], explained.explanation.value)
        return cls.of(explained, alertConfigId=config.id, hostId=host_id, currentValue=value)
