"""Alerts about users without a second factor: changes become signals."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from django.db import transaction

from accesslist.models import Project
from accesslist.selectors.users import groups_without_second_factor, orgs_without_second_factor
from alerting.choices import ACTIVE
from alerting.models import Alert, AlertConfig
from alerting.selectors.scopes import ConfigScope, covered_projects
from alerting.services.config_coverage import config_evaluate
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType
from opsapi.fields import Among


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
    configs = AlertConfig.objects.filter(event_type__in=_MISSING, enabled=True, deleted=None)
    for config in configs.order_by("id"):
        _sweep(config, now)


@transaction.atomic
def _sweep(config: AlertConfig, now: datetime) -> None:
    covered = set(covered_projects(ConfigScope.of(config)).filter(deleted=None).values_list("id", flat=True))
    raised = Alert.objects.filter(config_id=config.id, status__in=ACTIVE).values_list("group_id", flat=True)
    differing = _MISSING[config.event_type](covered) ^ (set(raised) & covered)
    # A configuration that already waits for evaluation gets no second signal.
    waiting = Signal.objects.filter(Among("group_id", differing), failed=None, kind=SignalKind.CONFIG.value)
    named = waiting.filter(payload__alertConfigId=config.id).values_list("group_id", flat=True)
    projects = Project.objects.filter(Among("id", differing.difference(named)))
    config_evaluate(config=config, projects=projects, now=now)
