"""What a project or the installation remembers of its set-up: a tested channel, dismissed notices."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from accesslist.changes import acting
from alerting.configs.choices import SetupMarkName
from alerting.configs.models import SetupMark
from alerting.configs.store import is_concerned
from alerting.engine.usage_rules import noticed_minutes
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.principal import Actor, VisibleScope
from opsapi.roles import Scope
from opsapi.sql import fetch_rows


@transaction.atomic
def channel_tested(*, group_id: str | None, actor: Actor, now: datetime) -> None:
    """Remember that a test message was delivered; the event of the test is recorded before it is sent.

    The project may be deleted meanwhile: the mark then stays until the project is purged. Raises
    IntegrityError if the project is already purged.
    """
    _mark(SetupMarkName.CHANNEL_TESTED, group_id, actor, now)


def host_down_notice_dismiss(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Hide for all users that no configuration alerts when a host of the project is down.

    A repeated call changes nothing.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    with acting(actor, now, here=Scope(group_id=group_id)) as act:
        if _mark(SetupMarkName.HOST_DOWN_NOTICE_DISMISSED, group_id, actor, now):
            act.record(NewEvent(event_type=EventType.HOST_DOWN_NOTICE_DISMISSED_AUDIT))


def checklist_dismiss(*, actor: Actor, now: datetime) -> None:
    """Hide the checklist of the set-up for all users. A repeated call changes nothing."""
    with acting(actor, now) as act:
        if _mark(SetupMarkName.CHECKLIST_DISMISSED, None, actor, now):
            act.record(NewEvent(event_type=EventType.CHECKLIST_DISMISSED_AUDIT))


def _mark(name: SetupMarkName, group_id: str | None, actor: Actor, now: datetime) -> bool:
    """Remember it once; return whether it is new."""
    _, is_new = SetupMark.objects.get_or_create(
        name=name.value, group_id=group_id, defaults={"created": now, "username": actor.name or ""}
    )
    return is_new


MOST_NAMED = 10
"""The most projects that a notice names."""

# A part for each index of configurations, as in `scopes.CONCERNED`.
_UNWATCHED = """
  FROM accesslist_project AS project
 WHERE project.deleted IS NULL AND project.host_count > 0
   AND NOT EXISTS (SELECT FROM alerting_alertconfig
        WHERE group_id = project.id AND event_type = %(event_type)s AND deleted IS NULL AND enabled)
   AND NOT EXISTS (SELECT FROM alerting_alertconfig
        WHERE for_all_groups AND tags = '{}' AND event_type = %(event_type)s AND deleted IS NULL AND enabled)
   AND NOT EXISTS (SELECT FROM alerting_alertconfig
        WHERE group_id IS NULL AND group_ids @> ARRAY[project.id]::varchar[]
          AND event_type = %(event_type)s AND deleted IS NULL AND enabled)
   AND NOT EXISTS (SELECT FROM alerting_alertconfig
        WHERE group_id IS NULL AND tags && project.tags
          AND event_type = %(event_type)s AND deleted IS NULL AND enabled)
"""
_OVER_SHARE = """
  FROM alerting_projectusage AS usage JOIN accesslist_project AS project ON project.id = usage.group_id
 WHERE usage.exceeded BETWEEN %(first)s AND %(last)s AND project.deleted IS NULL
"""
_READABLE = "AND project.id = ANY(%(group_ids)s)"
_NOT_DISMISSED = """
AND NOT EXISTS (SELECT FROM alerting_setupmark WHERE group_id = project.id AND name = %(dismissed)s)
"""
_PARAMETERS = {
    "event_type": EventType.HOST_DOWN.value,
    "dismissed": SetupMarkName.HOST_DOWN_NOTICE_DISMISSED.value,
}


@dataclass(frozen=True, slots=True)
class UnwatchedProject:
    """A project with hosts, and without an enabled configuration for HOST_DOWN."""

    id: str
    name: str
    org_id: str
    host_count: int


@dataclass(frozen=True, slots=True)
class OverShare:
    """A project that exceeded its share of workers' time, and the configuration or window that took most."""

    name: str
    config_id: str | None
    window_id: str | None


class NoticedProjects(NamedTuple):
    """The first projects with a notice, by name: at most MOST_NAMED + 1 and MOST_NAMED."""

    unwatched: Sequence[UnwatchedProject]
    over_share: Sequence[OverShare]


def noticed_projects(visible_scope: VisibleScope, group_id: str | None, now: datetime) -> NoticedProjects:
    """Return the readable projects with a notice, in one statement, because the start page asks often.

    A project is watched if an enabled configuration of its own, or a global one that covers it, is of type
    HOST_DOWN, whatever its matchers; dismissed notices are left out. A project is over its share if it
    exceeded it in the last minutes. `group_id`: only this project.
    """
    groups = visible_scope.group_ids if group_id is None else visible_scope.group_ids & {group_id}
    everything = visible_scope.everything and group_id is None
    if visible_scope.everything and group_id is not None:
        groups = frozenset({group_id})
    if not everything and not groups:
        return NoticedProjects([], [])
    narrowed, minutes = "" if everything else _READABLE, noticed_minutes(now)
    statement = f"""
(SELECT project.name, project.id, project.org_id, project.host_count, NULL, NULL
 {_UNWATCHED} {narrowed} {_NOT_DISMISSED} ORDER BY project.name LIMIT {MOST_NAMED + 1})
UNION ALL
(SELECT project.name, NULL, NULL, NULL, usage.config_id, usage.window_id
 {_OVER_SHARE} {narrowed} ORDER BY project.name, project.id LIMIT {MOST_NAMED})"""
    shares = {"first": minutes.start, "last": minutes.stop - 1}
    rows = fetch_rows(statement, {**_PARAMETERS, **shares, "group_ids": sorted(groups)})
    return NoticedProjects(
        [UnwatchedProject(of, name, org, hosts) for name, of, org, hosts, *_ in rows if of],
        [OverShare(name, config, window) for name, of, _, _, config, window in rows if not of],
    )


def host_down_is_watched(group_id: str) -> bool:
    """Whether an enabled configuration for HOST_DOWN covers the project, which may have no hosts yet."""
    return is_concerned(group_id, EventType.HOST_DOWN)


@dataclass(frozen=True, slots=True)
class SetupProgress:
    """What is done in the installation, outside the demonstration."""

    is_dismissed: bool
    agent: bool
    watched: bool
    tested: bool
    second_person: bool
    second_factor: bool


_IS_REAL = "AND (group_id IS NULL OR group_id NOT IN (SELECT group_id FROM demo))"
# A project belongs to the demonstration if all its agents do, an organization if all its projects do. The
# statement begins with SELECT, so that a page is repeated if its connection ends (`opsapi.postgresql.base`).
_PROGRESS = f"""
SELECT * FROM (
WITH demo AS MATERIALIZED (
    SELECT group_id FROM automation_agent GROUP BY group_id HAVING bool_and(demonstration)
), demo_org AS MATERIALIZED (
    SELECT org_id FROM accesslist_project
     WHERE org_id IN (SELECT org_id FROM accesslist_project WHERE id IN (SELECT group_id FROM demo))
     GROUP BY org_id HAVING bool_and(id IN (SELECT group_id FROM demo))
)
SELECT EXISTS (SELECT FROM alerting_setupmark WHERE name = %(checklist)s AND group_id IS NULL),
       EXISTS (SELECT FROM automation_agent WHERE NOT demonstration),
       EXISTS (SELECT FROM alerting_alertconfig
                WHERE event_type = %(event_type)s AND deleted IS NULL AND enabled {_IS_REAL})
         AND NOT EXISTS (SELECT {_UNWATCHED}),
       EXISTS (SELECT FROM alerting_setupmark WHERE name = %(tested)s {_IS_REAL})
         OR EXISTS (SELECT FROM alerting_destination WHERE answered IS NOT NULL {_IS_REAL}),
       (SELECT count(*) FROM (
           SELECT FROM accesslist_user AS person
            WHERE EXISTS (SELECT FROM accesslist_rolegrant
                           WHERE user_id = person.id
                             AND (project_id IS NULL OR project_id NOT IN (SELECT group_id FROM demo))
                             AND (org_id IS NULL OR org_id NOT IN (SELECT org_id FROM demo_org)))
            LIMIT 2) AS people) > 1,
       EXISTS (SELECT FROM accesslist_secondfactor WHERE user_id = %(user_id)s AND confirmed IS NOT NULL)
) AS progress
"""  # noqa: S608 - the parts are our own


def setup_progress(user_id: str) -> SetupProgress:
    """Return what is done in the installation, in one statement, because the start page asks often.

    The second factor is the user's own.
    """
    parameters = {
        "user_id": user_id,
        **_PARAMETERS,
        "checklist": SetupMarkName.CHECKLIST_DISMISSED.value,
        "tested": SetupMarkName.CHANNEL_TESTED.value,
    }
    ((is_dismissed, *done),) = fetch_rows(_PROGRESS, parameters)
    return SetupProgress(is_dismissed, *done)
