"""The configurations and windows that took most of the workers' time of a project."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from alerting.models import AlertConfig, MaintenanceWindow
from alerting.selectors.setup import OverShare
from opsapi.api.principal import VisibleScope


class Dearest(NamedTuple):
    """By id. Deleted ones are left out, and global configurations unless the reader sees everything."""

    configs: Mapping[str, AlertConfig]
    windows: Mapping[str, MaintenanceWindow]


def dearest_of(projects: Sequence[OverShare], visible_scope: VisibleScope) -> Dearest:
    """Return what took most of the time of these projects; no statement without projects."""
    named = AlertConfig.objects.filter(deleted=None)
    shown = named if visible_scope.everything else named.exclude(group=None)
    return Dearest(
        shown.in_bulk([each.config_id for each in projects if each.config_id]),
        MaintenanceWindow.objects.in_bulk([each.window_id for each in projects if each.window_id]),
    )
