"""The words for the rule of an alert: the name or the condition of its configuration."""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject

from alerting.configs.models import AlertConfig
from alerting.incidents.models import Alert
from opsapi.api.principal import VisibleScope

_RULE_FIELDS = ("name", "event_type", "metric_threshold", "threshold")
"""The columns of `AlertConfig.name` and `AlertConfig.condition`."""


def rule_words(alert: Alert, config: AlertConfig | None) -> str:
    """The name or the condition of the configuration; what happened, if it is gone or must not be shown."""
    return (config.name or config.condition) if config else alert.words


def with_rules(alerts: QuerySet[Alert]) -> QuerySet[Alert]:
    """The alerts with what `rule_of` reads of their configurations, in the same statement."""
    stored = JSONObject(**{name: name for name in _RULE_FIELDS})
    config = AlertConfig.objects.filter(id=OuterRef("config_id"))
    return alerts.annotate(rule=Subquery(config.values(rule=stored)))


def rule_of(row: Any, visible_scope: VisibleScope) -> str:
    """The name or the condition of the rule of an alert `with_rules` (`rule_words`)."""
    is_hidden = row.is_global and not visible_scope.everything
    return rule_words(row, AlertConfig(**row.rule) if row.rule and not is_hidden else None)
