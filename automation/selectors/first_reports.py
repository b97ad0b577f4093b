"""The first reports with a new key of an agent."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from accesslist.models import ApiKey
from automation.models import Agent, Host
from opsapi.roles import Role

MOST_AGENTS, MOST_HOSTS = 20, 50


@dataclass(frozen=True)
class FirstReport:
    """The agents of a project that reported since a key was created.

    `arrived` are new agents, and agents that reported again after a heartbeat timeout. `others` reported
    before and after. `hosts` are the first hosts of the `arrived` agents, `host_count` is the number of all.
    """

    arrived: list[Agent]
    others: list[Agent]
    hosts: list[Host]
    host_count: int


def project_of_agent_key(key_id: str) -> tuple[ApiKey, str] | None:
    """Return a key and the id of the project that it can report to; None if it cannot report to any."""
    key = ApiKey.objects.filter(id=key_id).first()
    grant = key.grants.filter(role=Role.GROUP_AGENT.value).order_by("id").first() if key else None
    return (key, grant.project_id) if key and grant and grant.project_id else None


def first_report(group_id: str, since: datetime) -> FirstReport:
    """Return what agents of the project have reported since then."""
    heard = Agent.objects.filter(group_id=group_id, last_report__gte=since)
    is_new = Q(created__gte=since) | Q(returned__gte=since)
    arrived = list(heard.filter(is_new).order_by("-created")[:MOST_AGENTS])
    others = list(heard.exclude(id__in=[agent.id for agent in arrived]).order_by("hostname")[:MOST_AGENTS])
    hosts = Host.objects.filter(reported_by__in=arrived).order_by("hostname", "port")
    return FirstReport(arrived, others, list(hosts[:MOST_HOSTS]), hosts.count() if arrived else 0)
