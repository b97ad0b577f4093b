"""Rows of the fleet for the start page of the console, which reads them every ten seconds."""

from datetime import datetime

from automation.models import Agent, Host
from automation.selectors.members import without_data
from opsapi.api.principal import VisibleScope
from opsapi.first_rows import FirstRows, first_rows, in_visible_scope


def hosts_down(visible_scope: VisibleScope) -> FirstRows[Host]:
    """Return hosts that are down, by project and name."""
    # The hosts of a deleted project are deleted later.
    down = Host.objects.filter(down=True, group__deleted=None).select_related("group", "replica_set")
    return first_rows(in_visible_scope(down, visible_scope).order_by("group_id", "hostname", "port"))


def hosts_without_data(visible_scope: VisibleScope, now: datetime) -> FirstRows[Host]:
    """Return hosts with an unknown state, by project and name."""
    # The last report is not indexed, because every report changes it; the table of hosts is small.
    unknown = Host.objects.filter(without_data(now), group__deleted=None).select_related(
        "group", "reported_by"
    )
    return first_rows(in_visible_scope(unknown, visible_scope).order_by("group_id", "hostname", "port"))


def agents_timed_out(visible_scope: VisibleScope) -> FirstRows[Agent]:
    """Return agents that stopped reporting, by project, type and name."""
    silent = Agent.objects.filter(down=True, group__deleted=None).select_related("group")
    return first_rows(in_visible_scope(silent, visible_scope).order_by("group_id", "agent_type", "hostname"))
