"""The parts of an alert configuration: matchers, thresholds, notifications (contract 2.4, decisions 5)."""

from collections.abc import Iterable
from typing import Any

from alerting.choices import ConfigNotificationType
from alerting.rules.matching import MatcherField, MatcherOperator, compile_regex
from alerting.rules.thresholds import ThresholdMode, ThresholdOperator
from automation.metrics import Metric, allowed_units, base_unit
from automation.units import Unit
from integrations.channels import CHANNELS
from integrations.choices import ChannelType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import BadField
from opsapi.api.fields import EmailAddress, Flag, Identifier, Number, OneOf, Text, WebUrl, Whole
from opsapi.redaction import MASK

MIN_INTERVAL = 5
_LONGEST = 525_600  # a year of minutes
_OPERATORS = [one.value for one in ThresholdOperator]


class MatcherDocument(Document):
    """One rule on the field of a target."""

    older_names = {"field": "fieldName"}

    fieldName = OneOf([one.value for one in MatcherField])
    operator = OneOf([one.value for one in MatcherOperator])
    value = Text(max_length=1000)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """A REGEX has to compile."""
        if values.get("operator") != MatcherOperator.REGEX.value or "value" not in values:
            return ()
        try:
            # Host names are matched without regard to case, and the larger automaton may not fit.
            for ignore_case in (False, True):
                compile_regex(values["value"], ignore_case)
        except ValueError as error:
            return [BadField("value", ErrorCode.INVALID_ATTRIBUTE, str(error))]
        return ()


class MetricThresholdDocument(Document):
    """A threshold on a metric; units left out are the metric's base unit."""

    refusals = (ErrorCode.UNITS_MISMATCH,)

    metricName = OneOf([one.value for one in Metric], code=ErrorCode.INVALID_METRIC_NAME)
    mode = OneOf([one.value for one in ThresholdMode], required=False, default=ThresholdMode.AVERAGE.value)
    operator = OneOf(_OPERATORS)
    threshold = Number()
    units = OneOf([one.value for one in Unit], required=False)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """Units have to be of the metric's family."""
        if "metricName" not in values or "units" in bad:
            return ()
        metric = Metric(values["metricName"])
        units = Unit(values.setdefault("units", base_unit(metric).value))
        if units in allowed_units(metric):
            return ()
        allowed = [one.value for one in allowed_units(metric)]
        return [BadField("units", ErrorCode.UNITS_MISMATCH, f"do not fit {metric.value}", allowed)]


class ThresholdDocument(Document):
    """A threshold on a number of members."""

    operator = OneOf(_OPERATORS)
    threshold = Number()
    units = OneOf([Unit.RAW.value], required=False, default=Unit.RAW.value)


class NotificationDocument(Document):
    """One notification; which fields it takes is its type's matter."""

    refusals = (
        ErrorCode.ATTRIBUTE_READ_ONLY,
        ErrorCode.REDACTED_VALUE_UNKNOWN,
        ErrorCode.WEBHOOK_URL_NOT_SET,
    )

    id = Identifier(required=False)
    typeName = OneOf([ConfigNotificationType.EMAIL.value, ConfigNotificationType.WEBHOOK.value])
    delayMin = Whole(max_value=_LONGEST, required=False, default=0)
    intervalMin = Whole(
        min_value=MIN_INTERVAL,
        max_value=_LONGEST,
        required=False,
        range_code=ErrorCode.NOTIFICATION_INTERVAL_OUT_OF_RANGE,
    )
    emailAddress = EmailAddress(required=False)
    emailEnabled = Flag(required=False)
    webhookUrl = WebUrl(required=False)
    webhookSecret = Text(max_length=1000, required=False)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """Each type takes its own fields and none of another's; a new one cannot know an old secret."""
        if "typeName" not in values:
            return []
        type_name = values["typeName"]
        used = _fields_of(type_name)
        found = [
            BadField(name, ErrorCode.INVALID_ATTRIBUTE, f"does not go with {type_name}", sorted(used))
            for name in values
            if name in _TYPED and name not in used
        ]
        if "id" in values:
            found.append(
                BadField("id", ErrorCode.ATTRIBUTE_READ_ONLY, "is given to a new notification by us")
            )
        found += [
            BadField(name, ErrorCode.REDACTED_VALUE_UNKNOWN, "is a redacted value of no stored notification")
            for name in ("webhookUrl", "webhookSecret")
            if MASK in str(values.get(name, ""))
        ]
        return found + _missing(type_name, values, bad)


_TYPED = frozenset({"emailAddress", "emailEnabled", "webhookUrl", "webhookSecret"})


def _fields_of(type_name: str) -> frozenset[str]:
    used = {field.notification_name for field in CHANNELS[ChannelType(type_name)].fields}
    return frozenset(used | ({"emailEnabled"} if type_name == ConfigNotificationType.EMAIL else set()))


def _missing(type_name: str, values: dict[str, Any], bad: frozenset[str]) -> list[BadField]:
    webhook = type_name == ConfigNotificationType.WEBHOOK
    name = "webhookUrl" if webhook else "emailAddress"
    if name in values or name in bad:
        return []
    if not webhook:
        return [BadField(name, ErrorCode.MISSING_ATTRIBUTE, "is required with EMAIL")]
    found = [
        BadField(name, ErrorCode.WEBHOOK_URL_NOT_SET, "is required: the project has no webhook integration")
    ]
    if "webhookSecret" in values:
        message = "goes with a webhookUrl in the same notification only"
        found.append(BadField("webhookSecret", ErrorCode.INVALID_ATTRIBUTE, message))
    return found
