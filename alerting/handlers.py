"""Signal handlers of alerting for changes in other packages (docs/architecture.md, "Hooks")."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from accesslist.models import Project
from alerting.services.config_coverage import global_configs_retag
from alerting.services.configs import default_configs_create
from alerting.services.purge import (
    agent_alerting_end,
    cluster_alerting_end,
    host_alerting_end,
    project_alerting_end,
    replica_set_alerting_end,
)
from automation.models import Agent, Host
from opsapi.api.principal import Actor


def begin_with_project(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """Add the default configurations to a new project."""
    default_configs_create(group_id=project.id, actor=actor, now=now)


def follow_tags(*, project: Project, tags: Sequence[str], actor: Actor, now: datetime, **_: Any) -> None:
    """After a change of tags, other global configurations may cover a project."""
    global_configs_retag(group_id=project.id, tags=tags, actor=actor, now=now)


def end_with_project(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """Delete the configurations of a deleted project, and cancel its alerts."""
    project_alerting_end(group_id=project.id, actor=actor, now=now)


def end_with_host(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """Cancel the alerts about a host that is deleted or gets a new address."""
    host_alerting_end(host=host, actor=actor, now=now)


def end_with_agent(*, agent: Agent, actor: Actor, now: datetime, **_: Any) -> None:
    """Cancel the alerts about a deleted agent."""
    agent_alerting_end(agent=agent, actor=actor, now=now)


def end_with_last_host(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """Cancel the alerts about a replica set or cluster whose last host is deleted."""
    replica_set_alerting_end(host=host, actor=actor, now=now)
    cluster_alerting_end(host=host, actor=actor, now=now)
