"""Options of the configuration form: projects and teams, up to a maximum."""

from collections.abc import Iterable

from accesslist.models import Project, Team
from accesslist.selectors.organizations import visible_projects
from alerting.access import WRITE, WRITE_GLOBAL
from opsapi.api.principal import Operator
from opsapi.roles import INSTALLATION, Scope, satisfies

MOST_OFFERED = 1_000
Offer = tuple[str, str]
"""An ID and a name."""


def may_write_global(operator: Operator) -> bool:
    """Whether the operator may create global configurations."""
    return any(satisfies(operator.grants, role, INSTALLATION) for role in WRITE_GLOBAL.roles)


def writable_projects(operator: Operator, named: str = "") -> list[Offer]:
    """Projects in which the operator may create configurations, by name, including the selected one."""
    visible = visible_projects(operator.grants).order_by("name")
    rows = list(visible.values_list("id", "name", "org_id")[:MOST_OFFERED])
    if named not in {row[0] for row in rows}:
        rows += visible.filter(id=named).values_list("id", "name", "org_id")
    return [
        (group_id, name)
        for group_id, name, org_id in rows
        if any(satisfies(operator.grants, role, Scope(org_id, group_id)) for role in WRITE.roles)
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
