"""Counts the time of workers that a project uses."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from accesslist.models import Project
from alerting.configs.models import AlertConfig
from alerting.configs.setup import OverShare
from alerting.engine.models import ProjectUsage
from alerting.engine.usage_rules import Usage
from alerting.windows.models import MaintenanceWindow
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EventType
from opsapi.api.principal import SYSTEM, VisibleScope


@transaction.atomic(savepoint=False)
def usage_add(
    *,
    group_id: str,
    seconds: float,
    config_id: str | None = None,
    window_id: str | None = None,
    now: datetime,
) -> None:
    """Count seconds of work for a project, most of them for a configuration or a maintenance window.

    The row and the event name the configuration or window that took most of the turn or step that exceeded
    the share in a minute. The event is recorded once, and again only after NOTICE_MINUTES within the share. A
    project that is deleted meanwhile uses nothing.
    """
    row = ProjectUsage.objects.select_for_update().filter(group_id=group_id).first()
    row = row or _first_usage(group_id)
    if row is None:
        return
    before = Usage(row.minute, row.seconds, row.seconds_before, row.exceeded)
    usage = before.add(seconds, now)
    row.minute, row.seconds, row.seconds_before = usage.minute, usage.seconds, usage.seconds_before
    row.exceeded = usage.exceeded
    if usage.exceeded != before.exceeded:
        row.config_id, row.window_id = config_id, window_id
    row.save(force_update=True)
    if usage.exceeded == usage.minute and not before.has_exceeded(now):
        event_record(
            event_type=EventType.GROUP_SHARE_EXCEEDED_AUDIT,
            actor=SYSTEM,
            now=now,
            group_id=group_id,
            facts=EventFacts(alert_config_id=config_id, maintenance_window_id=window_id),
        )


def _first_usage(group_id: str) -> ProjectUsage | None:
    if not Project.objects.filter(id=group_id).exists():
        return None
    begun: Mapping[str, object] = {"minute": 0, "seconds": 0.0, "seconds_before": 0.0}
    return ProjectUsage.objects.select_for_update().get_or_create(group_id=group_id, defaults=begun)[0]


class Dearest(NamedTuple):
    """By id. Deleted ones are left out, and global configurations unless the reader sees everything."""

    configs: Mapping[str, AlertConfig]
    windows: Mapping[str, MaintenanceWindow]


def dearest_of(projects: Sequence[OverShare], visible_scope: VisibleScope) -> Dearest:
    """Return what took most of the time of these projects; no statement without projects."""
    named = AlertConfig.objects.filter(deleted=None)
    configs = named if visible_scope.everything else named.exclude(group=None)
    return Dearest(
        configs.in_bulk([project.config_id for project in projects if project.config_id]),
        MaintenanceWindow.objects.in_bulk([project.window_id for project in projects if project.window_id]),
    )
