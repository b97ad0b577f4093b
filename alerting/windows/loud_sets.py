"""Loud replica sets: a window mutes alerts of their hosts, but not their own alerts, such as NO_PRIMARY."""

from collections.abc import Sequence
from typing import NamedTuple

from alerting.budgets import Budget
from alerting.windows.muted_rows import rows_that_match
from alerting.windows.rules import WindowRule
from alerting.windows.subjects import MOST_LABELED_HOSTS, Subjects, TargetFacts
from automation.hosts.store import facts_of_replica_set
from automation.models import Host, ReplicaSet
from events.types import Category
from opsapi.first_rows import MOST_SHOWN, FirstRows


class LoudSets(NamedTuple):
    """The first loud sets, and the number of all. `is_cut`: not all sets were compared in time."""

    sets: FirstRows[ReplicaSet]
    is_cut: bool


def loud_sets(group_id: str, rule: WindowRule, host_ids: Sequence[str], budget: Budget) -> LoudSets:
    """Of the replica sets of muted hosts, the sets whose alerts the window does not mute."""
    of_hosts = Host.objects.filter(id__in=host_ids, replica_set__isnull=False)
    sets = ReplicaSet.objects.filter(id__in=of_hosts.values("replica_set_id")).select_related("cluster")
    rows, is_cut = list(sets.order_by("name", "id")), False
    if rows and Category.REPLICA_SET.value in rule.alert_types:
        targets = {row.id: TargetFacts(group_id, facts_of_replica_set(row).document()) for row in rows}
        subjects = Subjects([rule], targets.values(), most_hosts=MOST_LABELED_HOSTS)
        rows = [row for row in rows if subjects.has_labels_of(targets[row.id])]
        muted = rows_that_match(rule, ((row.id, subjects.of(targets[row.id])) for row in rows), budget)
        is_cut = len(rows) < len(targets) or muted.compared is not None
        rows = [row for row in rows[: muted.compared] if row.id not in muted.ids]
    return LoudSets(FirstRows(rows[:MOST_SHOWN], len(rows)), is_cut)
