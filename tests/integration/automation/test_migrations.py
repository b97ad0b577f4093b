"""What migrations make of rows written before them."""

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from accesslist.models import Project
from automation.choices import HostType
from automation.models import Host, ReplicaSet
from events.models import Event
from opsapi import clock
from opsapi.ids import is_id
from tests.factories.automation import host_report, ingest, make_host

pytestmark = pytest.mark.django_db


def migrate(name: str) -> None:
    """Apply one migration of data to the rows as they are."""
    loader = MigrationLoader(connection)
    migration = loader.get_migration("automation", name)
    before = loader.project_state(migration.dependencies)
    with connection.schema_editor() as editor:
        migration.apply(before, editor)


class TestReplicaSets:
    """0011: hosts reported before there were any are members at once."""

    NAME = "0011_fill_replica_sets"

    def forget_sets(self) -> None:
        """Leave rows as they stood before: hosts bear the names, and are in no set."""
        Host.with_deleted.update(replica_set=None)
        ReplicaSet.objects.all().delete()

    def test_a_report_of_some_members_tells_no_primary_lost(self, project: Project) -> None:
        primary = host_report("a", type_name=HostType.REPLICA_PRIMARY, replica_set_name="rs0")
        secondary = host_report("b", type_name=HostType.REPLICA_SECONDARY, replica_set_name="rs0")
        ingest(project, primary, agent="one")
        ingest(project, secondary, agent="two")
        self.forget_sets()
        migrate(self.NAME)
        ingest(project, secondary, agent="two")
        assert not Event.objects.filter(event_type="NO_PRIMARY").exists()

    def test_sets_are_those_reports_would_have_made(self, project: Project, other_project: Project) -> None:
        types = [*HostType]
        for number, type_name in enumerate(types):
            said = {"type_name": type_name, "replica_set_name": "rs0"}
            ingest(project, host_report(f"a{number}", **said, cluster_name="c", shard_name="s0"))
            ingest(project, host_report(f"b{number}", **said, reachable=False))
            ingest(other_project, host_report(f"a{number}", **said))
        ingest(project, host_report("alone"))
        before = self.standing()
        self.forget_sets()
        migrate(self.NAME)
        assert self.standing() == before
        # Some of them may have been reported since.
        Host.objects.filter(hostname__startswith="a").update(replica_set=None)
        migrate(self.NAME)
        assert self.standing() == before
        assert len(before) == 3 * len(types)
        assert all(is_id(one.id) for one in ReplicaSet.objects.all())

    def test_deleted_hosts_are_in_none(self, project: Project) -> None:
        make_host(project, replica_set_name="rs0", deleted=clock.now())
        migrate(self.NAME)
        assert not ReplicaSet.objects.exists()

    def standing(self) -> set[tuple[object, ...]]:
        """Each member with its set and how that stands."""
        of_set = [f"replica_set__{name}" for name in ("group", "name", "cluster", "shard_name")]
        tally = [f"replica_set__{name}" for name in ("primaries", "healthy", "unhealthy")]
        members = Host.objects.exclude(replica_set=None)
        return set(members.values_list("group", "hostname", *of_set, *tally))
