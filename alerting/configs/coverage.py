"""The effects on alerts when a configuration, or what it covers, changes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accesslist.login.store import groups_without_second_factor, orgs_without_second_factor
from accesslist.models import Project
from alerting.configs.locks import global_configs_share, project_lock
from alerting.configs.models import AlertConfig
from alerting.configs.store import covered_projects, covering
from alerting.incidents.changes import alerts_cancel
from alerting.incidents.choices import ACTIVE
from alerting.incidents.models import Alert
from events.choices import SignalKind
from events.models import Signal
from events.outbox.changes import signals_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.fields import Among

_CONDITION = ("event_type", "matchers", "metric_threshold", "threshold")
_SCOPE = ("for_all_groups", "group_ids", "tags")


def columns_differ(config: AlertConfig, before: AlertConfig, columns: Iterable[str]) -> bool:
    """Whether one of the columns has changed; `before` is a copy from before."""
    return any(_stored(config, column) != _stored(before, column) for column in columns)


def _stored(config: AlertConfig, column: str) -> Any:
    """The value that is stored: of a large threshold, PostgreSQL returns the double as another integer."""
    if column == "severity":
        return config.effective_severity
    value = getattr(config, column)
    is_threshold = value and column in {"metric_threshold", "threshold"}
    return {**value, "threshold": float(value["threshold"])} if is_threshold else value


def config_evaluate(*, config: AlertConfig, projects: QuerySet[Project], now: datetime) -> None:
    """Record signals to evaluate the configuration against the newest state of these projects."""
    payload = {"alertConfigId": config.id}
    group_ids = projects.order_by("id").values_list("id", flat=True)
    signals_record(kind=SignalKind.CONFIG, payloads=[(id_, payload) for id_ in group_ids], now=now)


def configs_evaluate_later(*, group_id: str, configs: Collection[tuple[str, str]], now: datetime) -> None:
    """Record signals to evaluate configurations when other reports of agents have arrived.

    `configs`: pairs of the id of the agent and the id of a configuration. A pair whose signal still waits is
    not recorded again: the signal compares the configuration with the whole fleet.
    """
    if not configs:
        return
    held = _config_signals(group_id).filter(Among("held_by", {agent_id for agent_id, _ in configs}))
    recorded = set(held.values_list("held_by", "payload__alertConfigId"))
    for agent_id, config_id in sorted(set(configs) - recorded):
        payloads = [(group_id, {"alertConfigId": config_id})]
        signals_record(
            kind=SignalKind.CONFIG, payloads=payloads, now=now, held_by=agent_id, agent_id=agent_id
        )


def configs_evaluate_after(
    holder: str | None, *, group_id: str, configs: Collection[str], instead_of: Collection[int], now: datetime
) -> None:
    """Record signals to evaluate configurations, by id, after the signals that wait now.

    `holder`: the agent whose reports hold them; None: they are the next of the queue. `instead_of`: the ids
    of the signals that these signals replace. A configuration with another signal in the queue is not
    recorded again.
    """
    if holder is not None:
        configs_evaluate_later(group_id=group_id, configs={(holder, id_) for id_ in configs}, now=now)
        return
    others = _config_signals(group_id).filter(held_by=None).exclude(id__in=instead_of)
    recorded = set(others.values_list("payload__alertConfigId", flat=True))
    payloads = [(group_id, {"alertConfigId": config_id}) for config_id in sorted(set(configs) - recorded)]
    signals_record(kind=SignalKind.CONFIG, payloads=payloads, now=now)


def _config_signals(group_id: str) -> QuerySet[Signal]:
    """The signals of configurations of a project that are not evaluated."""
    return Signal.objects.filter(group_id=group_id, kind=SignalKind.CONFIG.value, failed=None)


def config_alerts_cancel(*, config: AlertConfig, actor: Actor, now: datetime) -> None:
    alerts_cancel(alerts=Alert.objects.filter(config_id=config.id), actor=actor, now=now)


def coverage_follow(*, config: AlertConfig, before: AlertConfig, actor: Actor, now: datetime) -> None:
    """Cancel alerts that a changed configuration no longer raises, and evaluate its new coverage.

    `before` is a copy from before the change. Call it in the transaction, and under the lock, of the change.
    """
    if not columns_differ(config, before, ("enabled", *_CONDITION, *_SCOPE)):
        return
    if before.enabled and config.enabled and not columns_differ(config, before, _CONDITION):
        _move(config, before, actor, now)
        return
    config_alerts_cancel(config=config, actor=actor, now=now)
    if config.enabled:
        config_evaluate(config=config, projects=covered_projects(config), now=now)


def _move(config: AlertConfig, before: AlertConfig, actor: Actor, now: datetime) -> None:
    covered = covered_projects(config)
    raised = Alert.objects.filter(config_id=config.id)
    alerts_cancel(alerts=raised.exclude(group_id__in=covered.values("id")), actor=actor, now=now)
    # Alerts have the tags of their configuration.
    raised.filter(status__in=ACTIVE).update(tags=config.tags)
    joined = covered.exclude(id__in=covered_projects(before).values("id"))
    config_evaluate(config=config, projects=joined, now=now)


@transaction.atomic
def global_configs_retag(
    *, project: Project, tags: Sequence[str], actor: Actor, now: datetime, **_: Any
) -> None:
    """Before a project gets other tags, cancel and open alerts of global configurations accordingly."""
    group_id = project.id
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


def _missing_in_orgs(group_ids: Collection[str]) -> set[str]:
    projects = Project.objects.filter(Among("id", group_ids))
    orgs = dict(projects.values_list("id", "org_id"))
    missing = orgs_without_second_factor({org for org in orgs.values() if org})
    return {group_id for group_id, org in orgs.items() if org in missing}


_MISSING: Mapping[str, Callable[[Collection[str]], set[str]]] = {
    EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH.value: groups_without_second_factor,
    EventType.ORG_USERS_WITHOUT_MFA.value: _missing_in_orgs,
}
"""Event type → function that returns which of some projects meet the condition."""


def second_factors_sweep(*, now: datetime) -> None:
    """Evaluate configurations again in projects whose alerts differ from the current state.

    Roles, teams and second factors change in many places; one check every few seconds covers all of them.
    """
    for event_type, missing_in in _MISSING.items():
        configs = AlertConfig.objects.filter(event_type=event_type, enabled=True, deleted=None)
        covered = _covered_by(list(configs.order_by("id")))
        missing = missing_in(set().union(*covered.values()))
        raised: dict[str, set[str]] = {}
        active = Alert.objects.filter(event_type=event_type, status__in=ACTIVE)
        for config_id, group_id in active.values_list("config_id", "group_id"):
            raised.setdefault(config_id, set()).add(group_id)
        for config, projects in covered.items():
            differing = projects & (missing ^ raised.get(config.id, set()))
            if differing:
                _evaluate_again(config, differing, now)


def _covered_by(configs: Sequence[AlertConfig]) -> Mapping[AlertConfig, set[str]]:
    """The ids of the projects that each configuration covers."""
    own = Project.objects.filter(Among("id", {config.group_id for config in configs} - {None}), deleted=None)
    there = set(own.values_list("id", flat=True))
    return {
        config: {config.group_id} & there
        if config.group_id
        else set(covered_projects(config).filter(deleted=None).values_list("id", flat=True))
        for config in configs
    }


@transaction.atomic
def _evaluate_again(config: AlertConfig, differing: Collection[str], now: datetime) -> None:
    # A configuration that already waits for evaluation gets no second signal.
    waiting = Signal.objects.filter(Among("group_id", differing), failed=None, kind=SignalKind.CONFIG.value)
    named = waiting.filter(payload__alertConfigId=config.id).values_list("group_id", flat=True)
    projects = Project.objects.filter(Among("id", set(differing).difference(named)))
    config_evaluate(config=config, projects=projects, now=now)
