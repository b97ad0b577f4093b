"""The subjects that the matchers of maintenance windows compare."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from alerting.configs.matchers import MatcherField, MatchSubject, subject_of
from alerting.windows.rules import WindowRule
from automation.hosts.store import HostColumn, labels_of_hosts, readable_labels, replica_set_ids
from automation.labels import LabelSets
from automation.models import Host
from opsapi.fields import Among

_ANY_CLUSTER = ""
"""Instead of the id of a cluster, if the project has one replica set with the name."""


MOST_LABELED_HOSTS: Final = 20_000
"""The maximum number of hosts of replica sets, and of clusters, whose labels a page or explanation reads."""


class TargetFacts(NamedTuple):
    """The facts of an alert or an event, by their wire names, and its project."""

    group_id: str
    facts: Mapping[str, Any]


class Subjects:
    """The subjects of alerts or events for the matchers of these rules.

    The types and labels of hosts are read, as they are now, only if a matcher asks for them. A deleted host
    has its last type and labels. `most_hosts`: the maximum number of hosts of replica sets, and
    of clusters, whose labels are read; None for all hosts.
    """

    def __init__(
        self,
        rules: Iterable[WindowRule],
        targets: Iterable[TargetFacts],
        *,
        most_hosts: int | None = None,
    ) -> None:
        fields = {matcher.field for rule in rules for matcher in rule.matchers}
        read = list(targets) if fields & {MatcherField.TYPE_NAME, MatcherField.LABEL} else []
        self._types: Mapping[str, str] = {}
        self._sets: Mapping[tuple[str, str, str | None], str] = {}
        self._labels: Mapping[tuple[HostColumn, str], LabelSets] = {}
        self._unread: set[tuple[HostColumn, str]] = set()
        if MatcherField.TYPE_NAME in fields:
            ids = {target.facts["hostId"] for target in read if "hostId" in target.facts}
            self._types = dict(Host.with_deleted.filter(Among("id", ids)).values_list("id", "type_name"))
        if MatcherField.LABEL in fields:
            self._sets = _replica_sets(read)
            self._labels = self._read_labels(read, most_hosts)

    def of(self, target: TargetFacts) -> MatchSubject:
        """Return the subject of one of the alerts or events."""
        labels = self._labels.get(self._hosts_of(target), ()) if self._labels else ()
        return subject_of(
            target.facts, type_name=self._types.get(target.facts.get("hostId", "")), labels=labels
        )

    def has_labels_of(self, target: TargetFacts) -> bool:
        """Whether the labels of the target's hosts were read, if a matcher asks for them."""
        return not self._unread or self._hosts_of(target) not in self._unread

    def _hosts_of(self, target: TargetFacts) -> tuple[HostColumn, str]:
        """The host of the target, or the hosts of its replica set or cluster: their column and its value."""
        group_id, facts = target
        if "hostname" in facts:
            return "id", facts.get("hostId", "")
        if "replicaSetName" in facts:
            name = group_id, facts["replicaSetName"]
            # Without its cluster: the replica set has joined or left the cluster since.
            set_id = self._sets.get((*name, facts.get("clusterId"))) or self._sets.get((*name, _ANY_CLUSTER))
            return "replica_set_id", set_id or ""
        return "cluster_id", facts.get("clusterId", "")

    def _read_labels(
        self, targets: Iterable[TargetFacts], most: int | None
    ) -> dict[tuple[HostColumn, str], LabelSets]:
        ids: dict[HostColumn, set[str]] = {}
        for column, value in map(self._hosts_of, targets):
            if value:
                ids.setdefault(column, set()).add(value)
        if most is not None:
            for column, values in ids.items():
                readable = readable_labels(column, values, most=most)
                self._unread |= {(column, value) for value in values - readable}
                ids[column] = readable
        return {
            (column, value): labels
            for column, values in ids.items()
            for value, labels in labels_of_hosts(column, values).items()
        }


def _replica_sets(targets: Iterable[TargetFacts]) -> dict[tuple[str, str, str | None], str]:
    """The ids of the replica sets that targets are about, by project, name and cluster."""
    of_sets = [
        (target.group_id, target.facts["replicaSetName"])
        for target in targets
        if "replicaSetName" in target.facts and "hostname" not in target.facts
    ]
    if not of_sets:
        return {}
    ids = replica_set_ids({group_id for group_id, _ in of_sets}, {name for _, name in of_sets})
    with_name = Counter((group_id, name) for group_id, name, _ in ids)
    only = {
        (group_id, name, _ANY_CLUSTER): set_id
        for (group_id, name, _), set_id in ids.items()
        if with_name[group_id, name] == 1
    }
    return ids | only


def subjects_of(rules: Iterable[WindowRule], targets: Mapping[str, TargetFacts]) -> dict[str, MatchSubject]:
    """The subjects of alerts or events by their id."""
    subjects = Subjects(rules, targets.values())
    return {name: subjects.of(target) for name, target in targets.items()}
