"""Parts of an alert configuration: matchers and thresholds."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from alerting.configs.matchers import (
    CASELESS,
    CONFIG_FIELDS,
    TYPE_NAMES,
    MatcherField,
    MatcherOperator,
    can_hold,
    matcher_of,
)
from alerting.configs.pattern_prices import ALLOWED, price_fault
from alerting.configs.patterns import LAST_PORT, MAX_REGEX_LENGTH, compile_regex
from alerting.configs.rules import ThresholdMode, ThresholdOperator
from automation.fields import MetricUnit
from automation.metrics import Metric, allowed_units, base_unit
from automation.units import Unit
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import Number, OneOf, Text

MOST_MATCHERS = 50
CHECK_SECONDS: Final = 0.5
"""The processor time for which a request searches the ports that its patterns match."""
_OPERATORS = [threshold_operator.value for threshold_operator in ThresholdOperator]


class MatcherDocument(Document):
    """One rule on the field of a target."""

    older_names = {"field": "fieldName"}

    fieldName = OneOf(CONFIG_FIELDS)
    operator = OneOf([matcher_operator.value for matcher_operator in MatcherOperator])
    value = Text(max_length=MAX_REGEX_LENGTH)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """A REGEX has to compile.

        Patterns that are too dear, and matchers that can never match, are refused unless they are stored.
        """
        fault = _pattern_fault(values)
        if fault or bad:
            return [fault] if fault else []
        stored: Sequence[Mapping[str, Any]] = (self.context.get("stored") or {}).get("matchers", ())
        if values in stored:
            return []
        checks = _checks_in(self.context)
        if fault := checks.price_fault(values):
            return [fault]
        if can_hold(matcher_of(values), lambda: checks.have_time):
            return []
        return [_impossible_value(MatcherField(values["fieldName"]))]


_CHECKS = "pattern checks"


class _Checks:
    """The checks of all patterns of a request, and the time that they may take."""

    def __init__(self) -> None:
        self._ends = time.thread_time() + CHECK_SECONDS
        self._has_refused = False

    @property
    def have_time(self) -> bool:
        return time.thread_time() < self._ends

    def price_fault(self, values: Mapping[str, Any]) -> BadField | None:
        """Why a REGEX is too dear. After the time, only the request's first such pattern is named."""
        if not _is_regex(values) or (self._has_refused and not self.have_time):
            return None
        fault = price_fault(values["value"], values["fieldName"] in CASELESS, time.thread_time)
        self._has_refused |= fault is not None
        return BadField("value", ErrorCode.INVALID_ATTRIBUTE, fault, ALLOWED) if fault else None


def _checks_in(context: Any) -> _Checks:
    checks: _Checks = context.setdefault(_CHECKS, _Checks())
    return checks


def _is_regex(values: Mapping[str, Any]) -> bool:
    return values.get("operator") == MatcherOperator.REGEX.value


def _pattern_fault(values: Mapping[str, Any]) -> BadField | None:
    """Why a REGEX does not compile."""
    if not _is_regex(values) or "value" not in values:
        return None
    try:
        # Host names are matched without regard to case, and the larger automaton may not fit.
        for ignore_case in (False, True):
            compile_regex(values["value"], ignore_case)
    except ValueError as error:
        return BadField("value", ErrorCode.INVALID_ATTRIBUTE, str(error))
    return None


def _impossible_value(field: MatcherField) -> BadField:
    """Why no value of the field can match."""
    if field is MatcherField.TYPE_NAME:
        return BadField("value", ErrorCode.INVALID_ENUM_VALUE, "is not a host type", TYPE_NAMES)
    if field is MatcherField.LABEL:
        message = "must be a label with its value, such as env=production"
        return BadField("value", ErrorCode.INVALID_ATTRIBUTE, message, ["name=value"])
    message = f"matches no port: ports are numbers from 1 to {LAST_PORT}"
    return BadField("value", ErrorCode.INVALID_ATTRIBUTE, message, [f"1 to {LAST_PORT}"])


class MetricThresholdDocument(Document):
    """A threshold on a metric; units left out are the metric's base unit."""

    refusals = (ErrorCode.UNITS_MISMATCH,)

    metricName = OneOf([known_metric.value for known_metric in Metric], code=ErrorCode.INVALID_METRIC_NAME)
    mode = OneOf(
        [threshold_mode.value for threshold_mode in ThresholdMode],
        required=False,
        default=ThresholdMode.AVERAGE.value,
    )
    operator = OneOf(_OPERATORS)
    threshold = Number()
    units = MetricUnit(required=False)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Units have to be of the metric's family."""
        if "metricName" not in values or "units" in bad:
            return ()
        metric = Metric(values["metricName"])
        units = Unit(values.setdefault("units", base_unit(metric).value))
        if units in allowed_units(metric):
            return ()
        allowed = [unit.value for unit in allowed_units(metric)]
        return [BadField("units", ErrorCode.UNITS_MISMATCH, f"do not fit {metric.value}", allowed)]


class ThresholdDocument(Document):
    """A threshold on a number of members."""

    operator = OneOf(_OPERATORS)
    threshold = Number()
    units = OneOf([Unit.RAW.value], required=False, default=Unit.RAW.value)
