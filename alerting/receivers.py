"""How alerting reacts to what happens to its right (architecture, inversion 2)."""

from datetime import datetime
from typing import Any

from accesslist.models import Project
from alerting.services.purge import host_alerting_end, project_alerting_end
from automation.models import Host
from opsapi.api.principal import Actor


def end_with_project(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """A project is being deleted: so are its configurations, and its alerts are cancelled."""
    project_alerting_end(group_id=project.id, actor=actor, now=now)


def end_with_host(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """A host is being deleted, or gets another address: the alerts about it are cancelled."""
    host_alerting_end(host=host, actor=actor, now=now)
