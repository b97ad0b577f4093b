"""Counts of the hosts of replica sets and clusters by state, for pages."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from django.db.models import Case, Count, Max, Q, Value, When

from automation.choices import HostType
from automation.models import Host
from automation.rules.heartbeats import heard_limit
from automation.rules.replica_sets import Members, MemberTally, tally
from opsapi.fields import Among
from opsapi.wire_json import JsonObject


def without_data(now: datetime) -> Q:
    """Hosts with an unknown state: without a report, or without a recent report.

    Hosts that are down count as down.
    """
    return Q(down=False) & (Q(last_report=None) | Q(last_report__lte=heard_limit(now)))


@dataclass(frozen=True, slots=True)
class MembersNow:
    """The number of all hosts, of hosts that are down and of `unknown` hosts.

    `known` tallies the other hosts as replica sets do. `last_report` is the newest report of an unknown host.
    """

    hosts: int = 0
    down: int = 0
    unknown: int = 0
    known: MemberTally = field(default_factory=MemberTally)
    last_report: datetime | None = None


def members_now(
    of: Literal["replica_set_id", "cluster_id"], ids: Collection[str], now: datetime
) -> dict[str, MembersNow]:
    """Return the members by the id of their replica set or cluster, with one query.

    Ids without hosts are left out.
    """
    is_unknown = Case(When(without_data(now), then=Value(True)), default=Value(False))
    hosts = Host.objects.filter(Among(of, ids)).values(of, "type_name", "down", unknown=is_unknown)
    found: dict[str, list[JsonObject]] = {}
    for row in hosts.annotate(count=Count("id"), newest=Max("last_report")).order_by():
        found.setdefault(row[of], []).append(row)
    return {key: _members(rows) for key, rows in found.items()}


def _members(rows: Collection[JsonObject]) -> MembersNow:
    known = [
        Members(type_name=HostType(row["type_name"]), reachable=not row["down"], count=row["count"])
        for row in rows
        if not row["unknown"]
    ]
    reports = [row["newest"] for row in rows if row["unknown"] and row["newest"]]
    return MembersNow(
        hosts=sum(row["count"] for row in rows),
        down=sum(row["count"] for row in rows if row["down"]),
        unknown=sum(row["count"] for row in rows if row["unknown"]),
        known=tally(known),
        last_report=max(reports, default=None),
    )
