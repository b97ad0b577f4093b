"""What the console's start page shows of the fleet. Read every ten seconds: first rows, bounded counts."""

from datetime import datetime

from automation.models import Agent, Host
from automation.selectors.members import without_data
from opsapi.api.principal import VisibleScope
from opsapi.first_rows import FirstRows, first_rows, in_visible_scope


def hosts_down(visible_scope: VisibleScope) -> FirstRows[Host]:
    """Hosts that are down, by project and name."""
    # A deleted project is gone for everybody, though its hosts are taken away later.
    down = Host.objects.filter(down=True, group__deleted=None).select_related("group", "replica_set")
    return first_rows(in_visible_scope(down, visible_scope).order_by("group_id", "hostname", "port"))


def hosts_without_data(visible_scope: VisibleScope, now: datetime) -> FirstRows[Host]:
    """Hosts whose state is not known, by project and name."""
    # No index is on the last report, which every report changes; the table of hosts is small.
    unknown = Host.objects.filter(without_data(now), group__deleted=None).select_related(
        "group", "reported_by"
    )
    return first_rows(in_visible_scope(unknown, visible_scope).order_by("group_id", "hostname", "port"))


def agents_timed_out(visible_scope: VisibleScope) -> FirstRows[Agent]:
    """Agents that have fallen silent, by project, type and name."""
    silent = Agent.objects.filter(down=True, group__deleted=None).select_related("group")
    return first_rows(in_visible_scope(silent, visible_scope).order_by("group_id", "agent_type", "hostname"))
