"""Alert configurations: their notifications and activity, and what their form offers."""

from collections.abc import Collection, Iterable
from typing import TypeVar

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT

from accesslist.models import Project, Team
from accesslist.projects.store import visible_projects
from alerting.access import WRITE, WRITE_GLOBAL
from alerting.models import AlertConfig, NotificationSetting
from events.models import Event
from events.types import EVENT_TYPES, Category
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.principal import Operator
from opsapi.fields import JsonRows
from opsapi.roles import INSTALLATION, Scope, satisfies_any

T = TypeVar("T")


def configs_of(group_id: str | None) -> QuerySet[AlertConfig]:
    """A project's configurations, or the global ones for None, in the order of creation."""
    return AlertConfig.objects.filter(group_id=group_id, deleted=None).order_by("created", "id")


def configs_named(ids: Collection[str], group_id: str | None) -> QuerySet[AlertConfig]:
    """The configurations of `configs_of` that have these IDs."""
    return configs_of(group_id).filter(id__in=ids)


def alert_config(config_id: str) -> AlertConfig | None:
    """A configuration of either kind, unless it was deleted."""
    return AlertConfig.objects.filter(id=config_id, deleted=None).first()


def notifications_column() -> JsonRows:
    """A configuration's notifications in their order; a team with the name it has now."""
    team = Team.objects.filter(id=OuterRef("team_id")).values("name")
    settings = NotificationSetting.objects.filter(config_id=OuterRef("id")).order_by("position")
    return JsonRows(
        settings.annotate(team_id=KT("fields__teamId")),
        id="id",
        typeName="type_name",
        delayMin="delay_min",
        intervalMin="interval_min",
        minSeverity="min_severity",
        fields="fields",
        teamName=Subquery(team),
    )


def config_found(config: T | None, config_id: str, group_id: str | None) -> T:
    """The configuration, or the 404 of its kind when there is none; without a project it is a global one."""
    if group_id is None:
        return get_or_404(config, ErrorCode.GLOBAL_ALERT_CONFIG_NOT_FOUND, config_id)
    return get_or_404(config, ErrorCode.ALERT_CONFIG_NOT_FOUND, config_id, group_id)


_AUDITS = [name.value for name, spec in EVENT_TYPES.items() if spec.category is Category.ALERT_CONFIG]


def config_audits(config: AlertConfig) -> QuerySet[Event]:
    """The events of writes to it and of its tests, newest first."""
    # Found among the project's few events of these types: no index is on the configuration's id.
    audits = Event.objects.filter(group_id=config.group_id, event_type__in=_AUDITS)
    return audits.filter(details__alertConfigId=config.id).order_by("-created", "-id")


MOST_OFFERED = 1_000
Offer = tuple[str, str]
"""An ID and a name."""


def may_write_global(operator: Operator) -> bool:
    return satisfies_any(operator.grants, WRITE_GLOBAL.roles, INSTALLATION)


def writable_projects(operator: Operator, named: str = "") -> list[Offer]:
    """Projects in which the operator may create configurations, by name, including the selected one."""
    visible = visible_projects(operator.grants).order_by("name")
    rows = list(visible.values_list("id", "name", "org_id")[:MOST_OFFERED])
    if named and named not in {row[0] for row in rows}:
        rows += visible.filter(id=named).values_list("id", "name", "org_id")
    return [
        (group_id, name)
        for group_id, name, org_id in rows
        if satisfies_any(operator.grants, WRITE.roles, Scope(org_id, group_id))
    ]


def all_projects(named: Iterable[str], stored: Iterable[str]) -> list[Offer]:
    """The projects that a global configuration can list, by name, including the listed ones.

    Stored ids without a project stay until somebody removes them.
    """
    rows = list(Project.objects.order_by("name").values_list("id", "name")[:MOST_OFFERED])
    beyond = {*named, *stored} - {row[0] for row in rows}
    rows += Project.objects.filter(id__in=beyond).values_list("id", "name")
    known = {row[0] for row in rows}
    return rows + [(name, f"{name} (no project)") for name in stored if name not in known]


def offered_teams(operator: Operator) -> list[Offer]:
    """The teams that the operator can read."""
    visible_scope = operator.visible_scope()
    teams = (
        Team.objects.all()
        if visible_scope.everything
        else Team.objects.filter(org_id__in=visible_scope.org_ids)
    )
    return list(teams.order_by("name").values_list("id", "name")[:MOST_OFFERED])
