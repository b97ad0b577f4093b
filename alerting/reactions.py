"""How alerting reacts to what happens to its right (architecture, inversion 2)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from accesslist.models import Project
from alerting.services.default_configs import default_configs_create
from alerting.services.purge import (
    agent_alerting_end,
    cluster_alerting_end,
    host_alerting_end,
    project_alerting_end,
    replica_set_alerting_end,
)
from alerting.services.reach import global_configs_retag
from automation.models import Agent, Host
from opsapi.api.principal import Actor


def begin_with_project(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """A project was made: it has the default configurations."""
    default_configs_create(group_id=project.id, actor=actor, now=now)


def follow_tags(*, project: Project, tags: Sequence[str], actor: Actor, now: datetime, **_: Any) -> None:
    """A project gets other tags: other global configurations may cover it."""
    global_configs_retag(group_id=project.id, tags=tags, actor=actor, now=now)


def end_with_project(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """A project is being deleted: so are its configurations, and its alerts are cancelled."""
    project_alerting_end(group_id=project.id, actor=actor, now=now)


def end_with_host(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """A host is being deleted, or gets another address: the alerts about it are cancelled."""
    host_alerting_end(host=host, actor=actor, now=now)


def end_with_agent(*, agent: Agent, actor: Actor, now: datetime, **_: Any) -> None:
    """An agent is being deleted: the alerts about it are cancelled."""
    agent_alerting_end(agent=agent, actor=actor, now=now)


def end_with_last_host(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """A host is being deleted: alerts about the replica set or cluster it was the last of are cancelled."""
    replica_set_alerting_end(host=host, actor=actor, now=now)
    cluster_alerting_end(host=host, actor=actor, now=now)
