"""The effects on alerts when the condition or the scope of a configuration changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accesslist.models import Project
from alerting.choices import ACTIVE
from alerting.models import Alert, AlertConfig
from alerting.selectors.scopes import ConfigScope, covered_projects, covering
from alerting.services.alerts import alerts_cancel
from alerting.services.locks import global_configs_share, project_lock
from events.choices import SignalKind
from events.services import signals_record
from opsapi.api.principal import Actor


@dataclass(frozen=True, slots=True)
class ConfigCoverage:
    """The condition and scope of a configuration; `meaning` is the condition."""

    enabled: bool
    meaning: Sequence[Any]
    scope: ConfigScope

    @classmethod
    def of(cls, config: AlertConfig) -> "ConfigCoverage":
        """The coverage of a configuration in memory."""
        thresholds = map(_as_double, (config.metric_threshold, config.threshold))
        meaning = (config.event_type, config.matchers, *thresholds)
        return cls(config.enabled, meaning, ConfigScope.of(config))


def _as_double(threshold: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The threshold with the double that was stored: PostgreSQL returns a large one as another integer."""
    return threshold and {**threshold, "threshold": float(threshold["threshold"])}


def config_evaluate(*, config: AlertConfig, projects: QuerySet[Project], now: datetime) -> None:
    """Record signals to evaluate the configuration against the newest state of these projects."""
    payload = {"alertConfigId": config.id}
    group_ids = projects.order_by("id").values_list("id", flat=True)
    signals_record(kind=SignalKind.CONFIG, payloads=[(id_, payload) for id_ in group_ids], now=now)


def config_alerts_cancel(*, config: AlertConfig, actor: Actor, now: datetime) -> None:
    """Cancel all alerts of a configuration."""
    alerts_cancel(alerts=Alert.objects.filter(config_id=config.id), actor=actor, now=now)


def coverage_follow(*, config: AlertConfig, before: ConfigCoverage, actor: Actor, now: datetime) -> None:
    """Cancel alerts that a changed configuration no longer raises, and evaluate its new coverage.

    Call it in the transaction, and under the lock, of the change.
    """
    after = ConfigCoverage.of(config)
    if after == before:
        return
    if before.enabled and after.enabled and before.meaning == after.meaning:
        _move(config, before.scope, after.scope, actor, now)
        return
    config_alerts_cancel(config=config, actor=actor, now=now)
    if after.enabled:
        config_evaluate(config=config, projects=covered_projects(after.scope), now=now)


@transaction.atomic
def global_configs_retag(*, group_id: str, tags: Sequence[str], actor: Actor, now: datetime) -> None:
    """Before a project gets other tags, cancel and open alerts of global configurations accordingly."""
    project_lock(group_id)
    global_configs_share()
    live = AlertConfig.objects.filter(group=None, deleted=None, enabled=True)
    covers = live.filter(covering(group_id, tags))
    raised = Alert.objects.filter(group_id=group_id, is_global=True)
    lost = raised.exclude(config_id__in=covers.values("id"))
    alerts_cancel(alerts=lost, actor=actor, now=now)
    gained = covers.exclude(id__in=live.filter(covering(group_id)).values("id")).order_by("id")
    payloads = [(group_id, {"alertConfigId": config_id}) for config_id in gained.values_list("id", flat=True)]
    signals_record(kind=SignalKind.CONFIG, payloads=payloads, now=now)


def _move(config: AlertConfig, before: ConfigScope, after: ConfigScope, actor: Actor, now: datetime) -> None:
    covered = covered_projects(after)
    raised = Alert.objects.filter(config_id=config.id)
    alerts_cancel(alerts=raised.exclude(group_id__in=covered.values("id")), actor=actor, now=now)
    # Alerts have the tags of their configuration.
    raised.filter(status__in=ACTIVE).update(tags=config.tags)
    joined = covered.exclude(id__in=covered_projects(before).values("id"))
    config_evaluate(config=config, projects=joined, now=now)
