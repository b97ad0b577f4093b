"""What migrations make of rows written before them."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from accesslist.models import Project
from automation.choices import HostType
from automation.models import AutomationRevision, Host, ReplicaSet
from events.models import Event
from opsapi import clock
from opsapi.ids import is_id
from tests.factories.automation import host_report, ingest, make_host, publish

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
        """Restore the rows as they were before: hosts have the names and belong to no replica set."""
        Host.with_deleted.update(replica_set=None)
        ReplicaSet.objects.all().delete()

    def test_a_report_of_some_members_records_no_lost_primary(self, project: Project) -> None:
        primary = host_report("a", type_name=HostType.REPLICA_PRIMARY, replica_set_name="rs0")
        secondary = host_report("b", type_name=HostType.REPLICA_SECONDARY, replica_set_name="rs0")
        ingest(project, primary, agent="one")
        ingest(project, secondary, agent="two")
        self.forget_sets()
        migrate(self.NAME)
        ingest(project, secondary, agent="two")
        assert not Event.objects.filter(event_type="NO_PRIMARY").exists()

    def test_sets_equal_the_sets_that_reports_create(self, project: Project, other_project: Project) -> None:
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
        assert all(is_id(replica_set.id) for replica_set in ReplicaSet.objects.all())

    def test_deleted_hosts_are_in_none(self, project: Project) -> None:
        make_host(project, replica_set_name="rs0", deleted=clock.now())
        migrate(self.NAME)
        assert not ReplicaSet.objects.exists()

    def standing(self) -> set[tuple[object, ...]]:
        """Each member with its replica set and the counts of the set."""
        of_set = [f"replica_set__{name}" for name in ("group", "name", "cluster", "shard_name")]
        tally = [f"replica_set__{name}" for name in ("primaries", "healthy", "unhealthy")]
        members = Host.objects.exclude(replica_set=None)
        return set(members.values_list("group", "hostname", *of_set, *tally))


class TestRedactedDiffs:
    """0014: changes that earlier versions recorded show no secret."""

    NAME = "0014_redact_old_diffs"
    CUT = '{"security":{"passphrase":"s3cret' + "x" * 490 + "…"
    PARAMS = [
        ("args2_6.security.DB_PASS", "s3cret", "******"),
        ("args2_6.pins.token", "902384772", "******"),
        ("auth.key", "s3cret", "******"),
        ("backupRestoreUrl", "https://a:s3cret@b/?t=s3cret", "https://******@b/?******"),
        (
            "args2_6",
            '{"net":{"port":27017},"api_key":[1e999,"s3cret"]}',
            '{"net":{"port":27017},"api_key":["******","******"]}',
        ),
        ("args2_6.list", CUT, "******"),
        ("args2_6.net.bindIp", "[::1],s3", "[::1],s3"),
        ("numCores", "4", "4"),
        ("password", "******", "******"),
    ]

    @staticmethod
    def diffs(values: list[tuple[str, str]]) -> list[dict[str, object]]:
        """The changes of a process, each with two sides."""
        params = [{"param": name, "display": name, "old": value, "new": value} for name, value in values]
        more: dict[str, object] = {"param": "… and 9 more", "display": "… and 9 more"}
        return [{"id": "db_1", "type": "PROCESS", "status": "MODIFIED", "params": [*params, more]}]

    def plant(self, project: Project, count: int) -> None:
        """Publishes as earlier versions recorded them, and events of other types that look the same."""
        for version in range(count):
            publish(project, version, options={"downloadBase": f"/{version}"})
        diffs = self.diffs([(name, before) for name, before, _ in self.PARAMS])
        for rows in (Event.objects, AutomationRevision.objects):
            rows.update(diffs=diffs)

    def test_secrets_in_events_and_revisions_are_redacted(self, project: Project) -> None:
        self.plant(project, 2)
        migrate(self.NAME)
        shown = self.diffs([(name, after) for name, _, after in self.PARAMS])
        published = Event.objects.filter(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT")
        assert list(published.values_list("diffs", flat=True)) == [shown] * 2
        assert list(AutomationRevision.objects.values_list("diffs", flat=True)) == [shown] * 2
        others = Event.objects.exclude(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT")
        assert shown not in others.values_list("diffs", flat=True)

    def test_an_interrupted_run_goes_on(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        module = import_module(f"automation.migrations.{self.NAME}")
        monkeypatch.setattr(module, "_ROWS_AT_ONCE", 1)
        self.plant(project, 3)
        redact, done = module._redacted_diff, []

        def fail_at_third(diff: dict[str, object]) -> object:
            done.append(diff)
            if len(done) == 3:
                raise InterruptedError
            return redact(diff)

        monkeypatch.setattr(module, "_redacted_diff", fail_at_third)
        with pytest.raises(InterruptedError):
            module.redact_changes(apps, None)
        assert "s3cret" in str(list(Event.objects.values("diffs")))
        monkeypatch.setattr(module, "_redacted_diff", redact)
        module.redact_changes(apps, None)
        for rows in (
            Event.objects.filter(event_type__startswith="AUTOMATION_CONFIG"),
            AutomationRevision.objects.all(),
        ):
            assert "s3cret" not in str(list(rows.values("diffs")))
