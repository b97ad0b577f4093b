"""Which projects a configuration covers, and which configurations cover a project."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet, Subquery

from accesslist.models import Project
from alerting.models import AlertConfig
from events.types import EventType
from opsapi.sql import fetch_rows


def covered_projects(config: AlertConfig) -> QuerySet[Project]:
    """The projects that a configuration in memory covers: its own, all, tagged or listed projects."""
    group_id: str | None = config.group_id
    if group_id is not None:
        return Project.objects.filter(id=group_id)
    if not config.for_all_groups:
        return Project.objects.filter(id__in=config.group_ids)
    return Project.objects.filter(tags__overlap=config.tags) if config.tags else Project.objects.all()


def covering(group_id: str, tags: Sequence[str] | None = None) -> Q:
    """The configurations that cover a project; `tags` replace the stored tags of the project."""
    stored = Subquery(Project.objects.filter(id=group_id).values("tags")[:1])
    tagged = Q(tags__overlap=stored if tags is None else list(tags))
    everywhere = Q(group=None, for_all_groups=True, tags=[])
    some = Q(group=None) & (Q(group_ids__contains=[group_id]) | tagged)
    return Q(group=group_id) | everywhere | some


# The same as `covering`, as fast SQL for every signal: a part for each index, so that configurations that
# cover other projects cost nothing. For an OR of the parts the planner reads all configurations. xmin and
# ctid are the versions of the rows.
CONCERNED = """
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE group_id = %(group_id)s
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
UNION ALL
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE for_all_groups AND tags = '{}'
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
UNION ALL
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE group_id IS NULL AND group_ids @> ARRAY[%(group_id)s]::varchar[]
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
UNION ALL
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE group_id IS NULL AND tags && (SELECT tags FROM accesslist_project WHERE id = %(group_id)s)
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
"""


def concerned_parameters(group_id: str, event_types: Iterable[EventType]) -> Mapping[str, Any]:
    """The parameters of CONCERNED: the enabled configurations that cover a project for these event types."""
    return {"group_id": group_id, "event_types": [event_type.value for event_type in event_types]}


def is_concerned(group_id: str, event_type: EventType) -> bool:
    """Whether an enabled configuration for the event type covers the project."""
    [(is_covered,)] = fetch_rows(f"SELECT EXISTS ({CONCERNED})", concerned_parameters(group_id, [event_type]))
    return bool(is_covered)


def projects_asking(event_type: EventType, org_id: str, *, after: str) -> QuerySet[AlertConfig, str]:
    """The organization's projects that have an enabled configuration for the event type, by their ids.

    `after`: only projects with greater ids.
    """
    asking = AlertConfig.objects.filter(event_type=event_type.value, deleted=None, enabled=True)
    # A deleted project has no organization.
    within = asking.filter(group__org_id=org_id, group_id__gt=after)
    return within.order_by("group_id").values_list("group_id", flat=True).distinct()


_ASKING_WITHOUT_PROJECT = """
SELECT id FROM alerting_alertconfig AS config
 WHERE group_id IS NULL AND event_type = %(event_type)s AND deleted IS NULL AND enabled
   AND (for_all_groups AND tags = '{}' OR EXISTS (
       SELECT FROM accesslist_project AS project
        WHERE project.org_id = %(org_id)s
          AND (project.id = ANY(config.group_ids) OR project.tags && config.tags)))
 ORDER BY id
"""


def configs_asking_without_project(event_type: EventType, org_id: str | None) -> list[str]:
    """The enabled global configurations for an event of an organization, or of the installation for None.

    Configurations for an organization cover one of its projects. Configurations for all projects without tags
    also cover organizations without projects, and are the only ones for the installation.
    """
    asking = fetch_rows(_ASKING_WITHOUT_PROJECT, {"event_type": event_type.value, "org_id": org_id})
    return [config_id for (config_id,) in asking]
